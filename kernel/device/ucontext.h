/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Contexts of processes: one for each time that a process has opened a device.
 */
#ifndef SRN_UCONTEXT_H
#define SRN_UCONTEXT_H

#include <linux/mutex.h>
#include <rdma/ib_verbs.h>

#include "device.h"

struct srn_ucontext {
	struct ib_ucontext ibuc;
	struct srn_qpns qpns;
	struct mutex resize_mutex;	/* a queue has one new ring at a time */
};

struct uapi_definition;

/* What the driver adds to the methods of the core. */
extern const struct uapi_definition srn_uapi_definitions[];

int srn_ucontext_alloc(struct ib_ucontext *ibuc, struct ib_udata *udata);
int srn_ucontext_query(struct ib_ucontext *ibuc, struct uverbs_attr_bundle *attrs);
void srn_ucontext_dealloc(struct ib_ucontext *ibuc);
void srn_ucontext_disassociate(struct ib_ucontext *ibuc);

#endif /* SRN_UCONTEXT_H */
