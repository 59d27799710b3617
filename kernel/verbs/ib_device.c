// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The RDMA device: what it says of itself, and its registration.
 */
#include <linux/delay.h>
#include <linux/random.h>
#include <linux/rtnetlink.h>
#include <rdma/iw_cm.h>
#include <rdma/uverbs_ioctl.h>

#include "../cm/active.h"
#include "../cm/claim.h"
#include "../cm/listen.h"
#include "../cm/passive.h"
#include "../compat/compat.h"
#include "../compat/device_ops.h"
#include "../device/abi.h"
#include "../device/netns.h"
#include "../device/pd.h"
#include "../device/secret.h"
#include "../device/settings.h"
#include "../device/ucontext.h"
#include "../memory/mr.h"
#include "../memory/mw.h"
#include "../memory/ring.h"
#include "../qp/cq.h"
#include "../qp/post.h"
#include "../qp/qp.h"
#include "../qp/receive.h"
#include "../qp/srq.h"
#include "../raw/bring_up.h"
#include "../stream/linger.h"
#include "gid.h"
#include "ib_device.h"
#include "port.h"

/* The module's version, packed in the way in which user space unpacks it. */
static u64 fw_version(void)
{
	unsigned int major, minor, sub;

	if (!THIS_MODULE->version ||
	    sscanf(THIS_MODULE->version, "%u.%u.%u", &major, &minor, &sub) != 3)
		return 0;
	return (u64)major << 32 | (minor & 0xffff) << 16 | (sub & 0xffff);
}

static int srn_query_device(struct ib_device *ibdev, struct ib_device_attr *attr,
			    struct ib_udata *udata)
{
	/* Since 7.2 the core also asks for its own purposes, without @udata. */
	int ret = srn_abi_request(to_srn_dev(ibdev), udata, NULL, 0);

	if (ret)
		return ret;
	memset(attr, 0, sizeof(*attr));
	attr->device_cap_flags = IB_DEVICE_MEM_MGT_EXTENSIONS | IB_DEVICE_MEM_WINDOW |
				 IB_DEVICE_MEM_WINDOW_TYPE_2B | IB_DEVICE_SRQ_RESIZE;
	attr->kernel_cap_flags = IBK_LOCAL_DMA_LKEY | IBK_ALLOW_USER_UNREG;
	attr->fw_ver = fw_version();
	attr->vendor_id = SRN_VENDOR_ID;
	attr->vendor_part_id = 1;
	attr->sys_image_guid = ibdev->node_guid;
	attr->page_size_cap = PAGE_SIZE;
	attr->max_mr_size = ~0ULL;
	attr->max_qp = SRN_MAX_QP;
	attr->max_qp_wr = SRN_MAX_QP_WR;
	attr->max_send_sge = SRN_MAX_SGE;
	attr->max_recv_sge = SRN_MAX_SGE;
	attr->max_sge_rd = SRN_MAX_SGE;
	attr->max_cq = SRN_MAX_CQ;
	attr->max_cqe = SRN_MAX_CQE;
	attr->max_mr = SRN_MAX_MR;
	attr->max_mw = SRN_MAX_MW;
	attr->max_pd = SRN_MAX_PD;
	attr->max_qp_rd_atom = SRN_MAX_READ_DEPTH;
	attr->max_qp_init_rd_atom = SRN_MAX_READ_DEPTH;
	attr->max_res_rd_atom = SRN_MAX_READ_DEPTH * SRN_MAX_QP;
	/* Atomics are also atomic to the programs of this host: they lock the bus. */
	attr->atomic_cap = IB_ATOMIC_GLOB;
	attr->masked_atomic_cap = IB_ATOMIC_NONE;
	attr->max_srq = SRN_MAX_SRQ;
	attr->max_srq_wr = SRN_MAX_SRQ_WR;
	attr->max_srq_sge = SRN_MAX_SGE;
	attr->max_fast_reg_page_list_len = SRN_MAX_FAST_REG_PAGES;
	/* Time stamps of completions are in nanoseconds. */
	attr->timestamp_mask = ~0ULL;
	attr->hca_core_clock = NSEC_PER_SEC / 1000;
	return 0;
}

static void srn_get_dev_fw_str(struct ib_device *ibdev, char *str)
{
	snprintf(str, IB_FW_VERSION_NAME_MAX, "%s", THIS_MODULE->version ?: "0");
}

