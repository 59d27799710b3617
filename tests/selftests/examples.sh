#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# files: build/provider/examples/softrnic-*
# timeout: 150
#
# The examples of the verbs library: both ends on this host, each within a limit.
: "${SRN_SAME_HOST:=default}"
. lib/ktap.sh
. lib/topology.sh

SERVER_TIMEOUT=$((40 * SLOW)) CHECK_TIMEOUT=$((40 * SLOW))
ADDRESS=10.1.0.1

# with_server NAME SERVER… -- CLIENT…: one test; both must end well.
with_server()
{
	local name=$1
	local -a server=()
	shift
	while [[ $1 != -- ]]; do
		server+=("$1")
		shift
	done
	shift
	start_server server.log "${server[@]}"
	wait_until $((10 * SLOW)) grep -q '^listening' server.log ||
		note "the server does not listen" "$(cat server.log)"
	run_check "$name" "$@"
	server_ended_well "$name"
}

server_ended_well()
{
	if wait_server $((30 * SLOW)); then
		ok "$1: server"
	else
		not_ok "$1: server" "$(tail -n 20 server.log)"
	fi
}

ping_works()
{
	local address=$1
	shift
	with_server "ping $address $*" ./softrnic-ping server "$address" "$@" -- \
		./softrnic-ping client "$address" "$@"
}

copy_works()
{
	local bytes=$1
	head -c "$bytes" /dev/urandom > original
	rm -f copy
	with_server "file-copy $bytes bytes" ./softrnic-file-copy receive copy $ADDRESS -- \
		./softrnic-file-copy send original $ADDRESS
	run_check "file-copy $bytes bytes: equal" cmp original copy
}

# Each call of the client is a connection of its own.
kv_works()
{
	start_server server.log ./softrnic-kv server $ADDRESS --clients 7
	wait_until $((10 * SLOW)) grep -q '^listening' server.log
	run_check "kv put" ./softrnic-kv put $ADDRESS colour blue
	run_check "kv put another" ./softrnic-kv put $ADDRESS shape round
	kv_has colour blue
	kv_has shape round
	run_check "kv put again" ./softrnic-kv put $ADDRESS colour green
	kv_has colour green
	./softrnic-kv get $ADDRESS size > value
	if (($? == 3)) && [[ ! -s value ]]; then
		ok "kv get of what is not there"
	else
		not_ok "kv get of what is not there" "$(cat value)"
	fi
	server_ended_well kv
}

kv_has()
{
	run_check "kv get $1" ./softrnic-kv get $ADDRESS "$1"
	if [[ $(cat "$CHECK_OUTPUT") == "$2" ]]; then
		ok "kv get $1 is $2"
	else
		not_ok "kv get $1 is $2" "$(cat "$CHECK_OUTPUT")"
	fi
}

chmod +x softrnic-*
run_check "link" dummy_link || finish
ping_works $ADDRESS --count 200
ping_works $ADDRESS --count 50 --size 100000
ping_works $ADDRESS --count 200 --poll 1
ping_works fd01::1 --count 50
copy_works 0
copy_works 1
copy_works 5000001
kv_works
check_fails "ping without a server" "refused" ./softrnic-ping client $ADDRESS
finish
