#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# files: build/tests/bin/nccl_like build/tests/bin/gloo_ring tests/selftests/programs/ring.py
# timeout: 900
#
# Programs that bring up their queue pairs by hand, and libraries for parallel programs: between two
# namespaces, and with both ends on one link. Documentation/programs.md is the list of what this
# has shown.
: "${SRN_SAME_HOST:=default}"
. lib/ktap.sh
. lib/perftest.sh

# Of the pair that runs: a namespace or nothing, the devices, and the server's address.
SERVER=() CLIENT=() SERVER_DEVICE='' CLIENT_DEVICE='' SERVER_NETDEV='' CLIENT_NETDEV='' PEER=''

# everywhere TEST NAME [ARGUMENT…]
everywhere()
{
	local test=$1 name=$2
	shift 2
	SERVER=(in_b) CLIENT=(in_a) SERVER_DEVICE=srnb CLIENT_DEVICE=srna PEER=10.0.0.2
	SERVER_NETDEV=vb CLIENT_NETDEV=va
	"$test" "$name" "$@"
	SERVER=() CLIENT=() SERVER_DEVICE=srn0 CLIENT_DEVICE=srn0 PEER=10.1.0.1
	SERVER_NETDEV=dummy0 CLIENT_NETDEV=dummy0
	"$test" "$name, one link" "$@"
}

# tools COMMAND NAME TOOL [OPTION…]: COMMAND is pair or try_pair; the programs of rdma-core and
# perftest take their options alike.
tools()
{
	local command=$1 name=$2 tool=$3
	shift 3
	local -a test=("$command")
	[[ $command != pair ]] || test+=("$name")
	"${test[@]}" 18515 "${SERVER[@]}" "$tool" -d "$SERVER_DEVICE" "$@" -- \
		"${CLIENT[@]}" "$tool" -d "$CLIENT_DEVICE" "$@" "$PEER"
}

# pingpong NAME TOOL [OPTION…]
pingpong() { tools pair "$1" "$2" -g 0 -n 200 "${@:3}"; }

pingpongs()
{
	everywhere pingpong "ibv_rc_pingpong" ibv_rc_pingpong -c
	everywhere pingpong "ibv_rc_pingpong, events" ibv_rc_pingpong -e -c
	everywhere pingpong "ibv_rc_pingpong, 1 byte" ibv_rc_pingpong -s 1
	everywhere pingpong "ibv_rc_pingpong, 64 KiB" ibv_rc_pingpong -s 65536 -r 50 -c
	everywhere pingpong "ibv_rc_pingpong, ibv_wr_*" ibv_rc_pingpong -N -c
	everywhere pingpong "ibv_srq_pingpong" ibv_srq_pingpong -q 8
	everywhere pingpong "ibv_srq_pingpong, events" ibv_srq_pingpong -q 8 -e
	skip "ibv_xsrq_pingpong" "needs XRC, which iWARP does not have"
	skip "ibv_ud_pingpong, ibv_uc_pingpong" "need datagram or unreliable queue pairs, which iWARP does not have"
}

# bench NAME TOOL SIZE COUNT [OPTION…]: the result line must be there, too.
bench()
{
	local name=$1 tool=$2 size=$3 count=$4
	shift 4
	if tools try_pair "$name" "$tool" -x 0 -F -s "$size" -n "$count" "$@"; then
		ok "$name"
	elif forgot_credits; then
		expected_failure "$name" "perftest keeps the region of its credits"
	else
		not_ok "$name" "$PAIR_PROBLEM" "client: $(tail -n 12 "$CLIENT_LOG")" \
			"server: $(tail -n 12 "$SERVER_LOG")"
		return
	fi
	has_result "$name: result" "$size"
}

# Over iWARP the ends of ib_send_bw give each other credits. They give back the region for that only
# if rdma_cm has connected them, so the protection domain is in use in the end.
forgot_credits()
{
	grep -q "Failed to deallocate PD - Device or resource busy" "$CLIENT_LOG" &&
		! grep -qE "Failed status|Completion with error" "$CLIENT_LOG" "$SERVER_LOG"
}

benches()
{
	local tool
	for tool in ib_send ib_write ib_read; do
		everywhere bench "${tool}_bw" ${tool}_bw 65536 100
		everywhere bench "${tool}_lat" ${tool}_lat 64 50
		everywhere bench "${tool}_bw, 16 queue pairs, both directions" \
			${tool}_bw 4096 100 -q 16 -b
		everywhere bench "${tool}_bw, 64 queue pairs" ${tool}_bw 4096 64 -q 64
	done
	everywhere bench "ib_atomic_bw" ib_atomic_bw 8 100
	everywhere bench "ib_atomic_lat" ib_atomic_lat 8 50
	everywhere bench "ib_atomic_bw, 64 queue pairs" ib_atomic_bw 8 64 -q 64
	everywhere bench "ib_send_bw, shared receive queue" ib_send_bw 4096 200 --use-srq
	everywhere bench "ib_send_lat, shared receive queue" ib_send_lat 64 100 --use-srq
	skip "perftest, ibv_wr_*" "perftest calls it on devices only that it knows by name"
}

