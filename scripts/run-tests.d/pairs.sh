# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Tests with "# pair: yes" in their header, in two test machines: the same script runs
# in both, with ROLE=server and ROLE=client, and the client counts. The machines have
# two virtual wires between them, eth0 for the test and eth1 for its commands.
# tests/selftests/lib/ends.sh is the other half of this.

# test_pairs [NAME…]
test_pairs()
{
	local name
	local -a names=("$@")
	((${#names[@]})) || mapfile -t names < <(script_names)
	for name in "${names[@]}"; do
		if [[ -z $(script_of "$name") ]]; then
			result "$name, pair" 0 1 0 0 "no $name.sh in ${TESTS[*]}"
		elif [[ $(header "$(script_of "$name")" pair) == yes ]]; then
			run_pair "$name"
			show_guest_test "$name-pair"
		fi
	done
}

# Folders: NAME-pair is the client's, NAME-pair-server the server's.
run_pair()
{
	local name=$1 script wires server status=0 server_status=0 start
	local dir=$LOGS/$1-pair
	local -a OPTIONS FILES
	script=$(script_of "$name")
	needs_met "$name-pair" "$script" || return 0
	# Who has the client's folder has the server's.
	lock_logs "$dir"
	mkdir -p "$dir-server"
	start=$EPOCHREALTIME
	wires=$RESULTS/$name-wires
	mkdir "$wires"
	pair_machine server "$wires" "$dir-server" > "$RESULTS/$name-server.report" 2>&1 &
	server=$!
	if [[ -n $VERBOSE ]]; then
		pair_machine client "$wires" "$dir" || status=$?
	else
		pair_machine client "$wires" "$dir" > /dev/null 2> "$RESULTS/$name-pair.report" ||
			status=$?
	fi
	wait "$server" || server_status=$?
	cp "$RESULTS/$name-server.report" "$dir-server/report.log"
	rm -r "$wires"
	((server_status == 0)) || {
		cat "$dir-server/report.log" >> "$RESULTS/$name-pair.report"
		((status != 0)) || status=99
	}
	[[ ! -e $RESULTS/$name-pair.report ]] || cp "$RESULTS/$name-pair.report" "$dir/report.log"
	keep_result "$name-pair" "$dir" "$status" "$start"
	unlock_logs
}

# pair_machine ROLE WIRES OUT: one of the two. A wire is a pair of datagram sockets.
pair_machine()
{
	local role=$1 wires=$2 out=$3 peer=client mac=1 qemu='' n
	[[ $role == server ]] || peer=server mac=2
	for n in 0 1; do
		qemu+=" -netdev dgram,id=n$n,local.type=unix,local.path=$wires/$role$n"
		qemu+=",remote.type=unix,remote.path=$wires/$peer$n"
		qemu+=" -device virtio-net-pci,netdev=n$n,mac=52:54:00:00:0$n:0$mac"
	done
	ROLE=$role SRN_OUT_LOCKED=1 SRN_ENV="${SRN_ENV:-} ROLE" scripts/testmachine run "${OPTIONS[@]}" \
		--name "$name-$role" --out "$out" --qemu "$qemu" "$script" "${FILES[@]}"
}
