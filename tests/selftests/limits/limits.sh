#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# files: build/tests/bin/limits
# timeout: 150
#
# Limits that an administrator sets on processes: locked memory, RDMA objects, memory of a
# cgroup. They hold, and what a process had is given back when it ends, however it ends.
. lib/ktap.sh
. lib/cgroup.sh
. lib/pairs.sh

DEVICE=/dev/infiniband/uverbs0
GROUP=/sys/fs/cgroup/t
MEMLOCK=$((1 << 20))
# MiB that a cgroup may have, and that a process in it wants to have.
ROOM=48 WANTED=256

# Somebody without CAP_IPC_LOCK.
as_nobody()
{
	timeout -k 2 50 prlimit --memlock="$MEMLOCK" setpriv --reuid=65534 --regid=65534 \
		--clear-groups --no-new-privs --inh-caps=-all "$@"
}

no_program() { ! pgrep -x limits > /dev/null; }

# kill_program: the one that runs in the background, with whatever started it.
kill_program()
{
	pkill -KILL -x limits
	wait_until 20 no_program && wait
	return 0
}

# Each time another process pins half of what one may, and is killed.
given_back_by_the_killed()
{
	for _ in {1..20}; do
		: > /tmp/hold.log
		as_nobody ./limits hold "$DEVICE" > /tmp/hold.log 2>&1 &
		wait_until 20 said ready /tmp/hold.log && kill_program || return
	done 2> /dev/null
	as_nobody ./limits memlock "$DEVICE"
}

# cgroup CONTROLLER: the group, in which that controller counts.
cgroup() { cgroup_controller "$1" && mkdir -p "$GROUP"; }

# rings MIB: in the background, in the group.
rings()
{
	: > /tmp/rings.log
	exec_in_cgroup "$GROUP" ./limits rings "$DEVICE" "$1" > /tmp/rings.log 2>&1 &
}

# Of two contexts and ten objects each kind is exactly reached.
rdma_objects_are_limited()
{
	echo "srn0 hca_handle=2 hca_object=10" > "$GROUP"/rdma.max || return
	in_cgroup "$GROUP" timeout 30 ./limits objects "$DEVICE" > /tmp/objects.log || return
	cat /tmp/objects.log "$GROUP"/rdma.current
	grep -qx '2 10' /tmp/objects.log &&
		grep -q 'srn0 hca_handle=0 hca_object=0' "$GROUP"/rdma.current
}

# Who is killed gives everything back as well.
rdma_objects_of_the_killed()
{
	echo "srn0 hca_handle=2 hca_object=10" > "$GROUP"/rdma.max || return
	rings 16
	wait_until 20 said queues /tmp/rings.log || return
	cat "$GROUP"/rdma.current
	grep -q 'hca_handle=1 hca_object=[1-9]' "$GROUP"/rdma.current || return
	kill_program
	wait_until 20 grep -q 'srn0 hca_handle=0 hca_object=0' "$GROUP"/rdma.current
}

# Linux 6.1 keeps a group's limits on a list of the device when the group is removed, and
# stumbles over them when the device goes. Limits that are none are not kept.
leave_rdma_cgroup()
{
	[[ ! -e "$GROUP"/rdma.max ]] ||
		echo "srn0 hca_handle=max hca_object=max" > "$GROUP"/rdma.max
	rmdir "$GROUP" 2> /dev/null
}

group_mib() { echo $(($(< "$GROUP"/memory.current) >> 20)); }
# Each processor keeps up to 64 pages that are charged and not used.
STOCKS=$((64 * $(getconf PAGESIZE) * $(nproc) >> 20))
nearly_empty() { (($(group_mib) < 4 + STOCKS)); }

# Queues are charged to the group of who makes them.
rings_are_charged()
{
	rings 32
	wait_until 30 said queues /tmp/rings.log || return
	echo "$(cat /tmp/rings.log), $(group_mib) MiB"
	(($(group_mib) >= 32)) || return
	kill_program
	wait_until 20 nearly_empty
}

# It is refused, or it is killed, at the limit; others do not notice.
rings_are_limited()
{
	echo $((ROOM << 20)) > "$GROUP"/memory.max
	rings "$WANTED"
	wait_until 60 refused_or_killed || {
		echo "neither refused nor killed: $(group_mib) MiB"
		return 1
	}
	said 'Cannot allocate memory' /tmp/rings.log || (($(event_of_group oom_kill) > 0)) || {
		echo "it was not memory: $(cat /tmp/rings.log "$GROUP"/memory.events)"
		return 1
	}
	(($(event_of_group max) > 0)) || return
	echo "$(cat /tmp/rings.log), peak $(($(cat "$GROUP"/memory.peak) >> 20)) MiB"
	kill_program
	(($(cat "$GROUP"/memory.peak) <= ROOM << 20)) && wait_until 20 nearly_empty
}

# event_of_group NAME: how often the group came to it.
event_of_group() { awk -v name="$1" '$1 == name { print $2 }' "$GROUP"/memory.events; }

refused_or_killed() { said queues /tmp/rings.log || [[ -z $(jobs -r) ]]; }

chmod +x limits
run_check "a link" dummy_link || finish
chmod 666 "$DEVICE"
with_result "locked memory" as_nobody ./limits memlock "$DEVICE"
with_result "locked memory of processes that were killed" given_back_by_the_killed
if cgroup rdma; then
	with_result "RDMA objects of a cgroup" rdma_objects_are_limited
	with_result "RDMA objects of a process that was killed" rdma_objects_of_the_killed
else
	skip "RDMA objects of a cgroup" "$NO_CGROUP"
fi
leave_rdma_cgroup
if cgroup memory; then
	with_result "memory of queues is charged" rings_are_charged
	with_result "memory of queues is limited" rings_are_limited
else
	skip "memory of queues is charged" "$NO_CGROUP"
fi
pair "rping works on that device" 7174 rping -s -a 10.1.0.1 -C 10 -- rping -c -a 10.1.0.1 -C 10 -V
finish
