// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The module: links come and go, and follow their network devices.
 */
#include <linux/if_arp.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <net/net_namespace.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_netlink.h>

#include "device/netns.h"
#include "device/work.h"
#include "qp/cm_handle.h"
#include "stream/batch.h"
#include "uapi/softrnic-abi.h"
#include "verbs/ib_device.h"

MODULE_AUTHOR("The softrnic authors");
MODULE_DESCRIPTION("softrnic: RDMA over any network card (iWARP)");
MODULE_LICENSE("Dual BSD/GPL");
MODULE_VERSION("0.1.0");
MODULE_ALIAS_RDMA_LINK("softrnic");
MODULE_SOFTDEP("post: rdma_ucm");

static struct srn_device *find_device(struct net_device *netdev)
{
	struct ib_device *ibdev = ib_device_get_by_netdev(netdev, SRN_DRIVER_ID);

	return ibdev ? to_srn_dev(ibdev) : NULL;
}

static bool carries_ip(const struct net_device *netdev)
{
	return netdev->type == ARPHRD_ETHER || netdev->type == ARPHRD_NONE;
}

/*
 * The notifier finds links that are registered. So a network device that left while its
 * link was being registered is looked for here.
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
	dev = find_device(netdev);
	if (dev) {
		ib_unregister_device_queued(&dev->ibdev);
		ib_device_put(&dev->ibdev);
	}
	return true;
}

/* rdma link add NAME type softrnic netdev DEV */
static int srn_newlink(const char *name, struct net_device *netdev)
{
	struct srn_device *dev;
	const struct net *net;
	int ret;

	/* To rdma_cm 127.0.0.1 is no address of a device but a wildcard. */
	if (netdev->flags & IFF_LOOPBACK) {
		pr_notice("softrnic: %s: rdma_cm resolves no loopback address; add the link on a dummy device instead, its own address is reached without a network\n",
			  netdev->name);
		return -EOPNOTSUPP;
	}
	if (!carries_ip(netdev)) {
		pr_notice("softrnic: %s: only Ethernet and tun devices can have a link\n",
			  netdev->name);
		return -EOPNOTSUPP;
	}
	dev = find_device(netdev);
	if (dev) {
		pr_notice("softrnic: %s: has the link %s already\n", netdev->name,
			  dev_name(&dev->ibdev.dev));
		ib_device_put(&dev->ibdev);
		return -EEXIST;
	}
	dev = srn_device_create(netdev);
	if (IS_ERR(dev))
		return PTR_ERR(dev);
	net = dev->net;
	ret = srn_device_register(dev, name);
	/* The core's word for a name that is taken says nothing to a user. */
	if (ret == -ENFILE)
		ret = -EEXIST;
	if (ret) {
		pr_notice("softrnic: %s: cannot add the link %s: error %d\n", netdev->name, name,
			  ret);
		srn_device_free(dev);
		return ret;
	}
	return remove_if_stranded(netdev, net) ? -ENODEV : 0;
}

static struct rdma_link_ops link_ops = {
	.type = "softrnic",
	.newlink = srn_newlink,
};

static void port_event(struct srn_device *dev, enum ib_event_type type)
{
	struct ib_event event = {
		.device = &dev->ibdev, .event = type, .element.port_num = 1,
	};

	ib_dispatch_event(&event);
}

static int netdev_event(struct notifier_block *nb, unsigned long event, void *arg)
{
	struct net_device *netdev = netdev_notifier_info_to_dev(arg);
	struct srn_device *dev = find_device(netdev);

	if (!dev)
		return NOTIFY_OK;
	switch (event) {
	case NETDEV_UP:
	case NETDEV_DOWN:
	case NETDEV_CHANGE:
		port_event(dev, netif_running(netdev) && netif_carrier_ok(netdev) ?
			   IB_EVENT_PORT_ACTIVE : IB_EVENT_PORT_ERR);
		break;
	case NETDEV_CHANGEADDR:
		srn_device_update_gid(dev);
		port_event(dev, IB_EVENT_GID_CHANGE);
		break;
	case NETDEV_CHANGENAME:
		strscpy(dev->ibdev.iw_ifname, netdev->name, sizeof(dev->ibdev.iw_ifname));
		break;
	case NETDEV_UNREGISTER:
		/* Also when it moves to another network namespace. */
		ib_unregister_device_queued(&dev->ibdev);
		break;
	}
	ib_device_put(&dev->ibdev);
	return NOTIFY_OK;
}

static struct notifier_block netdev_notifier = {
	.notifier_call = netdev_event,
};

static int __init srn_init(void)
{
	int ret;

	ret = srn_work_init();
	if (ret)
		return ret;
	ret = srn_netns_init();
	if (ret)
		goto err_work;
	ret = register_netdevice_notifier(&netdev_notifier);
	if (ret)
		goto err_netns;
	rdma_link_register(&link_ops);
	return 0;

err_netns:
	srn_netns_exit();
err_work:
	srn_work_exit();
	return ret;
}

static void __exit srn_exit(void)
{
	rdma_link_unregister(&link_ops);
	unregister_netdevice_notifier(&netdev_notifier);
	ib_unregister_driver((enum rdma_driver_id)SRN_DRIVER_ID);
	srn_netns_exit();
	srn_work_exit();
	srn_batch_exit();
	srn_cm_handle_exit();
}

module_init(srn_init);
module_exit(srn_exit);
