// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * How many objects of each kind a link has.
 */
#include "device.h"
#include "limits.h"

static const u32 limits[SRN_LIMITS] = {
	[SRN_LIMIT_QP] = SRN_MAX_QP,
	[SRN_LIMIT_CQ] = SRN_MAX_CQ,
	[SRN_LIMIT_SRQ] = SRN_MAX_SRQ,
	[SRN_LIMIT_MR] = SRN_MAX_MR,
	[SRN_LIMIT_MW] = SRN_MAX_MW,
	[SRN_LIMIT_PD] = SRN_MAX_PD,
	[SRN_LIMIT_REQUEST] = SRN_MAX_REQUESTS,
};

/**
 * srn_limits_take - account a new object
 * @dev: device
 * @kind: kind of object
 *
 * Context: any.
 *
 * Return: false if the device already has as many as it may.
 */
bool srn_limits_take(struct srn_device *dev, enum srn_limit kind)
{
	return atomic_add_unless(&dev->count[kind], 1, limits[kind]);
}

/**
 * srn_limits_give - an object is gone
 * @dev: device
 * @kind: kind of object
 *
 * Context: any.
 */
void srn_limits_give(struct srn_device *dev, enum srn_limit kind)
{
	atomic_dec(&dev->count[kind]);
}
