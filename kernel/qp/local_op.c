// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Work requests that change memory regions and windows, and need no message.
 */
#include "../memory/fastreg.h"
#include "../memory/invalidate.h"
#include "../memory/mr.h"
#include "../memory/window.h"
#include "../stream/tx.h"
#include "local_op.h"
#include "qp_trace.h"
#include "requests.h"
#include "state.h"

/* Execute a request that needs no bytes on the wire. Return: enum ib_wc_status. */
static int execute(struct srn_qp *qp, struct srn_send *send)
{
	int ret;

	if (send->wqe.opcode == SRN_WR_REG_MR)
		ret = srn_fastreg_register(qp->ibqp.pd, send->mr, send->wqe.rkey, send->wqe.ex);
	else if (send->wqe.opcode == SRN_WR_BIND_MW)
		ret = srn_window_bind(&qp->ibqp, &send->wqe);
	else
		ret = srn_invalidate(&qp->ibqp, send->wqe.ex, false);
	return ret ? IB_WC_MW_BIND_ERR : IB_WC_SUCCESS;
}

/* Could the batch hold anything from the memory that a local request is about to change? */
static bool touches_batch(struct srn_qp *qp, const struct srn_send *send)
{
	const struct srn_mem *mem = NULL;

	if (send->wqe.opcode == SRN_WR_REG_MR)
		mem = to_srn_mr(send->mr)->mem;
	else if (send->wqe.opcode == SRN_WR_LOCAL_INV)
		mem = srn_mem_find(qp->dev, send->wqe.ex);
	return !mem || mem->type != SRN_MEM_FAST_REG || srn_tx_refers(&qp->stream, mem);
}

/**
 * srn_local_op_execute - execute the work request that is next
 * @qp: queue pair
 * @send: work request that needs no message: a fast registration, a bind or an invalidation
 * @flushed: nothing waits in a batch
 *
 * Context: the active transmitter, bottom halves disabled.
 *
 * Return: SRN_TX_AGAIN if it was executed; SRN_TX_FLUSH if what was posted before must be sent
 * first; SRN_TX_WAIT if it fails, and so does the queue pair as soon as that is complete.
 */
enum srn_tx_verdict srn_local_op_execute(struct srn_qp *qp, struct srn_send *send,
					 bool flushed)
{
	enum srn_tx_verdict verdict;
	int status;

	if (!flushed && touches_batch(qp, send))
		return SRN_TX_FLUSH;
	status = execute(qp, send);
	if (status != IB_WC_SUCCESS) {
		verdict = srn_requests_settle(qp, flushed);
		if (verdict != SRN_TX_NONE)
			return verdict;
		send->status = status;
		srn_state_fail(qp, IB_EVENT_QP_ACCESS_ERR, &srn_state_local_error,
			       "local operation failed");
		return SRN_TX_WAIT;
	}
	trace_srn_send_begin(qp, send);
	/* Release: pairs with srn_answered_final_report(). */
	smp_store_release(&qp->sq.next, qp->sq.next + 1);
	return SRN_TX_AGAIN;
}
