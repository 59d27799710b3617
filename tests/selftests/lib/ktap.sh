# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Test results in the Kernel's TAP (Documentation/dev-tools/ktap.rst), for
# scripts that run in the test machine:
#
#	. lib/ktap.sh
#	plan 2                          # optional; else finish prints the plan
#	run_check "rping" rping -c ...  # ok or not ok by the command's status
#	ok "name"; not_ok "name"; skip "name" "reason"; expected_failure "name" "whose fault"
#	finish                          # always last: totals and exit status
#
# A script that ends without reaching "finish" counts as failed.

KTAP_COUNT=0 KTAP_FAILED=0 KTAP_PLAN=''

# How many times as long things may take here: kernels that check themselves are slow, and more so
# on a processor that is emulated.
export SLOW=1
case $(uname -r) in
*-softrnic-qemu | *-softrnic-kcsan) SLOW=12 ;;
*-softrnic-*) SLOW=4 ;;
esac

# Seconds that run_check gives a command that is not a shell function.
: "${CHECK_TIMEOUT:=$((60 * SLOW))}"

echo "TAP version 13"

plan()
{
	KTAP_PLAN=$1
	echo "1..$1"
}

ok()
{
	KTAP_COUNT=$((KTAP_COUNT + 1))
	echo "ok $KTAP_COUNT - $1"
}

# not_ok NAME [DETAIL…]: the details become "#" lines.
not_ok()
{
	KTAP_COUNT=$((KTAP_COUNT + 1))
	KTAP_FAILED=$((KTAP_FAILED + 1))
	echo "not ok $KTAP_COUNT - $1"
	shift
	(($# == 0)) || printf '%s\n' "$@" | sed 's/^/# /'
}

skip()
{
	KTAP_COUNT=$((KTAP_COUNT + 1))
	echo "ok $KTAP_COUNT - $1 # SKIP ${2:-}"
}

# Something that has to work does not, by somebody else's fault.
expected_failure()
{
	KTAP_COUNT=$((KTAP_COUNT + 1))
	echo "ok $KTAP_COUNT - $1 # XFAIL $2"
}

# End the whole script without a test in it.
skip_all()
{
	echo "1..0 # SKIP $1"
	exit 0
}

note()
{
	printf '%s\n' "$@" | sed 's/^/# /'
}

# run_check NAME COMMAND…: one test, passed if the command succeeds in time. Its
# output is in $CHECK_OUTPUT (a file), and is shown if it fails.
CHECK_OUTPUT=/tmp/check-output
run_check()
{
	local name=$1 status=0
	shift
	within "$CHECK_TIMEOUT" "$@" > "$CHECK_OUTPUT" 2>&1 < /dev/null || status=$?
	if ((status == 0)); then
		ok "$name"
		return 0
	fi
	((status != 124)) || echo "no end within $CHECK_TIMEOUT s" >> "$CHECK_OUTPUT"
	not_ok "$name" "status $status: $*" "$(tail -n 30 "$CHECK_OUTPUT")"
	return 1
}

# with_result NAME COMMAND…: one test like run_check's, whose output is shown in any case.
with_result()
{
	local status=0
	run_check "$@" || status=$?
	((status)) || note "$(cat "$CHECK_OUTPUT")"
	return "$status"
}

# did_not_end STATUS: that of a command that could not run, was killed, or whose time was up.
did_not_end() { (($1 >= 124 && $1 <= 192)); }

# fails_by_itself COMMAND…: it fails, and not because its time is up or somebody kills it.
fails_by_itself()
{
	local status=0
	"$@" || status=$?
	((status != 0)) && ! did_not_end "$status"
}

# verdicts_to_ktap NAME STATUS LOG: a test for each line of the log that begins with "pass" or "fail".
# The status of the program that wrote it is 1 if a test failed, and nothing else but 0.
verdicts_to_ktap()
{
	local name=$1 status=$2 log=$3 verdict rest failed=$KTAP_FAILED
	while read -r verdict rest; do
		case $verdict in
		pass) ok "$name: $rest" ;;
		fail) not_ok "$name: ${rest%%:*}" "$rest" ;;
		*) note "$verdict $rest" ;;
		esac
	done < "$log"
	((status == 0 || (status == 1 && KTAP_FAILED > failed))) ||
		not_ok "$name" "status $status" "$(tail -n 5 "$log")"
}

# check_fails NAME PATTERN COMMAND…: one test, passed if the command fails and
# its output matches the (extended regular) expression. To be killed, or not to be found, is not to fail.
check_fails()
{
	local name=$1 pattern=$2 status=0
	shift 2
	within "$CHECK_TIMEOUT" "$@" > "$CHECK_OUTPUT" 2>&1 < /dev/null || status=$?
	if ((status == 0)) || did_not_end "$status"; then
		not_ok "$name" "must fail, but status $status: $*" \
			"$(tail -n 30 "$CHECK_OUTPUT")"
	elif ! grep -qE -- "$pattern" "$CHECK_OUTPUT"; then
		not_ok "$name" "no '$pattern' in the output of: $*" \
			"$(tail -n 30 "$CHECK_OUTPUT")"
	else
		ok "$name"
		return 0
	fi
	return 1
}

# within SECONDS COMMAND…: like timeout(1), but shell functions can be given,
# which then must bound themselves.
within()
{
	local seconds=$1
	shift
	if [[ $(type -t "$1") == function ]]; then
		"$@"
	else
		timeout -k 5 "$seconds" "$@"
	fi
}

# bash calls it, in a process of its own. A test that was not found would only be missing.
: "${NOT_FOUND:=/tmp/commands-not-found}"
command_not_found_handle()
{
	echo "$1" >> "$NOT_FOUND"
	echo "$0: line ${BASH_LINENO[0]}: $1: command not found" >&2
	return 127
}

finish()
{
	[[ ! -s $NOT_FOUND ]] || not_ok "all commands are found" "not found: $(cat "$NOT_FOUND")"
	[[ -n $KTAP_PLAN ]] || echo "1..$KTAP_COUNT"
	echo "# totals: $((KTAP_COUNT - KTAP_FAILED)) ok, $KTAP_FAILED not ok"
	if [[ -n $KTAP_PLAN ]] && ((KTAP_COUNT != KTAP_PLAN)); then
		echo "# planned $KTAP_PLAN tests, did $KTAP_COUNT"
		exit 1
	fi
	exit $((KTAP_FAILED != 0))
}
