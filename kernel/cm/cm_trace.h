/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Tracepoints of the connection manager. One that is not enabled costs a jump that is not taken.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM softrnic

#if !defined(SRN_CM_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define SRN_CM_TRACE_H

#include <linux/tracepoint.h>
#include <rdma/iw_cm.h>

#include "ep.h"

#define SRN_CM_EVENTS								\
	{ IW_CM_EVENT_CONNECT_REQUEST, "CONNECT_REQUEST" },			\
	{ IW_CM_EVENT_CONNECT_REPLY, "CONNECT_REPLY" },				\
	{ IW_CM_EVENT_ESTABLISHED, "ESTABLISHED" },				\
	{ IW_CM_EVENT_DISCONNECT, "DISCONNECT" }, { IW_CM_EVENT_CLOSE, "CLOSE" }

/* An event for the consumer of the connection manager, including one that reports a failure. */
TRACE_EVENT(srn_cm_event,
	TP_PROTO(const struct srn_ep *ep, const struct iw_cm_event *event),
	TP_ARGS(ep, event),
	TP_STRUCT__entry(
		__array(char, dev, IB_DEVICE_NAME_MAX)
		__field(u32, qpn)
		__field(int, event)
		__field(int, status)
		__array(u8, local, sizeof(struct sockaddr_in6))
		__array(u8, remote, sizeof(struct sockaddr_in6))
	),
	TP_fast_assign(
		strscpy(__entry->dev, dev_name(&ep->dev->ibdev.dev), IB_DEVICE_NAME_MAX);
		__entry->qpn = ep->qp ? ep->qp->ibqp.qp_num : 0;
		__entry->event = event->event;
		__entry->status = event->status;
		memcpy(__entry->local, &event->local_addr, sizeof(struct sockaddr_in6));
		memcpy(__entry->remote, &event->remote_addr, sizeof(struct sockaddr_in6));
	),
	TP_printk("%s QP%u: %s, status %d, %pISpc to %pISpc", __entry->dev, __entry->qpn,
		  __print_symbolic(__entry->event, SRN_CM_EVENTS), __entry->status,
		  __entry->local, __entry->remote)
);

#endif /* SRN_CM_TRACE_H */

/* Must be outside of the guard: this is read several times. */
#undef TRACE_INCLUDE_PATH
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_PATH .
#define TRACE_INCLUDE_FILE cm_trace
#include <trace/define_trace.h>
