#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# files: build/tests/bin/fuzz_cm
# timeout: 300
#
# Everything that users and peers can do to connections, at random; "make fuzz-cm" does it for
# longer.
#
#     ┌── namespace a ──────────┐          ┌── namespace b ──────────┐
#     │ srna ── va 10.0.0.1/24  │── veth ──│ vb 10.0.0.2/24 ── srnb  │
#     │ actors                  │          │ an actor, bad peers     │
#     └─────────────────────────┘          └─────────────────────────┘
#
# Meanwhile the wire loses everything for some moments, and addresses go away and come back.
#
# FUZZ_CM_SEED: of the choices (1). FUZZ_CM_TIME: seconds (20). SRN_LINK_TYPE=siw: the kernel's own
# driver instead, as a control.
. lib/ktap.sh
. lib/pairs.sh

: "${FUZZ_CM_SEED:=1}" "${FUZZ_CM_TIME:=20}"
RANDOM=$FUZZ_CM_SEED
# Vanishing and what hangs are judged by the program; this is for the rest of it.
LIMIT=$((FUZZ_CM_TIME + 240 * SLOW))

device_file()
{
	local node
	for node in /sys/class/infiniband_verbs/uverbs*; do
		[[ $(< "$node/ibdev") == "$1" ]] && echo "/dev/infiniband/${node##*/}" && return
	done
}

load_siw()
{
	modprobe -a ib_core iw_cm libcrc32c rdma_ucm && insmod /usr/lib/siw/crc-off/siw.ko
}

# A peer's machine that dies sends nothing more, and who moves it takes its address along.
vanish()
{
	if ((RANDOM % 2)) && modprobe -q sch_netem; then
		tc -n b qdisc add dev vb root netem loss 100%
		sleep "$((RANDOM % 2)).$((RANDOM % 10))"
		tc -n b qdisc del dev vb root
	else
		ip -n b addr del 10.0.0.2/24 dev vb
		sleep "0.$((RANDOM % 10))"
		ip -n b addr add 10.0.0.2/24 dev vb
	fi
}

vanish_at_times()
{
	while sleep "$((1 + RANDOM % 3)).$((RANDOM % 10))"; do
		vanish
	done
}

fuzz()
{
	local status=0 vanishing
	vanish_at_times &
	vanishing=$!
	timeout -k 5 "$LIMIT" ./fuzz_cm "$FUZZ_CM_TIME" "$FUZZ_CM_SEED" \
		a "$(device_file srna)" 10.0.0.1 fd00::1 b "$(device_file srnb)" 10.0.0.2 fd00::2 ||
		status=$?
	kill "$vanishing"
	wait "$vanishing" 2> /dev/null
	tc -n b qdisc del dev vb root 2> /dev/null
	ip -n b addr replace 10.0.0.2/24 dev vb
	return "$status"
}

no_objects_stay_on_both()
{
	wait_until $((40 * SLOW)) both_are_empty || {
		rdma resource show
		rdma resource show qp
		rdma resource show cm_id
		return 1
	}
}
both_are_empty() { ! rdma resource show | grep -qE '(qp|cm_id|mr|pd|cq|ctx|srq) [1-9]'; }

chmod +x fuzz_cm
if [[ $SRN_LINK_TYPE == siw ]]; then
	[[ -e /usr/lib/siw/crc-off/siw.ko ]] || skip_all "siw is not built for this kernel (make siw)"
	run_check "siw" load_siw || finish
fi
note "seed $FUZZ_CM_SEED, $FUZZ_CM_TIME s, $SRN_LINK_TYPE"
run_check "two links" two_namespaces || finish
# Also for a user who is not root.
chmod 666 "$(device_file srna)" "$(device_file srnb)" /dev/infiniband/rdma_cm
run_check "connections at random" fuzz
note "$(tail -n 60 "$CHECK_OUTPUT")"
run_check "nothing is left" no_objects_stay_on_both
pair "rping still works" 7174 in_b rping -s -a 10.0.0.2 -C 10 -- in_a rping -c -a 10.0.0.2 -C 10 -V
run_check "links deleted" remove_two_namespaces
finish
