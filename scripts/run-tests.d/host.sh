# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Tests that run on this host: of the test machine itself, unit tests, fuzzers.

seconds_since()
{
	awk -v a="$1" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.1f", b - a }'
}

test_machine()
{
	local log=$LOGS/testmachine.log start=$EPOCHREALTIME status=0
	local passed failed skipped reason
	scripts/testmachine selftest > "$log" 2>&1 || status=$?
	read -r passed failed skipped reason < <(
		awk -v status=$status -f scripts/run-tests.d/tap.awk "$log")
	result testmachine "$passed" "$failed" "$skipped" \
		"$(seconds_since "$start")" "$reason"
	((failed == 0)) || grep -A20 '^not ok' "$log" || true
}

# The tests of the C++ project, without those that need the test machine.
test_unit()
{
	local log=$LOGS/unit.log start=$EPOCHREALTIME passed failed skipped
	if [[ ! -f $BUILD/tests/CTestTestfile.cmake ]]; then
		result unit 0 1 0 0 "not built: make tests"
		return
	fi
	ctest --test-dir "$BUILD/tests" -V -j"$(nproc)" --timeout 120 \
		--no-tests=error > "$log" 2>&1 || true
	read -r passed failed skipped < <(awk -f scripts/run-tests.d/ctest.awk "$log")
	((passed + failed + skipped)) || failed=1
	result unit "$passed" "$failed" "$skipped" "$(seconds_since "$start")"
	((failed == 0)) ||
		grep -E '^[0-9]+: .*(FAILED|Failure|ERROR)|\*\*\*' "$log" | head -n 40 || true
}

# Each fuzzer gets its share of the time. A corpus that lies beside its source
# (tests/fuzz/corpus/NAME) is where it starts from.
test_fuzz()
{
	local fuzzer name share
	local -a fuzzers=()
	if [[ -d $BUILD/fuzz ]]; then
		mapfile -t fuzzers < <(find "$BUILD/fuzz/fuzz" -type f -executable \
			-name '*fuzz*' ! -name '*.so*' 2> /dev/null | sort)
	fi
	if ((${#fuzzers[@]} == 0)); then
		result fuzz 0 0 1 0 "no fuzzer is built: make fuzz-build"
		return
	fi
	share=$((FUZZ_SECONDS / ${#fuzzers[@]}))
	for fuzzer in "${fuzzers[@]}"; do
		name=${fuzzer##*/}
		run_fuzzer "$fuzzer" "$name" $((share > 0 ? share : 1))
	done
}

run_fuzzer()
{
	local fuzzer=$1 name=$2 seconds=$3 dir=$LOGS/$2 start=$EPOCHREALTIME
	local -a corpus=("$dir/corpus")
	[[ ! -d tests/fuzz/corpus/$name ]] || corpus+=("tests/fuzz/corpus/$name")
	mkdir -p "$dir/corpus"
	if "$fuzzer" -max_total_time="$seconds" -timeout=10 -print_final_stats=1 \
		-artifact_prefix="$dir/" "${corpus[@]}" > "$dir/output.log" 2>&1; then
		result "$name" 1 0 0 "$(seconds_since "$start")" \
			"$(awk '/number_of_executed_units/ { print $2 " runs" }' "$dir/output.log")"
	else
		result "$name" 0 1 0 "$(seconds_since "$start")" "${dir#"$TOP"/}/output.log"
		grep -A15 -m1 -E 'ERROR:|runtime error' "$dir/output.log" || true
	fi
}
