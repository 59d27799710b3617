// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Queue pair verbs.
 */
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/sizes.h>
#include <rdma/uverbs_ioctl.h>

#include "../device/abi.h"
#include "../device/qpn.h"
#include "../memory/ring.h"
#include "binding.h"
#include "cm_handle.h"
#include "completion.h"
#include "connection.h"
#include "modify.h"
#include "owner.h"
#include "receive.h"
#include "watch.h"

/* The ring of a process's sends, if it has not more bytes, is allocated when it sends first. */
#define MAX_LATE	SZ_4K

static int check_caps(struct ib_qp_init_attr *attrs)
{
	struct ib_qp_cap *cap = &attrs->cap;

	if (attrs->create_flags)
		return -EOPNOTSUPP;
	if (attrs->qp_type != IB_QPT_RC)
		return -EOPNOTSUPP;
	if (cap->max_send_wr > SRN_MAX_QP_WR || cap->max_recv_wr > SRN_MAX_QP_WR ||
	    cap->max_send_sge > SRN_MAX_SGE || cap->max_recv_sge > SRN_MAX_SGE ||
	    cap->max_inline_data > SRN_MAX_INLINE)
		return -EINVAL;
	return 0;
}

/* Decide depths and strides, and tell the consumer what it is granted. */
static void size_queues(struct srn_qp *qp, struct ib_qp_init_attr *attrs)
{
	struct ib_qp_cap *cap = &attrs->cap;
	struct srn_sq *sq = &qp->sq;
	u32 tail;

	cap->max_send_sge = max(cap->max_send_sge, 1u);
	tail = max_t(u32, cap->max_send_sge * sizeof(struct srn_sge), cap->max_inline_data);
	spin_lock_init(&sq->lock);
	sq->capacity = max(cap->max_send_wr, 1u);
	sq->depth = roundup_pow_of_two(sq->capacity);
	sq->max_sge = cap->max_send_sge;
	sq->user_stride = ALIGN(SRN_SEND_WQE_HEADER + tail, SRN_LINE);
	/* Grant all that fits: some programs send inline data without asking for room. */
	sq->max_inline = min_t(u32, sq->user_stride - SRN_SEND_WQE_HEADER, SRN_MAX_INLINE);
	cap->max_inline_data = sq->max_inline;
	sq->stride = sq->user_stride + offsetof(struct srn_send, wqe);
	sq->signal_all = attrs->sq_sig_type == IB_SIGNAL_ALL_WR;
	cap->max_send_wr = sq->capacity;

	if (qp->srq) {
		cap->max_recv_wr = 0;
		cap->max_recv_sge = 0;
	} else {
		cap->max_recv_sge = max(cap->max_recv_sge, 1u);
	}
	srn_rq_size(&qp->rq, cap->max_recv_wr, cap->max_recv_sge);
}

static int alloc_queues(struct srn_qp *qp, struct ib_udata *udata,
			struct srn_uresp_create_qp *resp)
{
	size_t sq_size = udata ? (size_t)qp->sq.depth * qp->sq.user_stride : 0;
	size_t rq_size = (size_t)qp->rq.depth * qp->rq.stride;
	u32 max_sge = qp->srq ? qp->srq->rq.max_sge : qp->rq.max_sge;
	int ret = -ENOMEM;

	qp->recv = kzalloc(struct_size(qp->recv, sge, max_sge), GFP_KERNEL_ACCOUNT);
	if (!qp->recv)
		return -ENOMEM;
	/* Otherwise srn_fetch_prepare() allocates them when they are needed. */
	if (!udata || (size_t)qp->sq.depth * qp->sq.stride > MAX_LATE) {
		qp->sq.sends = kvcalloc(qp->sq.depth, qp->sq.stride, GFP_KERNEL_ACCOUNT);
		if (!qp->sq.sends)
			goto err_recv;
	}
	qp->ctrl = srn_ring_alloc(udata, sizeof(*qp->ctrl) + sq_size + rq_size, &qp->map,
				  &resp->map);
	if (IS_ERR(qp->ctrl)) {
		ret = PTR_ERR(qp->ctrl);
		goto err_sends;
	}
	qp->sq.user_ring = udata ? qp->ctrl + 1 : NULL;
	qp->rq.ring = (void *)(qp->ctrl + 1) + sq_size;
	qp->rq.user_prod = udata ? &qp->ctrl->rq_prod : NULL;
	qp->rq.shared_cons = &qp->ctrl->rq_cons;
	qp->ctrl->sq_kick = SRN_KICK_NOW;

