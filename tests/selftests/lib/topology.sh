# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Networks with RDMA links for scripts that run in the test machine. SRN_LINK_TYPE
# may name another driver (rxe) to try a script or the machine itself with, and
# SRN_PEER_LINK_TYPE another one for namespace b.
#
#   two_namespaces:
#
#     ┌── namespace a ───────────┐          ┌── namespace b ───────────┐
#     │ srna ── va 10.0.0.1/24   │── veth ──│ vb 10.0.0.2/24 ── srnb   │
#     │            fd00::1/64    │          │    fd00::2/64            │
#     └──────────────────────────┘          └──────────────────────────┘
#
#   dummy_link:
#
#     srn0 ── dummy0 10.1.0.1/24, fd01::1/64; the host talks to itself

: "${SRN_LINK_TYPE:=softrnic}"

# Tests mean the wire, unless they say that they want what users get ("default"), or whoever runs
# them says that connections within this host shall bypass TCP.
: "${SRN_SAME_HOST:=off}"
[[ $SRN_SAME_HOST == default ]] ||
	echo "options softrnic same_host=$SRN_SAME_HOST" > /etc/modprobe.d/same-host.conf

in_a() { ip netns exec a "$@"; }
in_b() { ip netns exec b "$@"; }

# joined_namespaces [MTU]: without links. The two ends have different interface indexes: equal
# ones hide a driver that looks an interface up in the wrong namespace.
joined_namespaces()
{
	local mtu=${1:-1500} n
	ip netns add a && ip netns add b &&
		ip link add va index 101 mtu "$mtu" netns a type veth \
			peer name vb index 102 mtu "$mtu" netns b || return
	for n in a b; do
		ip -n $n link set lo up
		ip -n $n link set v$n up
	done
	ip -n a addr add 10.0.0.1/24 dev va
	ip -n b addr add 10.0.0.2/24 dev vb
}

two_namespaces()
{
	joined_namespaces "$@" || return
	ip -n a addr add fd00::1/64 dev va nodad
	ip -n b addr add fd00::2/64 dev vb nodad
	in_a rdma link add srna type "$SRN_LINK_TYPE" netdev va &&
		in_b rdma link add srnb type "${SRN_PEER_LINK_TYPE:-$SRN_LINK_TYPE}" netdev vb &&
		wait_ready srna srnb
}

remove_two_namespaces()
{
	rdma link delete srna
	rdma link delete srnb
	ip netns delete a
	ip netns delete b
}

dummy_link()
{
	local mtu=${1:-1500}
	ip link add dummy0 mtu "$mtu" type dummy
	ip addr add 10.1.0.1/24 dev dummy0
	ip addr add fd01::1/64 dev dummy0 nodad
	ip link set dummy0 up
	rdma link add srn0 type "$SRN_LINK_TYPE" netdev dummy0 && wait_ready srn0
}

# network_counter NAMESPACE NAME: of the network stack, such as TcpExtListenOverflows.
network_counter()
{
	ip netns exec "$1" nstat -asz "$2" | awk -v name="$2" '$1 == name { print $2 }'
}

# link_counter LINK NAME: of a link with softrnic's counters.
link_counter()
{
	rdma statistic show link "$1/1" | awk -v name="$2" '
		{ for (i = 1; i < NF; i++) if ($i == name) { print $(i + 1); found = 1 } }
		END { exit !found }'
}

# wait_until SECONDS COMMAND…: until the command succeeds.
wait_until()
{
	local end=$((${EPOCHREALTIME/[.,]/} + $1 * 1000000))
	shift
	until "$@"; do
		((${EPOCHREALTIME/[.,]/} < end)) || return 1
		sleep 0.05
	done
}

# soon COMMAND…: until it succeeds, by itself and without much work.
soon() { wait_until $((30 * ${SLOW:-1})) "$@"; }

# no_objects_stay SECONDS: of srn0, a little after their users have gone; or shows them.
no_objects_stay()
{
	wait_until "$1" no_objects || {
		rdma resource show
		rdma resource show qp
		return 1
	}
}
no_objects() { ! rdma resource show srn0 | grep -qE '(qp|cm_id|mr|pd|cq|ctx|srq) [1-9]'; }

# Is there a link, or another RDMA device, of that name?
exists() { [[ -e /sys/class/infiniband/$1 ]]; }
gone() { ! exists "$1"; }
module_gone() { [[ ! -e /sys/module/softrnic ]]; }
process_gone() { ! kill -0 "$1" 2> /dev/null; }

# said WORDS LOG
said() { grep -q "$1" "$2"; }

# log_has WORDS: the kernel's
log_has() { dmesg | grep -q "$1"; }

# Until each device's port is active and its character device is there.
wait_ready()
{
	local device
	for device in "$@"; do
		wait_until $((20 * SLOW)) device_ready "$device" || {
			echo "# $device did not become ready"
			return 1
		}
	done
}

device_ready()
{
	local node
	for node in "/sys/class/infiniband/$1/device/infiniband_verbs"/uverbs* \
		/sys/class/infiniband_verbs/uverbs*; do
		[[ -e $node && $(cat "$node/ibdev" 2> /dev/null) == "$1" ]] || continue
		[[ -c /dev/infiniband/${node##*/} ]] || return 1
		grep -q ACTIVE "/sys/class/infiniband/$1/ports/1/state"
		return
	done
	return 1
}

# start_server LOG COMMAND…: in the background, never for longer than
# SERVER_TIMEOUT; sets SERVER_PID. Line-buffered, so that the log can be waited on.
: "${SERVER_TIMEOUT:=$((60 * ${SLOW:-1}))}"
start_server()
{
	local log=$1
	shift
	if [[ $1 == in_a || $1 == in_b ]]; then
		set -- ip netns exec "${1#in_}" "${@:2}"
	fi
	# Whoever waits for a word in the log shall not find that of the server before.
	: > "$log"
	timeout -k 2 "$SERVER_TIMEOUT" stdbuf -oL "$@" > "$log" 2>&1 < /dev/null &
	SERVER_PID=$!
}

# start_recording LOG COMMAND…: tcpdump, in the background; sets RECORDER.
start_recording()
{
	local log=$1
	shift
	# The words of the recording before are not those that are waited for.
	: > "$log"
	"$@" > "$log" 2>&1 < /dev/null &
	# shellcheck disable=SC2034  # for whoever calls this
	RECORDER=$!
	soon grep -q 'listening on' "$log"
}

# wait_listening PORT: until someone listens there, by rdma_cm or TCP.
wait_listening()
{
	soon listening "$1" || {
		echo "nobody listens at port $1"
		return 1
	}
}

# softrnic's listener is a TCP socket, and only it tells that connections will be
# taken: rdma_cm's state is LISTEN some time before.
listening()
{
	local n
	for n in '' a b; do
		[[ -z $n || -e /run/netns/$n ]] || continue
		ss ${n:+-N $n} -Hltn "sport = :$1" 2> /dev/null | grep -q . && return
	done
	[[ $SRN_LINK_TYPE != softrnic ]] && rdma resource show cm_id 2> /dev/null |
		grep -qE "state LISTEN.*:$1( |$)"
}

# wait_server [SECONDS]: its exit status; ends it if it does not end by itself.
wait_server()
{
	wait_until "${1:-10}" server_gone || kill "$SERVER_PID" 2> /dev/null
	wait "$SERVER_PID"
}

server_gone()
{
	! kill -0 "$SERVER_PID" 2> /dev/null
}

stop_server()
{
	kill "$SERVER_PID" 2> /dev/null
	wait "$SERVER_PID" 2> /dev/null
}
