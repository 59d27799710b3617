#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# files: build/tests/bin/stranger
# timeout: 300
#
# Anybody can connect to a listening port and send anything. Each such connection is
# dropped in bounded time, and the listener goes on.
. lib/ktap.sh
. lib/pairs.sh

B4=10.0.0.2 PORT=7174

stranger()
{
	timeout 60 ip netns exec a ./stranger "$1" "$B4" "$PORT"
}

good_client()
{
	client in_a rping -c -a "$B4" -V -C 3
}

# While fifty idle connections are open, an honest client is served.
served_beside_idle()
{
	local idle status=0
	stranger idle > /tmp/idle.log 2>&1 &
	idle=$!
	if ! soon grep -q connected /tmp/idle.log; then
		echo "the fifty are not connected"
		status=1
	elif ! good_client; then
		echo "the good client is not served"
		status=1
	fi
	wait "$idle" || {
		cat /tmp/idle.log
		status=1
	}
	return "$status"
}

# TCP ignores connections at first if too many wait to be accepted. The backlog of rping is 3, and
# fifty come at once.
none_came_twice()
{
	local ignored
	ignored=$(network_counter b TcpExtListenOverflows) && [[ -n $ignored ]] || return
	echo "$ignored times"
	((ignored == 0))
}

nothing_is_left()
{
	[[ -z $(ss -N b -Htn state established state close-wait "sport = :$PORT") ]]
}

lines_in_log()
{
	dmesg | grep -c 'srnb:'
}

few_lines_in_log()
{
	local lines
	lines=$(lines_in_log)
	echo "$lines lines"
	dmesg | grep 'srnb:' | tail -n 5
	((lines > 0 && lines - FLOOD_LINES < 50))
}

# Each place in the code may write 10 lines in 5 s.
FLOOD_LINES=0
flood()
{
	local before limit start=$SECONDS
	before=$(lines_in_log)
	stranger "two hundred" || return
	FLOOD_LINES=$(($(lines_in_log) - before))
	limit=$((10 * ((SECONDS - start) / 5 + 2)))
	echo "$FLOOD_LINES lines for 200 strangers, $limit allowed"
	((FLOOD_LINES <= limit))
}

# Where an administrator has TCP Fast Open for all listeners, data may come before a peer has shown
# that it has its address.
fast_open_for_all()
{
	local n
	for n in a b; do
		ip netns exec "$n" sysctl -q -w net.ipv4.tcp_fastopen=0x607 || return
	done
}

fast_opens() { network_counter b TcpExtTCPFastOpenPassive; }

# A listener of TCP takes data of a SYN, so the next test would see if softrnic did.
tcp_takes_early_data()
{
	local nc status=0
	in_b nc -l 7175 > /dev/null &
	nc=$!
	wait_listening 7175 && timeout 20 ip netns exec a ./stranger "early data" "$B4" 7175 &&
		(($(fast_opens) > 0)) || status=1
	kill "$nc" 2> /dev/null
	wait "$nc" 2> /dev/null
	return "$status"
}

early_request_waits()
{
	local before
	before=$(fast_opens)
	stranger "an early request" && (($(fast_opens) == before))
}

chmod +x stranger
run_check "two links in two namespaces" two_namespaces
run_check "TCP Fast Open for all" fast_open_for_all
run_check "a listener of TCP takes early data" tcp_takes_early_data
SERVER_TIMEOUT=$((140 * SLOW)) start_server "$SERVER_LOG" in_b rping -s -P -V
run_check "a persistent server listens" wait_listening $PORT
run_check "a good client before" good_client
run_check "a request that comes with the SYN waits for the handshake" early_request_waits
for kind in garbage zeros http "half a header" "a header less one byte" nothing \
	"a reply" "too much private data" "half the private data" "an unknown revision" \
	"no room for the read depths" \
	"garbage for FPDUs" "an FPDU with a wrong CRC" "an FPDU of no length" \
	"FPDUs of the largest length" "half an FPDU and then the end" reset slow; do
	run_check "stranger: $kind" stranger "$kind"
done
run_check "a good client after" good_client
run_check "50 idle connections, and a good client beside" served_beside_idle
run_check "none of them had to come twice" none_came_twice
run_check "200 strangers do not flood the log" flood
run_check "the kernel's log tells, in few lines" few_lines_in_log
run_check "no connection is left" soon nothing_is_left
run_check "a good client at last" good_client
stop_server
finish
