#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# files: build/tests/bin/load
# timeout: 400
#
# Processes with load that are killed at a random moment of their life, from their start on,
# clients and servers. The other end is told, and after each batch nothing is left of them.
#
# KILL_ROUNDS: how many are killed at least (40). KILL_SEED: of the moments; printed, by chance
# otherwise.
. lib/ktap.sh
. lib/pairs.sh

: "${KILL_ROUNDS:=40}" "${KILL_SEED:=$RANDOM}"
# Clients at a time, and how often these are killed before it is the server's turn.
A1=10.1.0.1 PORT=7500 AT_ONCE=5 GROUPS_OF_CLIENTS=4
RANDOM=$KILL_SEED
clients=()
server_pid=''
killed=0

start_server_of_batch()
{
	./load serve "$A1" "$PORT" 9999 > /tmp/server.log 2>&1 &
	server_pid=$!
	wait_listening "$PORT"
}

start_client()
{
	# Not below: a background process has random numbers of its own, which no seed decides.
	local seed=$RANDOM
	./load run "$A1" "$PORT" 9999 1 "$seed" > "/tmp/client.$1.log" 2>&1 &
	clients[$1]=$!
}

# The first of a group may not even have come to main(), the last works.
random_moment()
{
	local moment
	printf -v moment '0.%03d' $((RANDOM % 700))
	sleep "$moment"
}

# To $ORDER.
random_order()
{
	local i other kept
	ORDER=()
	for ((i = 0; i < AT_ONCE; i++)); do
		ORDER[i]=$i
	done
	for ((i = AT_ONCE - 1; i > 0; i--)); do
		other=$((RANDOM % (i + 1)))
		kept=${ORDER[i]}
		ORDER[i]=${ORDER[other]}
		ORDER[other]=$kept
	done
}

# kill_process PID: it dies, whatever it was doing in the kernel.
kill_process()
{
	kill -KILL "$1" || {
		echo "process $1 has ended by itself:"
		tail -n 1 /tmp/server.log /tmp/client.*.log
		return 1
	}
	wait_until 60 process_gone "$1" || {
		echo "process $1 does not die:"
		cat "/proc/$1/stack"
		return 1
	}
	wait "$1"
	killed=$((killed + 1))
} 2> /dev/null

connections() { rdma resource show qp | grep -c RTS; }
enough_connections() { (($(connections) >= 2)); }
no_connections() { (($(connections) == 0)); }

# Clients notice that their server has gone, and work with the next one.
server_killed_under_clients()
{
	local i
	for ((i = 0; i < AT_ONCE; i++)); do
		start_client "$i"
	done
	wait_until 60 enough_connections || {
		echo "no connections: $(tail -n 1 /tmp/client.*.log)"
		return 1
	}
	random_moment
	kill_process "$server_pid" || return
	wait_until 60 no_connections || {
		echo "ends of connections with a dead server:"
		rdma resource show qp
		return 1
	}
	start_server_of_batch || return
	wait_until 60 enough_connections || {
		echo "no connections with the next server: $(tail -n 1 /tmp/client.*.log)"
		return 1
	}
}

clients_killed()
{
	local n i
	for ((n = 0; n < GROUPS_OF_CLIENTS; n++)); do
		for ((i = 0; i < AT_ONCE; i++)); do
			start_client "$i"
		done
		random_order
		for i in "${ORDER[@]}"; do
			random_moment
			kill_process "${clients[i]}" || return
		done
		clients=()
	done
}

# Those that were not killed have been told of every end, and come to theirs.
survivors_end()
{
	local pid
	for pid in "${clients[@]}" $server_pid; do
		kill -TERM "$pid" 2> /dev/null
	done
	for pid in "${clients[@]}" $server_pid; do
		wait_until 60 process_gone "$pid" || {
			echo "process $pid does not end:"
			head -n 20 /proc/"$pid"/task/*/stack
			return 1
		}
	done
	wait
	clients=()
	! grep -hE "without an end|not come to an end" /tmp/server.log /tmp/client.*.log
}

nothing_is_left()
{
	no_objects_stay 60 || return
	wait_until 60 no_sockets || {
		ss -Hton state all exclude time-wait
		return 1
	}
}
no_sockets() { ! ss -Htan state all exclude time-wait | grep -q .; }

one_batch()
{
	start_server_of_batch && clients_killed && server_killed_under_clients && survivors_end &&
		nothing_is_left
}

chmod +x load
note "seed $KILL_SEED"
run_check "a link" dummy_link || finish
while ((killed < KILL_ROUNDS)); do
	run_check "killed, $killed and more" one_batch && continue
	killed=$((killed + 1))
	kill -KILL "${clients[@]}" "$server_pid" 2> /dev/null
	wait
	clients=()
done
note "$killed processes were killed"
pair "rping works on that device" 7174 rping -s -a "$A1" -C 10 -- rping -c -a "$A1" -C 10 -V
finish
