// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Requests of the provider, and answers to it.
 */
#include <linux/minmax.h>

#include "abi.h"

/**
 * srn_abi_respond - answer a verb
 * @udata: of the verb
 * @resp: response
 * @size: its size; an older user gets the part that it knows
 *
 * Context: process.
 */
int srn_abi_respond(struct ib_udata *udata, void *resp, size_t size)
{
	return ib_copy_to_udata(udata, resp, min(size, udata->outlen));
}
