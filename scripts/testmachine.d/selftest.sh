# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# "testmachine selftest": a machine that never reports a failure would make
# every other test worthless. Each case is a script that goes wrong in its own
# way, and what the run has to say of it. Results in TAP.

# name | time-out | expected status | expected in the report | script
SELFTEST_CASES='
exit-status|20|3|the script failed with status 3|exit 3
kernel-warning|20|99|the kernel complained|echo "<4>WARNING: made up" > /dev/kmsg
time-out|2|124|no end within 2 s|sleep 100
sockets|20|99|softrnic leaked|sysctl -qw net.ipv4.tcp_orphan_retries=100; echo 2 > /run/patience-for-sockets; nc -l 127.0.0.1 9999 & until ss -Hltn sport = :9999 | grep -q .; do sleep 0.1; done; exec 5<> /dev/tcp/127.0.0.1/9999; tc qdisc add dev lo root netem loss 100%; exec 5>&-
kernel-panic|20|99|the kernel panicked|echo c > /proc/sysrq-trigger; sleep 100
'
# On a kernel that injects faults: a script that ends with them on, when no process can be made.
FAULTS_CASE='faults-left-on|20|3|the script failed with status 3|cd /sys/kernel/debug/fail_page_alloc && echo N > task-filter && echo N > ignore-gfp-wait && echo 3 > min-order && echo -1 > times && echo 100 > probability && exit 3
'
# With a module of tests/modules, which does wrong, in the place of softrnic: leaky on a kernel
# with kmemleak, racy on one with KCSAN.
LEAKY_CASE='leaky|60|99|softrnic leaked|modprobe softrnic
leaky-and-removed|60|99|softrnic leaked|modprobe softrnic && rmmod softrnic
'
RACY_CASE='racy|120|99|the kernel complained|modprobe softrnic && sleep 20
'

run_selftest()
{
	local name timeout status text script n=0 failed=0 pid
	local -a names pids
	ensure_machine
	WORK=$(mktemp -d)
	trap 'rm -rf "$WORK"' EXIT
	if [[ $KERNEL != stock && $KERNEL != trace ]]; then
		replace_module leaky
		ln -s build-leaky "$WORK/build-leaky-and-removed"
		SELFTEST_CASES+=$LEAKY_CASE$FAULTS_CASE
	fi
	if [[ $KERNEL == kcsan ]]; then
		replace_module racy
		SELFTEST_CASES+=$RACY_CASE
	fi
	echo "TAP version 13"
	while IFS='|' read -r name timeout status text script; do
		[[ -n $name ]] || continue
		echo "$script" > "$WORK/$name.sh"
		selftest_case "$name" "$timeout" "$status" "$text" &
		names+=("$name") pids+=($!)
		# Two machines at a time.
		((${#pids[@]} % 2)) || wait "${pids[-1]}" "${pids[-2]}" || true
	done <<< "$SELFTEST_CASES"

	for pid in "${pids[@]}"; do
		if wait "$pid"; then
			echo "ok $((n + 1)) - told: ${names[n]}"
		else
			echo "not ok $((n + 1)) - told: ${names[n]}"
			sed 's/^/# /' "$WORK/${names[n]}.log"
			failed=1
		fi
		n=$((n + 1))
	done
	n=$((n + 1))
	told_apart "$n" "leaks of softrnic and of the kernel" leaks_told_apart || failed=1
	n=$((n + 1))
	told_apart "$n" "crashes while QEMU boots and later" crashes_told_apart || failed=1
	echo "1..$n"
	exit $failed
}

# A machine that hangs has not been asked: it is tried once more, and that is said.
selftest_case()
{
	local name=$1 timeout=$2 expected=$3 text=$4 status=0 attempt
	if [[ -d $WORK/build-$name ]]; then
		local -x SRN_BUILD=$WORK/build-$name
	fi
	for attempt in 1 2; do
		status=0
		"$TOP/scripts/testmachine" run --release "$RELEASE" --kernel "$KERNEL" \
			--timeout "$timeout" --name "selftest-$name" "$WORK/$name.sh" \
			> "$WORK/$name.log" 2>&1 < /dev/null || status=$?
		grep -q "FAILED: the machine hung" "$WORK/$name.log" || break
		echo "# $name: the machine hung in attempt $attempt"
	done
	echo "status $status, expected $expected and: $text" >> "$WORK/$name.log"
	((status == expected)) && grep -qF "FAILED: $text" "$WORK/$name.log"
}

# told_apart N WHAT FUNCTION: one case that needs no machine.
told_apart()
{
	if "$3" > "$WORK/told-apart.log" 2>&1; then
		echo "ok $1 - told apart: $2"
	else
		echo "not ok $1 - told apart: $2"
		sed 's/^/# /' "$WORK/told-apart.log"
		return 1
	fi
}

crashes_told_apart()
{
	local out=$WORK/crashes
	mkdir "$out"
	echo '[    1.422365] Oops: general protection fault: 0000 [#1] SMP NOPTI' > "$out/console.log"
	! tripped_at_boot "$out" || return
	echo '[    1.422365] Oops: int3: 0000 [#1] SMP NOPTI' > "$out/console.log"
	tripped_at_boot "$out" || return
	touch "$out/.booted"
	! tripped_at_boot "$out"
}

# What is made of a leak report that has one of each: leak-report/.
leaks_told_apart()
{
	local example=$LIB/leak-report
	{
		awk -v start=60a00000 -v size=4096 -v allowed="$WORK/allowed" \
			-f "$LIB/guest/kmemleak.awk" "$example/symbols" "$example/report"
		sed 's/^/allowed: /' "$WORK/allowed"
	} > "$WORK/told"
	diff "$example/expected" "$WORK/told"
}

# replace_module NAME: build it where the machine looks for softrnic, in a folder of its own.
replace_module()
{
	"$TOP/scripts/test-module" "$KERNEL" "$1" "$WORK/build-$1/module/$(kernel_release)" ||
		die "no module $1"
}
