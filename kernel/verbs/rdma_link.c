// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Links come and go, and follow their network devices.
 */
#include <linux/if_arp.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <net/net_namespace.h>
#include <rdma/ib_verbs.h>
#include <rdma/iw_portmap.h>
#include <rdma/rdma_netlink.h>

#include "../compat/compat.h"
#include "../uapi/softrnic-abi.h"
#include "gid.h"
#include "ib_device.h"
#include "port.h"
#include "rdma_link.h"

static bool carries_ip(const struct net_device *netdev)
{
	return netdev->type == ARPHRD_ETHER || netdev->type == ARPHRD_NONE ||
	       netdev->type == ARPHRD_LOOPBACK;
}

/*
 * The notifier finds only links that are registered. So this checks for a network device that left
 * while its link was being registered.
 */
static bool remove_if_stranded(struct net_device *netdev, const struct net *net)
{
	struct srn_device *dev;
	bool stranded;

	rtnl_lock();
	stranded = netdev->reg_state != NETREG_REGISTERED || !net_eq(dev_net(netdev), net);
	rtnl_unlock();
	if (!stranded)
		return false;
	dev = srn_device_find(netdev);
	if (!dev)
		return true;
	/* By now it may be one that was added in the other network namespace. */
	if (net_eq(dev->net, net))
		ib_unregister_device_queued(&dev->ibdev);
	ib_device_put(&dev->ibdev);
	return true;
}

/* The link may have been deleted again by now, or be hidden. */
static void complete_link(struct net_device *netdev)
{
	struct srn_device *dev = srn_device_find(netdev);

	if (!dev)
		return;
	WRITE_ONCE(dev->registering, NULL);
	/* The previous link of the network device may have taken its tag away while it ended. */
	rtnl_lock();
	srn_ib_device_update_gid(dev);
	rtnl_unlock();
	/* An address may have come before anybody could be told. */
	srn_gid_check(dev, 0);
	ib_device_put(&dev->ibdev);
}

/* Sets @net to the link's network namespace: the link may be deleted before this returns. */
static int add_link(const char *name, struct net_device *netdev, const struct net **net)
{
	struct srn_device *dev = srn_device_find(netdev);
	int ret;

	if (dev) {
		pr_notice("softrnic: %s: has the link %s already\n", netdev->name,
			  dev_name(&dev->ibdev.dev));
		ib_device_put(&dev->ibdev);
		return -EEXIST;
	}
	dev = srn_ib_device_create(netdev);
	if (dev == ERR_PTR(-EEXIST))
		pr_notice("softrnic: %s: has a link that comes or goes just now\n", netdev->name);
	if (IS_ERR(dev))
		return PTR_ERR(dev);
	*net = dev->net;
	srn_compat_name_is_users(&dev->ibdev);
	ret = srn_ib_device_register(dev, name);
	if (!ret)
		return 0;
	/* The core's error for a name that is taken means nothing to a user. */
	if (ret == -ENFILE)
		ret = -EEXIST;
	pr_notice("softrnic: %s: cannot add the link %s: error %d\n", netdev->name, name, ret);
	srn_ib_device_free(dev);
	return ret;
}

/* rdma link add NAME type softrnic netdev DEV */
static int new_link(const char *name, struct net_device *netdev)
{
	/* Two at a time could both find that a network device has no link. */
	static DEFINE_MUTEX(mutex);
	const struct net *net;
	int ret;

	if (!carries_ip(netdev)) {
		pr_notice("softrnic: %s: only Ethernet, tun and loopback devices can have a link\n",
			  netdev->name);
		return -EOPNOTSUPP;
	}
	/* The core's port mapper has no room for more, so that rdma_cm could not use the link. */
	if (strlen(name) >= IWPM_DEVNAME_SIZE) {
		pr_notice("softrnic: %s: the link's name has more than %d characters\n",
			  netdev->name, IWPM_DEVNAME_SIZE - 1);
		return -ENAMETOOLONG;
	}
	mutex_lock(&mutex);
	ret = add_link(name, netdev, &net);
	if (!ret)
		complete_link(netdev);
	mutex_unlock(&mutex);
	if (ret)
		return ret;
	return remove_if_stranded(netdev, net) ? -ENODEV : 0;
}

static struct rdma_link_ops link_ops = {
	.type = "softrnic",
	.newlink = new_link,
};

static void port_event(struct srn_device *dev, enum ib_event_type type)
{
	struct ib_event event = {
		.device = &dev->ibdev, .event = type, .element.port_num = 1,
	};

	ib_dispatch_event(&event);
}

/*
 * One change of a network device may come as several events, and an event may be about something
 * else. Context: RTNL held.
 */
static void port_may_have_changed(struct srn_device *dev)
{
	enum ib_port_state state = srn_port_state(dev);

	ASSERT_RTNL();
	if (state == dev->told_state)
		return;
	dev->told_state = state;
	port_event(dev, state == IB_PORT_ACTIVE ? IB_EVENT_PORT_ACTIVE : IB_EVENT_PORT_ERR);
}

static int netdev_event(struct notifier_block *nb, unsigned long event, void *arg)
{
	struct net_device *netdev = netdev_notifier_info_to_dev(arg);
	struct srn_device *dev = srn_device_find(netdev);

	if (!dev)
		return NOTIFY_OK;
	switch (event) {
	case NETDEV_UP:
	case NETDEV_DOWN:
	case NETDEV_CHANGE:
		port_may_have_changed(dev);
		/* With a carrier an address may be there that was tentative. */
		srn_gid_check_later(dev);
		break;
	case NETDEV_CHANGEADDR:
		srn_ib_device_update_gid(dev);
		srn_gid_check(dev, 0);
		break;
	case NETDEV_CHANGENAME:
		strscpy(dev->ibdev.iw_ifname, netdev->name, sizeof(dev->ibdev.iw_ifname));
		break;
	case NETDEV_REGISTER:
		/* A link that was changing its own namespace was not found at NETDEV_UNREGISTER. */
		if (!net_eq(dev->net, dev_net(netdev)))
			ib_unregister_device_queued(&dev->ibdev);
		break;
	case NETDEV_UNREGISTER:
		/* This also comes when the device moves to another network namespace. */
		ib_unregister_device_queued(&dev->ibdev);
		break;
	}
	ib_device_put(&dev->ibdev);
	return NOTIFY_OK;
}

static struct notifier_block netdev_notifier = {
	.notifier_call = netdev_event,
};

/**
 * srn_rdma_link_init - let links be added
 *
 * Context: process, at load of the module.
 *
 * Return: 0 or a negative errno.
 */
int srn_rdma_link_init(void)
{
	int ret;

	ret = register_netdevice_notifier(&netdev_notifier);
	if (ret)
		return ret;
	ret = srn_gid_init();
	if (ret) {
		unregister_netdevice_notifier(&netdev_notifier);
		return ret;
	}
	rdma_link_register(&link_ops);
	return 0;
}

/**
 * srn_rdma_link_exit - delete all links, and let none be added
 *
 * Context: process, at removal of the module; sleeps.
 */
void srn_rdma_link_exit(void)
{
	rdma_link_unregister(&link_ops);
	srn_gid_exit();
	unregister_netdevice_notifier(&netdev_notifier);
	ib_unregister_driver((enum rdma_driver_id)SRN_DRIVER_ID);
}
