#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# files: build/tests/bin/wirepeer build/tests/bin/verbs_test
# timeout: 600
# afterwards: tests/interop/wireshark/decode.sh
#
# What softrnic puts on the wire, for Wireshark's dissectors to judge, which know nothing of
# softrnic. Here it is recorded, and the FPDUs are counted by softrnic; the host then decodes
# it and counts as well.
#
#     plain, marked   between two namespaces, in packets of an Ethernet; with CRC
#     own             to the own address, through lo: Send with Immediate, which is ours
#     peer            the scripted peer's good messages: every opcode, set-up frames of
#                     revision 1 and 2, markers, without CRC
. lib/ktap.sh
. lib/perftest.sh

B4=10.0.0.2 OWN4=10.1.0.1

# record NAME INTERFACE [in_a]: from now on into /out/NAME.pcap.
record()
{
	local name=$1 interface=$2
	shift 2
	start_recording /tmp/tcpdump.log "$@" tcpdump -i "$interface" -s 0 -B 65536 -U \
		-w "/out/$name.pcap" tcp
}

# tcpdump may be behind, and forgets what it has not read when it is told to end. So one
# more packet, which comes after all others: when it is in the file, they are.
# stop_record NAME INTERFACE [in_a]
stop_record()
{
	local name=$1 address=$B4
	[[ $2 != lo ]] || address=$OWN4
	shift 2
	"$@" bash -c "exec 3<> /dev/tcp/$address/9" 2> /dev/null
	wait_until 60 last_is_in "$name" || return
	pkill -INT -x tcpdump
	wait_until 20 grep -q 'packets dropped' /tmp/tcpdump.log
	grep -qx '0 packets dropped by kernel' /tmp/tcpdump.log
}

last_is_in()
{
	tcpdump -n -r "/out/$1.pcap" 'tcp port 9' 2> /dev/null | grep -q .
}

# All FPDUs that the links have sent.
sent_fpdus()
{
	rdma statistic show | grep -oE 'tx_fpdus [0-9]+' | awk '{ sum += $2 } END { print sum + 0 }'
}

# recorded NAME INTERFACE [in_a] -- COMMAND…: by the way, how many FPDUs there were.
recorded()
{
	local name=$1 before
	local -a where=()
	while [[ $1 != -- ]]; do
		where+=("$1")
		shift
	done
	shift
	run_check "recording: $name" record "${where[@]}" || return
	before=$(sent_fpdus)
	"$@"
	echo $(($(sent_fpdus) - before)) > "/out/$name.fpdus"
	run_check "recorded: $name" stop_record "${where[@]}"
}

# between_namespaces MARKERS SIZE-OF-RPING TOOL:SIZE:MESSAGES…
between_namespaces()
{
	local markers=$1 length=$2 tool size messages test
	shift 2
	echo "$markers" | tee /sys/class/infiniband/srn[ab]/mpa/markers > /dev/null
	# A greeting shares a segment of TCP with the message before it, see below.
	echo $((!markers)) | tee /sys/class/infiniband/srn[ab]/mpa/greeting > /dev/null
	pair "rping, markers $markers" 7174 in_b rping -s -a "$B4" -V -S "$length" -C 5 -- \
		in_a rping -c -a "$B4" -V -S "$length" -C 5
	for test in "$@"; do
		IFS=: read -r tool size messages <<< "$test"
		local -a options=(-R -F -n "$messages" ${size:+-s "$size"})
		pair_again "$tool, markers $markers" 18515 in_b "$tool" -d srnb "${options[@]}" -- \
			in_a "$tool" -d srna "${options[@]}" "$B4"
	done
}

long_messages()
{
	between_namespaces 0 9000 ib_{send,write,read}_bw:70001:5 ib_atomic_bw::5
}

# Wireshark finds markers by the place of the segment of TCP, so each FPDU has to have one for
# itself: one message at a time, of one FPDU. And it counts a marker too many where an FPDU of
# more than 508 bytes ends at the place of one. These have 1020 bytes without markers, so the
# places move by 4 with each of them, and a hundred never come round.
single_fpdus()
{
	between_namespaces 1 400 ib_send_lat:996:100 ib_{write,read}_lat:1000:100 ib_atomic_lat::50
}

immediate_to_own_address()
{
	SRN_SERVER_ADDR=$OWN4 run_check "Immediate, both ends ours" timeout 100 ./verbs_test \
		--gtest_color=no --gtest_filter='*Immediate*:*Operations*:-*16777216*:*1048576*'
}

# Without those that send what nobody may, and without the one that sends hundreds of FPDUs in one
# segment: each is a layer for Wireshark, of which it does not decode so many.
good_messages()
{
	SRN_SERVER_ADDR=$OWN4 CHECK_TIMEOUT=250 run_check "the scripted peer's good messages" \
		./wirepeer --gtest_color=no \
		--gtest_filter='Sent.*:Read.rfc5040*:*Atomic.*:Atomics.rfc7306_5_2_1*:ImmediateData.*:*Framing.*:*Request.*:Initiator.*rejection:*Accepted.InOne*:*Markers.*place*-BadRequest*:Sent.many*'
}

(($(nproc) > 1)) || skip_all "both ends of perftest poll, and need a CPU each"
chmod +x wirepeer verbs_test
crashes_are_not_told
run_check "two links in two namespaces" two_namespaces 1500
recorded plain va in_a -- long_messages
recorded marked va in_a -- single_fpdus
run_check "those links removed" remove_two_namespaces
run_check "a link on a dummy interface" dummy_link
recorded own lo -- immediate_to_own_address
recorded peer lo -- good_messages
finish
