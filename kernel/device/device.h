/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * A link: what all of this module hangs on.
 *
 * The RDMA core sees it as an ib_device; verbs/ib_device.c creates and ends links. This file has
 * what the layers below keep in a link: tables, counters, settings.
 */
#ifndef SRN_DEVICE_H
#define SRN_DEVICE_H

#include <linux/hashtable.h>
#include <linux/list.h>
#include <linux/netdevice.h>
#include <linux/siphash.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>

#include "../uapi/softrnic-abi.h"
#include "counters.h"
#include "limits.h"

struct crypto_shash;
struct srn_device;
struct srn_mem;
struct srn_qp;

/* Size of the table of recent memory: a power of two. */
#define SRN_RECENT_MEMS	256

/*
 * Length of the table of GIDs. The last one is that by which rdma_cm finds the device, see compat/.
 */
#define SRN_GIDS	32

/**
 * struct srn_qpns - where the numbers of somebody's next queue pairs come from, see qpn.c
 * @lock: a leaf
 * @next: next number of the block in use; a new block has to be taken at the end of one
 */
struct srn_qpns {
	spinlock_t lock;	/* protects what follows */
	u32 next;
};

/* Which connections bypass TCP, see stream/direct.h. */
enum srn_same_host {
	SRN_SAME_HOST_OFF,	/* none */
	SRN_SAME_HOST_NETNS,	/* those whose ends are both in this network namespace */
	SRN_SAME_HOST_ANY,	/* those whose ends are both on this host, and allow it */
};

/**
 * struct srn_device - one link
 * @ibdev: what the RDMA core sees
 * @netdev: network device that the link was added on; the RDMA core holds a reference
 * @net: network namespace of @netdev when the link was added; it waits for the link to be gone
 * @net_entry: in the list of the namespace's links, see netns.c
 * @cm_wq: worker that sets up connections, one endpoint after the other
 * @report_wq: workers that tell consumers of connections, see cm/reporter.c
 * @raw_wq: worker that connects queue pairs which are brought up by hand
 * @id: number of the link, for messages of the provider
 * @qps: queue pairs by number
 * @mems: memory by STag index
 * @recent_mems: memory by the low bits of its STag index; of several, that which was published
 *	last. A place is NULL once that memory is gone. All of it is in @mems as well
 * @requests: connections that were reported and not yet decided on, by number
 * @qpn_blocks: number of blocks of queue pair numbers that have been given out so far
 * @qpn_key: it decides in which order blocks of queue pair numbers are given out
 * @qpns: numbers for queue pairs of the kernel
 * @next_mem: index at which the search for a free number in @mems begins
 * @next_request: index at which the search for a free number in @requests begins
 * @gid: GID by which rdma_cm finds the link; written under @lock
 * @gid_work: tells the core that GIDs have changed
 * @gid_changes_since: jiffies at the first change of addresses that @gid_work has not seen; 0: none
 * @gids: table of GIDs, under @lock; @gid_work keeps it up to date
 * @told_state: state of the port that programs were told of last, under RTNL; IB_PORT_NOP before
 * @count: number of live objects of each kind
 * @counters: what the link has done
 * @lock: protects @gid, @gids, and the fields from @endpoints to @num_lingering; a leaf
 * @endpoints: connections and listeners of the connection manager
 * @reporters: reporters of the processes that have connections or listeners, by process
 * @lingering: sockets that are being closed, see stream/linger.h
 * @num_lingering: number of sockets in @lingering
 * @crc: new connections ask for CRC32C
 * @markers: new connections ask their peers for MPA markers
 * @large_fpdus: new connections do not limit FPDUs to the size of a TCP segment
 * @greeting: new connections find out whether their peer is a softrnic, see wire/greeting.h
 * @placed_completions: work of new connections of rdma_cm completes when a peer that is a softrnic
 *	has placed it, see qp/placed.h
 * @same_host: enum srn_same_host
 * @raw_port: TCP port for queue pairs that are brought up by hand; 0: there are none
 * @secret: what both ends of a bring-up by hand have to know; NULL: nothing, see secret.h
 * @bring_up: brings a queue pair to RTR by hand; verbs/ hands down what is above this layer
 * @registering: the task that registers the link, for which the core replays existing listeners
 * @settings_shown: the settings in raw/ have been shown, or there was no memory for that
 * @closing: the link is being deleted
 */
struct srn_device {
	struct ib_device ibdev;
	struct net_device *netdev;
	struct net *net;
	struct list_head net_entry;
	struct workqueue_struct *cm_wq;
	struct workqueue_struct *report_wq;
	struct workqueue_struct *raw_wq;
	u32 id;
	struct xarray qps;
	struct xarray mems;
	struct srn_mem __rcu *recent_mems[SRN_RECENT_MEMS];
	struct xarray requests;
	atomic_t qpn_blocks;
	siphash_key_t qpn_key;
	struct srn_qpns qpns;
	u32 next_mem;
	u32 next_request;
	union ib_gid gid;
	struct delayed_work gid_work;
	unsigned long gid_changes_since;
	union ib_gid gids[SRN_GIDS];
	enum ib_port_state told_state;
	atomic_t count[SRN_LIMITS];
	struct srn_counters __percpu *counters;

	spinlock_t lock;	/* of the lists below, and of the GIDs */
	struct list_head endpoints;
	DECLARE_HASHTABLE(reporters, 8);
	struct list_head lingering;
	u32 num_lingering;
	bool crc;
	bool markers;
	bool large_fpdus;
	bool greeting;
	bool placed_completions;
	u8 same_host;
	u16 raw_port;
	struct crypto_shash __rcu *secret;
	int (*bring_up)(struct srn_qp *qp, const struct ib_qp_attr *attr, int mask);
	struct task_struct *registering;
	bool settings_shown;
	bool closing;
};

static inline struct srn_device *to_srn_dev(struct ib_device *ibdev)
{
	return container_of(ibdev, struct srn_device, ibdev);
}

/* Find the link of a network device. The caller gives the reference back by ib_device_put(). */
static inline struct srn_device *srn_device_find(struct net_device *netdev)
{
	struct ib_device *ibdev =
		ib_device_get_by_netdev(netdev, (enum rdma_driver_id)SRN_DRIVER_ID);

	return ibdev ? to_srn_dev(ibdev) : NULL;
}

/* Write a line to the kernel log, but not many of them for a link that is being attacked. */
#define srn_notice(dev, fmt, ...)						\
	ibdev_notice_ratelimited(&(dev)->ibdev, fmt, ##__VA_ARGS__)

#endif /* SRN_DEVICE_H */
