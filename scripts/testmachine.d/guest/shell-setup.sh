#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# What the interactive shell starts with: one link on a dummy interface.
: "${SRN_LINK_TYPE:=softrnic}"

ip link add dummy0 type dummy
ip addr add 10.0.0.1/24 dev dummy0
ip link set dummy0 up
if rdma link add srn0 type "$SRN_LINK_TYPE" netdev dummy0; then
	rdma link show
	echo "try: rping -s -a 10.0.0.1 & sleep 1; rping -c -a 10.0.0.1 -C 3 -v"
fi
