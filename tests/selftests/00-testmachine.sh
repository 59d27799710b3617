#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# timeout: 60
#
# The test machine itself: what every other test takes for granted.
. lib/ktap.sh
. lib/topology.sh

tools_are_there()
{
	local tool missing=''
	for tool in rdma rping ucmatose ib_send_bw ibv_devinfo fi_pingpong fio \
		iperf3 nvme iscsiadm mount.nfs ss tc strace; do
		command -v "$tool" > /dev/null || missing+=" $tool"
	done
	echo "missing:$missing"
	[[ -z $missing ]]
}

modules_are_there()
{
	modprobe -a -n veth dummy macvlan bridge bonding 8021q tun vxlan ifb \
		sch_netem nfs nfsd rpcrdma ib_iser ib_isert nvme_rdma nvmet_rdma \
		rdma_rxe brd loop sd_mod
}

netdev_kinds_work()
{
	ip link add d0 type dummy &&
		ip link add link d0 name d0.5 type vlan id 5 &&
		ip link add br0 type bridge &&
		ip link add bond0 type bond &&
		ip link add link d0 name mv0 type macvlan &&
		ip tuntap add tap0 mode tap &&
		ip link add v0 type veth peer name v1 &&
		tc qdisc add dev v0 root netem delay 1ms loss 1%
}

namespaces_are_joined()
{
	in_a ping -c 2 -i 0.2 -W 2 10.0.0.2 && in_b ping -6 -c 2 -i 0.2 -W 2 fd00::1
}

provider_is_found()
{
	ibv_devinfo -d srna > /tmp/devinfo 2>&1 && ! grep -i warning /tmp/devinfo
}

plan 9
run_check "RDMA tools are installed" tools_are_there
if [[ $(uname -r) == *-softrnic-* ]]; then
	skip "kernel modules are there" "a debug kernel has fewer"
else
	run_check "kernel modules are there" modules_are_there
fi
run_check "kinds of network device" netdev_kinds_work
run_check "files that the script writes to /out" \
	sh -c 'echo seen > /out/from-script'
run_check "script has its libraries beside it" test -f lib/ktap.sh
check_fails "a script with a test that is not found" "not found: no_such_test" \
	env NOT_FOUND=/tmp/not-found bash -c '. lib/ktap.sh; ok "the other"; no_such_test; finish'
if modprobe -n -q "rdma-link-$SRN_LINK_TYPE"; then
	run_check "two links in two namespaces" two_namespaces
	run_check "the namespaces reach each other" namespaces_are_joined
	run_check "the provider drives the device" provider_is_found
else
	for name in "two links in two namespaces" \
		"the namespaces reach each other" "the provider drives the device"; do
		skip "$name" "no $SRN_LINK_TYPE module"
	done
fi
finish
