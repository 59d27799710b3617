/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * What this driver needs to know of rdma_cm's id behind an iw_cm_id.
 */
#ifndef SRN_RDMA_ID_H
#define SRN_RDMA_ID_H

#include <rdma/iw_cm.h>
#include <rdma/rdma_cm.h>

/*
 * The consumer of an iw_cm_id is rdma_cm, and the context of the iw_cm_id begins with the id that
 * rdma_cm's own consumer has. No kernel has another consumer of iw_cm_ids.
 */
static inline const struct rdma_cm_id *srn_rdma_id(const struct iw_cm_id *cm_id)
{
	return cm_id->context;
}

/*
 * When a program listens on all addresses, rdma_cm makes an id for each device and leaves out the
 * number of the port. Without it rdma_cm does not try the listener's own device first for a new
 * connection: it takes the first device that fits. Since 6.12 the link of a VLAN fits the addresses
 * of the device below it, and the other way round, and the connection would get a queue pair of
 * another link. rdma_cm's lock is held by the caller, and it has not used the number yet.
 */
static inline void srn_rdma_id_complete_listener(struct iw_cm_id *cm_id)
{
	struct rdma_cm_id *id = cm_id->context;

	if (!id->port_num)
		id->port_num = 1;
}

/* The network namespace of the consumer. */
static inline const struct net *srn_rdma_id_net(const struct iw_cm_id *cm_id)
{
	return srn_rdma_id(cm_id)->route.addr.dev_addr.net;
}

#endif /* SRN_RDMA_ID_H */
