// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Requests from the provider, and responses to it.
 */
#include <linux/minmax.h>
#include <rdma/uverbs_ioctl.h>

#include "abi.h"
#include "device.h"

/**
 * srn_abi_refuse - a provider asks for something that this module does not know
 * @dev: link
 *
 * Context: process.
 *
 * Return: -EOPNOTSUPP.
 */
int srn_abi_refuse(struct srn_device *dev)
{
	srn_notice(dev, "a provider has asked for a feature that this module does not have\n");
	return -EOPNOTSUPP;
}

/**
 * srn_abi_request - take the provider's part of a verb's request
 * @dev: link
 * @udata: of the verb, or NULL for a kernel consumer
 * @req: request, all of it zero; NULL if @size is 0
 * @size: its size; what an older user does not send stays zero
 *
 * A newer user may send more than this module knows. If the unknown part asks for something, the
 * request is refused: otherwise the user would rely on something that does not happen.
 *
 * Context: process.
 *
 * Return: 0, -EFAULT or -EOPNOTSUPP.
 */
int srn_abi_request(struct srn_device *dev, struct ib_udata *udata, void *req, size_t size)
{
	if (!udata || !udata->inlen)
		return 0;
	if (udata->inlen > size && !ib_is_udata_cleared(udata, size, udata->inlen - size))
		return srn_abi_refuse(dev);
	return size ? ib_copy_from_udata(req, udata, min(size, udata->inlen)) : 0;
}

/**
 * srn_abi_respond - answer a verb
 * @udata: of the verb
 * @resp: response
 * @size: its size; an older user gets the part that it knows
 *
 * Context: process.
 *
 * Return: 0 or -EFAULT.
 */
int srn_abi_respond(struct ib_udata *udata, void *resp, size_t size)
{
	return ib_copy_to_udata(udata, resp, min(size, udata->outlen));
}
