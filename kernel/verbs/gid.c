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

#include "../uapi/softrnic-abi.h"
#include "gid.h"

#define ADDRESS_DELAY	(HZ / 10)

/* The last place for an address. */
#define LAST_PLACE	(SRN_GIDS - 2)
/* The last GID is the one by which rdma_cm finds the link. */
#define HARDWARE_PLACE	(SRN_GIDS - 1)

/* The addresses of a network device, as GIDs. */
struct addresses {
	union ib_gid gid[SRN_GIDS];
	int num;
	bool tentative;		/* there is one more, if no other host has it */
};

/* Addresses for which there is no place are left out. */
static bool has_room(const struct addresses *a)
{
	return a->num <= LAST_PLACE;
}

static void add_ipv4(const struct net_device *netdev, struct addresses *a)
{
	const struct in_device *in_dev = __in_dev_get_rcu(netdev);
	const struct in_ifaddr *ifa;

	if (!in_dev)
		return;
	in_dev_for_each_ifa_rcu(ifa, in_dev)
		if (has_room(a))
			ipv6_addr_set_v4mapped(ifa->ifa_local,
					       (struct in6_addr *)&a->gid[a->num++]);
}

static void add_ipv6(const struct net_device *netdev, struct addresses *a)
{
#if IS_ENABLED(CONFIG_IPV6)
	const struct inet6_dev *in6_dev = __in6_dev_get(netdev);
	const struct inet6_ifaddr *ifp;

	if (!in6_dev)
		return;
	list_for_each_entry_rcu(ifp, &in6_dev->addr_list, if_list) {
		if (ifp->flags & IFA_F_DADFAILED)
			continue;
		if (ifp->flags & IFA_F_TENTATIVE && !(ifp->flags & IFA_F_OPTIMISTIC))
			a->tentative = true;
		else if (has_room(a))
			memcpy(&a->gid[a->num++], &ifp->addr, sizeof(a->gid[0]));
	}
#endif
}

static bool same(const union ib_gid *a, const union ib_gid *b)
{
	return !memcmp(a, b, sizeof(*a));
}

static bool is_among(const union ib_gid *gid, const union ib_gid *list, int num)
{
	while (num--)
		if (same(gid, &list[num]))
			return true;
	return false;
}

/* Return: true if that is a change. */
static bool set(union ib_gid *place, const union ib_gid *gid)
{
	if (same(place, gid))
		return false;
	*place = *gid;
	return true;
}

/* Put an address in the first place that is free, unless it has one. Return: true on a change. */
static bool find_place(union ib_gid *gids, const union ib_gid *address)
{
	int i;

	if (is_among(address, gids, LAST_PLACE + 1))
		return false;
	for (i = 1; i <= LAST_PLACE; i++)
		if (same(&gids[i], &zgid))
			return set(&gids[i], address);
	return false;
}

/* Each address keeps its place, since programs remember the index. Return: true on a change. */
static bool fill(union ib_gid *gids, const union ib_gid *hardware, const struct addresses *a)
{
	bool changed;
	int i;

	changed = set(&gids[HARDWARE_PLACE], hardware);
	changed |= set(&gids[0], a->num ? &a->gid[0] : hardware);
	for (i = 1; i <= LAST_PLACE; i++)
		if (same(&gids[i], &gids[0]) || !is_among(&gids[i], a->gid, a->num))
			changed |= set(&gids[i], &zgid);
	for (i = 1; i < a->num; i++)
		changed |= find_place(gids, &a->gid[i]);
	return changed;
}

/* Return: true on a change. @tentative: an address may have to be added soon. */
static bool update(struct srn_device *dev, bool *tentative)
{
	struct addresses a = { };
	bool changed;

	rcu_read_lock();
	add_ipv4(dev->netdev, &a);
	add_ipv6(dev->netdev, &a);
	rcu_read_unlock();
	*tentative = a.tentative;
	spin_lock_bh(&dev->lock);
	changed = fill(dev->gids, &dev->gid, &a);
	spin_unlock_bh(&dev->lock);
	return changed;
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

	bool tentative;

	if (!ib_device_try_get(&dev->ibdev))
		return;
	if (update(dev, &tentative))
		ib_dispatch_event(&event);
	/* Nobody tells when it is known that no other host has an address. */
	if (tentative)
		srn_gid_check(dev, HZ);
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
	bool tentative;

	update(dev, &tentative);
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
