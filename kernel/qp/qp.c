// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Queue pair verbs.
 */
#include <linux/cred.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/pid_namespace.h>
#include <linux/sched/signal.h>
#include <rdma/uverbs_ioctl.h>

#include "../device/abi.h"
#include "../memory/ring.h"
#include "../stream/service.h"
#include "qp.h"

/* What peers can be allowed, and are unless somebody decides otherwise. */
#define QP_ACCESS	(IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC)

/**
 * srn_qp_find - queue pair by number
 * @dev: device
 * @qpn: number
 *
 * Context: any. The caller has a reference, or takes one before it lets interrupts in.
 */
struct srn_qp *srn_qp_find(struct srn_device *dev, u32 qpn)
{
	return xa_load(&dev->qps, qpn);
}

/**
 * srn_qp_get - keep a queue pair from being destroyed
 * @qp: queue pair that is not being destroyed, or with a reference
 *
 * Context: any.
 */
void srn_qp_get(struct srn_qp *qp)
{
	refcount_inc(&qp->refs);
}

/**
 * srn_qp_put - undo srn_qp_get()
 * @qp: queue pair
 */
void srn_qp_put(struct srn_qp *qp)
{
	if (refcount_dec_and_test(&qp->refs))
		complete(&qp->unused);
}

static void owner_init(struct srn_qp *qp)
{
	qp->owner_uid = current_uid();
	qp->owner = get_pid(task_tgid(current));
}

/**
 * srn_qp_may_be_callers - can it be ruled out that the queue pair is the caller's?
 * @qp: queue pair
 *
 * That of a process is for itself, whatever user it has become, and for processes of the same user
 * in the same process namespace, such as a child of it. To be the same user is not enough, since
 * containers often have no users of their own.
 *
 * That of a kernel consumer is for threads of the kernel, and for the process for which it was
 * created: it mounts something, or adds a target. Others must not even have it for the moment until
 * srn_qp_is_callers() refuses them, since its consumer could not connect it meanwhile.
 *
 * Context: process, spinlocks may be held.
 */
bool srn_qp_may_be_callers(const struct srn_qp *qp)
{
	if (task_tgid(current) == qp->owner)
		return true;
	if (qp->kernel)
		return current->flags & PF_KTHREAD;
	return uid_eq(current_uid(), qp->owner_uid) &&
	       task_active_pid_ns(current) == ns_of_pid(qp->owner);
}

/**
 * srn_qp_is_callers - may who asks for a connection have it for this queue pair?
 * @qp: queue pair
 * @id: rdma_cm's identifier of the connection
 *
 * A kernel consumer's queue pair belongs to an id, or to a thread of the kernel.
 *
 * Context: process.
 */
bool srn_qp_is_callers(const struct srn_qp *qp, const struct rdma_cm_id *id)
{
	if (qp->kernel)
		return id->qp ? id->qp == &qp->ibqp : current->flags & PF_KTHREAD;
	return srn_qp_may_be_callers(qp);
}

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

/* Depths and strides; what is granted goes back to the consumer. */
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
	/* All that fits: some programs send inline data without asking for room. */
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
	/* Else srn_sq_prepare() does it. */
	if (!udata || (size_t)qp->sq.depth * qp->sq.stride > PAGE_SIZE) {
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

/*
 * Each number once before the first one comes again: a late completion names nobody else's queue
 * pair. The steps are of a size that nobody else knows, and odd, so that none is left out.
 */
static int reserve_number(struct srn_device *dev, u32 *qpn)
{
	int ret = -EBUSY;

	while (ret == -EBUSY) {
		*qpn = (atomic_inc_return(&dev->qps_made) * dev->qpn_step) & SRN_MAX_QPN;
		if (*qpn)
			ret = xa_insert(&dev->qps, *qpn, NULL, GFP_KERNEL);
	}
	return ret;
}

/**
 * srn_create_qp - create a queue pair
 * @ibqp: queue pair, allocated by the core
 * @attrs: type, sizes, completion queues
 * @udata: response for a process, NULL for a kernel consumer
 *
 * Context: process.
 */
int srn_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *attrs, struct ib_udata *udata)
{
	struct srn_device *dev = to_srn_dev(ibqp->device);
	struct srn_uresp_create_qp resp = {};
	struct srn_qp *qp = to_srn_qp(ibqp);
	u32 qpn;
	int ret;

	ret = check_caps(attrs);
	if (ret)
		return ret;
	if (!srn_limits_take(dev, SRN_LIMIT_QP))
		return -ENOMEM;
	qp->dev = dev;
	qp->kernel = !udata;
	qp->scq = to_srn_cq(attrs->send_cq);
	qp->rcq = to_srn_cq(attrs->recv_cq);
	qp->srq = attrs->srq ? to_srn_srq(attrs->srq) : NULL;
	qp->access = QP_ACCESS;
	owner_init(qp);
	refcount_set(&qp->refs, 1);
	init_completion(&qp->unused);
	srn_qp_state_init(qp);
	size_queues(qp, attrs);
	ret = alloc_queues(qp, udata, &resp);
	if (ret)
		goto err_count;
	ret = reserve_number(dev, &qpn);
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
	srn_qp_state_exit(qp);
	put_pid(qp->owner);
	srn_limits_give(dev, SRN_LIMIT_QP);
	return ret;
}

