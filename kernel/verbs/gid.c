// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The table of GIDs. iWARP needs none, but programs that bring up queue pairs by hand name both
 * ends by them, and prefer one that has the form of an IPv4 address. So GID 0 is the primary IPv4
 * address, and each of the others has a place behind it, which it keeps. Up to Linux 6.3 rdma_cm
 * finds the device by a GID that is made from the hardware address (see compat/compat.c), at any
 * index: that is the last one. Later kernels want GID 0 to be there, so it is that one as well if
 * the network device has no address.
 */
#include <linux/inetdevice.h>
#include <net/addrconf.h>
#include <net/if_inet6.h>
#include <rdma/ib_cache.h>

#include "../device/workqueues.h"
#include "gid.h"

#define ADDRESS_DELAY	(HZ / 10)
#define MAX_DELAY	HZ

/* The last place for an address. */
#define LAST_PLACE	(SRN_GIDS - 2)
/* The last GID is the one by which rdma_cm finds the link. */
#define HARDWARE_PLACE	(SRN_GIDS - 1)

/* Called for each address of a network device, the primary one first. Return: true to end. */
typedef bool (*take_address)(union ib_gid *gids, const union ib_gid *address);

static bool same(const union ib_gid *a, const union ib_gid *b)
{
	return !memcmp(a, b, sizeof(*a));
}

/* Context: RCU. Return: true if @take did. */
static bool each_ipv4(const struct net_device *netdev, take_address take, union ib_gid *gids)
{
	const struct in_device *in_dev = __in_dev_get_rcu(netdev);
	const struct in_ifaddr *ifa;
	union ib_gid address;

	if (!in_dev)
		return false;
	in_dev_for_each_ifa_rcu(ifa, in_dev) {
		ipv6_addr_set_v4mapped(ifa->ifa_local, (struct in6_addr *)&address);
		if (take(gids, &address))
			return true;
	}
	return false;
}

#if IS_ENABLED(CONFIG_IPV6)
/* Is it not known yet whether another host has the address? */
static bool is_in_doubt(const struct inet6_ifaddr *ifp)
{
	return ifp->flags & IFA_F_TENTATIVE && !(ifp->flags & (IFA_F_OPTIMISTIC | IFA_F_DADFAILED));
}
#endif

/* Addresses that another host has, or may have, are left out. */
static bool each_ipv6(const struct net_device *netdev, take_address take, union ib_gid *gids)
{
#if IS_ENABLED(CONFIG_IPV6)
	const struct inet6_dev *in6_dev = __in6_dev_get(netdev);
	const struct inet6_ifaddr *ifp;
	union ib_gid address;

	if (!in6_dev)
		return false;
	list_for_each_entry_rcu(ifp, &in6_dev->addr_list, if_list) {
		if (ifp->flags & IFA_F_DADFAILED || is_in_doubt(ifp))
			continue;
		memcpy(&address, &ifp->addr, sizeof(address));
		if (take(gids, &address))
			return true;
	}
#endif
	return false;
}

static bool each_address(const struct net_device *netdev, take_address take, union ib_gid *gids)
{
	return each_ipv4(netdev, take, gids) || each_ipv6(netdev, take, gids);
}

/* Is there an address that is in doubt? That will be known soon. Context: RCU. */
static bool has_doubts(const struct net_device *netdev)
{
#if IS_ENABLED(CONFIG_IPV6)
	const struct inet6_dev *in6_dev = __in6_dev_get(netdev);
	const struct inet6_ifaddr *ifp;

	if (!in6_dev)
		return false;
	list_for_each_entry_rcu(ifp, &in6_dev->addr_list, if_list)
		if (is_in_doubt(ifp))
			return true;
#endif
	return false;
}

/* Put an address in the first place that is free, unless it has one. */
static bool find_place(union ib_gid *gids, const union ib_gid *address)
{
	int i, free = 0;

	for (i = 0; i <= LAST_PLACE; i++) {
		if (same(&gids[i], address))
			return false;
		if (!free && rdma_is_zero_gid(&gids[i]))
			free = i;
	}
	if (free)
		gids[free] = *address;
	return false;
}

