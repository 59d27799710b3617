#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# files: build/tests/bin/cm_misuse
# timeout: 600
#
# Wrong uses of connections, each many times: two accept one request, ids are accepted or rejected
# that connect, queue pairs go or belong to somebody else. After each, connections still work and
# nothing is left.
#
# CM_ROUNDS: how often (200). CM_CASES: only those. CM_UID: the user who runs them (0); a case that
# becomes another user needs root.
. lib/ktap.sh
. lib/pairs.sh

: "${CM_ROUNDS:=200}" "${CM_UID:=0}"
A1=10.1.0.1 A9=10.9.0.1 DEVICE=/dev/infiniband/uverbs0
# Of each case.
LIMIT=$(((120 + CM_ROUNDS / 20) * SLOW))
CHECK_TIMEOUT=$LIMIT

# What each case is, and what part of the rounds it does: connecting takes its time.
CASES=(
	"reconnect-at-once 1 a queue pair is connected again at once"
	"accept-twice 1 two accept one request"
	"accept-with-two-qps 1 two accept one request with a queue pair each"
	"accept-and-reject 1 one accepts a request and one rejects it"
	"accept-and-destroy 1 one accepts a request and one destroys it"
	"accept-beside-a-wrong-one 1 one accepts with a queue pair that there is not"
	"accept-while-the-qp-goes 1 the queue pair goes while it accepts"
	"accept-while-the-peer-resets 1 the peer resets while it is accepted"
	"connecting-accept-disconnect 20 an id that connects is accepted and disconnected"
	"connecting-reject-disconnect 20 an id that connects is rejected and disconnected"
	"connecting-accept-destroy 20 an id that connects is accepted and destroyed"
	"connecting-reject-destroy 20 an id that connects is rejected and destroyed"
	"connecting-disconnect 20 an id that connects is disconnected"
	"connecting-destroy 20 an id that connects is destroyed"
	"connecting-loses-the-qp 20 the queue pair goes while it connects"
	"disconnect-while-the-qp-goes 2 the queue pair goes while its connection is ended"
	"connect-two-with-one-qp 5 two connect with one queue pair"
	"qp-of-another-user 20 a queue pair of another user"
	"qp-of-another-pid-namespace 20 a queue pair of another pid namespace"
	"qp-used-by-a-child 20 a child uses its parent's queue pair"
	"qp-used-after-setuid 20 a process uses its queue pair as another user"
)

misuse()
{
	timeout -k 5 "$LIMIT" setpriv --reuid "$CM_UID" --regid "$CM_UID" --clear-groups ./cm_misuse "$@"
}

still_works()
{
	run_check "$1: nothing is left" no_objects_stay $((20 * SLOW))
	pair "$1: rping still works" 7174 rping -s -a "$A1" -C 3 -- rping -c -a "$A1" -C 3 -V
}

# stalled NAME TEXT ADDRESS
stalled()
{
	[[ " ${CM_CASES:-$1} " == *" $1 "* ]] || return 0
	((++chosen))
	if [[ ! -e /proc/sys/vm/unprivileged_userfaultfd ]]; then
		skip "$2" "this kernel has no userfaultfd"
		return
	fi
	run_check "$2" ./cm_misuse "$1" "$DEVICE" "$3" $(((CM_ROUNDS + 39) / 40))
	still_works "$2"
}

# Of a link that comes when all listen already.
second_address()
{
	ip link add dummy9 type dummy && ip addr add "$A9/24" dev dummy9 && ip link set dummy9 up
}

chosen=0
chmod +x cm_misuse
run_check "a link" dummy_link || finish
for entry in "${CASES[@]}"; do
	read -r name part text <<< "$entry"
	[[ " ${CM_CASES:-$name} " == *" $name "* ]] || continue
	((++chosen))
	run_check "$text" misuse "$name" "$DEVICE" "$A1" $(((CM_ROUNDS + part - 1) / part))
	still_works "$text"
done
stalled stalled-reader "a process takes no event" "$A1"
stalled stalled-connection "a listener goes while its connection's event is not taken" "$A1"
run_check "a second address" second_address
stalled stalled-on-a-new-link "a process takes no event, of a link that came later" "$A9"
((chosen)) || not_ok "there is no case of the name $CM_CASES"
finish
