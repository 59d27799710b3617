#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# timeout: 120
# qemu: -device virtio-net-pci,netdev=n0 -netdev hubport,id=n0,hubid=0
#
# A network card outlives the namespace that it is in. Its link does not.
. lib/ktap.sh
. lib/pairs.sh

ADDRESS=10.2.0.1 ROUNDS=5

card_into_namespace()
{
	ip netns add a
	ip link set eth0 netns a
	ip -n a link set lo up
	ip -n a link set eth0 up
	ip -n a addr add "$ADDRESS/24" dev eth0
	in_a rdma link add srn0 type "$SRN_LINK_TYPE" netdev eth0 && wait_ready srn0
}

start_traffic()
{
	start_server "$SERVER_LOG" in_a rping -s -a "$ADDRESS" -V
	wait_listening 7174 || return
	timeout -k 2 60 ip netns exec a rping -c -a "$ADDRESS" -V > "$CLIENT_LOG" 2>&1 &
	CLIENT_PID=$!
	soon connections_in_use
}

connections_in_use()
{
	[[ $(rdma resource show qp link srn0 2> /dev/null | grep -c RTS) -ge 2 ]]
}

# Processes keep their namespace alive; it goes when the last of them does.
delete_namespace()
{
	ip netns delete a
	kill -KILL "$CLIENT_PID" "$SERVER_PID" $(pgrep -x rping) 2> /dev/null
	wait "$CLIENT_PID" "$SERVER_PID" 2> /dev/null
	wait_until 20 card_is_back
}

card_is_back() { [[ -e /sys/class/net/eth0 && ! -e /sys/class/infiniband/srn0 ]]; }

round()
{
	card_into_namespace && start_traffic && delete_namespace
}

if [[ ! -e /sys/class/net/eth0 ]]; then
	skip_all "no network card in this machine"
fi
run_check "its sysfs parent is the card's" \
	bash -c "ip link set eth0 up && rdma link add srn0 type $SRN_LINK_TYPE netdev eth0 &&
		[[ /sys/class/infiniband/srn0/device -ef /sys/class/net/eth0/device ]] &&
		rdma link delete srn0"
for ((i = 1; i <= ROUNDS; i++)); do
	run_check "namespace of a card deleted with connections in it, $i" round
done
run_check "the card can have a link again" \
	bash -c "rdma link add srn0 type $SRN_LINK_TYPE netdev eth0 && rdma link show srn0/1"
finish