/* If a node could not be allocated, empty nodes above it have been left in the table. */
static void free_table(struct xarray *table)
{
	unsigned long index = 0;

	WARN_ON(xa_find(table, &index, ULONG_MAX, XA_PRESENT));
	xa_destroy(table);
}

/* Nobody uses the link any more. */
static void let_go(struct srn_device *dev)
{
	free_table(&dev->qps);
	free_table(&dev->mems);
	free_table(&dev->requests);
	WARN_ON(!hash_empty(dev->reporters));
	WARN_ON(memchr_inv(dev->recent_mems, 0, sizeof(dev->recent_mems)));
	srn_secret_set(dev, NULL, 0);
	srn_netns_leave(dev);
	srn_counters_free(dev->counters);
	dev_put(dev->netdev);
}

static void free_workqueues(struct srn_device *dev)
{
	if (dev->raw_wq)
		destroy_workqueue(dev->raw_wq);
	if (dev->cm_wq)
		destroy_workqueue(dev->cm_wq);
	if (dev->report_wq)
		destroy_workqueue(dev->report_wq);
}

static void end_connections(struct srn_device *dev)
{
	WRITE_ONCE(dev->closing, true);
	cancel_delayed_work_sync(&dev->gid_work);
	srn_ep_close_all(dev);
	srn_linger_flush(dev);
	free_workqueues(dev);
}

/*
 * The core waits for its clients and for ids of rdma_cm. LIO's iSER target is no client, and
 * destroys its ids before its queue pairs: what it holds then would go with the device. A
 * protection domain is what a consumer gives back last. The core does not count one that it is
 * about to give back, so this counts itself; the core then takes it out of a table of the device,
 * and does not sleep before that.
 */
static void wait_for_kernel_consumers(struct srn_device *dev)
{
	unsigned long told = jiffies;

	while (atomic_read(&dev->count[SRN_LIMIT_PD])) {
		if (time_after(jiffies, told + 10 * HZ)) {
			ibdev_warn(&dev->ibdev, "waits for a protection domain that the kernel uses\n");
			told = jiffies;
		}
		msleep(20);
	}
	synchronize_rcu_tasks();
}

/* The next link of a network device may be there before the previous one is gone. */
static void clear_gid_tag(struct net_device *netdev)
{
	struct srn_device *next;

	rtnl_lock();
	next = srn_device_find(netdev);
	if (next)
		ib_device_put(&next->ibdev);
	else
		srn_compat_clear_gid_tag(netdev);
	rtnl_unlock();
}

static void srn_dealloc_driver(struct ib_device *ibdev)
{
	struct srn_device *dev = to_srn_dev(ibdev);

	wait_for_kernel_consumers(dev);
	end_connections(dev);
	clear_gid_tag(dev->netdev);
	let_go(dev);
}

/*
 * The core shows the device: it is new, or was hidden while its namespace changed. Notifiers did
 * not find it then, so this looks for what they may have missed.
 */
static int srn_enable_driver(struct ib_device *ibdev)
{
	struct srn_device *dev = to_srn_dev(ibdev);

	if (dev->settings_shown)
		/* Whoever registered it did not find it when that was done. */
		WRITE_ONCE(dev->registering, NULL);
	else if (srn_settings_register(dev))
		ibdev_notice(ibdev, "no memory to show the settings in raw/\n");
	dev->settings_shown = true;
	srn_gid_check(dev, 0);
	if (!net_eq(dev->net, dev_net(dev->netdev)))
		ib_unregister_device_queued(ibdev);
	return 0;
}

