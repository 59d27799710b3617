#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# timeout: 300
# qemu: -device virtio-net-pci,netdev=n0 -netdev hubport,id=n0,hubid=0
#
# rdma-core's own tests, but for those of one vendor's devices. Those that no iWARP device passes
# are listed with the reason, and a test that skips itself says why.
: "${SRN_SAME_HOST:=default}"
. lib/ktap.sh
. lib/topology.sh

SUITE=/tmp/rdma-core
RESULTS=/tmp/pyverbs.log
FIT='test_device. test_pd. test_mr. test_cq. test_cq_events. test_cqex. test_qp. test_qpex.
	test_atomic. test_srq. test_parent_domain. test_relaxed_ordering. test_shared_pd. test_odp.
	test_fork. test_rdmacm.'

unpack()
{
	mkdir -p "$SUITE" && cp -r /usr/share/doc/rdma-core/tests "$SUITE/" &&
		gunzip -rf "$SUITE/tests"
}

# A test is "test_x (tests.module.Class.test_x)", then perhaps a line of description,
# then " ... " and its result. Make that one line: "NAME ... RESULT". Python may say something of its
# own in between, when it frees what earlier tests have left; then the result is a line of its own.
results()
{
	awk '/^test_[a-z0-9_]+ \(/ { name = $2; gsub(/[()]/, "", name); sub(/^tests\./, "", name); begun = 0 }
		name != "" && !begun && / \.\.\. / { sub(/^.* \.\.\. /, ""); begun = 1 }
		begun && /^(ok|skipped .*|FAIL|ERROR|expected failure|unexpected success)$/ {
			print name " ... " $0; name = ""; begun = 0 }' "$RESULTS"
}

report()
{
	local name result
	results > "$RESULTS.lines"
	while read -r name _ result; do
		case $result in
		ok) ok "pyverbs, $name" ;;
		skipped*) skip "pyverbs, $name" "${result#skipped }" ;;
		*) inherent "$name" || not_ok "pyverbs, $name" "$result" ;;
		esac
	done < "$RESULTS.lines"
}

# What every iWARP device fails.
inherent()
{
	local reason
	case $1 in
	*external_qp*) reason="there is no CONNECT_RESPONSE event in iWARP" ;;
	*udp* | *multicast*) reason="iWARP has no datagrams" ;;
	*test_rdmacm_async_traffic) reason="reads a time-out that the core hands to no iWARP QP" ;;
	*) return 1 ;;
	esac
	skip "pyverbs, $1" "$reason"
}

run_suite()
{
	local -a patterns=()
	local p
	for p in $FIT; do
		patterns+=(-k "$p")
	done
	cd "$SUITE" && timeout $((200 * SLOW)) python3 tests/run_tests.py -v --dev srn0 --gid 0 \
		"${patterns[@]}" > /out/pyverbs.stdout 2> "$RESULTS"
	cd /job || return
	cp "$RESULTS" /out/pyverbs.log
	grep -qE '^Ran [1-9][0-9]* tests' "$RESULTS"
}

# A class whose set-up fails has no lines of its tests, and one line of its own.
each_was_reported()
{
	local said failures
	said=$(sed -n 's/^Ran \([0-9]*\) tests.*/\1/p' "$RESULTS")
	failures=$(grep -E '^(setUp|tearDown)(Class|Module) ' "$RESULTS")
	echo "$(wc -l < "$RESULTS.lines") of $said tests $failures"
	(($(wc -l < "$RESULTS.lines") == said)) && [[ -z $failures ]]
}

# The tests of rdma_cm look for a network device that sysfs shows below the same parent
# as the RDMA device, so it has to be one on a bus.
card_link()
{
	ip addr add 10.1.0.1/24 dev eth0
	ip link set eth0 up
	rdma link add srn0 type "$SRN_LINK_TYPE" netdev eth0 && wait_ready srn0
}

[[ -e /sys/class/net/eth0 ]] || skip_all "no network card in this machine"
run_check "a link on a network card" card_link
run_check "the tests are there" unpack
run_check "the tests ran to their end" run_suite
report
run_check "each test was reported" each_was_reported
finish
