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
	traced "srn_fpdu_built: ports $PORT, [0-9]+: Read Request, 28 bytes, last" 3 &&
		traced "srn_fpdu_received: ports [0-9]+, $PORT: Read Request, 28 bytes, last" 3 &&
		traced "srn_fpdu_built: ports [0-9]+, $PORT: Read Response, [0-9]+ bytes\$" &&
		traced "srn_fpdu_received: ports $PORT, [0-9]+: Read Response, [0-9]+ bytes, last" 3
}

terminate()
{
	local status=0
	start_server /tmp/rping.log in_b rping -s -p "$PORT" && wait_listening "$PORT" && enable &&
		timeout 30 ip netns exec a ./stranger "an FPDU with a wrong CRC" "$B4" "$PORT" || status=1
	stop_server
	disable && cat "$TRACE"
	((status == 0)) &&
		traced 'srn_terminate_sent: srnb QP[0-9]+: layer [012], type [0-9], code 0x..' 1
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
run_check "a Terminate" terminate
run_check "nothing is traced when it is disabled" nothing_when_disabled
finish
