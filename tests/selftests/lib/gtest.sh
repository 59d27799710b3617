# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# GoogleTest programs whose cases are cases of the script. After lib/ktap.sh.

# on_own_link PROGRAM: a link for a program that is both ends on this host's own address. After
# lib/topology.sh.
on_own_link()
{
	export SRN_SERVER_ADDR=10.1.0.1
	chmod +x "$1"
	run_check "link" dummy_link || finish
}

# run_gtest PROGRAM SECONDS FILTER: the tests of the program as tests of this script, which
# may take so long on a stock kernel. One that ends the program, or does not end, fails, and
# so does what it leaves undone, and a filter that chooses nothing.
run_gtest()
{
	local program=$1 seconds=$2 filter=$3 status=0 before=$KTAP_COUNT failed=$KTAP_FAILED
	timeout -k 5 $((seconds * SLOW)) "$program" --gtest_color=no --gtest_filter="$filter" \
		> gtest.log 2>&1 < /dev/null || status=$?
	gtest_to_ktap < gtest.log
	# Status 1: a case has failed, or what stands around all cases.
	if ((status > 1 || (status == 1 && KTAP_FAILED == failed) || KTAP_COUNT == before)) ||
		! grep -q '^\[==========\].* ran\.' gtest.log; then
		not_ok "$program $filter ends by itself" "status $status" \
			"$(tail -n 30 gtest.log)"
	fi
}

# say_if_slow NAME LINE: LINE ends with "(N ms)", and somebody may look for what takes so long.
say_if_slow()
{
	[[ $2 =~ \(([0-9]+)\ ms\)$ ]] || return 0
	((BASH_REMATCH[1] < 5000)) || echo "# $1: $((BASH_REMATCH[1] / 1000)) s"
}

# GoogleTest's output on standard input.
gtest_to_ktap()
{
	local line detail='' running=''
	while IFS= read -r line; do
		case $line in
		'[ RUN      ] '*)
			[[ -z $running ]] || not_ok "$running" "$detail" "its result is not to be found"
			running=${line#'[ RUN      ] '} detail=''
			;;
		'[       OK ] '*)
			ok "$running"
			say_if_slow "$running" "$line"
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
