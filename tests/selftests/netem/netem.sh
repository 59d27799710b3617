#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# files: build/tests/bin/transfer
# timeout: 500
#
# Bad networks: packets are lost, come late, twice, in another order, with wrong bytes.
# Whatever arrives at the application is right to the last byte. Where TCP sees what went
# wrong it repairs it and no connection ends. It does not see a byte that changes behind a
# checksum that was never made (veth leaves that to hardware it does not have): MPA's CRC
# does, and the connection ends, completely and soon.
#
# NETEM_SEED: of the bytes and sizes. NETEM_SECONDS: of each network (6).
. lib/ktap.sh
. lib/topology.sh

: "${NETEM_SEED:=$((EPOCHSECONDS % 100000))}" "${NETEM_SECONDS:=6}"
B4=10.0.0.2 PORT=7600
CONNECTIONS=2
server_log=/tmp/transfer-server.log client_log=/tmp/transfer-client.log
round=0

# run_transfer SECONDS steady|may-break
run_transfer()
{
	round=$((round + 1))
	timeout -k 2 $((90 * SLOW)) ip netns exec a ./transfer run "$B4" "$PORT" "$1" "$CONNECTIONS" \
		"$((NETEM_SEED * 100 + round))" "$2" > "$client_log" 2>&1 < /dev/null
	local status=$?
	tail -n 3 "$client_log"
	((status == 0)) || echo "client: status $status"
	! server_gone || {
		echo "the server has ended: $(tail -n 3 "$server_log")"
		return 1
	}
	return "$status"
}

# Both directions of the path.
degrade()
{
	tc -n a qdisc replace dev va root netem "$@" && tc -n b qdisc replace dev vb root netem "$@"
}

repair()
{
	local n
	for n in a b; do
		tc -n $n qdisc delete dev v$n root 2> /dev/null
		tc -n $n qdisc delete dev v$n clsact 2> /dev/null
	done
	true
}

# checksums on|off: off means that they are made by software before a packet leaves.
checksums()
{
	in_a ethtool -K va tx "$1" > /dev/null && in_b ethtool -K vb tx "$1" > /dev/null
}

# One byte of one in so many long packets changes where it arrives. Set-up frames, which
# have no CRC, are short.
flip_bytes()
{
	local n
	for n in a b; do
		tc -n $n qdisc add dev v$n clsact &&
			tc -n $n filter add dev v$n ingress protocol ip u32 \
				match u16 0x0400 0x0400 at 2 action ok random determ pipe "$1" \
				action pedit munge offset 700 u8 invert pipe action ok || return
	done
}

# Segments that TCP has left to the device to cut count as many.
flipped()
{
	local n
	for n in a b; do
		tc -n "$n" -s filter show dev "v$n" ingress
	done | awk '/action order 2/ { edit = 1 } edit && /Sent/ { sum += $4; edit = 0 }
		END { print sum + 0 }'
}

rate()
{
	sed -n 's/.*, \([0-9.]*\) MiB\/s.*/\1/p' "$client_log" | tail -n 1
}

broken()
{
	sed -n 's/.* \([0-9]*\) broken.*/\1/p' "$client_log" | tail -n 1
}

crc_errors()
{
	dmesg | grep -c 'ended by Terminate: layer 2, type 0, code 0x02'
}

bad_checksums()
{
	echo $(($(network_counter a TcpInCsumErrors) + $(network_counter b TcpInCsumErrors)))
}

steady_over()
{
	local status
	degrade "$@" || return
	run_transfer "$NETEM_SECONDS" steady
	status=$?
	repair
	return "$status"
}

# setting NAME VALUE: of new connections of both ends.
setting()
{
	echo "$2" > "/sys/class/infiniband/srna/mpa/$1" && echo "$2" > "/sys/class/infiniband/srnb/mpa/$1"
}

# Without CRC payload is not copied before TCP.
steady_without_crc()
{
	local status
	setting crc 0 || return
	steady_over "$@"
	status=$?
	setting crc 1
	return "$status"
}

steady_with_large_fpdus()
{
	local status
	setting large_fpdus 1 || return
	steady_without_crc "$@"
	status=$?
	setting large_fpdus 0
	return "$status"
}

with_result()
{
	local name=$1
	shift
	run_check "$name" "$@"
	local status=$?
	note "$(tail -n 2 "$CHECK_OUTPUT")"
	return "$status"
}

# TCP sees the wrong bytes, drops the packet, and sends it again.
repaired_by_tcp()
{
	local before status errors
	before=$(bad_checksums)
	checksums off && flip_bytes 200 && run_transfer "$NETEM_SECONDS" steady
	status=$?
	errors=$(($(bad_checksums) - before))
	echo "$(flipped) packets changed, TCP dropped $errors for their checksum"
	repair
	checksums on || return
	((status == 0 && errors > 0))
}

# Nobody below MPA sees them.
caught_by_crc()
{
	local before status ends
	before=$(crc_errors)
	flip_bytes 400 && run_transfer $((2 * NETEM_SECONDS)) may-break
	status=$?
	echo "$(($(crc_errors) - before)) CRC errors in the log, $(broken) connections broken"
	ends=$(broken)
	repair
	((status == 0 && ends > 0 && $(crc_errors) > before))
}

# The host may have been busy with something else in one of them.
recovered()
{
	local before=$1
	for _ in 1 2 3; do
		run_transfer "$NETEM_SECONDS" steady || return
		echo "before: $before MiB/s, after: $(rate) MiB/s"
		awk -v before="$before" -v after="$(rate)" 'BEGIN { exit !(after * 4 > before) }' && return
	done
	return 1
}

chmod +x transfer
run_check "two links in two namespaces" two_namespaces
for module in sch_netem cls_u32 act_pedit act_gact; do
	modprobe $module || note "no module $module"
done
note "seed $NETEM_SEED"
SERVER_TIMEOUT=$((220 * SLOW)) start_server "$server_log" \
	in_b ./transfer serve "$B4" "$PORT" $((200 * SLOW))
run_check "the server listens" wait_listening "$PORT"
with_result "a good network" run_transfer "$NETEM_SECONDS" steady
fresh=$(rate)
if degrade delay 0ms; then
	repair
	with_result "loss of 1 %" steady_over loss 1%
	with_result "loss of 5 %" steady_over loss 5%
	with_result "another order" steady_over delay 5ms reorder 25% 50%
	with_result "duplicates" steady_over duplicate 10%
	with_result "delay with jitter" steady_over delay 10ms 5ms
	with_result "wrong bits in 1 %, which TCP sees" steady_over corrupt 1%
	with_result "loss and another order, without CRC" steady_without_crc loss 1% \
		delay 5ms reorder 25% 50%
	with_result "the same with large FPDUs" steady_with_large_fpdus loss 1% \
		delay 5ms reorder 25% 50%
	with_result "everything at a time" steady_over delay 3ms 2ms loss 1% duplicate 2% \
		reorder 10% corrupt 1%
else
	skip "bad networks" "no netem here"
fi
if flip_bytes 10000; then
	repair
	with_result "changed bytes behind a checksum: TCP repairs" repaired_by_tcp
	with_result "changed bytes without one: the CRC ends connections, new ones work" caught_by_crc
else
	skip "changed bytes" "no pedit or no random gact here"
fi
with_result "the network is good again, and so is the rate" recovered "$fresh"
kill -TERM "$(pgrep -P "$SERVER_PID" || echo "$SERVER_PID")"
run_check "the server has seen no wrong byte" wait_server 30
note "server: $(tail -n 1 "$server_log")"
finish
