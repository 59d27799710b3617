/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * rdma link add, rdma link delete.
 */
#ifndef SRN_RDMA_LINK_H
#define SRN_RDMA_LINK_H

int srn_rdma_link_init(void);
void srn_rdma_link_exit(void);

#endif /* SRN_RDMA_LINK_H */
