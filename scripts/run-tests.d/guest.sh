# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# $TESTS/*.sh, each in a fresh test machine. A script says what it
# needs in comment lines near its top:
#
#	# files: build/tests/verbs/verbs_test build/provider/examples/*
#	# timeout: 120
#	# mem: 3G
#	# smp: 4
#	# qemu: -device virtio-net-pci,netdev=n0 -netdev hubport,id=n0,hubid=0

# test_guest [NAME…]
test_guest()
{
	local name script running=0
	local -a names=("$@")
	if ((${#names[@]} == 0)); then
		for script in "$TESTS"/*.sh; do
			[[ -e $script ]] && names+=("$(basename "$script" .sh)")
		done
	fi
	for name in "${names[@]}"; do
		if [[ ! -e $TESTS/$name.sh ]]; then
			result "$name" 0 1 0 0 "no $TESTS/$name.sh"
			continue
		fi
		if ((JOBS > 1)) && [[ -z $VERBOSE ]]; then
			run_guest_test "$name" &
			running=$((running + 1))
			if ((running >= JOBS)); then
				wait -n || true
				running=$((running - 1))
			fi
		else
			run_guest_test "$name"
			show_guest_test "$name"
		fi
	done
	if ((JOBS > 1)) && [[ -z $VERBOSE ]]; then
		wait
		for name in "${names[@]}"; do
			[[ ! -e $TESTS/$name.sh ]] || show_guest_test "$name"
		done
	fi
}

# header SCRIPT KEY: the value in the script's "# KEY: value" line.
header()
{
	sed -n "1,40s/^# $2: *//p" "$1" | head -n 1
}

# Run one test; leave its logs and ".counts" in its folder.
run_guest_test()
{
	local name=$1 script=$TESTS/$1.sh dir=$LOGS/$1 status=0
	local start=$EPOCHREALTIME key value pattern file
	local -a options=(--name "$name" --out "$dir") files=()
	for key in timeout mem smp qemu; do
		value=$(header "$script" $key)
		[[ -z $value ]] || options+=("--$key" "$value")
	done
	if [[ -n ${SRN_TIMEOUT:-} ]]; then
		options+=(--timeout "$SRN_TIMEOUT")
	elif [[ ${SRN_KERNEL:-stock} != stock ]]; then
		# Checks take time; the last option counts.
		value=$(header "$script" timeout)
		options+=(--timeout $((${value:-300} * 4)))
	fi
	for pattern in $(header "$script" files); do
		# Relative to the repository; build/ may be elsewhere.
		for file in ${pattern/#build\//$BUILD/}; do
			[[ -e $file ]] && files+=("$file")
		done
	done
	mkdir -p "$dir"
	if [[ -n $VERBOSE ]]; then
		scripts/testmachine run "${options[@]}" "$script" "${files[@]}" || status=$?
	else
		scripts/testmachine run "${options[@]}" "$script" "${files[@]}" \
			> /dev/null 2> "$LOGS/$name.report" || status=$?
		mv "$LOGS/$name.report" "$dir/report.log"
	fi
	awk -v status=$status -f scripts/run-tests.d/tap.awk "$dir/output.log" \
		> "$dir/.counts" || true
	seconds_since "$start" > "$dir/.seconds"
}

show_guest_test()
{
	local dir=$LOGS/$1 passed=0 failed=1 skipped=0 reason="did not run"
	[[ ! -s $dir/.counts ]] ||
		read -r passed failed skipped reason < "$dir/.counts"
	[[ ! -e $dir/.restarted ]] || reason+="${reason:+, }machine started twice"
	result "$1" "$passed" "$failed" "$skipped" "$(cat "$dir/.seconds")" "$reason"
	if ((failed)) && [[ -z $VERBOSE ]]; then
		grep -A8 '^not ok' "$dir/output.log" | sed 's/^/    /' | head -n 60 || true
		sed 's/^/    /' "$dir/report.log" | head -n 120
	fi
}