static const struct ib_device_ops device_ops = {
	.owner = THIS_MODULE,
	.driver_id = (enum rdma_driver_id)SRN_DRIVER_ID,
	.uverbs_abi_ver = SRN_ABI_VERSION,

	.alloc_hw_port_stats = srn_counters_alloc_stats,
	.alloc_mr = srn_mr_alloc,
	.alloc_mw = srn_mw_alloc,
	.alloc_pd = srn_pd_alloc,
	.alloc_ucontext = srn_ucontext_alloc,
	.create_cq = srn_compat_create_cq,
	.create_qp = srn_qp_create,
	.create_srq = srn_srq_create,
	.dealloc_driver = srn_dealloc_driver,
	.dealloc_mw = srn_mw_dealloc,
	.dealloc_pd = srn_pd_dealloc,
	.dealloc_ucontext = srn_ucontext_dealloc,
	.dereg_mr = srn_mr_dereg,
	.destroy_cq = srn_cq_destroy,
	.destroy_qp = srn_qp_destroy,
	.destroy_srq = srn_srq_destroy,
	.device_group = &srn_settings_group,
	.disassociate_ucontext = srn_ucontext_disassociate,
	.enable_driver = srn_enable_driver,
	.fill_res_cq_entry = srn_resource_cq,
	.fill_res_mr_entry = srn_resource_mr,
	.fill_res_qp_entry = srn_resource_qp,
	.get_dev_fw_str = srn_get_dev_fw_str,
	.get_dma_mr = srn_mr_get_dma,
	.get_hw_stats = srn_counters_get_stats,
	.get_port_immutable = srn_port_get_immutable,
	.iw_accept = srn_passive_accept,
	.iw_add_ref = srn_cm_handle_add_ref,
	.iw_connect = srn_active_connect,
	.iw_create_listen = srn_listen_create,
	.iw_destroy_listen = srn_listen_destroy,
	.iw_get_qp = srn_claim_get_qp,
	.iw_reject = srn_passive_reject,
	.iw_rem_ref = srn_claim_rem_ref,
	.map_mr_sg = srn_mr_map_sg,
	.mmap = srn_ring_mmap,
	.mmap_free = srn_ring_mmap_free,
	.modify_qp = srn_qp_modify,
	.modify_srq = srn_srq_modify,
	.poll_cq = srn_cq_poll,
	.post_recv = srn_receive_post,
	.post_send = srn_post_send,
	.post_srq_recv = srn_srq_post,
	.query_device = srn_query_device,
	.query_gid = srn_gid_query,
	.query_pkey = srn_port_query_pkey,
	.query_port = srn_port_query,
	.query_qp = srn_qp_query,
	.query_srq = srn_srq_query,
	.query_ucontext = srn_ucontext_query,
	.reg_user_mr = srn_compat_reg_user_mr,
	.reg_user_mr_dmabuf = srn_compat_reg_dmabuf,
	.req_notify_cq = srn_cq_arm,
	.rereg_user_mr = srn_mr_rereg_user,
	SRN_COMPAT_FILL_RES_SRQ
	SRN_COMPAT_PORT_EVENTS
	SRN_COMPAT_RESIZE_CQ

	INIT_RDMA_OBJ_SIZE(ib_cq, srn_cq, ibcq),
	INIT_RDMA_OBJ_SIZE(ib_mw, srn_mw, ibmw),
	INIT_RDMA_OBJ_SIZE(ib_pd, srn_pd, ibpd),
	INIT_RDMA_OBJ_SIZE(ib_qp, srn_qp, ibqp),
	INIT_RDMA_OBJ_SIZE(ib_srq, srn_srq, ibsrq),
	INIT_RDMA_OBJ_SIZE(ib_ucontext, srn_ucontext, ibuc),
};

/**
 * srn_ib_device_update_gid - take over the hardware address of the network device
 * @dev: device
 *
 * Context: process, RTNL held.
 */
void srn_ib_device_update_gid(struct srn_device *dev)
{
	union ib_gid gid;

	ASSERT_RTNL();
	srn_compat_set_gid_tag(dev->netdev, &gid);
	spin_lock_bh(&dev->lock);
	dev->gid = gid;
	spin_unlock_bh(&dev->lock);
}

static int alloc_workqueues(struct srn_device *dev)
{
	const char *name = dev->netdev->name;

	dev->cm_wq = alloc_ordered_workqueue("softrnic_cm_%s", WQ_MEM_RECLAIM, name);
	/* Not WQ_MEM_RECLAIM: its work waits for that of iw_cm, which is not in older 6.1. */
	dev->report_wq = alloc_workqueue("softrnic_report_%s", WQ_UNBOUND, WQ_UNBOUND_MAX_ACTIVE,
					 name);
	/* WQ_MEM_RECLAIM: ends of connections, which have it, wait for its work. */
	dev->raw_wq = alloc_ordered_workqueue("softrnic_raw_%s", WQ_MEM_RECLAIM, name);
	if (dev->cm_wq && dev->report_wq && dev->raw_wq)
		return 0;
	free_workqueues(dev);
	return -ENOMEM;
}

