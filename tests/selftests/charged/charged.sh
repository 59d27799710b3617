#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# files: build/tests/bin/holdings
# timeout: 400
#
# What peers and processes can make the kernel keep for connections is charged to the cgroup of
# the process that has them: payload that waits for its CRC, messages that wait for a receive,
# batches of stalled queue pairs, what is in the sockets. What is not charged is bounded for each
# connection.
. lib/cgroup.sh
. lib/ktap.sh
. lib/topology.sh

GROUP=/sys/fs/cgroup/charged
SERVER=10.1.0.1 PORT=7600
CONNECTIONS=128
# KiB. Of a connection: what an FPDU that is not complete keeps of 65000 bytes; 50 messages of 4000
# bytes; a batch; and what nobody is charged for.
WITHHELD=60 MESSAGES=195 BATCH=32 UNCHARGED=16
# Of the machine, for all that goes on beside the test; checks take memory themselves.
NOISE=$((2048 * SLOW))

gone() { ! pgrep -x holdings > /dev/null; }

cgroup() { cgroup_controller memory && mkdir -p "$GROUP"; }

# Small windows and buffers, so that what is meant fills the machine, and not what is in front.
small_buffers()
{
	sysctl -qw net.ipv4.tcp_wmem="4096 16384 65536" net.ipv4.tcp_rmem="4096 32768 65536"
}

# serve HOW: in the group.
serve()
{
	: > /tmp/serve.log
	exec_in_cgroup "$GROUP" ./holdings serve "$SERVER" "$PORT" "$CONNECTIONS" "$1" \
		> /tmp/serve.log 2>&1 &
	server=$!
	wait_listening "$PORT"
}

# peers WHAT: not in the group.
peers()
{
	: > /tmp/peers.log
	./holdings peer "$SERVER" "$PORT" "$CONNECTIONS" "$1" > /tmp/peers.log 2>&1 &
	peer=$!
}

# connected HOW WHAT: both ends, and nothing has been sent.
connected()
{
	if ! { serve "$1" && peers "$2" && wait_until 60 said ready /tmp/peers.log &&
		wait_until 60 said ready /tmp/serve.log; }; then
		cat /tmp/serve.log /tmp/peers.log
		return 1
	fi
	before
}

disconnect()
{
	kill -KILL "$server" "$peer"
	wait "$server" "$peer"
	wait_until 20 gone && wait_until 20 no_objects
} 2> /dev/null

kib_of() { awk -v key="$1" '$1 == key { print int($2 / 1024) }' "$GROUP"/memory.stat; }
group_kib() { echo $(($(< "$GROUP"/memory.current) / 1024)); }
# With the pages that each CPU keeps at hand: some 30 MiB, which the kernel counts as used.
free_kib()
{
	echo 3 > /proc/sys/vm/drop_caches
	awk -v page_kib=$(($(getconf PAGESIZE) / 1024)) '/^MemFree:/ { free = $2 }
		$1 == "count:" { free += $2 * page_kib } END { print free }' \
		/proc/meminfo /proc/zoneinfo
}

