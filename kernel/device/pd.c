// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Verbs of protection domains.
 */
#include "abi.h"
#include "device.h"
#include "pd.h"

/**
 * srn_pd_alloc - allocate a protection domain
 * @ibpd: protection domain, allocated by the core
 * @udata: of the verb, or NULL for a kernel consumer
 *
 * Context: process.
 *
 * Return: 0; -ENOMEM at the limit; as srn_abi_request().
 */
int srn_pd_alloc(struct ib_pd *ibpd, struct ib_udata *udata)
{
	struct srn_device *dev = to_srn_dev(ibpd->device);
	int ret = srn_abi_request(dev, udata, NULL, 0);

	if (ret)
		return ret;
	return srn_limits_take(dev, SRN_LIMIT_PD) ? 0 : -ENOMEM;
}

/**
 * srn_pd_dealloc - deallocate a protection domain
 * @ibpd: protection domain that nothing points to any more
 * @udata: of the verb
 *
 * Context: process.
 *
 * Return: 0.
 */
int srn_pd_dealloc(struct ib_pd *ibpd, struct ib_udata *udata)
{
	srn_limits_give(to_srn_dev(ibpd->device), SRN_LIMIT_PD);
	return 0;
}
