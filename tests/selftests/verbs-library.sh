#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# files: build/tests/verbs/verbs_test
# timeout: 420
#
# The verbs tests (tests/verbs), which are both ends on this host's own address.
# For a run by hand: SRN_ENV=SRN_FILTER SRN_FILTER='Flush.*' make test T=verbs-library
. lib/ktap.sh
. lib/topology.sh

export SRN_SERVER_ADDR=10.1.0.1

# run_suite SECONDS FILTER: the tests of the program as tests of this script. One
# that ends the program, or does not end, fails, and so does what it leaves undone.
run_suite()
{
	local seconds=$1 filter=$2 status=0
	timeout -k 5 "$seconds" ./verbs_test --gtest_color=no --gtest_filter="$filter" \
		> gtest.log 2>&1 < /dev/null || status=$?
	convert < gtest.log
	if ((status > 1)) || ! grep -q '^\[==========\].* ran\.' gtest.log; then
		not_ok "verbs_test $filter ends by itself" "status $status" \
			"$(tail -n 30 gtest.log)"
	fi
}

# GoogleTest's output on standard input.
convert()
{
	local line detail='' running=''
	while IFS= read -r line; do
		case $line in
		'[ RUN      ] '*)
			running=${line#'[ RUN      ] '} detail=''
			;;
		'[       OK ] '*)
			ok "$running"
			running=''
			;;
		'[  FAILED  ] '*' ms)')
			not_ok "$running" "$detail"
			running=''
			;;
		'[  SKIPPED ] '*' ms)')
			skip "$running" "$(head -n 3 <<< "$detail" | tr '\n' ' ')"
			running=''
			;;
		*)
			[[ -z $running ]] || detail+=$line$'\n'
			;;
		esac
	done
	[[ -z $running ]] || not_ok "$running" "$detail" "it did not end"
}

chmod +x verbs_test
run_check "link" dummy_link || finish
run_suite 180 "${SRN_FILTER:-*:-Removal.*:Largest.*}"
if [[ -z ${SRN_FILTER:-} ]]; then
	SRN_TEST_LINK=srn0 SRN_TEST_NETDEV=dummy0 run_suite 60 'Removal.*'
	wait_ready srn0
	run_suite 30 'Batch.*'
	run_suite 240 'Largest.*'
fi
finish
