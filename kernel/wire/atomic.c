// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Atomic operations: decode, encode, and the arithmetic.
 */
#include "atomic.h"

static_assert(sizeof(struct srn_wire_atomic_request) == 52);
static_assert(sizeof(struct srn_wire_atomic_response) == 12);
static_assert(sizeof(struct srn_wire_immediate) == 8);

/**
 * srn_atomic_get - decode the payload of an Atomic Request
 * @bytes: payload, of the size of struct srn_wire_atomic_request
 * @a: result
 *
 * RFC 7306 section 5.2.1.
 *
 * Context: any.
 */
void srn_atomic_get(const u8 *bytes, struct srn_atomic *a)
{
	struct srn_wire_atomic_request w;

	memcpy(&w, bytes, sizeof(w));
	*a = (struct srn_atomic){
		.code = be32_to_cpu(w.code) & SRN_ATOMIC_CODE_MASK,
		.id = be32_to_cpu(w.id),
		.stag = be32_to_cpu(w.stag),
		.to = be64_to_cpu(w.to),
		.data = be64_to_cpu(w.data),
		.mask = be64_to_cpu(w.mask),
		.compare = be64_to_cpu(w.compare),
		.compare_mask = be64_to_cpu(w.compare_mask),
	};
}

/**
 * srn_atomic_put - encode the payload of an Atomic Request
 * @w: where to
 * @a: request
 *
 * RFC 7306 section 5.2.1.
 *
 * Context: any.
 */
void srn_atomic_put(struct srn_wire_atomic_request *w, const struct srn_atomic *a)
{
	w->code = cpu_to_be32(a->code);
	w->id = cpu_to_be32(a->id);
	w->stag = cpu_to_be32(a->stag);
	w->to = cpu_to_be64(a->to);
	w->data = cpu_to_be64(a->data);
	w->mask = cpu_to_be64(a->mask);
	w->compare = cpu_to_be64(a->compare);
	w->compare_mask = cpu_to_be64(a->compare_mask);
}

/**
 * srn_atomic_known - is this an operation that can be executed?
 * @a: decoded request
 *
 * Context: any.
 *
 * Return: true if so.
 */
bool srn_atomic_known(const struct srn_atomic *a)
{
	return a->code == SRN_ATOMIC_FETCH_ADD || a->code == SRN_ATOMIC_CMP_SWAP;
}

/**
 * srn_atomic_result - compute the result of an atomic operation
 * @a: known request
 * @original: the value that it finds
 *
 * A bit that is set in an addition's mask is the top bit of a field, which carries nothing into the
 * next field. RFC 7306 sections 5.1.1 and 5.1.2.
 *
 * Context: any.
 *
 * Return: the value to store.
 */
u64 srn_atomic_result(const struct srn_atomic *a, u64 original)
{
	if (a->code == SRN_ATOMIC_FETCH_ADD)
		return ((original & ~a->mask) + (a->data & ~a->mask)) ^
		       ((original ^ a->data) & a->mask);
	if ((original ^ a->compare) & a->compare_mask)
		return original;
	return (original & ~a->mask) | (a->data & a->mask);
}
