#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# timeout: 100
# modules: destroyed_qp
#
# A consumer in the kernel gets no completions of a queue pair that it has destroyed; see
# tests/modules/destroyed_qp.
. lib/ktap.sh
. lib/topology.sh

no_completions_come()
{
	local status=0
	insmod ./destroyed_qp.ko && rmmod destroyed_qp || status=$?
	dmesg | grep 'destroyed_qp:'
	return "$status"
}

run_check "a link" dummy_link || finish
run_check "no completions come of a queue pair that was destroyed" no_completions_come
finish
