/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * What differs between kernel versions, but for the operations of a device: see device_ops.h.
 */
#ifndef SRN_COMPAT_H
#define SRN_COMPAT_H

#include <linux/hrtimer.h>
#include <linux/mm.h>
#include <linux/net.h>
#include <linux/netdevice.h>
#include <linux/timer.h>
#include <linux/workqueue.h>
#include <net/sock.h>
/* Since 6.9 what belongs to RPS has a header of its own. */
#ifdef SRN_HAVE_NET_RPS_H
#include <net/rps.h>
#endif
#include <rdma/ib_umem.h>
#include <rdma/ib_verbs.h>
/* Block iterators have moved to another header, even within stable kernels. */
#ifdef SRN_HAVE_RDMA_ITER_H
#include <rdma/iter.h>
#endif

/* Since 6.17 a workqueue has to say that its work stays on the CPU that queued it. */
#ifdef SRN_HAVE_WQ_PERCPU
#define SRN_WQ_PERCPU	WQ_PERCPU
#else
#define SRN_WQ_PERCPU	0
#endif

/* The functions got these names in 6.2, and in stable kernels before that. */
#ifndef SRN_HAVE_TIMER_DELETE
#define timer_delete		del_timer
#define timer_delete_sync	del_timer_sync
#endif

/* Since 6.19 the addresses that are passed to a socket have a type of their own. */
#ifdef SRN_HAVE_SOCKADDR_UNSIZED
#define srn_sockaddr(a)	((struct sockaddr_unsized *)(a))
#else
#define srn_sockaddr(a)	((struct sockaddr *)(a))
#endif

/* Since 7.2 the function's name says that the memory is a process's. */
#ifdef SRN_HAVE_IB_UMEM_GET_VA
#define srn_umem_get	ib_umem_get_va
#else
#define srn_umem_get	ib_umem_get
#endif

/* Since 6.2 the functions that take the lock of a DMA-BUF themselves have names that say so. */
#ifndef SRN_HAVE_DMA_BUF_UNLOCKED
#define dma_buf_vmap_unlocked	dma_buf_vmap
#define dma_buf_vunmap_unlocked	dma_buf_vunmap
#endif

/*
 * Up to 6.1 TCP copied through a fragment of the task that sends if the socket's allocations might
 * wait for write-back. Since 6.2 a flag of the socket decides. Later 6.1 kernels want both.
 */
static inline void srn_compat_sock_use_task_frag(struct sock *sk, bool use)
{
#ifdef SRN_HAVE_SK_USE_TASK_FRAG
	sk->sk_use_task_frag = use;
#endif
}

/* Since 6.11 a device says whose its name is, and udev renames none that a user has named. */
static inline void srn_compat_name_is_users(struct ib_device *ibdev)
{
#ifdef SRN_HAVE_NAME_ASSIGNED_BY_USER
	ib_mark_name_assigned_by_user(ibdev);
#endif
}

bool srn_compat_sock_hold_net(struct sock *sk);
int srn_compat_send_page(struct sock *sk, struct page *page, size_t offset, size_t size, int flags);
void srn_compat_set_gid_tag(struct net_device *netdev, union ib_gid *gid);
void srn_compat_clear_gid_tag(struct net_device *netdev);
void srn_compat_never_exec(struct vm_area_struct *vma);
void srn_compat_timer_setup(struct hrtimer *timer,
			    enum hrtimer_restart (*function)(struct hrtimer *timer));

#endif /* SRN_COMPAT_H */
