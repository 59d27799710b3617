// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * A consumer in the kernel that destroys queue pairs without having drained them, as LIO's SRP
 * target does with one whose login it refuses. What its completions refer to is freed behind that,
 * so none may come any more. Completions of others in the same queue stay. Loading fails if not.
 */
#include <linux/delay.h>
#include <linux/module.h>
#include <rdma/ib_verbs.h>

#define RECEIVES	8

static struct ib_pd *pd;
static struct ib_cq *cq;
static struct ib_qp *kept;
static int of_kept, of_others, result = -ENODEV;

static void on_done(struct ib_cq *queue, struct ib_wc *wc)
{
	if (wc->qp && wc->qp == kept)
		of_kept++;
	else
		of_others++;
}

static struct ib_cqe cqe = { .done = on_done };

static int modify(struct ib_qp *qp, enum ib_qp_state state)
{
	struct ib_qp_attr attr = { .qp_state = state, .port_num = 1 };
	int mask = IB_QP_STATE;

	if (state == IB_QPS_INIT)
		mask |= IB_QP_PORT | IB_QP_ACCESS_FLAGS;
	return ib_modify_qp(qp, &attr, mask);
}

static int post_receives(struct ib_qp *qp)
{
	struct ib_recv_wr wr = { .wr_cqe = &cqe };
	int i, ret = 0;

	for (i = 0; i < RECEIVES && !ret; i++)
		ret = ib_post_recv(qp, &wr, NULL);
	return ret;
}

/* Return: a queue pair with receives, in that state; or NULL. */
static struct ib_qp *make_qp(enum ib_qp_state state)
{
	struct ib_qp_init_attr attr = {
		.qp_type = IB_QPT_RC,
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.send_cq = cq,
		.recv_cq = cq,
		.cap = { .max_send_wr = 1, .max_recv_wr = RECEIVES, .max_recv_sge = 1 },
	};
	struct ib_qp *qp = ib_create_qp(pd, &attr);

	if (IS_ERR(qp))
		return NULL;
	if (modify(qp, IB_QPS_INIT) || post_receives(qp) ||
	    (state != IB_QPS_INIT && modify(qp, state))) {
		ib_destroy_qp(qp);
		return NULL;
	}
	return qp;
}

static int check(const char *what, int wanted)
{
	of_kept = 0;
	of_others = 0;
	ib_process_cq_direct(cq, -1);
	if (of_kept == wanted && !of_others)
		return 0;
	pr_info("destroyed_qp: %s: %d completions of the queue pair that is left, %d of others\n",
		what, of_kept, of_others);
	return -EBADMSG;
}

static int destroy_one(enum ib_qp_state state, const char *what)
{
	struct ib_qp *qp = make_qp(state);

	if (!qp)
		return -ENOMEM;
	ib_destroy_qp(qp);
	return check(what, 0);
}

/* Its completions lie before and behind those of another one. */
static int destroy_between(void)
{
	struct ib_qp *first = make_qp(IB_QPS_ERR), *last;
	int ret;

	kept = make_qp(IB_QPS_ERR);
	last = make_qp(IB_QPS_ERR);
	/* A worker flushes them. */
	msleep(200);
	if (first)
		ib_destroy_qp(first);
	if (last)
		ib_destroy_qp(last);
	ret = first && kept && last ? check("destroyed beside another one", RECEIVES) : -ENOMEM;
	if (kept)
		ib_destroy_qp(kept);
	kept = NULL;
	return ret;
}

static int test(void)
{
	return destroy_one(IB_QPS_INIT, "destroyed in INIT") ?:
	       destroy_one(IB_QPS_ERR, "destroyed in ERR") ?: destroy_between();
}

static int add(struct ib_device *ibdev)
{
	if (result != -ENODEV || strncmp(dev_name(&ibdev->dev), "srn", 3))
		return 0;
	pd = ib_alloc_pd(ibdev, 0);
	cq = ib_alloc_cq(ibdev, NULL, 4 * RECEIVES, 0, IB_POLL_DIRECT);
	result = IS_ERR(pd) || IS_ERR(cq) ? -ENOMEM : test();
	if (!IS_ERR(cq))
		ib_free_cq(cq);
	if (!IS_ERR(pd))
		ib_dealloc_pd(pd);
	return 0;
}

static void forget(struct ib_device *ibdev, void *data)
{
}

static struct ib_client client = { .name = "destroyed_qp", .add = add, .remove = forget };

static int __init destroyed_qp_init(void)
{
	int ret = ib_register_client(&client);

	if (!ret && result)
		ib_unregister_client(&client);
	return ret ?: result;
}

static void __exit destroyed_qp_exit(void)
{
	ib_unregister_client(&client);
}

module_init(destroyed_qp_init);
module_exit(destroyed_qp_exit);
MODULE_DESCRIPTION("Destroys queue pairs that have receives and completions");
MODULE_LICENSE("Dual BSD/GPL");