# nccl NAME: 512 messages, each byte compared.
nccl()
{
	pair "$1" 18520 "${SERVER[@]}" ./nccl_like receive "$SERVER_DEVICE" 18520 -- \
		"${CLIENT[@]}" ./nccl_like send "$CLIENT_DEVICE" 18520 "$PEER"
}

# gloo NAME: two processes meet in a folder, and compare the sums of three lengths of arrays.
gloo()
{
	local name=$1 folder pid status=0
	local -a pids=()
	folder=$(mktemp -d)
	start_gloo 0 "$SERVER_DEVICE" "$(place "${SERVER[0]:-}" "$SERVER_CPU")"
	start_gloo 1 "$CLIENT_DEVICE" "$(place "${CLIENT[0]:-}" "$CLIENT_CPU")"
	for pid in "${pids[@]}"; do
		wait "$pid" || status=$?
	done
	case $status in
	0) ok "$name" ;;
	77) skip "$name" "there was no libgloo-dev when the tests were built" ;;
	*) not_ok "$name" "status $status" "$(tail -n 12 "$folder"/log.*)" ;;
	esac
	rm -rf "$folder"
}

# start_gloo RANK DEVICE PLACE
start_gloo()
{
	# shellcheck disable=SC2086
	timeout -k 2 "$CLIENT_TIMEOUT" $3 ./gloo_ring "$2" "$1" 2 "$folder" \
		> "$folder/log.$1" 2>&1 < /dev/null &
	pids+=($!)
}

# Of UCX's transports rc is brought up by messages of another one. Newer versions take TCP for that.
UCX=("UCX_TLS=rc_verbs,tcp,self" UCX_LOG_LEVEL=info)
NO_AUXILIARY="this UCX brings up rc by ud, and iWARP has no datagrams"
NO_INFINIBAND="Debian has built this UCX without InfiniBand"
ucx_has_infiniband() { compgen -G '/usr/lib/*/ucx/libuct_ib.so*' > /dev/null; }
ucx_asks_for_datagrams() { grep -q "no auxiliary transport" "$@"; }

# ucx NAME
ucx()
{
	local -a server=(env "${UCX[@]}" "UCX_NET_DEVICES=$SERVER_DEVICE:1,$SERVER_NETDEV")
	local -a client=(env "${UCX[@]}" "UCX_NET_DEVICES=$CLIENT_DEVICE:1,$CLIENT_NETDEV")
	local -a test=(ucx_perftest -t tag_bw -n 100 -s 4096)
	# One that knows MPI would take itself for a process of that where it has no terminal.
	[[ $(ucx_perftest -h 2>&1) != *"-P <"* ]] || test+=(-P 0)
	if try_pair 13337 "${SERVER[@]}" "${server[@]}" "${test[@]}" -- \
		"${CLIENT[@]}" "${client[@]}" "${test[@]}" "$PEER"; then
		run_check "$1" by_queue_pairs "$CLIENT_LOG"
	elif ucx_asks_for_datagrams "$CLIENT_LOG" "$SERVER_LOG"; then
		skip "$1" "$NO_AUXILIARY"
	else
		not_ok "$1" "$PAIR_PROBLEM" "client: $(tail -n 12 "$CLIENT_LOG")" \
			"server: $(tail -n 12 "$SERVER_LOG")"
	fi
}

# ucx_demo NAME: with a listener, TCP brings rc up in old versions too. It checks the data (-q).
ucx_demo()
{
	local -a server=(env "${UCX[@]}" "UCX_NET_DEVICES=$SERVER_DEVICE:1,$SERVER_NETDEV")
	local -a client=(env "${UCX[@]}" "UCX_NET_DEVICES=$CLIENT_DEVICE:1,$CLIENT_NETDEV")
	local -a test=(io_demo -p 13399 -d "4096:65536" -q -o "read,write")
	local SERVER_STATUS_COUNTS=''
	pair "$1" 13399 "${SERVER[@]}" "${server[@]}" UCX_SOCKADDR_TLS_PRIORITY=tcp "${test[@]}" -- \
		"${CLIENT[@]}" "${client[@]}" UCX_SOCKADDR_TLS_PRIORITY=tcp "${test[@]}" -i 50 "$PEER" &&
		run_check "$1: by queue pairs" by_queue_pairs "$CLIENT_LOG"
}

