// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * A consumer in the kernel that looks at what a peer reads from a region for fast registration. It
 * connects to itself. Loading the module runs the test, and fails if the test does.
 */
#include <linux/delay.h>
#include <linux/inet.h>
#include <linux/module.h>
#include <linux/nsproxy.h>
#include <linux/slab.h>
#include <net/net_namespace.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>

#define PORT		7501
#define PATIENCE	(30 * HZ)
#define PAGES		2

static char *address;
module_param(address, charp, 0444);
MODULE_PARM_DESC(address, "IPv4 address of a link");

struct end {
	struct rdma_cm_id *id;
	struct ib_cq *cq;
	struct completion moved;	/* the id has come to its next state, or has failed */
	int status;
};

static struct end client, server, listener;
static struct ib_pd *pd;
static struct ib_mr *mr;
static void *page[PAGES];	/* each is full of its own number, plus 1 */
static struct scatterlist sg[PAGES];
static u8 *sink;
static u64 sink_address;

static enum ib_wc_status last_status;
static bool done;

static void on_done(struct ib_cq *cq, struct ib_wc *wc)
{
	last_status = wc->status;
	done = true;
}

static struct ib_cqe cqe = { .done = on_done };

static int wait_for_work(struct end *e)
{
	unsigned long until = jiffies + PATIENCE;

	while (!done) {
		ib_process_cq_direct(e->cq, 1);
		if (time_after(jiffies, until))
			return -ETIMEDOUT;
		usleep_range(50, 100);
	}
	return last_status == IB_WC_SUCCESS ? 0 : -EIO;
}

static int post_and_wait(struct end *e, struct ib_send_wr *wr)
{
	int ret;

	done = false;
	wr->wr_cqe = &cqe;
	wr->send_flags = IB_SEND_SIGNALED;
	ret = ib_post_send(e->id->qp, wr, NULL);
	return ret ?: wait_for_work(e);
}

static int register_region(void)
{
	struct ib_reg_wr wr = {
		.wr.opcode = IB_WR_REG_MR,
		.mr = mr,
		.access = IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_READ,
	};

	ib_update_fast_reg_key(mr, (mr->rkey + 1) & 0xff);
	wr.key = mr->rkey;
	return post_and_wait(&server, &wr.wr);
}

static int invalidate_region(void)
{
	struct ib_send_wr wr = { .opcode = IB_WR_LOCAL_INV, .ex.invalidate_rkey = mr->rkey };

	return post_and_wait(&server, &wr);
}

/* Have the peer read a page. It has to find that of this number. */
static int read_page(u32 rkey, u64 iova, int number)
{
	struct ib_sge sge = {
		.addr = sink_address, .length = PAGE_SIZE, .lkey = pd->local_dma_lkey,
	};
	struct ib_rdma_wr wr = {
		.wr.opcode = IB_WR_RDMA_READ,
		.wr.sg_list = &sge,
		.wr.num_sge = 1,
		.remote_addr = iova,
		.rkey = rkey,
	};
	int ret;

	memset(sink, 0, PAGE_SIZE);
	ret = post_and_wait(&client, &wr.wr);
	if (ret)
		return ret;
	return memchr_inv(sink, number + 1, PAGE_SIZE) ? -EILSEQ : 0;
}

static int map_page(int number)
{
	return ib_map_mr_sg(mr, &sg[number], 1, NULL, PAGE_SIZE) == 1 ? 0 : -EINVAL;
}

static int say(const char *what, int ret)
{
	if (ret)
		pr_info("fast_registration: %s: error %d\n", what, ret);
	return ret;
}

static int test(void)
{
	u64 iova;
	int ret;

	ret = say("register", map_page(0) ?: register_region());
	if (ret)
		return ret;
	iova = mr->iova;
	ret = say("read", read_page(mr->rkey, iova, 0));
	if (ret)
		return ret;
	/* The next registration is prepared before this one is invalidated, as SRP and iSER do. */
	ret = say("read what is registered while other pages are mapped",
		  map_page(1) ?: read_page(mr->rkey, iova, 0));
	if (ret)
		return ret;
	ret = say("register other pages", invalidate_region() ?: register_region() ?:
		  read_page(mr->rkey, mr->iova, 1));
	if (ret)
		return ret;
	/* RTRS maps once, and registers for each request. */
	ret = say("register the same pages again", invalidate_region() ?: register_region() ?:
		  read_page(mr->rkey, mr->iova, 1));
	if (ret)
		return ret;
	/* The peer may have invalidated it just before. siw and rxe allow this, too. */
	return say("invalidate twice", invalidate_region() ?: invalidate_region() ?:
		   register_region() ?: read_page(mr->rkey, mr->iova, 1));
}

