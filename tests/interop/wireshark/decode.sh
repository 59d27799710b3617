#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# usage: decode.sh FOLDER
#
# On the host, after wireshark.sh: Wireshark's dissectors look at what it has recorded.
set -uo pipefail
TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
FOLDER=$1
# shellcheck source=tests/selftests/lib/ktap.sh
. "$TOP/tests/selftests/lib/ktap.sh"
CHECK_OUTPUT=$(mktemp)
WORK=$(mktemp -d)
trap 'rm -rf "$CHECK_OUTPUT" "$WORK"' EXIT

! grep -q '^1\.\.0 # SKIP' "$FOLDER/output.log" || skip_all "nothing was recorded"
"$TOP/scripts/install-deps" wireshark >&2 || skip_all "tshark cannot be installed"

# What is above RDMAP is random bytes here, which others would take for theirs.
decode()
{
	tshark -n -r "$FOLDER/$1.pcap" -o tcp.try_heuristic_first:TRUE --disable-protocol rpcordma --disable-protocol smb_direct \
		--disable-protocol iser "${@:2}" 2> /dev/null
}

# fields NAME FIELD: all values, one a line.
fields()
{
	decode "$1" -Y "$2" -T fields -E occurrence=a -E aggregator=' ' -e "$2" | tr ' ' '\n'
}

# It takes a connection for an earlier one of the same ports, which the kernel chooses again at
# times, and its set-up for FPDUs. Such a connection is left out.
not_malformed()
{
	local filter=_ws.malformed stream
	for stream in $(decode "$1" -Y tcp.analysis.reused_ports -T fields -e tcp.stream); do
		filter+=" && tcp.stream != $stream"
	done
	decode "$1" -Y "$filter"
	[[ -z $(decode "$1" -Y "$filter") ]]
}

# It checks each CRC, in the text only.
crcs()
{
	decode "$1" -Y iwarp_mpa.crc_check -V > "$WORK/text"
	GOOD=$(grep -c 'CRC check: .*(Good CRC32)' "$WORK/text")
	BAD=$(grep 'CRC check:' "$WORK/text" | grep -vc '(Good CRC32)')
}

every_crc_good()
{
	crcs "$1"
	echo "$GOOD CRCs are good, $BAD are not"
	((GOOD > 0 && BAD == 0))
}

# Not one less than softrnic has sent; or so many per cent.
# fpdus_seen NAME [PERCENT]
fpdus_seen()
{
	local sent seen percent=${2-100}
	sent=$(cat "$FOLDER/$1.fpdus")
	seen=$(fields "$1" iwarp_mpa.ulpdulength | grep -c .)
	echo "softrnic has sent $sent FPDUs, Wireshark has seen $seen"
	((sent > 0 && seen <= sent && seen * 100 >= sent * percent))
}

# values_seen NAME FIELD VALUE…: all of these.
values_seen()
{
	local value status=0
	fields "$1" "$2" | sort | uniq -c > "$WORK/values"
	cat "$WORK/values"
	for value in "${@:3}"; do
		grep -q " $value\$" "$WORK/values" || { echo "none: $value"; status=1; }
	done
	return "$status"
}

at_least()
{
	local seen
	seen=$(fields "$1" "$2" | grep -c .)
	echo "$2: $seen"
	((seen >= $3))
}

for name in plain marked own peer; do
	run_check "$name: recorded" test -s "$FOLDER/$name.pcap"
	run_check "$name: no malformed packet" not_malformed $name
	run_check "$name: every CRC is good" every_crc_good $name
done
run_check "plain: every FPDU is seen" fpdus_seen plain
run_check "own: every FPDU is seen" fpdus_seen own
# It misses those that shared a segment of TCP, and a marker is in that.
run_check "marked: FPDUs are seen" fpdus_seen marked 90
run_check "marked: markers are followed" at_least marked iwarp_mpa.marker_fpduptr 500
run_check "peer: every opcode of RFC 5040 and RFC 7306" \
	values_seen peer iwarp_rdma.opcode 0x0{0,1,2,3,4,5,6,7,8,9,a,b}
run_check "peer: set-up frames of both revisions" values_seen peer iwarp_mpa.rev 1 2
run_check "peer: requests and replies" at_least peer iwarp_mpa.key.rep 50
# The fields of its markers: in front of an FPDU, and at each fourth byte of a short one.
run_check "peer: markers at every place" \
	values_seen peer iwarp_mpa.marker_fpduptr 0 4 8 12 16 20 24 28
run_check "peer: atomics are decoded" at_least peer iwarp_rdma.atomic.remote_stag 10
run_check "peer: Terminates are decoded" values_seen peer iwarp_rdma.term_layer 0x01
run_check "own: Send with Immediate, unknown to Wireshark" values_seen own iwarp_rdma.opcode 0x0c
finish
