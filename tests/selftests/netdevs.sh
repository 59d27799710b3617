#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# files: build/tests/bin/hold_tun
# timeout: 200
#
# Traffic to the host's own addresses over each kind of network device. Such packets
# go through the loopback device, whatever device the address belongs to: a driver
# that looks for its own at the socket finds another.
. lib/ktap.sh
. lib/pairs.sh

KINDS=(dummy0 vlan0 br0 bond0 mv0 tun0 veth0)
declare -A V4 V6
chmod +x hold_tun

# Device N has 10.5.N.1/24 and fd05:N::1/64.
make_netdevs()
{
	ip link add dummy0 type dummy
	ip link add veth0 type veth peer name veth1
	ip link set veth1 up
	ip link set veth0 up
	# With an address of its own. It would have veth0's link-local address as well,
	# and the connection manager takes no notice of the scope of a listener.
	ip link add link veth0 name vlan0 address 02:00:00:00:05:05 type vlan id 5
	ip link add br0 type bridge
	ip link add port0 type dummy
	ip link set port0 up master br0
	ip link add bond0 type bond mode active-backup miimon 100
	ip link add slave0 type dummy
	ip link set slave0 down master bond0
	ip link add link veth0 name mv0 type macvlan mode bridge
	ip tuntap add tun0 mode tun
	hold_tun &
	HOLDER=$!
	local n=0 kind
	for kind in "${KINDS[@]}"; do
		n=$((n + 1))
		ip link set "$kind" up || return
		V4[$kind]=10.5.$n.1 V6[$kind]=fd05:$n::1
		ip addr add "10.5.$n.1/24" dev "$kind" &&
			ip addr add "fd05:$n::1/64" dev "$kind" nodad || return
	done
	soon grep -q 1 /sys/class/net/tun0/carrier
}

# A tun device has a carrier while a program holds it.
hold_tun()
{
	exec timeout $((200 * SLOW)) ./hold_tun tun0
}

add_links()
{
	local kind
	for kind in "${KINDS[@]}"; do
		rdma link add "srn-$kind" type "$SRN_LINK_TYPE" netdev "$kind" &&
			wait_ready "srn-$kind" || return
	done
}

rping_to()
{
	pair "$1" 7174 rping -s -a "$2" -V -S 3000 -C 10 -- \
		rping -c -a "$2" -V -S 3000 -C 10
}

link_local()
{
	ip -6 -o addr show dev "$1" scope link | awk '{ sub("/.*", "", $4); print $4; exit }'
}

# rping passes an address with a scope to getaddrinfo, which understands it.
test_link_local()
{
	local kind address
	for kind in dummy0 vlan0 br0 bond0 mv0 veth0; do
		soon link_local_is_ready "$kind" || {
			not_ok "$kind, link-local" "the device has no link-local address"
			continue
		}
		address=$(link_local "$kind")
		rping_to "$kind, link-local" "$address%$kind"
	done
}

link_local_is_ready()
{
	[[ -n $(link_local "$1") ]] && ! ip -6 addr show dev "$1" | grep -q tentative
}

# One listener for all links and both families. It serves one client after another.
test_wildcard()
{
	local kind
	start_server "$SERVER_LOG" rping -s -P -a ::0 -V
	if ! wait_listening 7174; then
		not_ok "wildcard listener" "$(cat "$SERVER_LOG")"
		return
	fi
	for kind in "${KINDS[@]}"; do
		run_check "wildcard listener, $kind, IPv4" client_of "${V4[$kind]}"
		run_check "wildcard listener, $kind, IPv6" client_of "${V6[$kind]}"
	done
	run_check "wildcard listener, a link-local address of two devices" client_of_one_of_two
	stop_server
}

# rdma_cm gives the request to the link of the first device that has the address, whichever the client
# means. That is dummy0, which is the oldest. softrnic goes by what the client means, so that is dummy0
# as well.
client_of_one_of_two()
{
	ip addr add fe80::5/64 dev dummy0 nodad && ip addr add fe80::5/64 dev veth0 nodad &&
		client_of fe80::5%dummy0
}

client_of()
{
	client rping -c -a "$1" -V -C 3
}

# To an address of one link from that of another: the connection has two devices.
across_links()
{
	pair "from dummy0 to br0" 7174 rping -s -a "${V4[br0]}" -V -C 10 -- \
		rping -c -I "${V4[dummy0]}" -a "${V4[br0]}" -V -C 10
}

run_check "network devices" make_netdevs
run_check "a link on each" add_links
for kind in "${KINDS[@]}"; do
	rping_to "$kind, IPv4" "${V4[$kind]}"
	rping_to "$kind, IPv6" "${V6[$kind]}"
done
across_links
test_link_local
test_wildcard
kill "$HOLDER"
wait "$HOLDER" 2> /dev/null
finish
