# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Tests of a program that has a server and a client:
#
#	pair "rping" 7174 in_b rping -s -C 10 -- in_a rping -c -a 10.0.0.2 -C 10
#
# Both must succeed. Their output is in $SERVER_LOG and $CLIENT_LOG, and is shown
# if one of them fails.

# shellcheck source=tests/selftests/lib/topology.sh
. lib/topology.sh

SERVER_LOG=/tmp/server.log CLIENT_LOG=/tmp/client.log
: "${CLIENT_TIMEOUT:=$((40 * ${SLOW:-1}))}"

# Seconds after its client in which a server has to end.
SERVER_PATIENCE=$((30 * ${SLOW:-1}))

# Programs whose server does not say by its status how it went, or never ends.
SERVER_STATUS_COUNTS=1

# The two ends stay on different CPUs. A poller that shares one with its peer keeps
# it until the scheduler's tick, and each message takes milliseconds.
SERVER_CPU=$(($(nproc) > 1)) CLIENT_CPU=0

# pair NAME PORT SERVER… -- CLIENT…: one test.
pair() { pair_by try_pair "$@"; }

# pair_by TRY_PAIR NAME PORT SERVER… -- CLIENT…
pair_by()
{
	local try=$1 name=$2
	shift 2
	if "$try" "$@"; then
		ok "$name"
	else
		not_ok "$name" "$PAIR_PROBLEM" "client: $(tail -n 12 "$CLIENT_LOG")" \
			"server: $(tail -n 12 "$SERVER_LOG")"
		return 1
	fi
}

# A script may know of a fault of others that has to be tried around. Called when both
# programs have ended. The one of rping: its thread asks for the next event of a channel that
# main() has closed just before, and ends the program with an error then.
pair_excused()
{
	grep -qx 'rdma_get_cm_event: Bad file descriptor' "$SERVER_LOG" "$CLIENT_LOG"
}

# try_pair PORT SERVER… -- CLIENT…: sets PAIR_PROBLEM if it does not work.
try_pair()
{
	local status=0 attempt
	for attempt in 1 2 3; do
		status=0
		attempt_pair "$@" || status=$?
		((status == 0)) && break
		pair_excused || break
		note "$PAIR_PROBLEM: excused, attempt $attempt"
	done
	return $status
}

attempt_pair()
{
	local port=$1 status=0
	local -a server_command=()
	shift
	while [[ $1 != -- ]]; do
		server_command+=("$1")
		shift
	done
	shift
	: > "$CLIENT_LOG"
	PAIR_PROBLEM=''
	# shellcheck disable=SC2046
	start_server "$SERVER_LOG" $(place "${server_command[0]}" "$SERVER_CPU") \
		"${server_command[@]:$(words_of_place "${server_command[0]}")}"
	if ! wait_listening "$port"; then
		PAIR_PROBLEM="nobody listens on port $port"
		stop_server
		return 1
	fi
	client "$@" > "$CLIENT_LOG" 2>&1 || status=$?
	if ((status != 0)); then
		PAIR_PROBLEM="client: $(status_text $status "$CLIENT_TIMEOUT"): $*"
		stop_server
		return 1
	fi
	if [[ -z $SERVER_STATUS_COUNTS ]]; then
		stop_server
		return 0
	fi
	wait_server "$SERVER_PATIENCE" || status=$?
	((status == 0)) ||
		PAIR_PROBLEM="server: $(status_text $status "$SERVER_PATIENCE"): ${server_command[*]}"
	return $status
}

# client [in_a|in_b] COMMAND…: in the foreground, never for longer than CLIENT_TIMEOUT.
client()
{
	# shellcheck disable=SC2046
	timeout -k 2 "$CLIENT_TIMEOUT" stdbuf -oL $(place "$1" "$CLIENT_CPU") \
		"${@:$(words_of_place "$1") + 1}" < /dev/null
}

# What stands for "in_a" before a command; nothing but the CPU in the host's own
# namespace.
place()
{
	case $1 in
	in_a | in_b) echo "ip netns exec ${1#in_} taskset -c $2" ;;
	*) echo "taskset -c $2" ;;
	esac
}

words_of_place()
{
	case $1 in
	in_a | in_b) echo 1 ;;
	*) echo 0 ;;
	esac
}

status_text()
{
	case $1 in
	124 | 137 | 143) echo "no end within $2 s" ;;
	*) echo "status $1" ;;
	esac
}

# listening_in NAMESPACE PORT
listening_in()
{
	ss -N "$1" -Hltn "sport = :$2" 2> /dev/null | grep -q .
}

# From now on the kernel says nothing of programs that crash, where that is not what is tested. User
# Mode Linux has no switch for that but the one for all messages that may come too often.
crashes_are_not_told()
{
	CRASHES=/proc/sys/debug/exception-trace
	[[ -e $CRASHES ]] || CRASHES=/proc/sys/kernel/printk_ratelimit_burst
	CRASHES_BEFORE=$(cat "$CRASHES")
	echo 0 > "$CRASHES"
}
crashes_are_told() { echo "$CRASHES_BEFORE" > "$CRASHES"; }
