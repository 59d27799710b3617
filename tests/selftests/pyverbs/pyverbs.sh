#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# files: tests/selftests/pyverbs/reasons
# timeout: 300
# qemu: -device virtio-net-pci,netdev=n0 -netdev hubport,id=n0,hubid=0
#
# rdma-core's own tests, but for those of one vendor's devices. Those that do not pass are listed with the reason in
# "reasons", and no other one may. scripts/pyverbs-table makes a table of it all.
: "${SRN_SAME_HOST:=default}"
. lib/ktap.sh
. lib/topology.sh

SUITE=/tmp/rdma-core
RESULTS=/out/pyverbs.log
SAID=/out/pyverbs.stdout
FIT='test_device. test_pd. test_mr. test_cq. test_cq_events. test_cqex. test_qp. test_qpex.
	test_atomic. test_srq. test_parent_domain. test_relaxed_ordering. test_shared_pd. test_odp.
	test_fork. test_rdmacm.'

unpack()
{
	mkdir -p "$SUITE" && cp -r /usr/share/doc/rdma-core/tests "$SUITE/" &&
		gunzip -rf "$SUITE/tests"
}

# A test is "test_x (tests.module.Class.test_x)", then perhaps a line of description,
# then " ... " and its result. Make that one line: "NAME|RESULT|WHAT THE SUITE SAYS". Python may say something of its
# own in between, when it frees what earlier tests have left; then the result is a line of its own.
# A test that fails in one of its two processes has said what each got on the standard output.
results()
{
	awk -v said="$SAID" '
		function of_players(  line, got) {
			while ((getline line < said) > 0 && line !~ /^Player passive got: /)
				if (line ~ /^Player active got: /)
					got = line
			sub(/^Player active got: /, "", got)
			if (got == "")
				got = substr(line, length("Player passive got: ") + 1)
			return got
		}
		/^test_[a-z0-9_]+ \(/ { name = $2; gsub(/[()]/, "", name); sub(/^tests\./, "", name); begun = 0 }
		name != "" && !begun && / \.\.\. / { sub(/^.* \.\.\. /, ""); begun = 1 }
		begun && /^(ok|skipped .*|FAIL|ERROR|expected failure|unexpected success)$/ {
			result = $1; reason = $0
			if (result == "skipped")
				sub(/^skipped /, "", reason)
			if (result == "ERROR")
				reason = of_players()
			print name "|" result "|" reason
			name = ""; begun = 0 }' "$RESULTS"
}

# reason_of NAME WORDS: why a test that says so does not pass.
reason_of()
{
	local pattern reason
	while IFS=$'\t' read -r pattern reason; do
		[[ $pattern != '#'* && "$1: $2" =~ $pattern ]] || continue
		echo "$reason"
		return
	done < reasons
	return 1
}

report()
{
	local name result words reason
	results > "$RESULTS.lines"
	while IFS='|' read -r name result words; do
		reason=''
		if [[ $result == ok ]]; then
			ok "pyverbs, $name"
		elif reason=$(reason_of "$name" "$words"); then
			skip "pyverbs, $name" "$reason"
		else
			not_ok "pyverbs, $name" "$result: $words"
		fi
		printf '%s\t%s\t%s\n' "$name" "$result" "$reason" >> /out/pyverbs.table
	done < "$RESULTS.lines"
}

run_suite()
{
	local -a patterns=()
	local p
	for p in $FIT; do
		patterns+=(-k "$p")
	done
	cd "$SUITE" && timeout $((200 * SLOW)) python3 tests/run_tests.py -v --dev srn0 --gid 0 \
		"${patterns[@]}" > "$SAID" 2> "$RESULTS"
	cd /job || return
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
# Some tests want huge pages of 2 MiB.
echo 8 > /proc/sys/vm/nr_hugepages
run_check "the tests ran to their end" run_suite
report
run_check "each test was reported" each_was_reported
finish
