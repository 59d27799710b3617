/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Send work requests: what there is to know about each opcode.
 */
#ifndef SRN_WR_TABLE_H
#define SRN_WR_TABLE_H

#include <linux/types.h>
#include <rdma/ib_verbs.h>

#include "../uapi/softrnic-abi.h"

/* How a work request is executed. */
enum srn_wr_kind {
	SRN_WR_KIND_SEND,
	SRN_WR_KIND_WRITE,
	SRN_WR_KIND_READ,
	SRN_WR_KIND_ATOMIC,
	SRN_WR_KIND_LOCAL,	/* needs no bytes on the wire */
};

/* Meaning of srn_send_wqe.ex. */
enum srn_wr_ex {
	SRN_WR_EX_NONE,		/* none of these */
	SRN_WR_EX_INVALIDATE,	/* the STag to invalidate */
	SRN_WR_EX_IMMEDIATE,	/* immediate data, big endian */
	SRN_WR_EX_SINK,		/* the STag of the sink, which is invalidated afterwards */
};

/**
 * struct srn_wr_info - one opcode of send work requests
 * @name: name for people to read
 * @kind: how the work request is executed, enum srn_wr_kind
 * @completes_as: enum ib_wc_opcode of its completion
 * @opcode: enum srn_rdmap_opcode of its message, or of the first one of two
 * @solicited: enum srn_rdmap_opcode of a Send with SRN_WR_SOLICITED
 * @ex: meaning of its extra word, enum srn_wr_ex
 * @user: a process may post it; a kernel consumer may post whatever srn_wr_table_find() finds
 * @payload: it has scatter/gather entries
 * @can_inline: its payload may be in the work request
 * @messages: Sends, Writes and Immediate Data that it consists of, if none of them is empty
 * @access: IB_ACCESS_* that its entries need
 */
struct srn_wr_info {
	const char *name;
	u8 kind;
	u8 completes_as;
	u8 opcode;
	u8 solicited;
	u8 ex;
	bool user;
	bool payload;
	bool can_inline;
	u8 messages;
	u32 access;
};

extern const struct srn_wr_info srn_wr_table[SRN_WR_OPCODES];

int srn_wr_table_find(enum ib_wr_opcode opcode);

#endif /* SRN_WR_TABLE_H */
