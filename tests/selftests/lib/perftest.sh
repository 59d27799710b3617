# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Pairs whose programs are perftest's.
#
# shellcheck source=tests/selftests/lib/pairs.sh
. lib/pairs.sh

# perftest's server tells its client to connect before it listens. Who comes too early is
# refused, as it must be; perftest 4.5 means to try again then, but crashes. So up to three times
# more, but each is counted: a refusal could also be our fault.
REFUSED=0
try_pair_again()
{
	local attempt
	for attempt in 1 2 3; do
		try_pair "$@" && return
		was_refused || return
		REFUSED=$((REFUSED + 1))
		note "refused in attempt $attempt"
	done
	try_pair "$@"
}
was_refused() { grep -qE "CM_EVENT_REJECTED|Connection refused" "$CLIENT_LOG"; }

# pair_again NAME PORT SERVER… -- CLIENT…: one test.
pair_again() { pair_by try_pair_again "$@"; }

# refused_seldom TIMES
refused_seldom()
{
	echo "$REFUSED connections refused"
	((REFUSED <= $1))
}

# The line of a result for messages of that size is there.
result_line()
{
	grep -qE "^ *$1 +[0-9]+ +[0-9.]+" "$CLIENT_LOG"
}

# has_result NAME SIZE: counted only if it has not. Figures need a processor's clock that goes with
# the time of day, which a busy User Mode Linux does not have.
has_result()
{
	result_line "$2" && return
	if grep -q "^Correlation coefficient" "$CLIENT_LOG"; then
		skip "$1" "perftest does not believe this machine's clock"
	else
		not_ok "$1" "$(cat "$CLIENT_LOG")"
	fi
}