	resp->sq_depth = qp->sq.depth;
	resp->sq_offset = sizeof(*qp->ctrl);
	resp->sq_stride = qp->sq.user_stride;
	resp->sq_max_sge = qp->sq.max_sge;
	resp->sq_max_inline = qp->sq.max_inline;
	resp->rq_depth = qp->rq.depth;
	resp->rq_offset = sizeof(*qp->ctrl) + sq_size;
	resp->rq_stride = qp->rq.stride;
	resp->rq_max_sge = qp->rq.max_sge;
	resp->ctrl_size = sizeof(*qp->ctrl);
	return 0;

err_sends:
	kvfree(qp->sq.sends);
err_recv:
	kfree(qp->recv);
	return ret;
}

static void free_queues(struct srn_qp *qp)
{
	srn_ring_free(qp->ctrl, qp->map);
	kvfree(qp->sq.sends);
	kfree(qp->recv);
}

/**
 * srn_qp_create - create a queue pair
 * @ibqp: queue pair, allocated by the core
 * @attrs: type, sizes, completion queues
 * @udata: response for a process, NULL for a kernel consumer
 *
 * Context: process.
 *
 * Return: 0; -EOPNOTSUPP for an unsupported type or flag; -EINVAL for sizes; -ENOMEM; as
 * srn_abi_request() and srn_abi_respond().
 */
int srn_qp_create(struct ib_qp *ibqp, struct ib_qp_init_attr *attrs, struct ib_udata *udata)
{
	struct srn_device *dev = to_srn_dev(ibqp->device);
	struct srn_uresp_create_qp resp = {};
	struct srn_qp *qp = to_srn_qp(ibqp);
	u32 qpn;
	int ret;

	ret = check_caps(attrs) ?: srn_abi_request(dev, udata, NULL, 0);
	if (ret)
		return ret;
	if (!srn_limits_take(dev, SRN_LIMIT_QP))
		return -ENOMEM;
	qp->dev = dev;
	qp->kernel = !udata;
	qp->scq = to_srn_cq(attrs->send_cq);
	qp->rcq = to_srn_cq(attrs->recv_cq);
	qp->srq = attrs->srq ? to_srn_srq(attrs->srq) : NULL;
	qp->access = SRN_MEM_REMOTE_ACCESS;
	srn_owner_init(qp);
	refcount_set(&qp->refs, 1);
	srn_connection_init(qp);
	size_queues(qp, attrs);
	ret = alloc_queues(qp, udata, &resp);
	if (ret)
		goto err_count;
	ret = srn_qpn_reserve(dev, udata, &qpn);
	if (ret)
		goto err_queues;
	ibqp->qp_num = qpn;
	ret = srn_cm_handle_create(qp);
	if (ret)
		goto err_number;
	ret = udata ? srn_abi_respond(udata, &resp, sizeof(resp)) : 0;
	if (ret)
		goto err_handle;
	xa_store(&dev->qps, qpn, qp, GFP_KERNEL);
	return 0;

err_handle:
	srn_cm_handle_free(qp->cm_handle);
err_number:
	xa_erase(&dev->qps, qpn);
err_queues:
	free_queues(qp);
err_count:
	srn_connection_exit(qp);
	srn_owner_exit(qp);
	srn_limits_give(dev, SRN_LIMIT_QP);
	return ret;
}

static void discard_completions(struct srn_qp *qp)
{
	srn_cq_discard(qp->scq, qp->ibqp.qp_num);
	if (qp->rcq != qp->scq)
		srn_cq_discard(qp->rcq, qp->ibqp.qp_num);
}

/**
 * srn_qp_destroy - destroy a queue pair
 * @ibqp: queue pair
 * @udata: not used
 *
 * Ends its connection and waits for the connection manager to let go of it.
 *
 * Context: process.
 *
 * Return: 0.
 */
