/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Operations of the device whose parameters differ between kernels: each macro defines the
 * function that the core calls, in front of the one that does the work.
 */
#ifndef SRN_COMPAT_DEVICE_OPS_H
#define SRN_COMPAT_DEVICE_OPS_H

#include <rdma/ib_verbs.h>
#include <rdma/uverbs_ioctl.h>

/* Since 6.11 the attributes of a command come as they are; a kernel consumer has none. */
#ifdef SRN_HAVE_CREATE_CQ_ATTRS
#define SRN_COMPAT_CREATE_CQ(name, create_cq)						\
static int name(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,			\
		struct uverbs_attr_bundle *attrs)					\
{											\
	return create_cq(ibcq, attr, attrs ? &attrs->driver_udata : NULL);		\
}
#else
#define SRN_COMPAT_CREATE_CQ(name, create_cq)						\
static int name(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,			\
		struct ib_udata *udata)							\
{											\
	return create_cq(ibcq, attr, udata);						\
}
#endif

/* Since 6.17 a registration may come with hints for DMA, which there is none of here. */
#ifdef SRN_HAVE_REG_MR_DMAH
#define SRN_COMPAT_REG_USER_MR(name, reg_user_mr)					\
static struct ib_mr *name(struct ib_pd *pd, u64 start, u64 length, u64 iova, int access,	\
			  struct ib_dmah *dmah, struct ib_udata *udata)			\
{											\
	return dmah ? ERR_PTR(-EOPNOTSUPP) :						\
		      reg_user_mr(pd, start, length, iova, access, udata);		\
}
#else
#define SRN_COMPAT_REG_USER_MR(name, reg_user_mr)					\
static struct ib_mr *name(struct ib_pd *pd, u64 start, u64 length, u64 iova, int access,	\
			  struct ib_udata *udata)					\
{											\
	return reg_user_mr(pd, start, length, iova, access, udata);			\
}
#endif

#endif /* SRN_COMPAT_DEVICE_OPS_H */
