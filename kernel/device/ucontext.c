// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Verbs of user contexts: provider and module tell each other here what they know.
 */
#include <rdma/uverbs_ioctl.h>
#define UVERBS_MODULE_NAME softrnic
#include <rdma/uverbs_named_ioctl.h>

#include "abi.h"
#include "device.h"
#include "ucontext.h"

static void describe(struct ib_ucontext *ibuc, struct srn_uresp_alloc_ctx *resp)
{
	*resp = (struct srn_uresp_alloc_ctx){
		.dev_id = to_srn_dev(ibuc->device)->id,
		.max_inline = SRN_MAX_INLINE,
		.features = SRN_FEATURE_SQ_SILENT | SRN_FEATURE_QP_GONE,
		.revision = SRN_ABI_REVISION,
	};
}

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
	struct srn_uresp_alloc_ctx resp;
	int ret;

	spin_lock_init(&uc->qpns.lock);
	mutex_init(&uc->resize_mutex);
	/* No feature changes a rule yet, so it does not matter which of them the provider knows. */
	ret = srn_abi_request(dev, udata, &req, sizeof(req));
	if (ret)
		return ret;
	if (req.reserved)
		return srn_abi_refuse(dev);
	describe(ibuc, &resp);
	return srn_abi_respond(udata, &resp, sizeof(resp));
}

/**
 * srn_ucontext_query - answer a provider that was given a device which is open already
 * @ibuc: context
 * @attrs: of the call
 *
 * Context: process.
 *
 * Return: 0 or a negative errno.
 */
int srn_ucontext_query(struct ib_ucontext *ibuc, struct uverbs_attr_bundle *attrs)
{
	struct srn_uresp_alloc_ctx resp;

	describe(ibuc, &resp);
	return uverbs_copy_to_struct_or_zero(attrs, SRN_ATTR_QUERY_CONTEXT, &resp, sizeof(resp));
}

ADD_UVERBS_ATTRIBUTES_SIMPLE(srn_query_context, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_CONTEXT,
			     UVERBS_ATTR_PTR_OUT(SRN_ATTR_QUERY_CONTEXT,
						 UVERBS_ATTR_STRUCT(struct srn_uresp_alloc_ctx,
								    reserved),
						 UA_MANDATORY));

const struct uapi_definition srn_uapi_definitions[] = {
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_DEVICE, &srn_query_context),
	{},
};

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
