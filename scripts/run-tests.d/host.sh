# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Tests that run on this host: of the test machine itself, unit tests, fuzzers, packages.

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

# Programs of another release or for another processor run where they were built.
IN_RELEASE=()
[[ -z ${SRN_RELEASE:-}${SRN_ARCH:-} ]] || IN_RELEASE=(scripts/testmachine in-release)

# test_unit [BUILD-DIR]: the tests of the C++ project, without those that need the test
# machine.
test_unit()
{
	local dir=${1:-$BUILD/tests}
	local log=$LOGS/unit.log start=$EPOCHREALTIME limit=120 passed failed skipped status=0
	# A processor that is emulated takes long.
	[[ -z ${SRN_ARCH:-} ]] || limit=600
	if [[ ! -f $dir/CTestTestfile.cmake ]]; then
		result unit 0 1 0 0 "not built: make tests"
		return
	fi
	"${IN_RELEASE[@]}" ctest --test-dir "$dir" -V -j"$(nproc)" --timeout "$limit" \
		--no-tests=error > "$log" 2>&1 || status=$?
	read -r passed failed skipped < <(awk -f scripts/run-tests.d/ctest.awk "$log")
	((status == 0 || failed)) || failed=1
	result unit "$passed" "$failed" "$skipped" "$(seconds_since "$start")"
	((failed == 0)) ||
		grep -E '^[0-9]+: .*(FAILED|Failure|ERROR)|\*\*\*' "$log" | head -n 40 || true
}

# test_fuzz [BUILD-DIR]: tests/fuzz/run.sh gives each fuzzer its share of the time.
test_fuzz()
{
	local log=$LOGS/fuzz.log start=$EPOCHREALTIME status=0
	local passed failed skipped reason
	tests/fuzz/run.sh "$FUZZ_SECONDS" "${1:-$BUILD/fuzz}" > "$log" 2>&1 || status=$?
	read -r passed failed skipped reason < <(
		awk -v status=$status -f scripts/run-tests.d/tap.awk "$log")
	result fuzz "$passed" "$failed" "$skipped" "$(seconds_since "$start")" "$reason"
	grep -E '^(not )?ok ' "$log" | sed 's/^/        /' || true
	((failed == 0)) || grep -A20 '^not ok' "$log" || true
}

# test_packages: those of "make deb", in a tree of the release.
test_packages()
{
	local log=$LOGS/packages.log start=$EPOCHREALTIME status=0
	local passed failed skipped reason
	tests/packages/run.sh "$BUILD/packages" > "$log" 2>&1 || status=$?
	read -r passed failed skipped reason < <(
		awk -v status=$status -f scripts/run-tests.d/tap.awk "$log")
	result packages "$passed" "$failed" "$skipped" "$(seconds_since "$start")" "$reason"
	grep -E '^(not )?ok ' "$log" | sed 's/^/        /' || true
	((failed == 0)) || grep -A40 '^not ok' "$log" || true
}
