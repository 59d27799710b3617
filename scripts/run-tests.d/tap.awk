# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Read the output of one TAP test; -v status=N is its exit status. Print
# "PASSED FAILED SKIPPED REASON": a test that ends before its plan is done, or
# fails without saying which case did, has one failure more. Expected failures
# count as skipped.

/^1\.\.[0-9]+/ {
	planned = 1
	split($1, range, "\\.\\.")
	plan = range[2] + 0
	if (plan == 0)
		skipped_all = 1
}
/^ok .*# *(SKIP|skip|XFAIL)/ { skipped++; next }
/^ok( |$)/             { passed++ }
/^not ok( |$)/         { failed++ }

END {
	done = passed + failed + skipped
	if (skipped_all && done == 0)
		skipped = 1
	else if (!planned || done != plan)
		reason = "ended after " done " of " (planned ? plan : "?") " tests"
	if (status != 0 && (failed == 0 || status >= 99))
		reason = (reason ? reason ", " : "") "status " status
	if (reason)
		failed++
	printf "%d %d %d %s\n", passed, failed, skipped, reason
}
