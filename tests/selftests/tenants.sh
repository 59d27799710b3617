#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Tenants of one host: what one of them listens at costs the others nothing, whoever adds a link
# and whenever that is. Namespace a is a container without a link; b gets one, and has a listener
# from before that.
. lib/ktap.sh
. lib/pairs.sh

A1=10.1.0.1 B1=10.2.0.1

# A link of the host's on another device: librdmacm wants to see one, wherever that is.
first_link()
{
	ip link add dummy9 type dummy && ip link set dummy9 up &&
		rdma link add srn9 type softrnic netdev dummy9 && wait_ready srn9
}

# At the wildcard address, where there is no link: nothing shows it but a word in its log, and that
# is there before it listens.
listen_in()
{
	timeout 300 ip netns exec "$1" stdbuf -oL rping -s -d -p "$2" > "/tmp/listener-$1.log" 2>&1 &
}
listens_in() { wait_until $((20 * SLOW)) grep -q 'rdma_listen' "/tmp/listener-$1.log" && sleep "$SLOW"; }

tcp_listens() { ss ${2:+-N "$2"} -Hltn "sport = :$1" | grep -q .; }
nobody_listens() { ! tcp_listens "$1"; }

link_of_b()
{
	ip -n b link add dummy0 type dummy && ip -n b addr add "$B1/24" dev dummy0 &&
		ip -n b link set dummy0 up &&
		in_b rdma link add srnb type softrnic netdev dummy0 && wait_ready srnb
}

run_check "a link" first_link || finish
ip netns add a
ip netns add b
ip -n b link set lo up

listen_in a 7300
run_check "a container without a link listens" listens_in a
run_check "the host gets a link" dummy_link || finish
run_check "the container's port is not open in the host" nobody_listens 7300
pair "the host has that port for itself" 7300 rping -s -p 7300 -C 5 -- \
	rping -c -p 7300 -a "$A1" -C 5 -V

listen_in b 7301
run_check "a container that has no link yet listens" listens_in b
timeout 300 ip netns exec b nc -l 0.0.0.0 7301 > /dev/null 2>&1 &
run_check "a TCP server there has the same port" soon tcp_listens 7301 b
# rdma_cm leaves a link out if it cannot replay one of the listeners on it.
run_check "the container gets a link" link_of_b
run_check "the kernel log says that the listener has no port there" log_has 'cannot listen: error -98'
pair "all other ports of it work" 7174 in_b rping -s -p 7174 -a "$B1" -C 5 -- \
	in_b rping -c -p 7174 -a "$B1" -C 5 -V
finish
