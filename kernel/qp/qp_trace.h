/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Tracepoints of queue pairs. One that is not enabled costs a jump that is not taken.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM softrnic

#if !defined(SRN_QP_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define SRN_QP_TRACE_H

#include <linux/tracepoint.h>
#include <rdma/ib_verbs.h>

#include "qp.h"

#define SRN_QP_STATES								\
	{ IB_QPS_RESET, "RESET" }, { IB_QPS_INIT, "INIT" }, { IB_QPS_RTR, "RTR" },	\
	{ IB_QPS_RTS, "RTS" }, { IB_QPS_SQD, "SQD" }, { IB_QPS_SQE, "SQE" },		\
	{ IB_QPS_ERR, "ERR" }

TRACE_EVENT(srn_qp_state,
	TP_PROTO(const struct srn_qp *qp, enum ib_qp_state to),
	TP_ARGS(qp, to),
	TP_STRUCT__entry(
		__array(char, dev, IB_DEVICE_NAME_MAX)
		__field(u32, qpn)
		__field(int, from)
		__field(int, to)
	),
	TP_fast_assign(
		strscpy(__entry->dev, dev_name(&qp->dev->ibdev.dev), IB_DEVICE_NAME_MAX);
		__entry->qpn = qp->ibqp.qp_num;
		__entry->from = qp->state;
		__entry->to = to;
	),
	TP_printk("%s QP%u: %s to %s", __entry->dev, __entry->qpn,
		  __print_symbolic(__entry->from, SRN_QP_STATES),
		  __print_symbolic(__entry->to, SRN_QP_STATES))
);

/* RFC 5040 section 4.8 defines the numbers. */
DECLARE_EVENT_CLASS(srn_terminate,
	TP_PROTO(const struct srn_qp *qp, const struct srn_term_code *code),
	TP_ARGS(qp, code),
	TP_STRUCT__entry(
		__array(char, dev, IB_DEVICE_NAME_MAX)
		__field(u32, qpn)
		__field(u8, layer)
		__field(u8, etype)
		__field(u8, ecode)
	),
	TP_fast_assign(
		strscpy(__entry->dev, dev_name(&qp->dev->ibdev.dev), IB_DEVICE_NAME_MAX);
		__entry->qpn = qp->ibqp.qp_num;
		__entry->layer = code->layer;
		__entry->etype = code->etype;
		__entry->ecode = code->ecode;
	),
	TP_printk("%s QP%u: layer %u, type %u, code 0x%02x", __entry->dev, __entry->qpn,
		  __entry->layer, __entry->etype, __entry->ecode)
);

DEFINE_EVENT(srn_terminate, srn_terminate_sent,
	TP_PROTO(const struct srn_qp *qp, const struct srn_term_code *code),
	TP_ARGS(qp, code)
);

DEFINE_EVENT(srn_terminate, srn_terminate_received,
	TP_PROTO(const struct srn_qp *qp, const struct srn_term_code *code),
	TP_ARGS(qp, code)
);

/* A send work request is transmitted or, if it needs no bytes, has been executed. */
TRACE_EVENT(srn_send_begin,
	TP_PROTO(const struct srn_qp *qp, const struct srn_send *send),
	TP_ARGS(qp, send),
	TP_STRUCT__entry(
		__array(char, dev, IB_DEVICE_NAME_MAX)
		__field(u32, qpn)
		__field(u64, wr_id)
		__array(char, what, 32)
		__field(u32, length)
	),
	TP_fast_assign(
		strscpy(__entry->dev, dev_name(&qp->dev->ibdev.dev), IB_DEVICE_NAME_MAX);
		__entry->qpn = qp->ibqp.qp_num;
		__entry->wr_id = send->wqe.wr_id;
		strscpy(__entry->what, srn_wr_info(send)->name, 32);
		__entry->length = send->length;
	),
	TP_printk("%s QP%u: %s of %u bytes, wr_id %llu", __entry->dev, __entry->qpn,
		  __entry->what, __entry->length, __entry->wr_id)
);

/* A work request of either queue completes, also where the consumer wants no CQE. */
DECLARE_EVENT_CLASS(srn_complete,
	TP_PROTO(const struct srn_qp *qp, const struct srn_cqe *cqe),
	TP_ARGS(qp, cqe),
	TP_STRUCT__entry(
		__array(char, dev, IB_DEVICE_NAME_MAX)
		__field(u32, qpn)
		__field(u64, wr_id)
		__field(u8, status)
		__field(u32, length)
	),
	TP_fast_assign(
		strscpy(__entry->dev, dev_name(&qp->dev->ibdev.dev), IB_DEVICE_NAME_MAX);
		__entry->qpn = qp->ibqp.qp_num;
		__entry->wr_id = cqe->wr_id;
		__entry->status = cqe->status;
		__entry->length = cqe->byte_len;
	),
	TP_printk("%s QP%u: wr_id %llu, status %u, %u bytes", __entry->dev, __entry->qpn,
		  __entry->wr_id, __entry->status, __entry->length)
);

DEFINE_EVENT(srn_complete, srn_send_complete,
	TP_PROTO(const struct srn_qp *qp, const struct srn_cqe *cqe),
	TP_ARGS(qp, cqe)
);

DEFINE_EVENT(srn_complete, srn_recv_complete,
	TP_PROTO(const struct srn_qp *qp, const struct srn_cqe *cqe),
	TP_ARGS(qp, cqe)
);

#endif /* SRN_QP_TRACE_H */

/* Must be outside of the guard: this is read several times. */
#undef TRACE_INCLUDE_PATH
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_PATH .
#define TRACE_INCLUDE_FILE qp_trace
#include <trace/define_trace.h>
