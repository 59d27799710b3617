#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# files: build/tests/bin/stranger
# timeout: 120
#
# Tracepoints: a connection from its set-up to its end as tracefs shows it.
. lib/ktap.sh
. lib/pairs.sh

B4=10.0.0.2 PORT=7174
TRACING=/sys/kernel/tracing
TRACE=/tmp/trace

enable()
{
	echo > "$TRACING"/trace && echo 1 > "$TRACING"/events/softrnic/enable &&
		echo 1 > "$TRACING"/tracing_on
}

disable()
{
	echo 0 > "$TRACING"/events/softrnic/enable && cat "$TRACING"/trace > "$TRACE"
}

# traced PATTERN [TIMES]: there is such a line, or so many.
traced()
{
	local n
	n=$(grep -cE "$1" "$TRACE")
	echo "$n lines match '$1'"
	[[ -n ${2:-} ]] && ((n == $2)) || [[ -z ${2:-} ]] && ((n > 0))
}

connection()
{
	traced 'srn_cm_event: srnb QP0: CONNECT_REQUEST, status 0, 10.0.0.2:7174 to 10.0.0.1:' 1 &&
		traced 'srn_cm_event: srnb QP[1-9][0-9]*: ESTABLISHED, status 0' 1 &&
		traced 'srn_cm_event: srna QP[1-9][0-9]*: CONNECT_REPLY, status 0' 1 &&
		traced 'srn_cm_event: srna QP[1-9][0-9]*: CLOSE' 1 &&
		traced 'srn_cm_event: srnb QP[1-9][0-9]*: CLOSE' 1
}

states()
{
	local link
	for link in srna srnb; do
		traced "srn_qp_state: $link QP[0-9]+: (INIT|RTR) to RTS" 1 &&
			traced "srn_qp_state: $link QP[0-9]+: (RTS|SQD) to ERR" 1 || return
	done
}

# Each of three rounds: the client tells where its data is, the server reads it and tells so,
# the client tells where its room is, the server writes there and tells so.
work_requests()
{
	traced 'srn_send_begin: srnb QP[0-9]+: Read of 40000 bytes, wr_id ' 3 &&
		traced 'srn_send_begin: srnb QP[0-9]+: Write of 40000 bytes, wr_id ' 3 &&
		traced 'srn_send_begin: srnb QP[0-9]+: Send of ' 6 &&
		traced 'srn_send_complete: srnb QP[0-9]+: wr_id [0-9]+, status 0, 40000 bytes' 6 &&
		traced 'srn_recv_complete: srna QP[0-9]+: wr_id [0-9]+, status 0' 6 &&
		traced 'srn_recv_complete: srna QP[0-9]+: wr_id [0-9]+, status 5'
}

# 40000 bytes are more than an FPDU has here.
fpdus()
{
	local stag='STag 0x[0-9a-f]{8}, MSN 0, offset [0-9]+' request='STag 0x00000000, MSN [123], offset 0'
	traced "srn_fpdu_built: ports $PORT, [0-9]+: Read Request, $request, 28 bytes, last" 3 &&
		traced "srn_fpdu_received: ports [0-9]+, $PORT: Read Request, $request, 28 bytes, last" 3 &&
		traced "srn_fpdu_built: ports [0-9]+, $PORT: Read Response, $stag, [0-9]+ bytes\$" &&
		traced "srn_fpdu_received: ports $PORT, [0-9]+: Read Response, $stag, [0-9]+ bytes, last" 3
}

# segments KIND: what each FPDU says of itself.
segments() { sed -nE "s/.* srn_fpdu_$1: ports [0-9]+, [0-9]+: (.*)/\1/p" "$TRACE" | sort; }

# What one end has built the other has received, where it says the same of each.
both_ends_say_the_same()
{
	segments built > /tmp/built && segments received > /tmp/received &&
		diff /tmp/built /tmp/received && (($(wc -l < /tmp/built) > 12))
}

# Each segment of a long message begins where the one before it has ended.
segments_join()
{
	awk -v kind="$1" '
		$0 !~ "srn_fpdu_" kind || $0 !~ /: Write, STag/ { next }
		{
			match($0, /offset [0-9]+/); offset = substr($0, RSTART + 7, RLENGTH - 7) + 0
			match($0, /[0-9]+ bytes/); bytes = substr($0, RSTART, RLENGTH - 6)
			if (inside && offset != next_offset) { print "not joined: " $0; exit 1 }
			inside = $0 !~ /, last$/; next_offset = offset + bytes; joined++
		}
		END { print joined " segments"; if (joined < 6) exit 1 }' "$TRACE"
}

terminate()
{
	local status=0
	start_server /tmp/rping.log in_b rping -s -p "$PORT" && wait_listening "$PORT" && enable &&
		timeout 30 ip netns exec a ./stranger "an FPDU with a wrong CRC" "$B4" "$PORT" || status=1
	stop_server
	disable && cat "$TRACE"
	((status == 0)) &&
		traced 'srn_terminate_sent: srnb QP[0-9]+: layer [012], type [0-9], code 0x..' 1 &&
		traced "srn_fpdu_built: ports $PORT, [0-9]+: Terminate, STag 0x00000000, MSN 1, offset 0, [0-9]+ bytes, last" 1
}

# Both ends are in one namespace. The greetings that go before the path is there count as well.
on_the_path()
{
	echo netns > /sys/class/infiniband/srnb/mpa/same_host
	enable && try_pair "$PORT" in_b rping -s -p "$PORT" -C 3 -S 40000 -- \
		in_b rping -c -a "$B4" -p "$PORT" -C 3 -S 40000 || return
	echo off > /sys/class/infiniband/srnb/mpa/same_host
	sleep 1
	disable && both_ends_say_the_same && segments_join built && segments_join received &&
		traced 'srn_fpdu_received: .*: Read Response, STag 0x[0-9a-f]{8}, MSN 0, .* 7232 bytes, last' 3
}

nothing_when_disabled()
{
	echo > "$TRACING"/trace && try_pair "$PORT" in_b rping -s -p "$PORT" -C 1 -- \
		in_a rping -c -a "$B4" -p "$PORT" -C 1 && ! grep softrnic "$TRACING"/trace &&
		! grep srn_ "$TRACING"/trace
}

chmod +x stranger
run_check "two links" two_namespaces || finish
run_check "tracing can be enabled" enable || finish
pair "rping" "$PORT" in_b rping -s -p "$PORT" -C 3 -S 40000 -- \
	in_a rping -c -a "$B4" -p "$PORT" -C 3 -S 40000
sleep 1
run_check "tracing can be disabled" disable
run_check "events of the connection manager" connection
run_check "states of queue pairs" states
run_check "work requests" work_requests
run_check "FPDUs" fpdus
run_check "both ends say the same of each" both_ends_say_the_same
run_check "segments of a Write join, as they are built" segments_join built
run_check "segments of a Write join, as they are received" segments_join received
run_check "on the path inside one host they say the same" on_the_path
run_check "a Terminate" terminate
run_check "nothing is traced when it is disabled" nothing_when_disabled
finish
