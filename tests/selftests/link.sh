#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# files: build/tests/bin/hold_tun
# timeout: 150
#
# Links come, go, follow their network devices, and are refused where they make no
# sense.
. lib/ktap.sh
. lib/topology.sh

chmod +x hold_tun

add() { rdma link add "$1" type "$SRN_LINK_TYPE" netdev "$2"; }
del() { rdma link delete "$1"; }

state_is() { rdma link show "$1/1" | grep -q "state $2"; }
netdev_is() { rdma link show "$1/1" | grep -qE "netdev $2( |\$)"; }
no_links() { [[ -z $(ls /sys/class/infiniband 2> /dev/null) ]]; }

# The same name again at once, so that nothing of the first may be left.
add_twice()
{
	add srnx "$1" && soon state_is srnx ACTIVE && netdev_is srnx "$1" &&
		ibv_devinfo -d srnx > /dev/null && del srnx && gone srnx &&
		add srnx "$1" && del srnx && gone srnx
}

every_kind()
{
	ip link add d0 type dummy
	ip link add v0 type veth peer name v1
	ip link add link v0 name v0.7 type vlan id 7
	ip link add br0 type bridge
	ip link add d1 type dummy
	ip link set d1 master br0
	ip link add bond0 type bond mode active-backup miimon 100
	ip link add d2 type dummy
	ip link set d2 down
	ip link set d2 master bond0
	ip link add link v0 name mv0 type macvlan mode bridge
	ip link add link v1 name iv0 type ipvlan mode l2
	ip tuntap add tun0 mode tun
	ip tuntap add tap0 mode tap
	ip link add vx0 type vxlan id 9 dstport 4789 dev v1
	ip addr add 10.3.0.1/24 dev v0
	local dev
	for dev in v1 v0 v0.7 d0 d1 br0 d2 bond0 mv0 iv0 vx0; do
		ip link set "$dev" up || return
	done
}

# A tun device has a carrier while a program holds it.
test_kinds()
{
	local kind
	run_check "network devices of every kind" every_kind
	for kind in v0:veth d0:dummy v0.7:VLAN br0:bridge bond0:bond mv0:macvlan \
		iv0:ipvlan vx0:VXLAN; do
		run_check "add and delete on ${kind#*:}" add_twice "${kind%:*}"
	done
	hold_tun &
	HOLDER=$!
	run_check "add and delete on tun" tun_link tun0
	run_check "add and delete on tap" tun_link tap0
	kill $HOLDER
	wait $HOLDER 2> /dev/null
}

hold_tun()
{
	exec timeout $((30 * SLOW)) ./hold_tun tun0 tap0
}

tun_link()
{
	ip link set "$1" up && soon carrier "$1" && add_twice "$1"
}

carrier() { grep -q 1 "/sys/class/net/$1/carrier"; }

test_refusals()
{
	check_fails "refused: no such network device" "No such device|Invalid" add srnx none0
	add srn0 d0
	check_fails "refused: second link on a network device" "File exists" add srnx d0
	check_fails "refused: a name that is taken" "File exists" add srn0 d1
	check_fails "refused: a name that is too long for rdma_cm" "File name too long" \
		add a-link-with-a-name-of-32-letters d1
	run_check "the first link is as it was" netdev_is srn0 d0
	ip link add sit1 type sit local 10.3.0.1 remote 10.3.0.2
	check_fails "refused: IPv6-in-IPv4 tunnel" "not supported" add srnx sit1
	ip link add ipip1 type ipip local 10.3.0.1 remote 10.3.0.2
	check_fails "refused: IP-in-IP tunnel" "not supported" add srnx ipip1
	ip link delete sit1
	ip link delete ipip1
	check_fails "delete what is not there" "Wrong device name|No such device" del nothing
	run_check "reasons of refusals are in the kernel's log" refusals_in_log
	del srn0
}

refusals_in_log()
{
	log_has 'softrnic: d0: has the link srn0 already' && log_has 'softrnic: sit1: only Ethernet'
}

autoload()
{
	modprobe -r softrnic && module_gone && add srn0 d0 &&
		[[ -e /sys/module/softrnic ]] && wait_ready srn0
}

# v0 keeps its carrier only while its peer is up, too.
follows_netdev()
{
	add srn0 v0 && soon state_is srn0 ACTIVE || return
	ip link set v0 down
	soon state_is srn0 DOWN || return
	ip link set v0 up
	soon state_is srn0 ACTIVE || return
	ip link set v1 down
	soon state_is srn0 DOWN || return
	ip link set v1 up
	soon state_is srn0 ACTIVE && del srn0
}