# Whatever went before has been freed, or set up.
memory_is_steady()
{
	local kib
	kib=$(free_kib)
	sleep 0.7
	kib=$((kib - $(free_kib)))
	((${kib#-} < 128))
}

before()
{
	wait_until 30 memory_is_steady || echo "the machine's memory is not steady"
	was_free=$(free_kib) was_group=$(group_kib) was_kernel=$(kib_of kernel) was_sock=$(kib_of sock)
}

# In KiB: what has been added since before().
after()
{
	group=$(($(group_kib) - was_group)) kernel=$(($(kib_of kernel) - was_kernel))
	sock=$(($(kib_of sock) - was_sock))
	machine=$((was_free - $(free_kib)))
	echo "$CONNECTIONS connections, KiB: group $group, of it kernel $kernel, sockets $sock;" \
		"machine $machine"
}

# Of all peers, once they have said it.
sent_kib() { awk '$1 == "sent" { print int($2 / 1024) }' /tmp/peers.log; }

# for_each KIB: for as many connections as there are.
for_each() { echo $((CONNECTIONS * $1)); }

# The rest is what is kept for all of that outside of the group, the peer's side included. A kernel
# that checks memory keeps more around each object than it charges. What the group has lost since
# before(), such as memory that KASAN has kept from a test before, would hide what was added.
rest_is_bounded()
{
	local charged=$((group > kernel + sock ? group : kernel + sock))
	((machine - charged <= $(for_each "$UNCHARGED") + NOISE + (SLOW > 1 ? charged / 2 : 0)))
}

kernel_has_kib() { (($(kib_of kernel) - was_kernel >= $1)); }

payload_is_charged()
{
	connected accept part || return
	kill -USR1 "$peer"
	wait_until 30 kernel_has_kib "$(for_each "$WITHHELD")"
	after
	((kernel >= $(for_each "$WITHHELD"))) && rest_is_bounded
}

# Who has sent a byte of it does not make anybody keep 64 KiB.
payload_is_kept_as_it_comes()
{
	connected accept byte || return
	kill -USR1 "$peer"
	wait_until 30 said sent /tmp/peers.log || return
	sleep 1
	after
	((machine <= $(for_each "$UNCHARGED") + NOISE))
}

# kernel_stays_below KIB: for three seconds, or until it is killed. Its own memory makes room then.
kernel_stays_below()
{
	for _ in {1..30}; do
		! kernel_has_kib "$1" || was_killed || {
			after
			return 1
		}
		sleep 0.1
	done
}

# Streams whose cgroup has no room wait, and go on when it has. What comes in behind that fills
# their sockets, where TCP goes beyond the limit, and may be the end of the process; of nobody else.
payload_is_limited()
{
	connected accept part || return
	# Pages of files would make room.
	local room=$(($(for_each "$WITHHELD") / 2))
	echo $(((was_group - $(kib_of file) + room) * 1024)) > "$GROUP"/memory.max
	kill -USR1 "$peer"
	kernel_stays_below $((room + 1024)) && wait_until 30 said sent /tmp/peers.log || return
	after
	# What was measured before it was killed and after that does not fit together.
	rest_is_bounded || was_killed || return
	echo max > "$GROUP"/memory.max
	# Senders that were held up for long may have given up before they had sent all.
	sent=$(sent_kib)
	wait_until 30 goes_on_or_was_killed || {
		after
		echo "sent $sent KiB"
		return 1
	}
	after
	was_killed || return 0
	echo "it was killed: $(grep "oom_kill " "$GROUP"/memory.events)"
	wait_until 30 memory_is_back && grep -qx "oom_kill 1" "$GROUP"/memory.events
}

# From then on: it takes a while to end.
was_killed() { ! grep -qx "oom_kill 0" "$GROUP"/memory.events; }
memory_is_back() { ((was_free - $(free_kib) <= $(for_each "$UNCHARGED") + NOISE)); }
# A page of each connection is not kept for its FPDU in pieces.
goes_on_or_was_killed() { kernel_has_kib $((sent - $(for_each 4))) || was_killed; }

messages_are_charged()
{
	connected accept messages || return
	kill -USR1 "$peer"
	wait_until 60 kernel_has_kib "$(for_each "$MESSAGES")"
	after
	((kernel >= $(for_each "$MESSAGES"))) && rest_is_bounded
}

batches_are_charged()
{
	connected send nothing || return
	kill -USR1 "$server"
	wait_until 30 said stalled /tmp/serve.log || return
	soon kernel_has_kib "$(for_each "$BATCH")"
	after
	# And more than a packet of each in the socket.
	((kernel >= $(for_each "$BATCH") && sock >= $(for_each 16))) && rest_is_bounded
}

# Of a listener that takes no connection.
sockets_are_charged()
{
	serve later && wait_until 60 said ready /tmp/serve.log || return
	before
	peers early
	wait_until 90 said sent /tmp/peers.log || return
	after
	sent=$(sent_kib)
	echo "sent $sent KiB"
	# Half of it may be in the senders.
	((sent >= $(for_each 32) && sock >= $(for_each 16)))
}

everything_is_given_back()
{
	# Sockets that are being closed count until TCP is done with them.
	wait_until 60 nothing_is_charged || {
		cat "$GROUP"/memory.stat
		return 1
	}
}
# But for a batch or two of each CPU.
nothing_is_charged() { (($(kib_of sock) == 0 && $(kib_of kernel) < 1024)); }

# check NAME FUNCTION: its figures are worth being seen.
check()
{
	if run_check "$@"; then
		note "$(cat "$CHECK_OUTPUT")"
	fi
	echo max > "$GROUP"/memory.max
	disconnect
}

chmod +x holdings
cgroup || skip_all "$NO_CGROUP"
run_check "a link" dummy_link || finish
small_buffers
# First: what has been freed late would hide it.
check "payload that waits for its CRC is kept as it comes" payload_is_kept_as_it_comes
check "payload that waits for its CRC is charged" payload_is_charged
check "payload that waits for its CRC is limited" payload_is_limited
check "messages that wait for a receive are charged" messages_are_charged
check "batches of stalled queue pairs are charged" batches_are_charged
check "what waits in sockets to be accepted is charged" sockets_are_charged
run_check "all of it is given back" everything_is_given_back
finish
