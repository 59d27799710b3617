#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# timeout: 900
#
# perftest's tools between two namespaces: every operation with sizes from one byte
# to 1 MiB, and the options that use other verbs. Not how fast it is, but that it works.
: "${SRN_SAME_HOST:=default}"
. lib/ktap.sh
. lib/perftest.sh

B4=10.0.0.2 OWN4=10.1.0.1
TRACING=/sys/kernel/tracing SENDS=/sys/kernel/tracing/events/softrnic/srn_send_complete
# What odd_numbers() asks for at the moment.
QPS='' COUNT='' DEPTH=''

# bench NAME TOOL SIZE COUNT [OPTION…]: the result line must be there, too.
bench()
{
	local name=$1 tool=$2 size=$3 count=$4
	shift 4
	local -a options=(-R -F -s "$size" -n "$count" "$@")
	pair_again "$name" 18515 in_b "$tool" -d srnb "${options[@]}" -- \
		in_a "$tool" -d srna "${options[@]}" "$B4" || return
	has_result "$name: result" "$size"
}

sizes()
{
	local tool size count
	for tool in ib_send ib_write ib_read; do
		for size in 1 4096 1048576; do
			count=$((size > 65536 ? 20 : 300))
			bench "${tool}_bw, $size bytes" ${tool}_bw $size $count
		done
		for size in 2 65536; do
			bench "${tool}_lat, $size bytes" ${tool}_lat $size 50
		done
	done
}

options()
{
	bench "ib_send_bw, inline" ib_send_bw 64 300 -I 64
	bench "ib_write_bw, inline" ib_write_bw 256 300 -I 256
	bench "ib_send_lat, inline" ib_send_lat 32 100 -I 64
	bench "ib_write_lat, inline" ib_write_lat 32 100 -I 64
	local tool
	for tool in ib_send_bw ib_write_bw ib_read_bw; do
		bench "$tool, 4 queue pairs" $tool 4096 200 -q 4
		bench "$tool, both directions" $tool 4096 200 -b
		bench "$tool, both directions, 4 queue pairs" $tool 16384 100 -b -q 4
		bench "$tool, lists of 8" $tool 1024 320 -l 8
		bench "$tool, a completion for each" $tool 1024 200 -Q 1
		bench "$tool, a send queue of 2" $tool 4096 200 -t 2 -Q 1
	done
	bench "ib_send_bw, shared receive queue" ib_send_bw 4096 200 --use-srq
	# Over iWARP it counts credits by the receive's wr_id, which an SRQ ties to no QP.
	skip "ib_send_bw, shared receive queue, 4 queue pairs" "perftest loses count of credits"
	bench "ib_send_lat, shared receive queue" ib_send_lat 64 100 --use-srq
	# Over iWARP its client needs a credit for its last message. If the server is not that far it
	# waits for an event of its own, which there is no reason for.
	skip "ib_send_bw -e" "perftest waits for an event where it needs a credit"
	bench "ib_read_bw, events" ib_read_bw 4096 200 -e
	bench "ib_read_bw, events, 4 queue pairs" ib_read_bw 4096 200 -e -q 4
	bench "ib_send_lat, events" ib_send_lat 64 50 -e
	bench "ib_read_lat, events" ib_read_lat 64 50 -e
	skip "ib_write_bw -e, ib_write_lat -e" "perftest refuses events for writes"
	bench "ib_read_bw, 1 outstanding read" ib_read_bw 4096 200 -o 1
	bench "ib_read_bw, 32 outstanding reads" ib_read_bw 65536 100 -o 32
	bench "ib_write_bw, a region for each queue pair" ib_write_bw 4096 200 -q 2 \
		--mr_per_qp
	for tool in ib_atomic_bw ib_atomic_lat; do
		bench "$tool, FETCH_AND_ADD" $tool 8 200 -A FETCH_AND_ADD
		bench "$tool, CMP_AND_SWAP" $tool 8 200 -A CMP_AND_SWAP
	done
	bench "ib_atomic_bw, 4 queue pairs" ib_atomic_bw 8 200 -q 4
	# Multiples of perftest's moderation: see odd_numbers().
	bench "ib_write_bw, 16 queue pairs" ib_write_bw 4096 512 -q 16 -t 64
	bench "ib_write_bw, 16 queue pairs, a completion for each fourth" \
		ib_write_bw 4096 500 -q 16 -t 128 -Q 4
}

