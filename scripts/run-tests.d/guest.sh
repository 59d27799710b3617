# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# The scripts in the folders TESTS (NAME.sh, or NAME/NAME.sh beside its programs), each in a
# fresh test machine. A script says what it needs in comment lines near its top:
#
#	# files: build/tests/bin/verbs_test build/provider/examples/*
#	# modules: late_consumer
#	# timeout: 120
#	# mem: 3G
#	# icount: yes
#	# smp: 4
#	# qemu: -device virtio-net-pci,netdev=n0 -netdev hubport,id=n0,hubid=0
#	# afterwards: tests/interop/wireshark/decode.sh
#
# Modules are those of tests/modules. The last is a script that looks, on this host, at what the
# test left in its folder.

# test_guest [NAME…]: JOBS of them at a time, each shown when it has ended.
test_guest()
{
	local name
	local -a names=("$@")
	local -A running=()
	((${#names[@]})) || mapfile -t names < <(script_names)
	for name in "${names[@]}"; do
		if [[ -z $(script_of "$name") ]]; then
			result "$name" 0 1 0 0 "no $name.sh in ${TESTS[*]}"
		elif ((JOBS > 1)) && [[ -z $VERBOSE ]]; then
			((${#running[@]} < JOBS)) || show_the_next
			run_guest_test "$name" &
			running[$!]=$name
		else
			run_guest_test "$name"
			show_guest_test "$name"
		fi
	done
	while ((${#running[@]})); do
		show_the_next
	done
}

# Wait for one of test_guest's "running".
show_the_next()
{
	local pid
	wait -n -p pid "${!running[@]}" || true
	show_guest_test "${running[$pid]}"
	unset "running[$pid]"
}

script_names()
{
	local folder entry name
	for folder in "${TESTS[@]}"; do
		for entry in "$folder"/*; do
			name=$(basename "$entry" .sh)
			[[ -z $(script_of "$name") ]] || echo "$name"
		done
	done
}

# script_of NAME: its file, which may lie in a folder of that name; nothing if there is none.
script_of()
{
	local folder script
	for folder in "${TESTS[@]}"; do
		for script in "$folder/$1.sh" "$folder/$1/$1.sh"; do
			if [[ -e $script ]]; then
				echo "$script"
				return
			fi
		done
	done
}

# header SCRIPT KEY: the value in the script's "# KEY: value" line.
header()
{
	sed -n "1,40s/^# $2: *//p" "$1" | head -n 1
}

# What the script's header lines mean for the machine: OPTIONS and FILES. Fails if there is not
# all that it needs.
read_needs()
{
	local script=$1 key value pattern file name
	local -a patterns
	OPTIONS=() FILES=()
	for key in timeout mem smp qemu; do
		value=$(header "$script" $key)
		[[ -z $value ]] || OPTIONS+=("--$key" "$value")
	done
	if [[ -n ${SRN_TIMEOUT:-} ]]; then
		OPTIONS+=(--timeout "$SRN_TIMEOUT")
	elif [[ ${SRN_KERNEL:-stock} != stock ]]; then
		# Checks take time, see SLOW in lib/ktap.sh; the last option counts.
		value=$(header "$script" timeout)
		[[ $SRN_KERNEL != @(qemu|kcsan) ]] || value=$((${value:-300} * 3))
		OPTIONS+=(--timeout $((${value:-300} * 4)))
	fi
	# What is measured shall not depend on what else this host does.
	case ${SRN_KERNEL:-stock} in
	trace) OPTIONS+=(--icount) ;;
	stock) [[ $(header "$script" icount) != yes ]] || OPTIONS+=(--icount) ;;
	esac
	read -ra patterns <<< "$(header "$script" files)"
	for pattern in "${patterns[@]}"; do
		# Relative to the repository; build/ may be elsewhere, with other files in it.
		for file in ${pattern/#build\//$BUILD/}; do
			[[ -e $file ]] || {
				echo "run-tests: $script needs $file, which there is not" >&2
				return 1
			}
			FILES+=("$file")
		done
	done
	for name in $(header "$script" modules); do
		file=$BUILD/test-modules/${SRN_KERNEL:-stock}/$name
		scripts/test-module "${SRN_KERNEL:-stock}" "$name" "$file" || return
		FILES+=("$file/$name.ko")
	done
}

# needs_met NAME SCRIPT: read them; if something is missing, NAME has failed.
needs_met()
{
	! read_needs "$2" 2> "$RESULTS/$1.report" || return 0
	echo "0 1 0 what it needs is missing" > "$RESULTS/$1.counts"
	echo 0 > "$RESULTS/$1.seconds"
	: > "$RESULTS/$1.cases"
	[[ -z $VERBOSE ]] || cat "$RESULTS/$1.report" >&2
	return 1
}

# Two runs of a test in one clone would take each other's logs for their own: the second
# waits until the first has been counted. The test machine locks the same file, unless
# it is told that its caller has done so.
lock_logs()
{
	mkdir -p "$1"
	exec {LOG_LOCK}> "$1/.lock"
	flock --nonblock "$LOG_LOCK" || {
		echo "run-tests: another run uses ${1#"$TOP"/}, waiting for its end" >&2
		flock "$LOG_LOCK"
	}
	# What the last run left shall not count if this one does not even start.
	rm -f "$1/output.log"
}

# Whatever the run may have left behind has the file open, too.
unlock_logs()
{
	flock --unlock "$LOG_LOCK"
	exec {LOG_LOCK}>&-
}

# Run one test; leave its logs in its folder, and what is to be shown in RESULTS.
run_guest_test()
{
	local name=$1 script dir=$LOGS/$1 status=0 start
	local -a OPTIONS FILES
	script=$(script_of "$name")
	needs_met "$name" "$script" || return 0
	OPTIONS+=(--name "$name" --out "$dir")
	lock_logs "$dir"
	start=$EPOCHREALTIME
	if [[ -n $VERBOSE ]]; then
		SRN_OUT_LOCKED=1 scripts/testmachine run "${OPTIONS[@]}" "$script" "${FILES[@]}" ||
			status=$?
	else
		SRN_OUT_LOCKED=1 scripts/testmachine run "${OPTIONS[@]}" "$script" "${FILES[@]}" \
			> /dev/null 2> "$RESULTS/$name.report" || status=$?
		cp "$RESULTS/$name.report" "$dir/report.log"
	fi
	keep_result "$name" "$dir" "$status" "$start" "$(header "$script" afterwards)"
	unlock_logs
}

# keep_result NAME FOLDER STATUS START [AFTERWARDS]: another run may have the folder as soon as this
# one does not lock it any more.
keep_result()
{
	local name=$1 dir=$2 status=$3
	awk -v status="$status" -f scripts/run-tests.d/tap.awk "$dir/output.log" \
		> "$RESULTS/$name.counts" || true
	[[ -z ${5:-} ]] || run_afterwards "$5" "$dir" "$RESULTS/$name.counts"
	seconds_since "$4" > "$RESULTS/$name.seconds"
	[[ ! -e $dir/.restarted ]] || : > "$RESULTS/$name.restarted"
	grep -A8 '^not ok' "$dir/output.log" > "$RESULTS/$name.cases" || true
}

# run_afterwards SCRIPT FOLDER COUNTS: its results count with those of the test.
run_afterwards()
{
	local script=$1 dir=$2 counts=$3 status=0 p f s reason passed failed skipped more
	"$script" "$dir" > "$dir/afterwards.log" 2>&1 < /dev/null || status=$?
	[[ -z $VERBOSE ]] || cat "$dir/afterwards.log"
	cat "$dir/afterwards.log" >> "$dir/output.log"
	read -r p f s reason < "$counts"
	read -r passed failed skipped more < <(
		awk -v status=$status -f scripts/run-tests.d/tap.awk "$dir/afterwards.log")
	echo "$((p + passed)) $((f + failed)) $((s + skipped)) $reason$more" > "$counts"
}

show_guest_test()
{
	local kept=$RESULTS/$1 passed=0 failed=1 skipped=0 reason="did not run"
	[[ ! -s $kept.counts ]] ||
		read -r passed failed skipped reason < "$kept.counts"
	[[ ! -e $kept.restarted ]] || reason+="${reason:+, }machine started twice"
	result "$1" "$passed" "$failed" "$skipped" "$(cat "$kept.seconds")" "$reason"
	if ((failed)) && [[ -z $VERBOSE ]]; then
		sed 's/^/    /' "$kept.cases" | head -n 60 || true
		sed 's/^/    /' "$kept.report" | head -n 120
	fi
}