/**
 * srn_destroy_qp - destroy a queue pair
 * @ibqp: queue pair
 * @udata: not used
 *
 * Ends its connection and waits for the connection manager to let go of it.
 *
 * Context: process.
 */
int srn_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata)
{
	struct srn_qp *qp = to_srn_qp(ibqp);

	srn_qp_abort(qp);
	cancel_delayed_work_sync(&qp->close_work);
	/* Not before its flushed completions, which kernel consumers find it by. */
	xa_erase(&qp->dev->qps, ibqp->qp_num);
	/* The core looks it up and takes its reference in one section without interrupts. */
	synchronize_rcu_expedited();
	srn_cm_handle_close(qp->cm_handle);
	srn_qp_put(qp);
	wait_for_completion(&qp->unused);
	srn_cm_handle_free(qp->cm_handle);
	/* Somebody may have failed it once more in between. */
	flush_work(&qp->end_work);
	srn_watch_remove(qp);
	srn_qp_state_exit(qp);
	free_queues(qp);
	put_pid(qp->owner);
	srn_limits_give(qp->dev, SRN_LIMIT_QP);
	return 0;
}

/* Whatever was posted is forgotten, as verbs say of RESET. Context: sq.lock held. */
static void forget_work(struct srn_qp *qp)
{
	spin_lock(&qp->rq.lock);
	if (qp->map) {
		qp->sq.prod = READ_ONCE(qp->ctrl->sq_prod);
		qp->sq.silent += qp->sq.prod - qp->sq.cons;
		qp->rq.cons = READ_ONCE(qp->ctrl->rq_prod);
		WRITE_ONCE(qp->ctrl->sq_cons, qp->sq.prod);
		WRITE_ONCE(qp->ctrl->sq_silent, qp->sq.silent);
		WRITE_ONCE(qp->ctrl->rq_cons, qp->rq.cons);
	} else {
		qp->rq.cons = qp->rq.prod;
	}
	spin_unlock(&qp->rq.lock);
	qp->sq.next = qp->sq.prod;
	qp->sq.sent = qp->sq.prod;
	qp->sq.cons = qp->sq.prod;
}

static int modify_to_reset(struct srn_qp *qp)
{
	bool ok;

	flush_work(&qp->end_work);
	mutex_lock(&qp->conn_mutex);
	spin_lock_irq(&qp->sq.lock);
	spin_lock(&qp->state_lock);
	/* Not before the end of the last connection is complete. */
	ok = !qp->conn && (qp->state != IB_QPS_ERR || qp->ended) &&
	     srn_qp_set_state(qp, IB_QPS_RESET);
	if (ok) {
		WRITE_ONCE(qp->ended, false);
		WRITE_ONCE(qp->peer_closed, false);
		qp->end_event = 0;
		WRITE_ONCE(qp->access, QP_ACCESS);
	}
	spin_unlock(&qp->state_lock);
	if (ok)
		forget_work(qp);
	spin_unlock_irq(&qp->sq.lock);
	mutex_unlock(&qp->conn_mutex);
	return ok ? 0 : -EINVAL;
}

