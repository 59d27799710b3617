// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * A consumer in the kernel that is no client of the core, so that it is not told when a device goes,
 * and that keeps a queue pair for a while. LIO's iSER target is one for a moment, between its id and
 * its queue pair: see removal.sh.
 */
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/nsproxy.h>
#include <linux/workqueue.h>
#include <net/net_namespace.h>
#include <rdma/ib_verbs.h>

static char *netdev;
module_param(netdev, charp, 0444);
MODULE_PARM_DESC(netdev, "name of the link's network device, in the namespace of the caller");

static unsigned int keep_ms = 3000;
module_param(keep_ms, uint, 0444);
MODULE_PARM_DESC(keep_ms, "how long the queue pair is kept, in ms");

static struct ib_pd *pd;
static struct ib_cq *cq;
static struct ib_qp *qp;

static void give_back(struct work_struct *work)
{
	ib_destroy_qp(qp);
	ib_free_cq(cq);
	ib_dealloc_pd(pd);
	pr_info("late_consumer: gave everything back\n");
}

static DECLARE_DELAYED_WORK(later, give_back);

static int take(struct ib_device *ibdev)
{
	struct ib_qp_init_attr attr = {
		.qp_type = IB_QPT_RC,
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.cap = {
			.max_send_wr = 4,
			.max_recv_wr = 4,
			.max_send_sge = 1,
			.max_recv_sge = 1,
		},
	};
	int ret;

	pd = ib_alloc_pd(ibdev, 0);
	if (IS_ERR(pd))
		return PTR_ERR(pd);
	cq = ib_alloc_cq(ibdev, NULL, 8, 0, IB_POLL_WORKQUEUE);
	if (IS_ERR(cq)) {
		ret = PTR_ERR(cq);
		goto err_pd;
	}
	attr.send_cq = cq;
	attr.recv_cq = cq;
	qp = ib_create_qp(pd, &attr);
	if (IS_ERR(qp)) {
		ret = PTR_ERR(qp);
		goto err_cq;
	}
	return 0;

err_cq:
	ib_free_cq(cq);
err_pd:
	ib_dealloc_pd(pd);
	return ret;
}

static int __init late_consumer_init(void)
{
	struct net_device *ndev = dev_get_by_name(current->nsproxy->net_ns, netdev);
	struct ib_device *ibdev;
	int ret;

	if (!ndev)
		return -ENODEV;
	ibdev = ib_device_get_by_netdev(ndev, RDMA_DRIVER_UNKNOWN);
	dev_put(ndev);
	if (!ibdev)
		return -ENODEV;
	ret = take(ibdev);
	ib_device_put(ibdev);
	if (!ret)
		schedule_delayed_work(&later, msecs_to_jiffies(keep_ms));
	return ret;
}

static void __exit late_consumer_exit(void)
{
	flush_delayed_work(&later);
}

module_init(late_consumer_init);
module_exit(late_consumer_exit);
MODULE_DESCRIPTION("keeps a queue pair while its device is removed");
MODULE_LICENSE("Dual BSD/GPL");
