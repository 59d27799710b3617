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
kernel-panic|20|99|the kernel panicked|echo c > /proc/sysrq-trigger; sleep 100
'

run_selftest()
{
	local name timeout status text script n=0 failed=0 pid
	local -a names pids
	ensure_machine
	WORK=$(mktemp -d)
	trap 'rm -rf "$WORK"' EXIT
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
	echo "1..$n"
	exit $failed
}

selftest_case()
{
	local name=$1 timeout=$2 expected=$3 text=$4 status=0
	"$TOP/scripts/testmachine" run --release "$RELEASE" --timeout "$timeout" \
		--name "selftest-$name" "$WORK/$name.sh" \
		> "$WORK/$name.log" 2>&1 < /dev/null || status=$?
	echo "status $status, expected $expected and: $text" >> "$WORK/$name.log"
	((status == expected)) && grep -qF "FAILED: $text" "$WORK/$name.log"
}
