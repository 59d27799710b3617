// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The module comes and goes.
 */
#include <linux/module.h>
#include <rdma/rdma_netlink.h>

#include "device/netns.h"
#include "device/workqueues.h"
#include "qp/cm_handle.h"
#include "stream/batch.h"
#include "verbs/rdma_link.h"

MODULE_AUTHOR("The softrnic authors");
MODULE_DESCRIPTION("softrnic: RDMA over any network card (iWARP)");
MODULE_LICENSE("Dual BSD/GPL");
MODULE_VERSION("0.1.0");
MODULE_ALIAS_RDMA_LINK("softrnic");
MODULE_SOFTDEP("post: rdma_ucm");

static int __init srn_init(void)
{
	int ret;

	ret = srn_workqueues_init();
	if (ret)
		return ret;
	ret = srn_cm_handle_init();
	if (ret)
		goto err_work;
	ret = srn_netns_init();
	if (ret)
		goto err_handles;
	ret = srn_rdma_link_init();
	if (!ret)
		return 0;

	srn_netns_exit();
err_handles:
	srn_cm_handle_exit();
err_work:
	srn_workqueues_exit();
	return ret;
}

static void __exit srn_exit(void)
{
	srn_rdma_link_exit();
	srn_netns_exit();
	srn_workqueues_exit();
	srn_batch_exit();
	srn_cm_handle_exit();
}

module_init(srn_init);
module_exit(srn_exit);
