// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * What differs between kernel versions, as functions.
 */
#include <linux/bvec.h>
#include <linux/if_ether.h>
#include <linux/rtnetlink.h>
#include <linux/version.h>
#include <net/net_namespace.h>
#include <net/tcp.h>

#include "compat.h"

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
	/* Since 6.14, and in stable kernels before that, there is a function for it. */
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

/**
 * srn_compat_send_page - send bytes without copying them
 * @sk: TCP socket
 * @page: first of the pages that the bytes lie in, which are one allocation
 * @offset: where they begin, perhaps in a later page
 * @size: how many
 * @flags: MSG_*
 *
 * TCP takes a reference to the pages. Nobody may write to these bytes any more.
 *
 * Context: any, the socket is locked.
 *
 * Return: bytes sent, or a negative errno.
 */
int srn_compat_send_page(struct sock *sk, struct page *page, size_t offset, size_t size, int flags)
{
	/* Up to 6.4 pages have a function of their own. */
#ifdef SRN_HAVE_TCP_SENDPAGE
	return tcp_sendpage_locked(sk, page, offset, size,
				   flags | MSG_NOSIGNAL | MSG_NO_SHARED_FRAGS);
#else
	/* TCP knows the flag since 6.5. Older stable kernels define it, and TCP ignores it. */
	struct msghdr msg = {
		.msg_flags = flags | MSG_NOSIGNAL | MSG_SPLICE_PAGES | MSG_NO_SHARED_FRAGS,
	};
	struct bio_vec bytes;

	bvec_set_page(&bytes, page, size, offset);
	iov_iter_bvec(&msg.msg_iter, ITER_SOURCE, &bytes, 1, size);
	return tcp_sendmsg_locked(sk, &msg, size);
#endif
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
	static const u8 none[TAG_LEN];

	ASSERT_RTNL();
	if (LINUX_VERSION_CODE < KERNEL_VERSION(6, 4, 0) && netdev->reg_state == NETREG_REGISTERED)
		dev_addr_mod(netdev, TAG_OFFSET, none, TAG_LEN);
}

/**
 * srn_compat_never_exec - forbid that a mapping is made executable later
 * @vma: mapping that is being made
 *
 * Context: process, mmap lock held for writing.
 */
void srn_compat_never_exec(struct vm_area_struct *vma)
{
	/* Since 6.3 flags are changed by functions only. */
#ifdef SRN_HAVE_VM_FLAGS_CLEAR
	vm_flags_clear(vma, VM_MAYEXEC);
#else
	vma->vm_flags &= ~VM_MAYEXEC;
#endif
}

/**
 * srn_compat_timer_setup - prepare a timer that takes relative times and runs in softirq
 * @timer: timer
 * @function: what it calls
 *
 * Context: any.
 */
void srn_compat_timer_setup(struct hrtimer *timer,
			    enum hrtimer_restart (*function)(struct hrtimer *timer))
{
	/* Since 6.13 one function does both. */
#ifdef SRN_HAVE_HRTIMER_SETUP
	hrtimer_setup(timer, function, CLOCK_MONOTONIC, HRTIMER_MODE_REL_SOFT);
#else
	hrtimer_init(timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_SOFT);
	timer->function = function;
#endif
}
