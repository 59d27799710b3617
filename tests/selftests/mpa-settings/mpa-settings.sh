#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# files: build/tests/bin/verbs_test build/tests/bin/first_fpdus
# timeout: 400
#
# CRC and markers, asked for by either end or by none: data arrives whole, whoever wants
# what, and what is on the wire is what was agreed on. FPDUs larger than a segment of TCP, from
# one end or both, and with CRC.
. lib/ktap.sh
. lib/pairs.sh
. lib/workers.sh

B4=10.0.0.2

# setting LINK NAME [VALUE]
setting()
{
	local file=/sys/class/infiniband/$1/mpa/$2
	if (($# == 2)); then
		cat "$file"
	else
		echo "$3" > "$file"
	fi
}

# agree CRC-A CRC-B MARKERS-A MARKERS-B
agree()
{
	setting srna crc "$1" && setting srnb crc "$2" && setting srna markers "$3" &&
		setting srnb markers "$4"
}

name_of() { echo "crc $1/$2, markers $3/$4"; }

# transfers NAME SIZE: rping's messages have so many bytes.
transfers()
{
	local name=$1
	pair "rping, $name" 7174 in_b rping -s -a "$B4" -C 20 -S "$2" -V -- \
		in_a rping -c -a "$B4" -C 20 -S "$2" -V
	head -c 3000017 /dev/urandom > /tmp/sent
	rm -f /tmp/received
	SERVER_STATUS_COUNTS='' pair "rcopy, $name" 7427 in_b rcopy -- in_a rcopy /tmp/sent \
		$B4:/tmp/received && run_check "the file is the same, $name" \
		cmp /tmp/sent /tmp/received
}

# The whole set for one combination.
combination()
{
	local name
	name=$(name_of "$@")
	run_check "settings, $name" agree "$@" || return
	transfers "$name" 30000
	run_check "on the wire, $name" on_the_wire "$@"
}

# tcpdump has written the beginning of both.
both_directions()
{
	./first_fpdus /tmp/wire.pcap > /tmp/wire.out 2> /dev/null &&
		(($(wc -l < /tmp/wire.out) == 2))
}

on_the_wire()
{
	local crc='-' initiator responder status=0
	((!$1 && !$2)) || crc=crc
	rm -f /tmp/wire.pcap
	start_recording /tmp/tcpdump.log ip netns exec a tcpdump -i va -w /tmp/wire.pcap \
		--immediate-mode -U -s 0 'tcp port 7174' || return
	SERVER_STATUS_COUNTS=1 try_pair 7174 in_b rping -s -a "$B4" -C 1 -V -- \
		in_a rping -c -a "$B4" -C 1 -V || status=1
	soon both_directions || status=1
	kill "$RECORDER"
	wait "$RECORDER"
	cat /tmp/wire.out
	initiator="initiator asks $( (($1)) && echo crc || echo -) $( (($3)) && echo markers || echo -)"
	initiator+=" sends $( (($4)) && echo marked || echo plain) $crc"
	responder="sends $( (($3)) && echo marked || echo plain) $crc"
	grep -qx -- "$initiator" /tmp/wire.out || {
		echo "expected: $initiator"
		return 1
	}
	grep -q -- "^responder asks .* $responder" /tmp/wire.out || {
		echo "expected of the responder: $responder"
		return 1
	}
	return "$status"
}

large_agreed()
{
	agree 0 0 0 0 && setting srna large_fpdus "$1" && setting srnb large_fpdus "$2"
}

# large FPDUS-OF-A FPDUS-OF-B
large()
{
	run_check "settings, large FPDUs $1/$2" large_agreed "$@" || return
	transfers "large FPDUs $1/$2" 60000
}

# With the settings that a link has at first. A slow machine takes a connection for a slow one, and
# TCP makes packets for it that are shorter than an FPDU: not here.
large_with_crc()
{
	local fpdus reassembled
	in_a sysctl -q net.ipv4.tcp_min_tso_segs=64
	in_b sysctl -q net.ipv4.tcp_min_tso_segs=64
	run_check "settings, large FPDUs with CRC" agree 1 1 0 0 || return
	fpdus=$(counter rx_fpdus) reassembled=$(counter rx_fpdus_reassembled)
	transfers "large FPDUs with CRC" 60000
	fpdus=$(($(counter rx_fpdus) - fpdus))
	reassembled=$(($(counter rx_fpdus_reassembled) - reassembled))
	note "$fpdus FPDUs, of which $reassembled were reassembled"
	# There are 5.4 MB, which are 3700 segments of TCP.
	run_check "they exceed a segment of TCP" test "$fpdus" -lt 1000
	run_check "most of them lie in one packet" test "$((reassembled * 4))" -lt "$fpdus"
}

# library MARKERS LARGE-FPDUS: one process that is both ends, on a link without CRC: payload is
# not copied there.
library()
{
	setting srn0 crc 0 && setting srn0 markers "$1" && setting srn0 large_fpdus "$2" || return
	SRN_SERVER_ADDR=10.1.0.1 ./verbs_test --gtest_brief=1 \
		--gtest_filter='*Operations*:*Inline*:*Access*:*Atomic*:*Immediate*:Batch*:Flush*:State.*:NoReceive.*:TooLong.*:-*16777216*'
}

chmod +x verbs_test first_fpdus
run_check "two links in two namespaces" two_namespaces
run_check "a link on a dummy interface" dummy_link
run_check "the defaults" test "$(setting srna crc)$(setting srna markers)$(setting srna large_fpdus)" = 100
check_fails "a senseless setting is refused" "Invalid argument" \
	bash -c "echo perhaps > /sys/class/infiniband/srna/mpa/crc"
combination 1 1 0 0
combination 0 1 0 0
combination 0 0 0 0
combination 0 0 1 1
combination 1 1 1 1
combination 1 0 1 0
combination 0 0 0 1
large 1 0
large 1 1
large_with_crc
run_check "verbs without CRC" library 0 0
run_check "verbs without CRC, with markers" library 1 0
run_check "segments of TCP are short" ip link set lo mtu 1500
run_check "verbs without CRC, with large FPDUs" library 0 1
finish
