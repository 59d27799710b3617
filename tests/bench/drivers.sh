# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# shellcheck disable=SC2034  # measure.sh uses what is set here
#
# The networks of the benchmark and the drivers on them. One driver has links at a time:
# rdma_cm listens on all devices that it finds.
#
# shellcheck source=tests/selftests/lib/topology.sh
. lib/topology.sh

SETTINGS=/sys/module/softrnic/parameters

# What a cell uses, by its path: where the ends run and on how many CPUs, their devices and the
# server's address.
SERVER_PLACE=() CLIENT_PLACE=() CPUS='' SERVER_DEVICE='' CLIENT_DEVICE='' SERVER_ADDRESS=''

namespaces_up()
{
	joined_namespaces || return
	ip link add dummy0 type dummy
	ip addr add 10.1.0.1/24 dev dummy0
	ip link set dummy0 up
}

path_up()
{
	local mtu=${1#????} rps=0
	CPUS=$(nproc)
	case $1 in
	veth* | rps_* | pin_*)
		[[ $1 != rps_* ]] || rps=$(printf '%x' $(((1 << CPUS) - 1)))
		ip -n a link set va mtu "$mtu" && ip -n b link set vb mtu "$mtu" || return
		steer_packets va a "$rps" && steer_packets vb b "$rps" || return
		SERVER_PLACE=(ip netns exec b) CLIENT_PLACE=(ip netns exec a)
		[[ $1 != pin_* ]] || {
			SERVER_PLACE+=(taskset -c 0) CLIENT_PLACE+=(taskset -c 0) CPUS=1
		}
		SERVER_DEVICE=benchb CLIENT_DEVICE=bencha SERVER_ADDRESS=10.0.0.2
		;;
	own64k | same64k)
		SERVER_PLACE=() CLIENT_PLACE=()
		SERVER_DEVICE=bench0 CLIENT_DEVICE=bench0 SERVER_ADDRESS=10.1.0.1
		;;
	esac
	PATH_NOW=$1
}

# steer_packets DEVICE NAMESPACE CPUS: which CPUs handle what comes, a mask; 0: where it comes.
steer_packets()
{
	local file=/sys/class/net/$1/queues/rx-0/rps_cpus
	ip netns exec "$2" sh -c "[ ! -e $file ] || echo $3 > $file"
}

# driver_up DRIVER on|off|default|placed: links, with or without CRC, or as they are added without
# any setting, or without CRC and with placed completions; sets DRIVER_PROBLEM.
driver_up()
{
	DRIVER_PROBLEM=''
	case $1 in
	tcp | copy) return ;;
	softrnic) softrnic_settings "$2" ;;
	siw) siw_crc "$2" ;;
	rxe) modprobe rdma_rxe || DRIVER_PROBLEM="no such module" ;;
	esac
	[[ -z $DRIVER_PROBLEM ]] || return
	SRN_LINK_TYPE=$1
	if ! links_up "$1"; then
		DRIVER_PROBLEM="no links"
		return 1
	fi
}

softrnic_settings()
{
	local crc=$1 large_fpdus=$BENCH_LARGE_FPDUS placed=$BENCH_PLACED same_host=off
	[[ $PATH_NOW != same64k ]] || same_host=netns
	if modprobe softrnic && [[ -z $SOFTRNIC_DEFAULT ]]; then
		SOFTRNIC_DEFAULT=$(cat "$SETTINGS"/{crc,large_fpdus,placed_completions})
	fi
	case $crc in
	default)
		# shellcheck disable=SC2086
		set -- $SOFTRNIC_DEFAULT
		crc=$1 large_fpdus=$2 placed=$3
		;;
	placed) crc=off placed=on ;;
	esac
	echo "$crc" > "$SETTINGS/crc" && echo "$large_fpdus" > "$SETTINGS/large_fpdus" &&
		echo "$placed" > "$SETTINGS/placed_completions" &&
		echo "$same_host" > "$SETTINGS/same_host" || DRIVER_PROBLEM="no such setting"
}
SOFTRNIC_DEFAULT=''

# It has a constant for that, which is off.
siw_crc()
{
	[[ $1 != default ]] || set -- off
	[[ $SIW_CRC != "$1" ]] || return 0
	[[ -z $SIW_CRC ]] || rmmod siw
	# Linux 7.x has no libcrc32c any more.
	modprobe -qa ib_core iw_cm libcrc32c
	if insmod "/usr/lib/siw/crc-$1/siw.ko"; then
		SIW_CRC=$1
	else
		SIW_CRC='' DRIVER_PROBLEM="no such module"
	fi
}
SIW_CRC=''

links_up()
{
	if [[ $PATH_NOW == *64k ]]; then
		rdma link add bench0 type "$1" netdev dummy0 && wait_ready bench0
	else
		in_a rdma link add bencha type "$1" netdev va &&
			in_b rdma link add benchb type "$1" netdev vb && wait_ready bencha benchb
	fi
}

driver_down()
{
	local device
	for device in bench0 bencha benchb; do
		[[ ! -e /sys/class/infiniband/$device ]] || rdma link delete "$device"
	done
}
