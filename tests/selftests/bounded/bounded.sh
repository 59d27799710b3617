#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# files: build/tests/bin/bounded build/tests/bin/holdings build/tests/bin/flood
# timeout: 300
#
# Softrnic disables interrupts, preemption or bottom halves for LIMIT microseconds at most at a
# stretch, whatever work it is given. One instruction counts as one nanosecond. Only the kernel
# "trace" measures that (make test T=bounded K=trace); on other kernels the work is done, and not
# measured. Softirqs that run at the end of a section do not count.
. lib/ktap.sh
. lib/perftest.sh

TRACING=/sys/kernel/tracing LIMIT=200
SERVER=10.1.0.1 PORT=7700

# Addresses of the module, as the events have them: offsets from the kernel's text.
module_range()
{
	local text start size
	text=$((0x$(awk '$3 == "_stext" { print $1 }' /proc/kallsyms)))
	start=$(($(cat /sys/module/softrnic/sections/.text)))
	size=$(awk '$1 == "softrnic" { print $2 }' /proc/modules)
	echo $((start - text)) $((start - text + size))
}

# One whose beginning is softrnic's, and every end.
watch_sections()
{
	local from to event
	read -r from to <<< "$(module_range)"
	echo 0 > "$TRACING"/tracing_on
	echo 65536 > "$TRACING"/buffer_size_kb
	for event in irq_disable preempt_disable; do
		echo "(caller_offs >= $from && caller_offs < $to) ||" \
			"(parent_offs >= $from && parent_offs < $to)" \
			> "$TRACING"/events/preemptirq/"$event"/filter || return
	done
	for event in preemptirq/{irq,preempt}_{disable,enable} irq/softirq_entry; do
		echo 1 > "$TRACING"/events/"$event"/enable || return
	done
}

# The longest section of each place, longest first: "MICROSECONDS KIND PLACE".
sections()
{
	awk '
		function ends(kind) {
			if (kind in since && (now - since[kind]) * 1e6 > most[kind " " by[kind]])
				most[kind " " by[kind]] = (now - since[kind]) * 1e6
			delete since[kind]
		}
		function place() {
			match($0, /(caller|parent)=[^ ]* \[softrnic\]/)
			return substr($0, RSTART + 7, RLENGTH - 18)
		}
		{ for (i = 1; i <= NF && $i !~ /^[0-9]+\.[0-9]+:$/; i++); now = $i + 0; what = $(i + 1) }
		what == "irq_disable:" { since["interrupts"] = now; by["interrupts"] = place() }
		what == "preempt_disable:" { since["preemption"] = now; by["preemption"] = place() }
		what == "irq_enable:" { ends("interrupts") }
		what == "preempt_enable:" || what == "softirq_entry:" { ends("preemption") }
		/LOST/ { print 1000000, "events were lost" }
		END { for (m in most) printf "%d %s\n", most[m], m }
	' "$TRACING"/trace | sort -rn
}

# bounded COMMAND…: while it runs no section is longer than it may be, and there are some.
bounded()
{
	local status=0 longest
	echo > "$TRACING"/trace
	echo 1 > "$TRACING"/tracing_on
	"$@" || status=$?
	echo 0 > "$TRACING"/tracing_on
	sections > /tmp/sections
	head -n 5 /tmp/sections
	((status == 0)) || return
	read -r longest _ < /tmp/sections
	((longest > 0 && longest <= LIMIT))
}

# own_peer HOW: a queue pair whose peer is in the same program.
own_peer()
{
	: > /tmp/bounded.log
	timeout 200 ./bounded "$1" "$SERVER" "$PORT" > /tmp/bounded.log 2>&1 &
	local program=$!
	wait_until 60 said ready /tmp/bounded.log || {
		kill "$program"
		cat /tmp/bounded.log
		return 1
	}
	# What is sent early fills the socket.
	sleep 1
	pkill -USR1 -x bounded
	wait "$program" || {
		cat /tmp/bounded.log
		return 1
	}
}

# queue_pair HOW: one with as much work as it may have.
queue_pair()
{
	: > /tmp/bounded.log
	: > /tmp/holdings.log
	timeout 200 ./bounded "$1" "$SERVER" "$PORT" > /tmp/bounded.log 2>&1 &
	local program=$! peer status=0
	wait_listening "$PORT" || return
	timeout 200 ./holdings peer "$SERVER" "$PORT" 1 nothing > /tmp/holdings.log 2>&1 &
	peer=$!
	if wait_until 60 said ready /tmp/bounded.log; then
		pkill -USR1 -x bounded
	else
		kill "$program"
	fi
	wait "$program" || status=1
	kill "$peer"
	wait "$peer"
	((status == 0)) || cat /tmp/bounded.log /tmp/holdings.log
	return "$status"
}

# A multiple of perftest's moderation: see odd_numbers() of perftest.sh.
many_queue_pairs()
{
	local -a options=(-R -F -q 64 -s 64 -n 600 -p 7800)
	CLIENT_TIMEOUT=$((200 * SLOW)) SERVER_TIMEOUT=$((200 * SLOW)) try_pair_again 7800 \
		ib_write_bw "${options[@]}" -- ib_write_bw "${options[@]}" "$SERVER" && return
	echo "$PAIR_PROBLEM"
	cat "$SERVER_LOG" "$CLIENT_LOG"
	return 1
}

flood()
{
	timeout 200 rping -s -P -a "$SERVER" -p 7900 > /tmp/server.log 2>&1 &
	local server=$! status=0
	wait_listening 7900 || return
	./flood "$SERVER" 7900 300 mixed 100 $((60 * SLOW)) || status=$?
	kill "$server"
	wait "$server"
	return "$status"
}

kernel_tells()
{
	[[ -e $TRACING/events/preemptirq/irq_disable &&
		-e $TRACING/events/preemptirq/preempt_disable ]]
}

# check NAME COMMAND…: the command, and how long its sections are.
check()
{
	local name=$1
	shift
	if [[ -n $TELLS ]]; then
		run_check "$name: no section is longer than $LIMIT µs" bounded "$@" &&
			note "$(cat "$CHECK_OUTPUT")"
	else
		run_check "$name" "$@" && skip "$name: no section is longer than $LIMIT µs" \
			"this kernel does not tell when interrupts are off (K=trace)"
	fi
}

chmod +x bounded holdings flood
TELLS=''
run_check "a link" dummy_link || finish
! kernel_tells || TELLS=1
[[ -z $TELLS ]] || run_check "events" watch_sections || finish
check "16384 sends and receives are flushed" queue_pair flush
check "16384 windows are bound and invalidated" queue_pair invalidate
check "16384 short writes" queue_pair write
check "16384 short writes from 16 pieces each" queue_pair gather
check "messages without a byte, sent early" own_peer receive
check "10000 messages get the receives that they have waited for" own_peer resume
check "16384 requests complete when the first one is answered" own_peer answer
check "many queue pairs that write" many_queue_pairs
check "a flood of connections" flood
finish
