/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Tracepoints of streams. One that is not enabled costs a jump that is not taken.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM softrnic

#if !defined(SRN_STREAM_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define SRN_STREAM_TRACE_H

#include <linux/tracepoint.h>
#include <net/inet_sock.h>

#include "stream.h"

#define SRN_OP_NAMES								\
	{ SRN_OP_WRITE, "Write" }, { SRN_OP_READ_REQUEST, "Read Request" },	\
	{ SRN_OP_READ_RESPONSE, "Read Response" }, { SRN_OP_SEND, "Send" },	\
	{ SRN_OP_SEND_INV, "Send with Invalidate" },				\
	{ SRN_OP_SEND_SE, "Send solicited" },					\
	{ SRN_OP_SEND_SE_INV, "Send solicited with Invalidate" },		\
	{ SRN_OP_TERMINATE, "Terminate" }, { SRN_OP_IMM, "Immediate" },		\
	{ SRN_OP_IMM_SE, "Immediate solicited" },				\
	{ SRN_OP_ATOMIC_REQUEST, "Atomic Request" },				\
	{ SRN_OP_ATOMIC_RESPONSE, "Atomic Response" },				\
	{ SRN_OP_SEND_IMM, "Send with Immediate" },				\
	{ SRN_OP_SEND_SE_IMM, "Send solicited with Immediate" }

/*
 * The stream knows its TCP ports, not its queue pair. A tagged segment has no MSN; the STag of an
 * untagged one is what it invalidates, or its immediate data. The offset is that of the segment.
 */
DECLARE_EVENT_CLASS(srn_fpdu,
	TP_PROTO(const struct srn_stream *s, u8 opcode, u32 stag, u32 msn, u64 offset, u32 payload,
		 bool last),
	TP_ARGS(s, opcode, stag, msn, offset, payload, last),
	TP_STRUCT__entry(
		__field(u64, offset)
		__field(u32, stag)
		__field(u32, msn)
		__field(u32, payload)
		__field(u16, local)
		__field(u16, remote)
		__field(u8, opcode)
		__field(bool, last)
	),
	TP_fast_assign(
		__entry->offset = offset;
		__entry->stag = stag;
		__entry->msn = msn;
		__entry->payload = payload;
		__entry->local = inet_sk(s->sock->sk)->inet_num;
		__entry->remote = ntohs(inet_sk(s->sock->sk)->inet_dport);
		__entry->opcode = opcode;
		__entry->last = last;
	),
	TP_printk("ports %u, %u: %s, STag 0x%08x, MSN %u, offset %llu, %u bytes%s",
		  __entry->local, __entry->remote,
		  __print_symbolic(__entry->opcode, SRN_OP_NAMES), __entry->stag, __entry->msn,
		  __entry->offset, __entry->payload, __entry->last ? ", last" : "")
);

DEFINE_EVENT(srn_fpdu, srn_fpdu_built,
	TP_PROTO(const struct srn_stream *s, u8 opcode, u32 stag, u32 msn, u64 offset, u32 payload,
		 bool last),
	TP_ARGS(s, opcode, stag, msn, offset, payload, last)
);

DEFINE_EVENT(srn_fpdu, srn_fpdu_received,
	TP_PROTO(const struct srn_stream *s, u8 opcode, u32 stag, u32 msn, u64 offset, u32 payload,
		 bool last),
	TP_ARGS(s, opcode, stag, msn, offset, payload, last)
);

#endif /* SRN_STREAM_TRACE_H */

/* Must be outside of the guard: this is read several times. */
#undef TRACE_INCLUDE_PATH
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_PATH .
#define TRACE_INCLUDE_FILE stream_trace
#include <trace/define_trace.h>