# -a goes through all powers of two up to 8 MiB, on one queue pair.
all_sizes()
{
	pair_again "ib_write_bw, all sizes" 18515 in_b ib_write_bw -R -F -d srnb -a -n 5 -- \
		in_a ib_write_bw -R -F -d srna -a -n 5 "$B4" || return
	has_result "result for 8 MiB" 8388608
}

for_one_second()
{
	pair_again "ib_write_bw, for one second" 18515 \
		in_b ib_write_bw -R -F -d srnb -s 4096 -D 1 -- \
		in_a ib_write_bw -R -F -d srna -s 4096 -D 1 "$B4"
}

own_address()
{
	local tool
	for tool in ib_send_bw ib_write_bw ib_read_bw; do
		pair_again "$tool to the own address" 18515 \
			$tool -R -F -d srn0 -s 16384 -n 200 -- \
			$tool -R -F -d srn0 -s 16384 -n 200 "$OWN4"
	done
}

# perftest 4.5 takes each completion for as many messages as its moderation. If the number of
# messages is no multiple of that, it stops to poll before it has seen the last completions, and
# waits for ever for a queue pair that has more than the last one to come. So none may fall behind
# the others, which on a busy machine one does now and then, on any device. Then it is tried again
# if softrnic has done all that it was asked for. With more than 16 queue pairs, which is what
# perftest polls at a time, it hangs without that as well.
odd_numbers()
{
	local numbers
	for numbers in "9 450 128" "12 450 128" "16 500 64"; do
		read -r QPS COUNT DEPTH <<< "$numbers"
		odd_pair "between two links" \
			in_b ib_write_bw -d srnb -- in_a ib_write_bw -d srna "$B4"
		odd_pair "to the own address" \
			ib_write_bw -d srn0 -- ib_write_bw -d srn0 "$OWN4"
	done
	QPS=''
}

# odd_pair NAME SERVER… -- CLIENT…
odd_pair()
{
	local name="ib_write_bw $1, $COUNT messages on each of $QPS queue pairs" word
	local -a options=(-R -F -s 4096 -n "$COUNT" -q "$QPS" -t "$DEPTH") command=()
	shift
	for word in "$@"; do
		[[ $word != ib_write_bw ]] || word+=" ${options[*]}"
		# shellcheck disable=SC2206
		command+=($word)
	done
	trace_sends 1
	pair_again "$name" 18515 "${command[@]}"
	trace_sends 0
}

# trace_sends 1|0: from now on and from the beginning, or no more.
trace_sends()
{
	: > "$TRACING/trace"
	echo "$1" > "$SENDS/enable"
}

# Of each queue pair all messages are complete; or as many as perftest posts until it sees more
# completions, of one in so many as its moderation is: a hundred, and no more than fit.
all_posted_is_done()
{
	awk -v qps="$QPS" -v count="$COUNT" -v depth="$DEPTH" '
		/ status 0, 4096 bytes$/ { done[$(NF - 6)]++ }
		END {
			moderation = depth < 100 ? depth : 100
			for (qp in done) {
				qps--
				print qp, done[qp]
				if (done[qp] != count &&
				    (done[qp] < depth || (done[qp] - depth) % moderation))
					bad = 1
			}
			exit bad || qps
		}' "$TRACING/trace"
}

pair_excused()
{
	local numbers
	[[ -n $QPS && $PAIR_PROBLEM == "client: no end within"* ]] || return
	numbers=$(all_posted_is_done) || {
		note "sends that are complete, by queue pair:" "$numbers"
		return 1
	}
	note "perftest waits for queue pairs that it has posted too little to:" "$numbers"
	: > "$TRACING/trace"
}

(($(nproc) > 1)) || skip_all "both ends of perftest poll, and need a CPU each"
# perftest crashes where it is refused, see lib/perftest.sh.
crashes_are_not_told
run_check "two links in two namespaces" two_namespaces
run_check "a link on a dummy interface" dummy_link
sizes
options
for_one_second
all_sizes
skip "IPv6" "perftest 4.5 resolves IPv4 addresses only"
own_address
odd_numbers
run_check "connections are seldom refused" refused_seldom 8
finish