static int make_queues(struct end *e)
{
	struct ib_qp_init_attr attr = {
		.qp_type = IB_QPT_RC,
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.cap = {
			.max_send_wr = 4,
			.max_recv_wr = 1,
			.max_send_sge = 1,
			.max_recv_sge = 1,
		},
	};
	int ret;

	e->cq = ib_alloc_cq(e->id->device, NULL, 8, 0, IB_POLL_DIRECT);
	if (IS_ERR(e->cq))
		return PTR_ERR(e->cq);
	attr.send_cq = e->cq;
	attr.recv_cq = e->cq;
	ret = rdma_create_qp(e->id, pd, &attr);
	if (ret)
		ib_free_cq(e->cq);
	return ret;
}

static void free_end(struct end *e)
{
	if (IS_ERR_OR_NULL(e->id))
		return;
	if (e->id->qp) {
		rdma_disconnect(e->id);
		ib_drain_qp(e->id->qp);
		rdma_destroy_qp(e->id);
		ib_free_cq(e->cq);
	}
	rdma_destroy_id(e->id);
}

static struct rdma_conn_param params = { .responder_resources = 4, .initiator_depth = 4 };

static int on_event(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct end *e = id->context;
	int ret;

	switch (event->event) {
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		/* The id is the core's again if this fails. */
		id->context = &server;
		server.id = id;
		ret = make_queues(&server) ?: rdma_accept(id, &params);
		if (ret && id->qp) {
			rdma_destroy_qp(id);
			ib_free_cq(server.cq);
		}
		if (ret)
			server.id = NULL;
		return ret;
	case RDMA_CM_EVENT_ADDR_RESOLVED:
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
	case RDMA_CM_EVENT_ESTABLISHED:
		complete(&e->moved);
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
		break;
	default:
		e->status = event->status ?: -EPROTO;
		complete(&e->moved);
		break;
	}
	return 0;
}

static int wait_for_move(struct end *e)
{
	return wait_for_completion_timeout(&e->moved, PATIENCE) ? e->status : -ETIMEDOUT;
}

static int make_id(struct end *e)
{
	init_completion(&e->moved);
	e->id = rdma_create_id(current->nsproxy->net_ns, on_event, e, RDMA_PS_TCP, IB_QPT_RC);
	return PTR_ERR_OR_ZERO(e->id);
}

static int connect_ends(void)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(PORT) };
	struct sockaddr *at = (struct sockaddr *)&to;
	int ret;

	if (!address || !in4_pton(address, -1, (u8 *)&to.sin_addr, -1, NULL))
		return -EINVAL;
	init_completion(&server.moved);
	ret = make_id(&listener) ?: make_id(&client) ?: rdma_bind_addr(listener.id, at) ?:
	      rdma_listen(listener.id, 1) ?: rdma_resolve_addr(client.id, NULL, at, 2000) ?:
	      wait_for_move(&client);
	if (ret)
		return ret;
	pd = ib_alloc_pd(client.id->device, 0);
	if (IS_ERR(pd))
		return PTR_ERR(pd);
	return make_queues(&client) ?: rdma_resolve_route(client.id, 2000) ?:
	       wait_for_move(&client) ?: rdma_connect(client.id, &params) ?:
	       wait_for_move(&client) ?: wait_for_move(&server);
}

static int make_memory(void)
{
	struct ib_device *ibdev = client.id->device;
	int i;

	sink = kmalloc(PAGE_SIZE, GFP_KERNEL);
	if (!sink)
		return -ENOMEM;
	sink_address = ib_dma_map_single(ibdev, sink, PAGE_SIZE, DMA_FROM_DEVICE);
	for (i = 0; i < PAGES; i++) {
		page[i] = (void *)__get_free_page(GFP_KERNEL);
		if (!page[i])
			return -ENOMEM;
		memset(page[i], i + 1, PAGE_SIZE);
		sg_init_one(&sg[i], page[i], PAGE_SIZE);
		if (ib_dma_map_sg(ibdev, &sg[i], 1, DMA_TO_DEVICE) != 1)
			return -EIO;
	}
	mr = ib_alloc_mr(pd, IB_MR_TYPE_MEM_REG, 1);
	return PTR_ERR_OR_ZERO(mr);
}

/* A software device has no mappings to undo. */
static void free_all(void)
{
	int i;

	free_end(&client);
	free_end(&server);
	free_end(&listener);
	if (!IS_ERR_OR_NULL(mr))
		ib_dereg_mr(mr);
	if (!IS_ERR_OR_NULL(pd))
		ib_dealloc_pd(pd);
	for (i = 0; i < PAGES; i++)
		free_page((unsigned long)page[i]);
	kfree(sink);
}

static int __init fast_registration_init(void)
{
	int ret;

	ret = say("connect", connect_ends()) ?: say("memory", make_memory()) ?: test();
	free_all();
	return ret;
}

static void __exit fast_registration_exit(void)
{
}

module_init(fast_registration_init);
module_exit(fast_registration_exit);
MODULE_DESCRIPTION("looks at what a peer reads from a region for fast registration");
MODULE_LICENSE("Dual BSD/GPL");
