/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Requests from the provider, and responses to it: uapi/softrnic-abi.h has their structures.
 */
#ifndef SRN_ABI_H
#define SRN_ABI_H

#include <rdma/ib_verbs.h>

#include "../uapi/softrnic-abi.h"

struct srn_device;

int srn_abi_refuse(struct srn_device *dev);
int srn_abi_request(struct srn_device *dev, struct ib_udata *udata, void *req, size_t size);
int srn_abi_respond(struct ib_udata *udata, void *resp, size_t size);

#endif /* SRN_ABI_H */
