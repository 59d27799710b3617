// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * A program takes its queue pair to RTR by hand.
 */
#include <linux/nsproxy.h>

#include "../qp/binding.h"
#include "../qp/modify.h"
#include "../qp/state.h"
#include "accept.h"
#include "bring_up.h"
#include "conn.h"
#include "listener.h"
#include "peer.h"
#include "progress.h"
#include "silence.h"

/* RTS sets the others. */
static void set_attributes(struct srn_raw *raw, const struct ib_qp_attr *attr)
{
	raw->attr = *attr;
	/* The core has a reference to it for the time of the call only. */
	raw->attr.ah_attr.grh.sgid_attr = NULL;
	raw->attr.max_dest_rd_atomic = min_t(u8, attr->max_dest_rd_atomic, SRN_MAX_READ_DEPTH);
	raw->attr.max_rd_atomic = 0;
	raw->attr.rq_psn &= SRN_MAX_PSN;
	raw->attr.sq_psn = 0;
	raw->attr.timeout = 0;
	raw->attr.retry_cnt = 0;
	raw->attr.rnr_retry = 0;
}

static int prepare_role(struct srn_raw *raw)
{
	struct srn_raw_listener *listener;
	union srn_address local = raw->local;

	if (raw->self)
		return 0;
	if (raw->active)
		return srn_handshake_init(&raw->reply, GFP_KERNEL_ACCOUNT);
	srn_address_set_port(&local, raw->port);
	listener = srn_raw_listener_get(raw->dev, &local, srn_raw_accept);
	if (IS_ERR(listener))
		return PTR_ERR(listener);
	raw->listener = listener;
	return 0;
}

static int bind_qp(struct srn_raw *raw)
{
	struct srn_qp *qp = raw->qp;
	int ret = 0;

	if (srn_binding_make(qp, &raw->conn))
		return -EINVAL;
	spin_lock_irq(&qp->state_lock);
	if (qp->state != IB_QPS_INIT || !srn_state_set(qp, IB_QPS_RTR))
		ret = -EINVAL;
	spin_unlock_irq(&qp->state_lock);
	if (ret)
		srn_binding_end(qp, &raw->conn);
	return ret;
}

/**
 * srn_raw_bring_up - take a queue pair from INIT to RTR by hand
 * @qp: queue pair
 * @attr: who the peer is
 * @mask: which attributes
 *
 * A process brings up queue pairs in the network namespace of the link, as with rdma_cm.
 *
 * Context: process, sleeps.
 *
 * Return: 0; -EOPNOTSUPP if the link has no port for this, or the kernel's own queue pair is meant;
 * -EPERM for another namespace's process; -EINVAL if attributes are missing or
 * wrong, or the queue pair is not in INIT, or rdma_cm connects it; another negative errno.
 */
int srn_raw_bring_up(struct srn_qp *qp, const struct ib_qp_attr *attr, int mask)
{
	const char *reason = "a consumer in the kernel does not do so by hand";
	u16 port = READ_ONCE(qp->dev->raw_port);
	struct srn_raw *raw;
	int ret = -EOPNOTSUPP;

	if (qp->kernel)
		goto out;
	reason = "the link's setting raw/port is 0";
	if (!port)
		goto out;
	ret = -EPERM;
	reason = "the process is in another network namespace than the link";
	if (!net_eq(current->nsproxy->net_ns, qp->dev->net))
		goto out;
	ret = -EINVAL;
	reason = "an attribute is missing, or has no place there";
	if (!ib_modify_qp_is_ok(IB_QPS_INIT, IB_QPS_RTR, IB_QPT_RC, mask & ~IB_QP_RATE_LIMIT))
		goto out;
	raw = srn_raw_alloc(qp, &srn_raw_conn_ops, srn_raw_progress);
	if (!raw)
		return -ENOMEM;
	srn_raw_get(raw);
	INIT_DELAYED_WORK(&raw->watch, srn_raw_silence_work);
	raw->port = port;
	set_attributes(raw, attr);
	ret = srn_raw_peer_set(raw, attr, &reason);
	if (ret)
		goto end;
	reason = "there is no memory, or the link's port is not free";
	ret = prepare_role(raw);
	if (ret)
		goto end;
	mutex_lock(&raw->lock.mutex);
	reason = "it is not in INIT, or rdma_cm connects it";
	ret = bind_qp(raw);
	/* It connects only once the lock is free. */
	if (!ret)
		srn_modify_flags(qp, attr, mask);
	if (!ret && raw->state == SRN_RAW_WAITING && (raw->active || raw->self))
		srn_raw_queue(raw, 0);
	srn_raw_unlock(raw);
end:
	if (ret)
		srn_raw_conn_end(raw);
	srn_raw_put(raw);
out:
	if (ret)
		srn_qp_notice(qp, "RTR: %s\n", reason);
	return ret;
}
