// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Everything that differs between kernel versions.
 */
#include <linux/etherdevice.h>
#include <linux/rtnetlink.h>
#include <linux/tcp.h>
#include <linux/version.h>
#include <net/net_namespace.h>
#include <net/tcp.h>

#include "compat.h"

/**
 * srn_compat_sock_setup - options that every socket of ours has
 * @sock: TCP socket
 *
 * Context: process.
 */
void srn_compat_sock_setup(struct socket *sock)
{
	/* Consumers write back memory through our sockets, which must never wait for that. */
	sock->sk->sk_allocation = GFP_NOIO;
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 2, 0)
	sock->sk->sk_use_task_frag = false;
#endif
	tcp_sock_set_nodelay(sock->sk);
}

/**
 * srn_compat_sock_share_fragment - choose the page fragment that TCP copies through
 * @sock: connected TCP socket
 * @share: use that of the task that sends, as any program's socket does; else the socket's own
 *
 * A socket's own fragment has 32 KiB, which an idle connection keeps. A caller that sends with a
 * shared fragment is never in the middle of another socket's sendmsg. It must not wait for memory
 * to be written back all the same, and has to see to that itself: up to 6.1 a socket that shares
 * has to allow it.
 *
 * Context: process, sleeps for the socket lock.
 */
void srn_compat_sock_share_fragment(struct socket *sock, bool share)
{
	struct sock *sk = sock->sk;

	lock_sock(sk);
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 2, 0)
	sk->sk_use_task_frag = share;
#else
	sk->sk_allocation = share ? GFP_KERNEL : GFP_NOIO;
#endif
	if (share && sk->sk_frag.page) {
		put_page(sk->sk_frag.page);
		sk->sk_frag.page = NULL;
	}
	release_sock(sk);
}

/**
 * srn_compat_sock_send_softirq - sendmsg with memory that a softirq may take
 * @sk: TCP socket
 * @msg: what to send, without waiting
 * @frag: page fragment to copy through, if the socket has none of its own
 *
 * The fragment of the interrupted task is not used: that task may be using it right now.
 *
 * Context: softirq, the socket locked and not owned.
 *
 * Return: bytes sent, or a negative errno.
 */
int srn_compat_sock_send_softirq(struct sock *sk, struct msghdr *msg, struct page_frag *frag)
{
	gfp_t allocation = sk->sk_allocation;
	bool shares;
	int ret;

	sk->sk_allocation = GFP_ATOMIC | __GFP_NOWARN;
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 2, 0)
	shares = sk->sk_use_task_frag;
	sk->sk_use_task_frag = false;
#else
	shares = allocation == GFP_KERNEL;
#endif
	if (shares)
		swap(sk->sk_frag, *frag);
	ret = tcp_sendmsg_locked(sk, msg, msg_data_left(msg));
	if (shares)
		swap(sk->sk_frag, *frag);
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 2, 0)
	sk->sk_use_task_frag = shares;
#endif
	sk->sk_allocation = allocation;
	return ret;
}

/**
 * srn_compat_sock_hold_net - make a socket of the kernel hold its namespace, as a program's does
 * @sk: TCP socket
 *
 * A socket of the kernel does not keep its network namespace alive. For that reason TCP stops its
 * timers when it is closed, so that a socket with unacknowledged data would stay for ever.
 *
 * Context: process, the socket is locked by the caller.
 *
 * Return: false if the namespace is going away.
 */
bool srn_compat_sock_hold_net(struct sock *sk)
{
	struct net *net = maybe_get_net(sock_net(sk));

	if (!net)
		return false;
#ifdef SRN_HAVE_SK_NET_REFCNT_UPGRADE
	sk_net_refcnt_upgrade(sk);
	put_net(net);
#else
#ifdef SRN_HAVE_NETNS_TRACKER_OF_KERNEL_SOCKETS
	__netns_tracker_free(net, &sk->ns_tracker, false);
#endif
	sk->sk_net_refcnt = 1;
	netns_tracker_alloc(net, &sk->ns_tracker, GFP_KERNEL);
	sock_inuse_add(net, 1);
#endif
	return true;
}

#define TAG_OFFSET	ETH_ALEN
#define TAG_LEN		(sizeof(union ib_gid) - TAG_OFFSET)

/**
 * srn_compat_set_gid_tag - set a GID by which the connection manager finds this device
 * @netdev: network device
 * @gid: its GID
 *
 * Up to 6.3 rdma_cm identifies an iWARP device by the first 16 bytes of the network
 * device's address storage, of which Ethernet uses 6: a VLAN or bridge cannot be told
 * from the port below it, and a tun device, whose address is all zero, is not found at all.
 * The bytes behind the address, which nothing else reads, get a tag that is unique to the device.
 * Later kernels identify it by the network device itself.
 *
 * Context: process, RTNL held.
 */
void srn_compat_set_gid_tag(struct net_device *netdev, union ib_gid *gid)
{
	__be32 words[2] = {
		cpu_to_be32(dev_net(netdev)->ns.inum), cpu_to_be32(netdev->ifindex),
	};
	u8 tag[TAG_LEN] = { 's', 'r' };

	ASSERT_RTNL();
	memcpy(tag + 2, words, sizeof(words));
	memset(gid, 0, sizeof(*gid));
	memcpy(gid->raw, netdev->dev_addr, min_t(u32, netdev->addr_len, ETH_ALEN));
	memcpy(gid->raw + TAG_OFFSET, tag, TAG_LEN);
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 4, 0)
	dev_addr_mod(netdev, TAG_OFFSET, tag, TAG_LEN);
#endif
}

/**
 * srn_compat_clear_gid_tag - undo srn_compat_set_gid_tag()
 * @netdev: network device
 *
 * Context: process, RTNL held.
 */
void srn_compat_clear_gid_tag(struct net_device *netdev)
{
	ASSERT_RTNL();
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 4, 0)
	static const u8 none[TAG_LEN];

	if (netdev->reg_state == NETREG_REGISTERED)
		dev_addr_mod(netdev, TAG_OFFSET, none, TAG_LEN);
#endif
}

/**
 * srn_compat_never_exec - forbid that a mapping is made executable later
 * @vma: mapping that is being made
 *
 * Context: process, mmap lock held for writing.
 */
void srn_compat_never_exec(struct vm_area_struct *vma)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
	vma->vm_flags &= ~VM_MAYEXEC;
#else
	vm_flags_clear(vma, VM_MAYEXEC);
#endif
}

/**
 * srn_compat_timer_setup - prepare a timer that takes relative times and runs in softirq
 * @timer: timer
 * @function: what it calls
 */
void srn_compat_timer_setup(struct hrtimer *timer,
			    enum hrtimer_restart (*function)(struct hrtimer *timer))
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
	hrtimer_init(timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_SOFT);
	timer->function = function;
#else
	hrtimer_setup(timer, function, CLOCK_MONOTONIC, HRTIMER_MODE_REL_SOFT);
#endif
}
