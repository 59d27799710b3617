// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Network namespaces wait for the links in them.
 *
 * The sockets of a link hold no reference on their namespace, else it could never
 * be deleted. A virtual network device goes with its namespace, and takes its link
 * along first. A physical one moves to the initial namespace instead, and its link
 * is removed by a worker meanwhile: so the namespace has to wait for that.
 */
#include <linux/rtnetlink.h>
#include <linux/wait_bit.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>

#include "device.h"

static unsigned int srn_net_id;

/* @links: links whose sockets are in this namespace */
struct srn_net {
	atomic_t links;
};

/**
 * srn_net_enter - bind a new link to the namespace of its network device
 * @dev: link; sets its @net
 *
 * Context: process, RTNL not held.
 *
 * Return: false if the network device is going away.
 */
bool srn_net_enter(struct srn_device *dev)
{
	struct srn_net *sn;
	bool there;

	/* A device that is there under RTNL keeps its namespace from its exit. */
	rtnl_lock();
	there = dev->netdev->reg_state == NETREG_REGISTERED;
	if (there) {
		dev->net = dev_net(dev->netdev);
		sn = net_generic(dev->net, srn_net_id);
		atomic_inc(&sn->links);
	}
	rtnl_unlock();
	return there;
}

/**
 * srn_net_leave - the link has no sockets any more, and will have none
 * @dev: link after srn_net_enter()
 *
 * Context: process.
 */
void srn_net_leave(struct srn_device *dev)
{
	struct srn_net *sn = net_generic(dev->net, srn_net_id);

	dev->net = NULL;
	/* Waking takes the address only: the namespace may be gone by then. */
	if (atomic_dec_and_test(&sn->links))
		wake_up_var(&sn->links);
}

static void __net_exit srn_net_exit_net(struct net *net)
{
	struct srn_net *sn = net_generic(net, srn_net_id);

	wait_var_event(&sn->links, !atomic_read(&sn->links));
}

/*
 * Subsystems leave a namespace after all of its network devices have, and the
 * latest registered leave first: this one before TCP.
 */
static struct pernet_operations srn_net_ops = {
	.exit = srn_net_exit_net,
	.id = &srn_net_id,
	.size = sizeof(struct srn_net),
};

/**
 * srn_net_init - begin to know namespaces
 *
 * Context: process, at load of the module.
 */
int srn_net_init(void)
{
	return register_pernet_subsys(&srn_net_ops);
}

/**
 * srn_net_exit - undo srn_net_init()
 *
 * Context: process, at removal of the module, when there are no links.
 */
void srn_net_exit(void)
{
	unregister_pernet_subsys(&srn_net_ops);
}
