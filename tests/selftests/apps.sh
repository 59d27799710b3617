#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# timeout: 150
#
# Applications that people run over RDMA: libfabric and fio.
: "${SRN_SAME_HOST:=default}"
. lib/ktap.sh
. lib/topology.sh

LOG=/tmp/server.log

# libfabric NAME PROVIDER ENDPOINT: pingpong of several sizes, contents checked (-c).
libfabric()
{
	local name=$1 provider=$2 endpoint=$3
	timeout -k 2 $((40 * SLOW)) fi_pingpong -c -I 20 -p "$provider" -e "$endpoint" > "$LOG" 2>&1 &
	local server=$!
	wait_listening 47592
	run_check "$name" timeout -k 2 $((30 * SLOW)) fi_pingpong -c -I 20 -p "$provider" -e "$endpoint" 10.1.0.1 ||
		note "server: $(tail -n 5 "$LOG")"
	kill "$server" 2> /dev/null
	wait "$server" 2> /dev/null
	return 0
}

fio_receiver()
{
	cat > /tmp/receiver.fio <<-JOB
		[receiver]
		ioengine=rdma
		port=7500
		bs=$1
		size=$2
		rw=read
		iodepth=16
	JOB
	timeout -k 2 $((40 * SLOW)) fio /tmp/receiver.fio > "$LOG" 2>&1 &
}

fio_sender()
{
	cat > /tmp/sender.fio <<-JOB
		[sender]
		ioengine=rdma
		hostname=10.1.0.1
		port=7500
		verb=$3
		bs=$1
		size=$2
		rw=write
		iodepth=4
		iodepth_batch_complete=1
	JOB
	timeout -k 2 $((30 * SLOW)) fio /tmp/sender.fio
}

# fio_verb VERB: fio moves 16 MiB by it.
fio_verb()
{
	fio_receiver 64k 16m
	local server=$!
	wait_listening 7500
	run_check "fio, verb=$1" fio_sender 64k 16m "$1" || note "server: $(tail -n 5 "$LOG")"
	wait "$server"
}

plan 7
run_check "a link" dummy_link
libfabric "fi_pingpong, verbs, msg" verbs msg
libfabric "fi_pingpong, verbs;ofi_rxm, rdm" "verbs;ofi_rxm" rdm
fio_verb write
fio_verb read
# fio's sender takes a completed Send for a received one, and so outruns a receiver that has
# to share its CPU.
if (($(nproc) > 1)); then
	fio_verb send
else
	skip "fio, verb=send" "fio's own flow control needs a second CPU"
fi
skip "fio with verify=" "a network engine cannot read back what it wrote"
finish
