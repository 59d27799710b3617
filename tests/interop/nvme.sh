#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# timeout: 900
# mem: 2G
# files: Documentation/howto-nvme-rdma.md build/tests/bin/cm_misuse
# pair: yes
#
# NVMe over RDMA: nvmet and nvme-rdma, data verified, through resets, a wire that is
# cut, a target that goes away and comes back, and links that are deleted in use.
# The commands are those of the howto. FULL=1 does more of it.
. lib/ktap.sh
. lib/howto.sh
. lib/ends.sh
. lib/memory.sh
. lib/diskwork.sh

# shellcheck disable=SC2034  # lib/howto.sh uses it
HOWTO=howto-nvme-rdma.md
NAMESPACE=/dev/nvme0n1 DATA=/tmp/data
export DISK=/dev/loop0

offered_disk()
{
	modprobe -a loop configfs
	mountpoint -q /sys/kernel/config || mount -t configfs configfs /sys/kernel/config
	truncate -s 96M /tmp/nvme.img && losetup "$DISK" /tmp/nvme.img
}

# State of the only controller: live, resetting, connecting, …
state_is()
{
	[[ $(cat /sys/class/nvme/nvme*/state 2> /dev/null) == "$1" ]]
}

connected()
{
	state_is live && [[ -b $NAMESPACE ]]
}

the_disk() { echo "$NAMESPACE"; }

# The path's own: those of the disk above it know of nothing in flight.
disk_statistics() { compgen -G '/sys/class/nvme/nvme0/nvme0*n1/stat'; }

gone()
{
	[[ ! -e /sys/class/nvme-fabrics/ctl/nvme0 && ! -b $NAMESPACE ]]
}

connect()
{
	howto client connect && wait_until 30 connected
}

three_resets()
{
	for _ in 1 2 3; do
		nvme reset /dev/nvme0 || return
		wait_until 30 connected || return
	done
}

# Readers and writers that are killed with requests in flight.
killed_users()
{
	local i
	for ((i = 0; i < 5; i++)); do
		timeout -s KILL "0.$((RANDOM % 6 + 1))" \
			dd if=/dev/zero of="$NAMESPACE" bs=64k seek=800 count=600 oflag=direct
		timeout -s KILL "0.$((RANDOM % 6 + 1))" \
			dd if="$NAMESPACE" of=/dev/null bs=64k iflag=direct
	done 2> /dev/null
	round_trip
}

target_gave_up()
{
	dmesg | grep -q 'nvmet: ctrl .* keep-alive timer .* expired'
}

vanished_peer()
{
	local status=0
	cut_wire || return
	{ wait_until 60 state_is connecting && on_server wait_until 60 target_gave_up; } ||
		status="not given up: $(cat /sys/class/nvme/nvme*/state)"
	mend_wire
	echo "$status"
	[[ $status == 0 ]] && wait_until 90 connected && round_trip
}

target_away_and_back()
{
	local port=/sys/kernel/config/nvmet/ports/1/subsystems/disk1
	on_server rm "$port" || return
	wait_until 30 state_is connecting || return
	on_server ln -s /sys/kernel/config/nvmet/subsystems/disk1 "$port"
	wait_until 60 connected && round_trip
}

# The initiator's kernel removes controllers whose link goes; I/O gets an error.
link_deleted_in_use()
{
	verified_load 50 > /tmp/fio.log 2>&1 &
	local load=$!
	wait_until 30 io_in_flight || return
	rdma link delete srn0 || return
	fails_by_itself wait "$load" && wait_until 30 gone
}

# Clients of a device are told of its end in reverse order of their registration. NVMe
# counts on its modules being loaded after rdma_cm; built in they come before it.
loadable()
{
	[[ -e /sys/module/nvme_rdma/initstate ]]
}

new_link()
{
	rdma link add srn0 type "$SRN_LINK_TYPE" netdev "$NETDEV" && wait_ready srn0
}

with_shared_queues()
{
	modprobe -r nvmet-rdma && modprobe nvmet-rdma use_srq=1
}

# The target has one shared receive queue for each of the device's vectors.
shared_queues_used()
{
	round_trip && on_server rdma resource show srq | grep -q srqn
}

# A process that knows its number cannot use what the initiator or the target has connected.
kernel_queue_pair_refused()
{
	local qpn
	qpn=$(rdma resource show qp link srn0 | grep -m 1 -oP 'lqpn \K\d+(?=.* comm \[)') || return
	chmod +x cm_misuse
	./cm_misuse qp-of-the-kernel /dev/infiniband/uverbs0 "$SERVER" "$qpn" &&
		dmesg | grep "QP$qpn: not connected: it is not the caller's"
}

file_system()
{
	mkfs.ext4 -q "$NAMESPACE" && mkdir -p /mnt/nvme && mount "$NAMESPACE" /mnt/nvme &&
		cp "$DATA" /mnt/nvme/file && umount /mnt/nvme && fsck.ext4 -fn "$NAMESPACE" &&
		mount -o ro "$NAMESPACE" /mnt/nvme && cmp "$DATA" /mnt/nvme/file &&
		umount /mnt/nvme
}

run_check "a link" both_ends
head -c 8M /dev/urandom > "$DATA"
run_check "a disk to offer" on_server offered_disk
run_check "howto: target" howto server start
run_check "howto: discover, connect" connect
run_check "written, read back, equal" round_trip
run_check "fio verifies, several queues" verified_load
run_check "a file system" file_system
[[ -n $ROLE ]] || run_check "a process that wants one of its queue pairs" kernel_queue_pair_refused
run_check "three resets under load" load_through three_resets
run_check "users killed in mid-request" killed_users
run_check "fio verifies, with little memory" with_little_memory verified_load
run_check "target taken away and brought back" target_away_and_back
check_cut "a peer that vanishes: both ends give up, then connect again" vanished_peer
NAME="link deleted under load: requests fail, the controller goes"
if loadable; then
	run_check "$NAME" link_deleted_in_use
	run_check "a new link" new_link
else
	skip "$NAME" "rdma_cm's client is behind nvme_rdma's, and the kernel waits for itself"
	run_check "disconnected" nvme disconnect -n disk1
fi
run_check "howto: target stops" howto server stop
! loadable || run_check "a target that shares receive queues" on_server with_shared_queues
run_check "howto: target starts again" howto server start
run_check "connected again" connect
run_check "written, read back, equal, after all that" round_trip
if loadable; then
	run_check "the shared receive queues are used" shared_queues_used
	run_check "fio verifies, by shared receive queues" verified_load
else
	skip "shared receive queues" "nvmet_rdma is built in and cannot be told"
fi
run_check "howto: disconnect" howto client disconnect
run_check "the disk is gone" wait_until 30 gone
run_check "howto: target stops again" howto server stop
run_check "every block of the howto was run" howto_complete
# Alone, it stays for the machine's own check to delete, which has to know the completion queues
# that the kernel keeps for its consumers from those that a program has left.
[[ -z $ROLE ]] || run_check "links deleted" links_deleted
dismiss_server
finish
