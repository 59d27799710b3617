// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Verbs of user contexts: provider and module tell each other here what they know.
 */
#include "abi.h"
#include "device.h"
#include "ucontext.h"

/**
 * srn_ucontext_alloc - answer a provider that opens a device
 * @ibuc: context, allocated by the core
 * @udata: of the verb
 *
 * Context: process.
 *
 * Return: 0, or as srn_abi_request() and srn_abi_respond().
 */
int srn_ucontext_alloc(struct ib_ucontext *ibuc, struct ib_udata *udata)
{
	struct srn_ucontext *uc = container_of(ibuc, struct srn_ucontext, ibuc);
	struct srn_device *dev = to_srn_dev(ibuc->device);
	struct srn_ureq_alloc_ctx req = {};
	struct srn_uresp_alloc_ctx resp = {
		.dev_id = dev->id,
		.max_inline = SRN_MAX_INLINE,
		.features = SRN_FEATURE_SQ_SILENT | SRN_FEATURE_QP_GONE,
		.revision = SRN_ABI_REVISION,
	};
	int ret;

	spin_lock_init(&uc->qpns.lock);
	mutex_init(&uc->resize_mutex);
	/* No feature changes a rule yet, so it does not matter which of them the provider knows. */
	ret = srn_abi_request(dev, udata, &req, sizeof(req));
	if (ret)
		return ret;
	return req.reserved ? srn_abi_refuse(dev) : srn_abi_respond(udata, &resp, sizeof(resp));
}

/**
 * srn_ucontext_dealloc - a process closes a device
 * @ibuc: context, whose objects have been destroyed by now
 *
 * Context: process.
 */
void srn_ucontext_dealloc(struct ib_ucontext *ibuc)
{
}

/**
 * srn_ucontext_disassociate - take the device away from a process that has it open
 * @ibuc: context
 *
 * Mapped rings are ordinary memory that lives for as long as it is mapped, and the queue pairs
 * behind them have been failed by now: no mapping has to be revoked.
 *
 * Context: process.
 */
void srn_ucontext_disassociate(struct ib_ucontext *ibuc)
{
}
