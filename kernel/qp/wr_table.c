// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Send work requests: one row for each opcode.
 */
#include <linux/errno.h>
#include <linux/kernel.h>

#include "../wire/rdmap.h"
#include "wr_table.h"

const struct srn_wr_info srn_wr_table[SRN_WR_OPCODES] = {
	[SRN_WR_SEND] = {
		.name = "Send", .kind = SRN_WR_KIND_SEND, .completes_as = IB_WC_SEND,
		.opcode = SRN_OP_SEND, .solicited = SRN_OP_SEND_SE,
		.user = true, .payload = true, .can_inline = true, .messages = 1,
	},
	[SRN_WR_SEND_WITH_INV] = {
		.name = "Send with Invalidate", .kind = SRN_WR_KIND_SEND,
		.completes_as = IB_WC_SEND,
		.opcode = SRN_OP_SEND_INV, .solicited = SRN_OP_SEND_SE_INV,
		.ex = SRN_WR_EX_INVALIDATE,
		.user = true, .payload = true, .can_inline = true, .messages = 1,
	},
	[SRN_WR_SEND_WITH_IMM] = {
		.name = "Send with Immediate", .kind = SRN_WR_KIND_SEND,
		.completes_as = IB_WC_SEND,
		.opcode = SRN_OP_SEND_IMM, .solicited = SRN_OP_SEND_SE_IMM,
		.ex = SRN_WR_EX_IMMEDIATE,
		.user = true, .payload = true, .can_inline = true, .messages = 1,
	},
	[SRN_WR_WRITE] = {
		.name = "Write", .kind = SRN_WR_KIND_WRITE, .completes_as = IB_WC_RDMA_WRITE,
		.opcode = SRN_OP_WRITE,
		.user = true, .payload = true, .can_inline = true, .messages = 1,
	},
	[SRN_WR_WRITE_WITH_IMM] = {
		.name = "Write with Immediate", .kind = SRN_WR_KIND_WRITE,
		.completes_as = IB_WC_RDMA_WRITE,
		.opcode = SRN_OP_WRITE,
		.ex = SRN_WR_EX_IMMEDIATE,
		.user = true, .payload = true, .can_inline = true, .messages = 2,
	},
	[SRN_WR_READ] = {
		.name = "Read", .kind = SRN_WR_KIND_READ, .completes_as = IB_WC_RDMA_READ,
		.opcode = SRN_OP_READ_REQUEST,
		.user = true, .payload = true, .access = IB_ACCESS_LOCAL_WRITE,
	},
	[SRN_WR_READ_WITH_INV] = {
		.name = "Read with Invalidate", .kind = SRN_WR_KIND_READ,
		.completes_as = IB_WC_RDMA_READ,
		.opcode = SRN_OP_READ_REQUEST,
		.ex = SRN_WR_EX_SINK,
		.payload = true, .access = IB_ACCESS_LOCAL_WRITE,
	},
	[SRN_WR_FETCH_ADD] = {
		.name = "Fetch and Add", .kind = SRN_WR_KIND_ATOMIC,
		.completes_as = IB_WC_FETCH_ADD,
		.opcode = SRN_OP_ATOMIC_REQUEST,
		.user = true, .payload = true, .access = IB_ACCESS_LOCAL_WRITE,
	},
	[SRN_WR_CMP_SWAP] = {
		.name = "Compare and Swap", .kind = SRN_WR_KIND_ATOMIC,
		.completes_as = IB_WC_COMP_SWAP,
		.opcode = SRN_OP_ATOMIC_REQUEST,
		.user = true, .payload = true, .access = IB_ACCESS_LOCAL_WRITE,
	},
	[SRN_WR_LOCAL_INV] = {
		.name = "Local Invalidate", .kind = SRN_WR_KIND_LOCAL,
		.completes_as = IB_WC_LOCAL_INV, .ex = SRN_WR_EX_INVALIDATE,
		.user = true,
	},
	[SRN_WR_REG_MR] = {
		.name = "Register", .kind = SRN_WR_KIND_LOCAL, .completes_as = IB_WC_REG_MR,
	},
	[SRN_WR_BIND_MW] = {
		.name = "Bind", .kind = SRN_WR_KIND_LOCAL, .completes_as = IB_UVERBS_WC_BIND_MW,
		.user = true,
	},
};

/* Rows by the opcode of kernel consumers. Each is stored plus one, as zero means no row. */
static const u8 by_kernel[] = {
	[IB_WR_SEND] = SRN_WR_SEND + 1,
	[IB_WR_SEND_WITH_INV] = SRN_WR_SEND_WITH_INV + 1,
	[IB_WR_SEND_WITH_IMM] = SRN_WR_SEND_WITH_IMM + 1,
	[IB_WR_RDMA_WRITE] = SRN_WR_WRITE + 1,
	[IB_WR_RDMA_WRITE_WITH_IMM] = SRN_WR_WRITE_WITH_IMM + 1,
	[IB_WR_RDMA_READ] = SRN_WR_READ + 1,
	[IB_WR_RDMA_READ_WITH_INV] = SRN_WR_READ_WITH_INV + 1,
	[IB_WR_ATOMIC_FETCH_AND_ADD] = SRN_WR_FETCH_ADD + 1,
	[IB_WR_ATOMIC_CMP_AND_SWP] = SRN_WR_CMP_SWAP + 1,
	[IB_WR_LOCAL_INV] = SRN_WR_LOCAL_INV + 1,
	[IB_WR_REG_MR] = SRN_WR_REG_MR + 1,
};

/**
 * srn_wr_table_find - find the row of a kernel consumer's work request
 * @opcode: opcode that the kernel consumer uses
 *
 * Context: any.
 *
 * Return: enum srn_wr_opcode, or -EINVAL if there is none.
 */
int srn_wr_table_find(enum ib_wr_opcode opcode)
{
	if (opcode >= ARRAY_SIZE(by_kernel) || !by_kernel[opcode])
		return -EINVAL;
	return by_kernel[opcode] - 1;
}
