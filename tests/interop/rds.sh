#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# timeout: 200
#
# RDS uses InfiniBand's kind of device only: it asks for the type of the node and does
# not take an iWARP one. So a link must neither be taken nor come to harm, and the day
# that this changes is to be noticed.
. lib/ktap.sh
. lib/topology.sh

AF_RDS=21

modprobe -a rds rds_rdma || skip_all "no RDS in this kernel"
run_check "a link" dummy_link
check_fails "RDS does not take the link's address" "Cannot assign requested address" \
	python3 -c "import socket
socket.socket($AF_RDS, socket.SOCK_SEQPACKET, 0).bind(('10.1.0.1', 4000))"
run_check "link deleted" rdma link delete srn0
finish