static bool is_that(union ib_gid *gid, const union ib_gid *address)
{
	return same(gid, address);
}

static bool take_it(union ib_gid *gid, const union ib_gid *address)
{
	*gid = *address;
	return true;
}

/* Each address keeps its place, since programs remember the index. Context: RCU. */
static void fill(union ib_gid *gids, const struct net_device *netdev)
{
	int i;

	if (!each_ipv4(netdev, take_it, &gids[0]) && !each_ipv6(netdev, is_that, &gids[0]) &&
	    !each_ipv6(netdev, take_it, &gids[0]))
		gids[0] = gids[HARDWARE_PLACE];
	for (i = 1; i <= LAST_PLACE; i++)
		if (same(&gids[i], &gids[0]) || !each_address(netdev, is_that, &gids[i]))
			gids[i] = zgid;
	each_address(netdev, find_place, gids);
}

/* Return: true on a change. Context: one at a time. */
static bool update(struct srn_device *dev)
{
	union ib_gid gids[SRN_GIDS];
	bool changed;

	spin_lock_bh(&dev->lock);
	memcpy(gids, dev->gids, sizeof(gids));
	gids[HARDWARE_PLACE] = dev->gid;
	spin_unlock_bh(&dev->lock);
	rcu_read_lock();
	fill(gids, dev->netdev);
	rcu_read_unlock();
	spin_lock_bh(&dev->lock);
	changed = memcmp(dev->gids, gids, sizeof(gids));
	memcpy(dev->gids, gids, sizeof(gids));
	spin_unlock_bh(&dev->lock);
	return changed;
}

static bool waits_for_address(const struct net_device *netdev)
{
	bool tentative;

	rcu_read_lock();
	/* Without a carrier nobody can be asked. */
	tentative = netif_carrier_ok(netdev) && has_doubts(netdev);
	rcu_read_unlock();
	return tentative;
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
	struct srn_device *dev = to_srn_dev(ibdev);

	spin_lock_bh(&dev->lock);
	*gid = dev->gids[index];
	spin_unlock_bh(&dev->lock);
	return 0;
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
	unsigned long since;

	if (!ib_device_try_get(&dev->ibdev))
		return;
	since = xchg(&dev->gid_changes_since, 0);
	/* It did not wait for the last of these changes. */
	if (since && time_after_eq(jiffies, since + MAX_DELAY))
		srn_gid_check(dev, ADDRESS_DELAY);
	if (update(dev))
		ib_dispatch_event(&event);
	/* Nobody tells when it is known that no other host has an address. */
	if (waits_for_address(dev->netdev))
		srn_gid_check_later(dev);
	ib_device_put(&dev->ibdev);
}

/**
 * srn_gid_prepare - prepare the table of a new link
 * @dev: device; whoever ends it cancels @dev->gid_work
 *
 * Context: process.
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
	update(dev);
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
	mod_delayed_work(srn_wq, &dev->gid_work, delay);
}

/**
 * srn_gid_check_later - see within a second whether the table has changed
 * @dev: registered device, of which the caller has a reference
 *
 * Context: any.
 */
void srn_gid_check_later(struct srn_device *dev)
{
	queue_delayed_work(srn_wq, &dev->gid_work, HZ);
}

/*
 * Addresses often come together, and one that goes may still be listed when this is called. But the
 * table does not wait for ever for addresses that change all the time.
 */
static void address_changed(struct net_device *netdev)
{
	struct srn_device *dev = srn_device_find(netdev);
	unsigned long since;

	if (!dev)
		return;
	since = READ_ONCE(dev->gid_changes_since);
	if (!since) {
		since = jiffies ?: 1;
		WRITE_ONCE(dev->gid_changes_since, since);
	}
	if (time_before(jiffies, since + MAX_DELAY))
		srn_gid_check(dev, ADDRESS_DELAY);
	else
		queue_delayed_work(srn_wq, &dev->gid_work, ADDRESS_DELAY);
	ib_device_put(&dev->ibdev);
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
