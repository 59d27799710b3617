/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * What a link has room for, as query_device reports it.
 */
#ifndef SRN_LIMITS_H
#define SRN_LIMITS_H

#include <linux/types.h>

struct srn_device;

#define SRN_MAX_QP		65536
#define SRN_MAX_QPN		0xffffff
#define SRN_MAX_QP_WR		16384
#define SRN_MAX_CQ		65536
#define SRN_MAX_CQE		1048576
#define SRN_MAX_SRQ		16384
#define SRN_MAX_SRQ_WR		32768
#define SRN_MAX_MR		1048576
#define SRN_MAX_MW		1048576
#define SRN_MAX_PD		65536
#define SRN_MAX_REQUESTS	131072	/* of which programs were told, accepted ones included */
#define SRN_MAX_FAST_REG_PAGES	512
#define SRN_MAX_READ_DEPTH	128	/* IRD and ORD */
#define SRN_MAX_MESSAGE		0x80000000u

/* Kinds of objects of which a link has no more than so many; query_device reports most of them. */
enum srn_limit {
	SRN_LIMIT_QP,
	SRN_LIMIT_CQ,
	SRN_LIMIT_SRQ,
	SRN_LIMIT_MR,
	SRN_LIMIT_MW,
	SRN_LIMIT_PD,
	SRN_LIMIT_REQUEST,
	SRN_LIMITS
};

bool srn_limits_take(struct srn_device *dev, enum srn_limit kind);
void srn_limits_give(struct srn_device *dev, enum srn_limit kind);

#endif /* SRN_LIMITS_H */
