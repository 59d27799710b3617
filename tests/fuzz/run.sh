#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# usage: tests/fuzz/run.sh SECONDS BUILD-DIR
#
# Run every fuzz target of a build (cmake -S tests -B BUILD-DIR with clang) for its
# share of the time, as TAP. What a target finds interesting stays in
# BUILD-DIR/corpus, so that the next run goes on from there; inputs that break
# something are in BUILD-DIR/findings.
set -euo pipefail

if (($# != 2)) || [[ ! $1 =~ ^[1-9][0-9]*$ ]]; then
	sed -n 's/^# usage: /usage: /p' "$0" >&2
	exit 2
fi
SECONDS_TOTAL=$1 BUILD=$2
FAILED=0

targets()
{
	find "$BUILD/fuzz" -maxdepth 1 -type f -executable -name 'fuzz_*' 2> /dev/null | sort
}

# statistic NAME LOG: a number from libFuzzer's final statistics.
statistic()
{
	awk -v name="stat::$1:" '$1 == name { print $2 }' "$2"
}

show_findings()
{
	local log=$1 dir=$2 file
	grep -A 20 -m 1 -E 'ERROR:|runtime error|^broken:' "$log" | sed 's/^/# /' || true
	for file in "$dir"/*; do
		[[ -f $file ]] || continue
		echo "# reproduce: ${TARGET} $file"
		od -A x -t x1z "$file" | head -n 40 | sed 's/^/#   /'
	done
}

# run NUMBER SECONDS: run $TARGET.
run()
{
	local name=${TARGET##*/} status=0 start=$SECONDS
	local corpus=$BUILD/corpus/${name#fuzz_} findings=$BUILD/findings/$name log
	log=$findings/log
	# What an earlier run found would pass for a finding of this one.
	rm -rf "$findings"
	mkdir -p "$corpus" "$findings/inputs"

	echo "# $name: $2 s"
	"$TARGET" -max_total_time="$2" -timeout=10 -print_final_stats=1 \
		-artifact_prefix="$findings/inputs/" "$corpus" > "$log" 2>&1 || status=$?
	if ((status == 0)); then
		echo "ok $1 - $name: $(statistic number_of_executed_units "$log") executions in $((SECONDS - start)) s"
		return
	fi
	FAILED=1
	echo "not ok $1 - $name: exit status $status after $((SECONDS - start)) s"
	show_findings "$log" "$findings/inputs"
	echo "# log: $log"
}

mapfile -t TARGETS < <(targets)
if ((${#TARGETS[@]} == 0)); then
	echo "Bail out! no fuzz target in $BUILD/fuzz"
	exit 1
fi
echo "1..${#TARGETS[@]}"
number=0
for TARGET in "${TARGETS[@]}"; do
	share=$((SECONDS_TOTAL / ${#TARGETS[@]}))
	run $((number += 1)) $((share > 0 ? share : 1))
done
exit "$FAILED"
