# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Read the output of "ctest -V". Print "PASSED FAILED SKIPPED", where a ctest
# test that is a GoogleTest program counts as the cases in it, and any other as
# one. A program that fails without a failed case (it crashed) is one failure.

function number(field) { return substr(field, 1, index(field, ":") - 1) }

/^[0-9]+: \[       OK \] .*\([0-9]+ ms\)/ { ok[number($1)]++ }
/^[0-9]+: \[  FAILED  \] .*\([0-9]+ ms\)/ { bad[number($1)]++ }
/^[0-9]+: \[  SKIPPED \] .*\([0-9]+ ms\)/ { left[number($1)]++ }

# " 1/12 Test  #1: name ......   Passed    0.01 sec"
/^ *[0-9]+\/[0-9]+ Test +#[0-9]+:/ {
	match($0, /#[0-9]+/)
	n = substr($0, RSTART + 1, RLENGTH - 1)
	cases = ok[n] + bad[n] + left[n]
	passed += ok[n]
	failed += bad[n]
	skipped += left[n]
	if ($0 ~ / Passed /)
		passed += (cases == 0)
	else if ($0 ~ /(Skipped|Not Run \(Disabled\))/)
		skipped += (cases == 0)
	else
		failed += (bad[n] == 0)
}

END { printf "%d %d %d\n", passed, failed, skipped }
