#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# files: build/tests/bin/verbs_test
# timeout: 1400
#
# The verbs tests, which are both ends on this host's own address.
# For a run by hand: SRN_ENV=SRN_FILTER SRN_FILTER='Flush.*' make test T=verbs-library
. lib/ktap.sh
. lib/topology.sh
. lib/gtest.sh

on_own_link verbs_test
run_gtest ./verbs_test 480 "${SRN_FILTER:-*:-Removal.*:Largest.*:Shortage.*:Streaming.*}"
if [[ -z ${SRN_FILTER:-} ]]; then
	SRN_TEST_LINK=srn0 SRN_TEST_NETDEV=dummy0 run_gtest ./verbs_test 120 'Removal.*'
	wait_ready srn0
	run_gtest ./verbs_test 90 'Batch.*'
	if [[ $(uname -r) == *-uml-smp ]]; then
		# It maps the memory of processes page by page, in more pieces than its host allows.
		skip "Largest.*" "this kernel cannot map so much memory"
	else
		# The lengths are what may go wrong, and a CRC of 6 GiB takes most of the time.
		echo 0 > /sys/class/infiniband/srn0/mpa/crc
		run_gtest ./verbs_test 600 'Largest.*'
	fi
fi
finish
