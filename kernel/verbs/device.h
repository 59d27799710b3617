/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The RDMA device: its limits, its tables, and the small objects that only hang
 * on it (user context, protection domain).
 */
#ifndef SRN_VERBS_DEVICE_H
#define SRN_VERBS_DEVICE_H

#include <linux/hashtable.h>
#include <linux/list.h>
#include <linux/netdevice.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>

#include "../counters.h"
#include "../uapi/softrnic-abi.h"

/* From the space of locally administered OUIs: no vendor's. */
#define SRN_VENDOR_ID		0x02736e

#define SRN_MAX_QP		65536
#define SRN_MAX_QPN		0xffffff
#define SRN_MAX_QP_WR		16384
#define SRN_MAX_CQ		65536
#define SRN_MAX_CQE		1048576
#define SRN_MAX_SRQ		16384
#define SRN_MAX_SRQ_WR		32768
#define SRN_MAX_MR		1048576
#define SRN_MAX_MW		1048576
#define SRN_MAX_PD		65536
#define SRN_MAX_FAST_REG_PAGES	512
#define SRN_MAX_READ_DEPTH	128	/* IRD and ORD */
#define SRN_MAX_MESSAGE		0x80000000u
/* The topmost STag indices name the sinks of RDMA Reads, see verbs/qp.h. */
#define SRN_MAX_STAG_INDEX	0xfeffffU

/* Kinds of objects whose number query_device promises. */
enum srn_limit {
	SRN_LIMIT_QP,
	SRN_LIMIT_CQ,
	SRN_LIMIT_SRQ,
	SRN_LIMIT_MR,
	SRN_LIMIT_MW,
	SRN_LIMIT_PD,
	SRN_LIMITS
};

/**
 * struct srn_device - one link
 * @ibdev: what the RDMA core sees
 * @netdev: network device that it was added on; the RDMA core holds a reference
 * @net: network namespace that @netdev was in then; it waits for the link to be gone
 * @cm_wq: connection set-up, one endpoint after the other
 * @report_wq: consumers are told of connections, see cm/reporter.c
 * @id: number for messages
 * @qps: queue pairs by number
 * @mems: memory by STag index
 * @requests: connections that were reported and not yet decided on, by number
 * @qps_made: queue pairs so far
 * @qpn_step: from one's number to the next one's
 * @next_mem: where the search for the next number in @mems begins
 * @next_request: the same for @requests
 * @gid: GID 0
 * @count: live objects of each kind
 * @counters: what it has done
 * @lock: protects the lists below; a leaf
 * @endpoints: connections and listeners of the connection manager
 * @reporters: of the processes that have connections or listeners, by process
 * @lingering: sockets that are being closed, see stream/linger.h
 * @num_lingering: how many
 * @crc: ask for CRC32C on new connections
 * @markers: ask peers of new connections for MPA markers
 * @large_fpdus: do not cut to segments of TCP on new connections without CRC
 * @registering: the core replays the listeners that there are
 * @closing: the link is being deleted
 */
struct srn_device {
	struct ib_device ibdev;
	struct net_device *netdev;
	struct net *net;
	struct workqueue_struct *cm_wq;
	struct workqueue_struct *report_wq;
	u32 id;
	struct xarray qps;
	struct xarray mems;
	struct xarray requests;
	atomic_t qps_made;
	u32 qpn_step;
	u32 next_mem;
	u32 next_request;
	union ib_gid gid;
	atomic_t count[SRN_LIMITS];
	struct srn_counters __percpu *counters;

	spinlock_t lock;	/* of the lists below */
	struct list_head endpoints;
	DECLARE_HASHTABLE(reporters, 8);
	struct list_head lingering;
	u32 num_lingering;
	bool crc;
	bool markers;
	bool large_fpdus;
	bool registering;
	bool closing;
};

struct srn_ucontext {
	struct ib_ucontext ibuc;
};

struct srn_pd {
	struct ib_pd ibpd;
};

/* A mapping handed to user space; it owns the memory. */
struct srn_mmap {
	struct rdma_user_mmap_entry entry;
	void *memory;		/* __vmalloc() */
};

static inline struct srn_device *to_srn_dev(struct ib_device *ibdev)
{
	return container_of(ibdev, struct srn_device, ibdev);
}

bool srn_count_inc(struct srn_device *dev, enum srn_limit kind);

static inline void srn_count_dec(struct srn_device *dev, enum srn_limit kind)
{
	atomic_dec(&dev->count[kind]);
}

struct srn_device *srn_device_create(struct net_device *netdev);
int srn_device_register(struct srn_device *dev, const char *name);
void srn_device_update_gid(struct srn_device *dev);
void srn_device_free(struct srn_device *dev);

/* verbs/netns.c */
bool srn_net_enter(struct srn_device *dev);
void srn_net_leave(struct srn_device *dev);
int srn_net_init(void);
void srn_net_exit(void);

/* Memory shared with user space, or plain kernel memory where @udata is NULL. */
void *srn_ring_alloc(struct ib_udata *udata, size_t size, struct srn_mmap **map,
		     struct srn_mapping *resp);
void srn_ring_free(void *memory, struct srn_mmap *map);
int srn_copy_response(struct ib_udata *udata, void *resp, size_t size);

extern struct workqueue_struct *srn_wq;		/* teardown */
extern struct workqueue_struct *srn_accept_wq;	/* which teardown does not hold up */
extern struct workqueue_struct *srn_tx_wq;	/* transmission that must not run inline */

#define srn_notice(dev, fmt, ...)						\
	ibdev_notice_ratelimited(&(dev)->ibdev, fmt, ##__VA_ARGS__)

#endif /* SRN_VERBS_DEVICE_H */
