/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Atomic operations and immediate data (RFC 7306): layout, and what an atomic makes of
 * a value. Pure functions on bytes.
 */
#ifndef SRN_WIRE_ATOMIC_H
#define SRN_WIRE_ATOMIC_H

#include "platform.h"

/* Atomic operation codes, RFC 7306 section 10.1. */
enum srn_atomic_opcode {
	SRN_ATOMIC_FETCH_ADD	= 0,
	SRN_ATOMIC_CMP_SWAP	= 2,
};

#define SRN_ATOMIC_CODE_MASK	0xfu
/* Size and alignment, in bytes, of what an atomic works on. */
#define SRN_ATOMIC_SIZE		8

/* Payload of an Atomic Request, RFC 7306 section 5.2.1. */
struct srn_wire_atomic_request {
	__be32 code;
	__be32 id;
	__be32 stag;
	__be64 to;
	__be64 data;
	__be64 mask;
	__be64 compare;
	__be64 compare_mask;
} __packed;

/* Payload of an Atomic Response, RFC 7306 section 5.2.2. */
struct srn_wire_atomic_response {
	__be32 id;
	__be64 original;
} __packed;

/* Payload of Immediate Data, RFC 7306 section 6.2; verbs use only the first half of it. */
struct srn_wire_immediate {
	__be32 data;
	__be32 reserved;
} __packed;

/* A decoded Atomic Request, in host order. */
struct srn_atomic {
	u8 code;		/* enum srn_atomic_opcode, if it is one */
	u32 id;
	u32 stag;
	u64 to;
	u64 data;
	u64 mask;
	u64 compare;
	u64 compare_mask;
};

void srn_atomic_get(const u8 *bytes, struct srn_atomic *a);
void srn_atomic_put(struct srn_wire_atomic_request *w, const struct srn_atomic *a);
bool srn_atomic_known(const struct srn_atomic *a);
u64 srn_atomic_result(const struct srn_atomic *a, u64 original);

#endif /* SRN_WIRE_ATOMIC_H */
