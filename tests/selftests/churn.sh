#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# files: build/tests/bin/load
# timeout: 300
#
# Links under full load, whose users hold objects of every kind, lose what they stand on:
# round after round, one way after the other. Nothing hangs, nothing stays behind, users
# are told, and the next round works again.
#
# CHURN_ROUNDS: how many rounds (13). Each way comes once before any comes again.
. lib/ktap.sh
. lib/churn.sh

: "${CHURN_ROUNDS:=13}"
WAYS=(link_delete netdev_delete namespace_delete module_remove netdev_down address_removed
	mtu_changed names_changed moved_to_namespace link_deleted_at_both users_stopped
	exclusive_namespace_delete exclusive_taken_away)

# In exclusive mode a load begins later.
one_round()
{
	case $1 in
	moved_to_namespace | exclusive_*) ;;
	*) two_namespaces 1500 > /dev/null && start_load || return ;;
	esac
	"way_$1"
}

clean_up()
{
	in_a rdma link delete srn0 2> /dev/null
	ip link delete dummy0 2> /dev/null
	pkill -KILL -x load
	remove_load
	soon no_links && { rmmod softrnic 2> /dev/null || true; }
	shared_mode && [[ ! -e /sys/module/softrnic ]]
}

chmod +x load
for ((round = 0; round < CHURN_ROUNDS; round++)); do
	way=${WAYS[round % ${#WAYS[@]}]}
	run_check "round $((round + 1)), ${way//_/ }" one_round "$way" ||
		note "$(tail -n 3 $client_log $server_log 2>&1)"
	run_check "round $((round + 1)), nothing stays behind" clean_up
done
finish