# A tun device is as fast as it is told to be. The rate of a port is that of its lanes.
speed_is_shown()
{
	local mbits rate
	add srn0 tun0 || return
	while read -r mbits rate; do
		ethtool -s tun0 speed "$mbits" duplex full &&
			grep "^$rate" /sys/class/infiniband/srn0/ports/1/rate || return
	done <<- 'END'
		1000 2.5 Gb
		10000 10 Gb
		100000 100 Gb
		200000 200 Gb
		400000 400 Gb
		800000 800 Gb
	END
	del srn0
}

# The port has the largest of the five sizes of InfiniBand that fits.
mtu_is_shown()
{
	local mtu shown status=0
	ip link add dummy8 type dummy && ip link set dummy8 up && add srn0 dummy8 || return
	wait_ready srn0 || status=1
	while read -r mtu shown; do
		ip link set dummy8 mtu "$mtu" &&
			ibv_devinfo -d srn0 | grep -E "active_mtu:[[:space:]]*$shown " || status=1
	done <<- 'END'
		9000 4096
		4096 4096
		4095 2048
		2048 2048
		1500 1024
		1024 1024
	END
	del srn0 && ip link delete dummy8 && return "$status"
}

port_events()
{
	local watch
	add srn0 v0 && wait_ready srn0 || return
	timeout $((120 * SLOW)) stdbuf -oL ibv_asyncwatch -d srn0 > /tmp/events 2>&1 &
	watch=$!
	soon grep -q 'async event' /tmp/events
	ip link set v0 down
	soon grep -q PORT_ERR /tmp/events &&
		ip link set v0 up && soon grep -q PORT_ACTIVE /tmp/events
	local status=$?
	# What comes twice comes at once.
	sleep "$SLOW"
	cat /tmp/events
	kill "$watch"
	wait "$watch" 2> /dev/null
	del srn0
	((status == 0)) && (($(grep -c PORT_ERR /tmp/events) == 1)) &&
		(($(grep -c PORT_ACTIVE /tmp/events) == 1))
}

address_changes()
{
	local gid=/sys/class/infiniband/srn0/ports/1/gids/31
	add srn0 d0 && wait_ready srn0 && ip link set d0 address 02:00:00:00:12:34 || return
	soon grep -q '^0200:0000:1234' "$gid" && del srn0
}

netdev_renamed()
{
	add srn0 d0 && wait_ready srn0 && ip link set d0 down &&
		ip link set d0 name renamed0 && ip link set renamed0 up &&
		soon netdev_is srn0 renamed0 && soon state_is srn0 ACTIVE &&
		ip link set renamed0 down && ip link set renamed0 name d0 &&
		ip link set d0 up && del srn0
}

link_renamed()
{
	add srn0 d0 && wait_ready srn0 && rdma dev set srn0 name other0 &&
		gone srn0 && netdev_is other0 d0 && ibv_devinfo -d other0 &&
		add srn0 d1 && netdev_is srn0 d1 && del other0 && exists srn0 && del srn0
}

netdev_deleted()
{
	ip link add gone0 type dummy && add srn0 gone0 && ip link delete gone0 &&
		soon gone srn0
}

# The pair goes, and with it two links at once.
both_ends_deleted()
{
	ip link add p0 type veth peer name p1 && add srn0 p0 && add srn1 p1 &&
		ip link delete p0 && soon gone srn0 && soon gone srn1
}

# The VLAN device goes with the device below it.
lower_deleted()
{
	ip link add gone0 type dummy && ip link add link gone0 name gone0.3 type vlan id 3 &&
		add srn0 gone0.3 && ip link delete gone0 && soon gone srn0
}

in_namespace()
{
	ip netns add n1 && ip link add nd0 netns n1 type dummy &&
		ip -n n1 link set nd0 up && ip netns exec n1 rdma link add srn0 type \
		"$SRN_LINK_TYPE" netdev nd0 && soon state_is srn0 ACTIVE &&
		ip netns delete n1 && soon gone srn0
}

# A network device of that name in another namespace is not meant.
not_in_this_namespace()
{
	local status=0
	ip netns add n2
	ip link add only2 netns n2 type dummy
	add srn0 only2 || status=$?
	ip netns delete n2
	return "$status"
}

# A link does not follow its network device into another namespace.
netdev_moved()
{
	ip netns add n3 && ip link add m0 type dummy && add srn0 m0 &&
		ip link set m0 netns n3 && soon gone srn0 &&
		ip netns exec n3 rdma link add srn0 type "$SRN_LINK_TYPE" netdev m0 &&
		soon exists srn0 && del srn0
	local status=$?
	ip netns delete n3
	return "$status"
}