static void init_tables(struct srn_device *dev)
{
	spin_lock_init(&dev->lock);
	INIT_LIST_HEAD(&dev->endpoints);
	hash_init(dev->reporters);
	INIT_LIST_HEAD(&dev->lingering);
	xa_init_flags(&dev->qps, XA_FLAGS_ALLOC1);
	xa_init_flags(&dev->mems, XA_FLAGS_ALLOC1);
	xa_init_flags(&dev->requests, XA_FLAGS_ALLOC1 | XA_FLAGS_LOCK_BH);
	get_random_bytes(&dev->qpn_key, sizeof(dev->qpn_key));
	spin_lock_init(&dev->qpns.lock);
	dev->next_mem = get_random_u32_below(SRN_MAX_STAG_INDEX);
}

/**
 * srn_ib_device_create - allocate a device
 * @netdev: network device
 *
 * Context: process.
 *
 * Return: device, to be registered or given to srn_ib_device_free(), or an error
 * pointer: -ENODEV if the network device is going away; -EEXIST if it has a link.
 */
struct srn_device *srn_ib_device_create(struct net_device *netdev)
{
	static atomic_t next_id = ATOMIC_INIT(0);
	struct srn_device *dev;
	struct ib_device *ibdev;
	int ret = -ENOMEM;

	dev = ib_alloc_device(srn_device, ibdev);
	if (!dev)
		return ERR_PTR(-ENOMEM);
	ibdev = &dev->ibdev;
	dev->netdev = netdev;
	dev->counters = srn_counters_alloc();
	if (!dev->counters)
		goto err_device;
	if (alloc_workqueues(dev))
		goto err_counters;
	ret = srn_netns_enter(dev);
	if (ret)
		goto err_wq;
	dev_hold(netdev);
	dev->id = atomic_inc_return(&next_id);
	srn_settings_init(dev);
	srn_gid_prepare(dev);
	init_tables(dev);
	dev->bring_up = srn_raw_bring_up;
	ibdev->node_type = RDMA_NODE_RNIC;
	ibdev->phys_port_cnt = 1;
	ibdev->num_comp_vectors = num_possible_cpus();
	ibdev->local_dma_lkey = SRN_LOCAL_DMA_LKEY;
	ibdev->uverbs_cmd_mask |= BIT_ULL(IB_USER_VERBS_CMD_POST_SEND) |
				  BIT_ULL(IB_USER_VERBS_CMD_POST_RECV) |
				  BIT_ULL(IB_USER_VERBS_CMD_POST_SRQ_RECV);
	/* The driver listens on the real port itself. */
	ibdev->iw_driver_flags = IW_F_NO_PORT_MAP;
	strscpy(ibdev->node_desc, "softrnic software iWARP", sizeof(ibdev->node_desc));
	strscpy(ibdev->iw_ifname, netdev->name, sizeof(ibdev->iw_ifname));
	ib_set_device_ops(ibdev, &device_ops);
	return dev;

err_wq:
	free_workqueues(dev);
err_counters:
	srn_counters_free(dev->counters);
err_device:
	ib_dealloc_device(ibdev);
	return ERR_PTR(ret);
}

/**
 * srn_ib_device_register - make a device visible
 * @dev: from srn_ib_device_create()
 * @name: what to call it
 *
 * Context: process, RTNL not held.
 *
 * Return: 0 or a negative errno; the caller then calls srn_ib_device_free().
 */
int srn_ib_device_register(struct srn_device *dev, const char *name)
{
	int ret;

	ret = ib_device_set_netdev(&dev->ibdev, dev->netdev, 1);
	if (ret)
		return ret;
	rtnl_lock();
	srn_ib_device_update_gid(dev);
	rtnl_unlock();
	srn_gid_note(dev);
	memcpy(&dev->ibdev.node_guid, dev->gid.raw, sizeof(dev->ibdev.node_guid));
	dev->ibdev.dev.parent = dev->netdev->dev.parent;
	dev->ibdev.driver_def = srn_uapi_definitions;
	WRITE_ONCE(dev->registering, current);
	/* If it succeeds the link may have been deleted again when it returns. */
	ret = ib_register_device(&dev->ibdev, name, NULL);
	if (ret)
		clear_gid_tag(dev->netdev);
	return ret;
}

/**
 * srn_ib_device_free - give up a device that could not be registered
 * @dev: from srn_ib_device_create()
 *
 * Context: process.
 */
void srn_ib_device_free(struct srn_device *dev)
{
	/* The core may have registered the device and opened listeners before it failed. */
	end_connections(dev);
	let_go(dev);
	/* There is nothing yet that the driver would have to undo. */
	dev->ibdev.ops.dealloc_driver = NULL;
	ib_dealloc_device(&dev->ibdev);
}