int srn_qp_destroy(struct ib_qp *ibqp, struct ib_udata *udata)
{
	struct srn_qp *qp = to_srn_qp(ibqp);

	/*
	 * If the process itself destroys the queue pair, nobody wants its completions, although
	 * another thread may still poll. If the process loses the device, it wants to know what
	 * has failed. A kernel consumer frees what completions refer to as soon as this returns.
	 */
	if (qp->kernel || srn_owner_is_current(qp))
		WRITE_ONCE(qp->forgotten, true);
	/* Its consumer may hold a lock now that it takes when it is told of a connection. */
	if (qp->kernel)
		srn_binding_tell_no_more(qp);
	srn_connection_abort(qp);
	cancel_delayed_work_sync(&qp->close_work);
	if (qp->kernel)
		discard_completions(qp);
	/* Only behind that: when a kernel consumer polls a completion, its QP is looked up. */
	xa_erase(&qp->dev->qps, ibqp->qp_num);
	/* Wait for the core, which looks it up and takes its reference with interrupts off. */
	synchronize_rcu_expedited();
	srn_cm_handle_close(qp->cm_handle);
	srn_qp_put(qp);
	wait_var_event(&qp->refs, !refcount_read(&qp->refs));
	/* What others did to it before they let go is done by now. Pairs with srn_qp_put(). */
	smp_acquire__after_ctrl_dep();
	srn_cm_handle_free(qp->cm_handle);
	/* Somebody may have failed it once more in between. */
	flush_work(&qp->end_work);
	srn_watch_remove(qp);
	/* One flush is limited, and the core refuses the doorbells that would ask for the rest. */
	if (qp->map && !READ_ONCE(qp->forgotten)) {
		srn_completion_flush(qp);
		srn_receive_flush(qp);
	}
	if (qp->map)
		/* Release: the process sees all that was flushed. */
		smp_store_release(&qp->ctrl->state, SRN_QP_GONE);
	srn_connection_exit(qp);
	free_queues(qp);
	srn_owner_exit(qp);
	srn_limits_give(qp->dev, SRN_LIMIT_QP);
	return 0;
}

/**
 * srn_qp_modify - change state, access flags or rate
 * @ibqp: queue pair, or the core's handle of one
 * @attr: values
 * @mask: which of them
 * @udata: of the verb
 *
 * Context: process.
 *
 * Return: as srn_modify_apply(), or as srn_abi_request().
 */
int srn_qp_modify(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		  struct ib_udata *udata)
{
	int ret = srn_abi_request(to_srn_dev(ibqp->device), udata, NULL, 0);

	if (ret)
		return ret;
	if (ibqp->qp_type == SRN_CM_HANDLE_TYPE)
		return srn_cm_handle_modify(ibqp, attr, mask);
	return srn_modify_apply(to_srn_qp(ibqp), attr, mask);
}

/**
 * srn_qp_query - report state, sizes and depths
 * @ibqp: queue pair
 * @attr: result
 * @mask: not used: everything is reported
 * @init: result
 *
 * A queue pair that is not connected is in iWARP's only such state, IDLE. Every iWARP device
 * reports that as INIT, whether the queue pair has left RESET or not.
 *
 * Context: process.
 *
 * Return: 0.
 */
int srn_qp_query(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		 struct ib_qp_init_attr *init)
{
	struct srn_qp *qp = to_srn_qp(ibqp);
	struct srn_conn *conn;

	memset(attr, 0, sizeof(*attr));
	memset(init, 0, sizeof(*init));
	attr->qp_state = READ_ONCE(qp->state);
	if (attr->qp_state == IB_QPS_RESET)
		attr->qp_state = IB_QPS_INIT;
	attr->cur_qp_state = attr->qp_state;
	attr->qp_access_flags = READ_ONCE(qp->access);
	attr->port_num = 1;
	attr->path_mtu = IB_MTU_4096;
	attr->max_rd_atomic = qp->sq.ord;
	attr->max_dest_rd_atomic = qp->inbound.ird;
	attr->rate_limit = READ_ONCE(qp->rate_limit);
	attr->cap.max_send_wr = qp->sq.capacity;
	attr->cap.max_send_sge = qp->sq.max_sge;
	attr->cap.max_inline_data = qp->sq.max_inline;
	attr->cap.max_recv_wr = qp->rq.capacity;
	attr->cap.max_recv_sge = qp->srq ? 0 : qp->rq.max_sge;
	init->qp_type = ibqp->qp_type;
	init->send_cq = ibqp->send_cq;
	init->recv_cq = ibqp->recv_cq;
	init->srq = ibqp->srq;
	init->sq_sig_type = qp->sq.signal_all ? IB_SIGNAL_ALL_WR : IB_SIGNAL_REQ_WR;
	init->cap = attr->cap;
	conn = srn_binding_by_hand(qp);
	if (conn) {
		conn->ops->query(conn, attr);
		conn->ops->put(conn);
	}
	return 0;
}
