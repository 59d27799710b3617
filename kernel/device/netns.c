// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Network namespaces know the links in them, of which a network device has one, and wait for them.
 *
 * The sockets of a link hold no reference to their namespace; otherwise it could never be deleted.
 * A virtual network device is deleted with its namespace, and its link is deleted before it. A
 * physical one moves to the initial namespace instead, and a worker removes its link meanwhile, so
 * the namespace has to wait for that.
 */
#include <linux/rtnetlink.h>
#include <linux/wait_bit.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>

#include "device.h"
#include "netns.h"

static unsigned int net_links_id;

struct net_links {
	struct list_head links;		/* those whose sockets are in this namespace */
};

static DEFINE_SPINLOCK(links_lock);	/* protects the lists of all namespaces */

/* The core may hide a link for a while, so it is not asked. */
static int enter(struct srn_device *dev, struct net_links *sn)
{
	struct srn_device *other;
	int ret = 0;

	spin_lock(&links_lock);
	list_for_each_entry(other, &sn->links, net_entry)
		if (other->netdev == dev->netdev)
			ret = -EEXIST;
	if (!ret)
		list_add(&dev->net_entry, &sn->links);
	spin_unlock(&links_lock);
	return ret;
}

/**
 * srn_netns_enter - bind a new link to the namespace of its network device
 * @dev: link; sets its @net
 *
 * Context: process, RTNL not held.
 *
 * Return: 0; -ENODEV if the network device is going away; -EEXIST if it has a link there.
 */
int srn_netns_enter(struct srn_device *dev)
{
	int ret = -ENODEV;

	/* While RTNL is held, a registered device keeps its namespace from exiting. */
	rtnl_lock();
	if (dev->netdev->reg_state == NETREG_REGISTERED) {
		dev->net = dev_net(dev->netdev);
		ret = enter(dev, net_generic(dev->net, net_links_id));
	}
	rtnl_unlock();
	return ret;
}

/**
 * srn_netns_leave - the link has no sockets any more, and will have none
 * @dev: link after srn_netns_enter()
 *
 * Context: process.
 */
void srn_netns_leave(struct srn_device *dev)
{
	struct net_links *sn = net_generic(dev->net, net_links_id);
	bool last;

	dev->net = NULL;
	spin_lock(&links_lock);
	list_del(&dev->net_entry);
	last = list_empty(&sn->links);
	spin_unlock(&links_lock);
	/* Waking uses only the address: the namespace may be gone by then. */
	if (last)
		wake_up_var(&sn->links);
}

static int __net_init init_net_links(struct net *net)
{
	struct net_links *sn = net_generic(net, net_links_id);

	INIT_LIST_HEAD(&sn->links);
	return 0;
}

/*
 * srn_netns_leave() holds the lock while it uses the list. So it does not miss a waiter who has
 * found a link here, and the namespace does not go while it still looks at the list.
 */
static bool has_no_links(const struct net_links *sn)
{
	bool none;

	spin_lock(&links_lock);
	none = list_empty(&sn->links);
	spin_unlock(&links_lock);
	return none;
}

static void __net_exit exit_net(struct net *net)
{
	struct net_links *sn = net_generic(net, net_links_id);

	wait_var_event(&sn->links, has_no_links(sn));
}

/*
 * Subsystems leave a namespace after all of its network devices have left, and the last one that
 * was registered leaves first: this one before TCP.
 */
static struct pernet_operations net_ops = {
	.init = init_net_links,
	.exit = exit_net,
	.id = &net_links_id,
	.size = sizeof(struct net_links),
};

/**
 * srn_netns_init - ask to be told when a namespace exits
 *
 * Context: process, at load of the module.
 *
 * Return: 0 or a negative errno.
 */
int srn_netns_init(void)
{
	return register_pernet_subsys(&net_ops);
}

/**
 * srn_netns_exit - undo srn_netns_init()
 *
 * Context: process, at removal of the module, when there are no links.
 */
void srn_netns_exit(void)
{
	unregister_pernet_subsys(&net_ops);
}