# Exclusive mode: a device is in one namespace, and only there. Older kernels make
# each in the first one, whoever asks.
exclusive_mode()
{
	# The kernel switches only while there is no other namespace.
	soon rdma system set netns exclusive || return
	ip netns add n4
	exclusive_link
	local status=$?
	ip netns exec n4 rdma link delete srn4
	ip netns delete n4
	soon rdma system set netns shared || return
	return "$status"
}

exclusive_link()
{
	ip link add e0 netns n4 type dummy && ip -n n4 link set e0 up &&
		ip netns exec n4 rdma link add srn4 type "$SRN_LINK_TYPE" netdev e0 ||
		return
	ip netns exec n4 rdma link show srn4/1 || rdma dev set srn4 netns n4
	ip netns exec n4 rdma link show srn4/1 && ! rdma link show srn4/1
}

many_links()
{
	local n
	for n in {1..16}; do
		ip link add many"$n" type dummy && ip link set many"$n" up &&
			add srnm"$n" many"$n" || return
	done
	[[ $(rdma link show | grep -c 'srnm.*ACTIVE') == 16 ]] || return
	for n in {1..16}; do
		[[ $n == 8 ]] || del srnm"$n" || return
	done
	exists srnm8 && del srnm8 || return
	for n in {1..16}; do
		ip link delete many"$n"
	done
}

add_delete_loop()
{
	local n
	for n in {1..20}; do
		add srn0 d0 && del srn0 || return
	done
}

# Two at once on the same devices: each add succeeds or is refused, nothing else.
add_delete_race()
{
	local n worker
	local -a workers=()
	for worker in 1 2; do
		for n in {1..15}; do
			add race"$worker" d0
			del race"$worker"
		done 2> /dev/null &
		workers+=($!)
	done
	for n in {1..15}; do
		ip link set d0 down
		ip link set d0 up
	done
	wait "${workers[@]}"
	gone race1 && gone race2 && add srn0 d0 && del srn0
}

# Four at once with different names on one network device: one of them succeeds.
one_of_many_at_once()
{
	local n worker added
	local -a workers
	for n in {1..3}; do
		workers=()
		for worker in {1..4}; do
			add at_once"$worker" d0 2> /dev/null &
			workers+=($!)
		done
		wait "${workers[@]}"
		added=$(rdma link show | grep -c at_once)
		for worker in {1..4}; do
			del at_once"$worker" 2> /dev/null
		done
		echo "round $n: $added"
		((added == 1)) || return
	done
}

module_removed()
{
	add srn0 d0 && add srn1 v0 && add srn2 br0 && timeout $((20 * SLOW)) modprobe -r softrnic &&
		module_gone && no_links && add srn0 d0 && wait_ready srn0 && del srn0
}

devinfo_is_true()
{
	add srn0 v0 && wait_ready srn0 && ibv_devinfo -v -d srn0 > /tmp/devinfo || return
	cat /tmp/devinfo
	grep -q 'transport:.*iWARP' /tmp/devinfo &&
		grep -q "fw_ver:.*[[:space:]]$(< /sys/class/infiniband/srn0/fw_ver)\$" /tmp/devinfo &&
		[[ $(< /sys/module/softrnic/version) == $(< /sys/class/infiniband/srn0/fw_ver) ]] &&
		grep -q 'link_layer:.*Ethernet' /tmp/devinfo &&
		grep -q 'state:.*PORT_ACTIVE' /tmp/devinfo &&
		grep -q 'node_guid:.*[1-9a-f]' /tmp/devinfo &&
		rdma dev show srn0 && rdma resource show srn0 && del srn0
}

test_kinds
test_refusals
run_check "rdma link add loads the module" autoload
del srn0
run_check "ibv_devinfo and rdma speak of the device" devinfo_is_true
run_check "port state follows the network device" follows_netdev
run_check "the port is as fast as the network device" speed_is_shown
run_check "the port has the MTU of the network device" mtu_is_shown
run_check "port events reach a program, each once" port_events
run_check "the GID follows the hardware address" address_changes
run_check "network device renamed" netdev_renamed
run_check "link renamed" link_renamed
run_check "network device deleted" netdev_deleted
run_check "both ends of a veth pair deleted" both_ends_deleted
run_check "device below a VLAN deleted" lower_deleted
run_check "namespace deleted" in_namespace
check_fails "network device of another namespace" "No such device|Invalid" not_in_this_namespace
run_check "network device moved to another namespace" netdev_moved
run_check "exclusive namespaces" exclusive_mode
run_check "16 links at once" many_links
run_check "add and delete 20 times" add_delete_loop
run_check "adds and deletes at the same time" add_delete_race
run_check "of many links on one network device one is added" one_of_many_at_once
run_check "module removed with links" module_removed
finish
