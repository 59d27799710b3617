// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The table of GIDs. iWARP needs none, but programs that bring up queue pairs by hand name both
 * ends by them, and prefer one that has the form of an IPv4 address. So GID 0 is the primary IPv4
 * address, and the other addresses follow it. Up to Linux 6.3 rdma_cm finds the device by a GID
 * that is made from the hardware address (see compat/compat.c), at any index: that is the last one.
 * Later kernels want GID 0 to be there, so it is that one as well if the network device has no
 * address.
 */
#include <linux/inetdevice.h>
#include <net/addrconf.h>
#include <net/if_inet6.h>

#include "../uapi/softrnic-abi.h"
#include "gid.h"

#define ADDRESS_DELAY	(HZ / 10)

/* IPv4 address number *@index, which is counted down by those before it. Context: RCU. */
static bool ipv4_gid(const struct net_device *netdev, int *index, union ib_gid *gid)
{
	const struct in_device *in_dev = __in_dev_get_rcu(netdev);
	const struct in_ifaddr *ifa;

	if (!in_dev)
		return false;
	in_dev_for_each_ifa_rcu(ifa, in_dev) {
		if ((*index)--)
			continue;
		ipv6_addr_set_v4mapped(ifa->ifa_local, (struct in6_addr *)gid);
		return true;
	}
	return false;
}

/* The same for IPv6 addresses, but those that another host has. Context: RCU. */
static bool ipv6_gid(const struct net_device *netdev, int *index, union ib_gid *gid)
{
#if IS_ENABLED(CONFIG_IPV6)
	const struct inet6_dev *in6_dev = __in6_dev_get(netdev);
	const struct inet6_ifaddr *ifp;

	if (!in6_dev)
		return false;
	list_for_each_entry_rcu(ifp, &in6_dev->addr_list, if_list) {
		if (ifp->flags & IFA_F_DADFAILED || (*index)--)
			continue;
		memcpy(gid, &ifp->addr, sizeof(*gid));
		return true;
	}
#endif
	return false;
}

/**
 * srn_gid_query - one GID, for the core
 * @ibdev: device
 * @port: 1
 * @index: less than %SRN_GIDS
 * @gid: result; zero if there is none
 *
 * Context: process.
 *
 * Return: 0. One error would keep the core from asking for the rest of the table.
 */
int srn_gid_query(struct ib_device *ibdev, u32 port, int index, union ib_gid *gid)
{
	const struct srn_device *dev = to_srn_dev(ibdev);
	int left = index;
	bool found;

	memset(gid, 0, sizeof(*gid));
	if (index == SRN_GIDS - 1) {
		*gid = dev->gid;
		return 0;
	}
	rcu_read_lock();
	found = ipv4_gid(dev->netdev, &left, gid) || ipv6_gid(dev->netdev, &left, gid);
	rcu_read_unlock();
	if (!found && !index)
		*gid = dev->gid;
	return 0;
}

static bool table_changed(struct srn_device *dev)
{
	bool changed = false;
	union ib_gid gid;
	int i;

	for (i = 0; i < SRN_GIDS; i++) {
		srn_gid_query(&dev->ibdev, 1, i, &gid);
		changed |= memcmp(&gid, &dev->told_gids[i], sizeof(gid));
		dev->told_gids[i] = gid;
	}
	return changed;
}

/*
 * The core then reads the whole table again. For a moment each entry is missing, and rdma_cm does
 * not find the device, so it is not asked to without need.
 */
static void gid_work(struct work_struct *work)
{
	struct srn_device *dev = container_of(to_delayed_work(work), struct srn_device, gid_work);
	struct ib_event event = {
		.device = &dev->ibdev, .event = IB_EVENT_GID_CHANGE, .element.port_num = 1,
	};

	if (!ib_device_try_get(&dev->ibdev))
		return;
	if (table_changed(dev))
		ib_dispatch_event(&event);
	ib_device_put(&dev->ibdev);
}

/**
 * srn_gid_prepare - prepare the table of a new link
 * @dev: device; whoever ends it cancels @dev->gid_work
 */
void srn_gid_prepare(struct srn_device *dev)
{
	INIT_DELAYED_WORK(&dev->gid_work, gid_work);
}

/**
 * srn_gid_note - the core is about to read the table for the first time
 * @dev: device that is not registered yet
 *
 * Context: process.
 */
void srn_gid_note(struct srn_device *dev)
{
	table_changed(dev);
}

/**
 * srn_gid_check - see whether the table has changed
 * @dev: registered device, of which the caller has a reference
 * @delay: when, in jiffies
 *
 * Context: any.
 */
void srn_gid_check(struct srn_device *dev, unsigned long delay)
{
	mod_delayed_work(system_wq, &dev->gid_work, delay);
}

/* Addresses often come together, and one that goes may still be listed when this is called. */
static void address_changed(struct net_device *netdev)
{
	struct ib_device *ibdev = ib_device_get_by_netdev(netdev, SRN_DRIVER_ID);

	if (!ibdev)
		return;
	srn_gid_check(to_srn_dev(ibdev), ADDRESS_DELAY);
	ib_device_put(ibdev);
}

static int ipv4_changed(struct notifier_block *nb, unsigned long event, void *arg)
{
	const struct in_ifaddr *ifa = arg;

	address_changed(ifa->ifa_dev->dev);
	return NOTIFY_OK;
}

static struct notifier_block ipv4_notifier = { .notifier_call = ipv4_changed };

#if IS_ENABLED(CONFIG_IPV6)
static int ipv6_changed(struct notifier_block *nb, unsigned long event, void *arg)
{
	const struct inet6_ifaddr *ifp = arg;

	address_changed(ifp->idev->dev);
	return NOTIFY_OK;
}

static struct notifier_block ipv6_notifier = { .notifier_call = ipv6_changed };

static int ipv6_init(void)
{
	return register_inet6addr_notifier(&ipv6_notifier);
}

static void ipv6_exit(void)
{
	unregister_inet6addr_notifier(&ipv6_notifier);
}
#else
static int ipv6_init(void)
{
	return 0;
}

static void ipv6_exit(void)
{
}
#endif

/**
 * srn_gid_init - keep the tables of all links up to date
 *
 * Context: process, at load of the module.
 *
 * Return: 0 or a negative errno.
 */
int srn_gid_init(void)
{
	int ret;

	ret = register_inetaddr_notifier(&ipv4_notifier);
	if (ret)
		return ret;
	ret = ipv6_init();
	if (ret)
		unregister_inetaddr_notifier(&ipv4_notifier);
	return ret;
}

/**
 * srn_gid_exit - undo srn_gid_init()
 *
 * Context: process, at removal of the module; sleeps.
 */
void srn_gid_exit(void)
{
	ipv6_exit();
	unregister_inetaddr_notifier(&ipv4_notifier);
}
