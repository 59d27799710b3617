# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Links between two namespaces under full load, whose users hold objects of every kind, and
# the ways in which they can lose what they stand on. A script brings ./load along:
#
#	two_namespaces 1500 && start_load && way_link_delete; remove_load
#
# What has to happen is given PATIENCE seconds: all of this runs in slow machines. Loads that
# nobody ends end after LOAD_TIME.
#
# Each way_…() succeeds if everybody was told, or work went on, as it ought to be.

# shellcheck source=tests/selftests/lib/topology.sh
. lib/topology.sh

B4=10.0.0.2 PORT=7500 PATIENCE=$((60 * SLOW)) LOAD_TIME=$((600 * SLOW))
client='' server='' round=0

server_log=/tmp/load-server.log client_log=/tmp/load-client.log

start_load()
{
	ip netns exec b ./load serve "$B4" "$PORT" "$LOAD_TIME" > "$server_log" 2>&1 &
	server=$!
	wait_listening "$PORT" || return
	ip netns exec a ./load run "$B4" "$PORT" "$LOAD_TIME" 3 "$round" > "$client_log" 2>&1 &
	client=$!
	wait_until "$PATIENCE" both_devices_busy || {
		echo "no load"
		return 1
	}
}

# Each is looked at from its own namespace, which in exclusive mode is the only one.
both_devices_busy()
{
	(($(in_a rdma resource show qp link srna | grep -c RTS) >= 3)) &&
		(($(in_b rdma resource show qp link srnb | grep -c RTS) >= 3))
}

both_gone() { process_gone "$client" && process_gone "$server"; }

# where_it_waits PID…: each thread's system call and way into the kernel.
where_it_waits()
{
	local process thread
	for process in "$@"; do
		for thread in "/proc/$process/task"/*; do
			echo "${thread#/proc/} $(cat "$thread/comm" "$thread/syscall" | xargs):" \
				"$(sed 's/.* //; s/+.*//' "$thread/stack" | xargs)"
		done
	done 2> /dev/null
}

# told PID LOG: this user ended by itself because its device went.
told()
{
	wait_until "$PATIENCE" process_gone "$1" || {
		echo "it does not notice: $2"
		where_it_waits "$1"
		return 1
	}
	wait "$1"
	grep -q '^device gone' "$2" || {
		echo "it was not told that the device went: $(< "$2")"
		return 1
	}
}

# end_load: users that still have their devices end in good order.
end_load()
{
	kill -TERM "$client" "$server" 2> /dev/null
	wait_until "$PATIENCE" both_gone || {
		echo "the load does not end"
		where_it_waits "$client" "$server"
		return 1
	}
	wait "$client" || {
		echo "client: status $?: $(< "$client_log")"
		return 1
	}
	wait "$server" || {
		echo "server: status $?: $(< "$server_log")"
		return 1
	}
}

# Work goes on: 20 messages more have come than now. Packets would not show that: connections that are
# refused make some, too.
goes_on()
{
	local before
	before=$(messages)
	wait_until "$PATIENCE" more_messages_than $((before + 20)) || {
		echo "no messages any more"
		return 1
	}
}

messages()
{
	cat /sys/class/infiniband/srnb/ports/1/hw_counters/rx_{send,write,read_response}_messages |
		awk '{ sum += $1 } END { print sum }'
}
more_messages_than() { (($(messages) > $1)); }

way_link_delete()
{
	rdma link delete srna || return
	told "$client" "$client_log" || return
	kill -TERM "$server"
	wait "$server"
	rdma link delete srnb
}

# rdma looks for its link in the core's list, in two steps. If another link goes in between, the
# core leaves one out, and rdma does not find it: once in 150 times with rxe's links.
delete_beside_another()
{
	local said
	said=$(rdma link delete "$1" 2>&1) && return
	echo "$said"
	[[ $said == "Wrong device name"* ]] && exists "$1" && rdma link delete "$1"
}

way_link_deleted_at_both()
{
	delete_beside_another srnb & delete_beside_another srna
	wait $! || return
	told "$client" "$client_log" && told "$server" "$server_log"
}

# One veth takes its peer along.
way_netdev_delete()
{
	ip -n a link delete va || return
	told "$client" "$client_log" && told "$server" "$server_log" &&
		soon gone srna && soon gone srnb
}

# The namespace goes with its last process.
way_namespace_delete()
{
	ip netns delete a
	kill -KILL "$client"
	wait "$client" 2> /dev/null
	told "$server" "$server_log" && soon gone srna
}