by_queue_pairs()
{
	grep "cfg[[#].*rc_verbs/" "$1" || {
		cat "$1"
		return 1
	}
}

# Open MPI starts its processes by ssh where the hosts are others. Here the other host is the other
# namespace, which it shall not take for its own. Newer ones know a host only by what that calls itself.
other_host()
{
	echo "10.0.0.2 b" >> /etc/hosts
	cat > /tmp/other-host <<-'AGENT'
		#!/bin/bash
		shift
		export UCX_NET_DEVICES=srnb:1,vb
		exec ip netns exec b unshare --uts bash -c "hostname b; $*"
	AGENT
	chmod +x /tmp/other-host
}

# mpirun_ring OPTION…: messages go around a ring of two processes, and are compared.
mpirun_ring()
{
	local -a where=() hosts=(--host localhost:2)
	if ((${#CLIENT[@]})); then
		where=(ip netns exec a)
		hosts=(--host "$(hostname),b" --mca plm_rsh_agent /tmp/other-host)
	fi
	"${where[@]}" env "UCX_NET_DEVICES=$CLIENT_DEVICE:1,$CLIENT_NETDEV" timeout -k 2 $((60 * SLOW)) \
		mpirun --allow-run-as-root "${hosts[@]}" -np 2 "$@" python3 "$PWD/ring.py"
}

# From Open MPI 5 on libfabric goes on to use registrations of memory that has been freed. With Open
# MPI 6 messages were wrong over rxe as well.
openmpi_libfabric()
{
	local -a options=()
	[[ $(mpirun --version) == *"Open MPI) 4."* ]] || options=(-x FI_MR_CACHE_MAX_COUNT=0)
	run_check "$1" mpirun_ring --mca pml cm --mca mtl ofi \
		--mca mtl_ofi_provider_include 'verbs;ofi_rxm' "${options[@]}"
}

openmpi_ucx()
{
	local -a options=()
	local setting
	for setting in SOFTRNIC_NODE_TYPE "${UCX[@]}"; do
		options+=(-x "$setting")
	done
	if mpirun_ring --mca pml ucx "${options[@]}" > /tmp/mpi.log 2>&1 < /dev/null; then
		run_check "$1" by_queue_pairs /tmp/mpi.log
	elif ucx_asks_for_datagrams /tmp/mpi.log; then
		skip "$1" "$NO_AUXILIARY"
	else
		not_ok "$1" "$(tail -n 12 /tmp/mpi.log)"
	fi
}

bench_without_credits()
{
	bench "$@"
	! forgot_credits || not_ok "$1: needs no credits"
}

# What looks at the type of the device, and takes none of iWARP.
as_infiniband()
{
	local tool
	export SOFTRNIC_NODE_TYPE=ca
	run_check "as a channel adapter of InfiniBand" is_infiniband
	for tool in ib_send_bw ib_send_lat; do
		everywhere bench_without_credits "$tool, as InfiniBand" $tool 4096 100
	done
	everywhere bench_without_credits "ib_send_bw, 64 queue pairs, as InfiniBand" \
		ib_send_bw 4096 64 -q 64
	everywhere bench_without_credits "ib_send_bw, shared receive queue, as InfiniBand" \
		ib_send_bw 4096 200 --use-srq
	everywhere pingpong "ibv_rc_pingpong, as InfiniBand" ibv_rc_pingpong -c
	if ucx_has_infiniband; then
		everywhere ucx_demo "UCX's io_demo, rc"
		everywhere ucx "ucx_perftest, rc"
		everywhere openmpi_ucx "Open MPI over UCX"
	else
		skip "UCX" "$NO_INFINIBAND"
	fi
	unset SOFTRNIC_NODE_TYPE
	run_check "and as a device for iWARP again" is_iwarp
}
is_infiniband() { in_a ibv_devinfo -d srna | grep -q 'transport:.*InfiniBand (0)'; }
is_iwarp() { in_a ibv_devinfo -d srna | grep -q 'transport:.*iWARP (1)'; }

libraries()
{
	everywhere gloo "gloo, sums over a ring"
	other_host
	everywhere openmpi_libfabric "Open MPI over libfabric"
	as_infiniband
	skip "MPICH over libfabric" "Debian builds MPICH for UCX, not for libfabric"
	skip "Ceph, async+rdma" "a monitor and its tools need 160 MB more of packages in this machine"
	skip "Valkey over RDMA" "Debian 12 does not have it, and later ones build it without RDMA"
}

(($(nproc) > 1)) || skip_all "both ends of most programs poll, and need a CPU each"
chmod +x nccl_like gloo_ring
run_check "two links in two namespaces" two_namespaces
run_check "a link on a dummy interface" dummy_link
pingpongs
benches
everywhere nccl "what NCCL does"
libraries
finish
