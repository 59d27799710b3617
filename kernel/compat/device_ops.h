/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Wrappers for device operations whose parameters differ between kernel versions. This header
 * belongs to the layer of verbs/ib_device.c, the only file that includes it.
 */
#ifndef SRN_COMPAT_DEVICE_OPS_H
#define SRN_COMPAT_DEVICE_OPS_H

#include <rdma/uverbs_ioctl.h>

#include "../memory/mr.h"
#include "../qp/cq.h"
#include "../verbs/resource.h"

/* Since 6.11 a command's attributes are passed instead of its udata; a kernel consumer has none. */
#ifdef SRN_HAVE_CREATE_CQ_ATTRS
static inline int srn_compat_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
				       struct uverbs_attr_bundle *attrs)
{
	return srn_cq_create(ibcq, attr, attrs ? &attrs->driver_udata : NULL);
}
#else
#define srn_compat_create_cq	srn_cq_create
#endif

/* Kernel 7.3 has resizing for processes only, under another name, and the number is unsigned. */
#ifdef SRN_HAVE_RESIZE_USER_CQ
#define SRN_COMPAT_RESIZE_CQ	.resize_user_cq = srn_cq_resize,
#else
static inline int srn_compat_resize_cq(struct ib_cq *ibcq, int cqe, struct ib_udata *udata)
{
	return cqe < 0 ? -EINVAL : srn_cq_resize(ibcq, cqe, udata);
}

#define SRN_COMPAT_RESIZE_CQ	.resize_cq = srn_compat_resize_cq,
#endif

/* Since 6.17 a registration may come with hints for DMA, but this device does no DMA. */
#ifdef SRN_HAVE_REG_MR_DMAH
static inline struct ib_mr *srn_compat_reg_user_mr(struct ib_pd *pd, u64 start, u64 length,
						   u64 iova, int access, struct ib_dmah *dmah,
						   struct ib_udata *udata)
{
	return dmah ? ERR_PTR(-EOPNOTSUPP) :
		      srn_mr_reg_user(pd, start, length, iova, access, udata);
}

static inline struct ib_mr *srn_compat_reg_dmabuf(struct ib_pd *pd, u64 offset, u64 length,
						  u64 iova, int fd, int access,
						  struct ib_dmah *dmah,
						  struct uverbs_attr_bundle *attrs)
{
	return dmah ? ERR_PTR(-EOPNOTSUPP) :
		      srn_mr_reg_dmabuf(pd, offset, length, iova, fd, access);
}
#else
#define srn_compat_reg_user_mr	srn_mr_reg_user

/* The last argument has nothing for drivers, and its type has changed in 6.12. */
#ifdef SRN_HAVE_REG_DMABUF_ATTRS
static inline struct ib_mr *srn_compat_reg_dmabuf(struct ib_pd *pd, u64 offset, u64 length,
						  u64 iova, int fd, int access,
						  struct uverbs_attr_bundle *attrs)
#else
static inline struct ib_mr *srn_compat_reg_dmabuf(struct ib_pd *pd, u64 offset, u64 length,
						  u64 iova, int fd, int access,
						  struct ib_udata *udata)
#endif
{
	return srn_mr_reg_dmabuf(pd, offset, length, iova, fd, access);
}
#endif

/*
 * Newer kernels tell of ports that come up and go down themselves, but not those of bonds. The
 * notifier of verbs/rdma_link.c tells of all of them, on all kernels. So the core has nothing to
 * do.
 */
#ifdef SRN_HAVE_REPORT_PORT_EVENT
static inline void srn_compat_report_port_event(struct ib_device *ibdev, struct net_device *netdev,
						unsigned long event)
{
}

#define SRN_COMPAT_PORT_EVENTS	.report_port_event = srn_compat_report_port_event,
#else
#define SRN_COMPAT_PORT_EVENTS
#endif

/* 6.12 lets drivers tell of shared receive queues, and 6.1 does not. */
#ifdef SRN_HAVE_FILL_RES_SRQ
#define SRN_COMPAT_FILL_RES_SRQ	.fill_res_srq_entry = srn_resource_srq,
#else
#define SRN_COMPAT_FILL_RES_SRQ
#endif

#endif /* SRN_COMPAT_DEVICE_OPS_H */