way_module_remove()
{
	rmmod softrnic || return
	told "$client" "$client_log" && told "$server" "$server_log"
}

way_netdev_down()
{
	ip -n a link set va down
	sleep 1
	ip -n a link set va up
	ip -n a addr add fd00::1/64 dev va nodad 2> /dev/null
	goes_on && end_load
}

way_address_removed()
{
	ip -n b addr del "$B4"/24 dev vb
	sleep 1
	ip -n b addr add "$B4"/24 dev vb
	goes_on && end_load
}

way_mtu_changed()
{
	local mtu
	for mtu in 9000 1400 600 1500; do
		ip -n a link set va mtu "$mtu"
		ip -n b link set vb mtu "$mtu"
		goes_on || return
	done
	end_load
}

way_names_changed()
{
	rdma dev set srna name srnx && rdma dev set srnx name srna || return
	ip -n a link set va down && ip -n a link set va name vx && ip -n a link set vx up &&
		ip -n a addr add fd00::1/64 dev vx nodad || return
	goes_on && end_load
}

# In exclusive mode the core takes a device away from its users when it moves it to another
# namespace. The mode can be set only while there is one.
way_moved_to_namespace()
{
	exclusive_mode && dummy_link 1500 || return
	./load serve 10.1.0.1 "$PORT" "$LOAD_TIME" > "$server_log" 2>&1 &
	server=$!
	wait_listening "$PORT" || return
	./load run 10.1.0.1 "$PORT" "$LOAD_TIME" 3 "$round" > "$client_log" 2>&1 &
	client=$!
	wait_until "$PATIENCE" traffic_on_own_address || return
	ip netns add a && rdma dev set srn0 netns a || return
	told "$client" "$client_log" && told "$server" "$server_log"
}

# Neither while there are namespaces: those of the round before stay until TCP has given up its peers.
exclusive_mode() { wait_until $((45 * SLOW)) rdma system set netns exclusive; }
shared_mode() { wait_until $((45 * SLOW)) rdma system set netns shared 2> /dev/null; }

traffic_on_own_address()
{
	(($(rdma resource show qp link srn0 | grep -c RTS) >= 6))
}

# Links that belong to a namespace each. Older kernels make them in the first one.
exclusive_namespaces()
{
	exclusive_mode && two_namespaces 1500 || return
	in_a rdma link show srna/1 || rdma dev set srna netns a || return
	in_b rdma link show srnb/1 || rdma dev set srnb netns b
}

# The core moves the link to the first namespace while its network device goes.
way_exclusive_namespace_delete()
{
	exclusive_namespaces && start_load || return
	ip netns delete a
	kill -KILL "$client"
	wait "$client" 2> /dev/null
	told "$server" "$server_log" && wait_until "$PATIENCE" no_rdma_device
}

no_rdma_device() { ! { rdma dev show && in_b rdma dev show; } | grep -q .; }

# To another namespace than its network device's, with the load at both ends.
way_exclusive_taken_away()
{
	exclusive_namespaces && start_load || return
	in_a rdma dev set srna netns b || return
	told "$client" "$client_log" || return
	kill -TERM "$server"
	wait "$server"
	in_b rdma link delete srna && in_b rdma link delete srnb
}

five_connections() { (($(rdma resource show qp link srna | grep -c RTS) >= 5)); }

# SIGSTOP with rings full: others go on, and their end is not held up.
way_users_stopped()
{
	ip netns exec a ./load run "$B4" "$PORT" "$LOAD_TIME" 2 $((round + 1000)) > /tmp/load-stopped.log 2>&1 &
	local stopped=$!
	wait_until "$PATIENCE" five_connections || return
	kill -STOP "$stopped"
	goes_on || return
	rdma link delete srna || return
	told "$client" "$client_log" || return
	kill -CONT "$stopped"
	told "$stopped" /tmp/load-stopped.log || return
	kill -TERM "$server"
	wait "$server"
	return 0
}

no_links() { gone srn0 && gone srna && gone srnb; }

# Take everything away that a way may have left.
remove_load()
{
	# shellcheck disable=SC2086
	kill -KILL $client $server 2> /dev/null
	# shellcheck disable=SC2086
	wait $client $server 2> /dev/null
	client='' server=''
	rdma link delete srna 2> /dev/null
	rdma link delete srnb 2> /dev/null
	ip netns delete a 2> /dev/null
	ip netns delete b 2> /dev/null
	soon gone srna && soon gone srnb
}