static int modify_state(struct srn_qp *qp, enum ib_qp_state to)
{
	bool ok;

	switch (to) {
	case IB_QPS_ERR:
		srn_qp_abort(qp);
		return 0;
	case IB_QPS_SQD:
		return srn_qp_close(qp);
	case IB_QPS_RESET:
		return modify_to_reset(qp);
	case IB_QPS_INIT:
	case IB_QPS_RTR:
		spin_lock_irq(&qp->state_lock);
		ok = srn_qp_set_state(qp, to);
		spin_unlock_irq(&qp->state_lock);
		return ok ? 0 : -EINVAL;
	case IB_QPS_RTS:
		if (READ_ONCE(qp->state) == IB_QPS_RTS)
			return 0;
		fallthrough;
	default:
		srn_qp_notice(qp, "cannot be connected by hand: use rdma_cm\n");
		return -EINVAL;
	}
}

/*
 * rdma_cm brings a QP to INIT, and to RTR if it has been connected to, with exactly these
 * attributes, and with no access at all before it knows of a connection, with all that it knows
 * of, which atomics are not among, afterwards. Nobody has decided then. A program that does it by
 * hand names a P_Key as well, as InfiniBand demands.
 */
static bool is_rdma_cm_step(const struct ib_qp_attr *attr, int mask)
{
	const u32 known = IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ;

	return mask == (IB_QP_STATE | IB_QP_ACCESS_FLAGS | IB_QP_PORT) &&
	       (attr->qp_state == IB_QPS_INIT || attr->qp_state == IB_QPS_RTR) &&
	       (!attr->qp_access_flags || attr->qp_access_flags == known);
}

static void modify_access(struct srn_qp *qp, const struct ib_qp_attr *attr, int mask)
{
	if (!is_rdma_cm_step(attr, mask))
		WRITE_ONCE(qp->access, attr->qp_access_flags & QP_ACCESS);
}

static void modify_rate(struct srn_qp *qp, u32 kbits)
{
	mutex_lock(&qp->conn_mutex);
	WRITE_ONCE(qp->rate_limit, kbits);
	if (qp->stream.sock)
		srn_sock_set_rate(qp->stream.sock, kbits);
	mutex_unlock(&qp->conn_mutex);
}

/**
 * srn_modify_qp - change state, access flags or rate
 * @ibqp: queue pair, or the core's handle of one
 * @attr: values
 * @mask: which of them
 * @udata: not used
 *
 * Attributes of other transports are accepted and mean nothing. A connection is made
 * by the connection manager only.
 *
 * Context: process.
 */
int srn_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		  struct ib_udata *udata)
{
	struct srn_qp *qp = to_srn_qp(ibqp);

	if (ibqp->qp_type == SRN_CM_HANDLE_TYPE)
		return srn_cm_handle_modify(ibqp, attr, mask);
	if (mask & ~(IB_QP_ATTR_STANDARD_BITS | IB_QP_RATE_LIMIT))
		return -EOPNOTSUPP;
	if (mask & IB_QP_CUR_STATE && attr->cur_qp_state != READ_ONCE(qp->state))
		return -EINVAL;
	if (mask & IB_QP_PORT && attr->port_num != 1)
		return -EINVAL;
	if (mask & IB_QP_STATE) {
		int ret = modify_state(qp, attr->qp_state);

		if (ret)
			return ret;
	}
	if (mask & IB_QP_ACCESS_FLAGS)
		modify_access(qp, attr, mask);
	if (mask & IB_QP_RATE_LIMIT)
		modify_rate(qp, attr->rate_limit);
	return 0;
}

/**
 * srn_query_qp - report state, sizes and depths
 * @ibqp: queue pair
 * @attr: result
 * @mask: not used: everything is reported
 * @init: result
 *
 * A queue pair that is not connected is in iWARP's one state IDLE, which every iWARP
 * device reports as INIT, whether it has left RESET or not.
 *
 * Context: process.
 */
int srn_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		 struct ib_qp_init_attr *init)
{
	struct srn_qp *qp = to_srn_qp(ibqp);

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
	attr->max_dest_rd_atomic = qp->irq.ird;
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
	return 0;
}
