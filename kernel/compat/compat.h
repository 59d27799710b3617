/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Everything that differs between kernel versions. No other file asks for the version.
 */
#ifndef SRN_COMPAT_H
#define SRN_COMPAT_H

#include <linux/hrtimer.h>
#include <linux/mm.h>
#include <linux/net.h>
#include <linux/netdevice.h>
#include <rdma/ib_umem.h>
#include <rdma/ib_verbs.h>
/* Block iterators have moved between headers, in stable kernels, too. */
#ifdef SRN_HAVE_RDMA_ITER_H
#include <rdma/iter.h>
#endif

void srn_sock_setup(struct socket *sock);
void srn_sock_share_fragment(struct socket *sock, bool share);
int srn_sock_send_softirq(struct sock *sk, struct msghdr *msg, struct page_frag *frag);
void srn_compat_set_gid_tag(struct net_device *netdev, union ib_gid *gid);
void srn_compat_clear_gid_tag(struct net_device *netdev);
void srn_compat_never_exec(struct vm_area_struct *vma);
void srn_compat_timer_setup(struct hrtimer *timer,
			    enum hrtimer_restart (*function)(struct hrtimer *timer));

#endif /* SRN_COMPAT_H */
