#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# timeout: 100
# modules: fast_registration
#
# What a peer can read from a region for fast registration: the pages that are registered, whatever
# is prepared meanwhile. By a consumer in the kernel that connects to itself; see
# tests/modules/fast_registration.
: "${SRN_SAME_HOST:=default}"
. lib/ktap.sh
. lib/topology.sh

registered()
{
	local status=0
	insmod ./fast_registration.ko address=10.1.0.1 && rmmod fast_registration || status=$?
	dmesg | grep fast_registration
	return "$status"
}

run_check "a link" dummy_link || finish
modprobe rdma_cm
run_check "a peer reads the pages that are registered" registered
finish
