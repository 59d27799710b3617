# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# How much of kernel/wire the unit tests and fuzzers reach.

# Per cent of all branches, each of them counted both ways.
COVERAGE_WANTED=95

# Unit tests and fuzzers of "make coverage-build", which leave what they have counted.
coverage_run()
{
	local dir=$1
	rm -rf "$dir/profiles"
	export LLVM_PROFILE_FILE=$dir/profiles/%4m.profraw
	# What "make fuzz" has found counts as well.
	if [[ -d $BUILD/fuzz/corpus ]]; then
		cp -r "$BUILD/fuzz/corpus" "$dir"
	fi
	test_unit "$dir/unit/wire"
	test_fuzz "$dir"
	unset LLVM_PROFILE_FILE
}

# coverage_report COMMAND OPTION…: llvm-cov on all that ran.
coverage_report()
{
	local dir=$BUILD/coverage program
	local -a objects=("$dir/unit/wire/wire_test")
	for program in "$dir"/fuzz/fuzz_*; do
		[[ -f $program && -x $program ]] && objects+=(-object "$program")
	done
	llvm-cov "$@" -instr-profile "$dir/profile" "${objects[@]}" \
		"$TOP/kernel/wire"
}

test_coverage()
{
	local log=$LOGS/coverage.log start branches
	coverage_run "$BUILD/coverage"
	start=$EPOCHREALTIME
	if ! { llvm-profdata merge -o "$BUILD/coverage/profile" "$BUILD"/coverage/profiles/* &&
		coverage_report report -show-branch-summary -show-region-summary=false &&
		coverage_report show -show-branches=count; } > "$log" 2>&1; then
		result coverage 0 1 0 "$(seconds_since "$start")" "see $log"
		return
	fi
	sed '/^TOTAL/q' "$log"
	branches=$(awk '$1 == "TOTAL" { sub("%", "", $NF); print $NF; exit }' "$log")
	if awk -v b="$branches" -v w=$COVERAGE_WANTED 'BEGIN { exit !(b != "" && b + 0 >= w) }'; then
		result coverage 1 0 0 "$(seconds_since "$start")" "$branches % of branches"
	else
		result coverage 0 1 0 "$(seconds_since "$start")" \
			"$branches % of branches, $COVERAGE_WANTED % wanted"
	fi
}
