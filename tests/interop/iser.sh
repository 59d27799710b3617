#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# timeout: 900
# mem: 2G
# files: Documentation/howto-iser.md
# pair: yes
#
# iSCSI over RDMA: LIO's isert and open-iscsi, data verified, through connections that
# are reset, a wire that is cut, a link that flaps and one that is deleted in use.
# The commands are those of the howto. FULL=1 does more of it.
. lib/ktap.sh
. lib/howto.sh
. lib/ends.sh
. lib/memory.sh
. lib/diskwork.sh

# shellcheck disable=SC2034  # lib/howto.sh uses it
HOWTO=howto-iser.md
DATA=/tmp/data
export DISK=/dev/loop0 IQN=iqn.2026-01.org.example:disk1

offered_disk()
{
	modprobe -a loop configfs target_core_mod
	mountpoint -q /sys/kernel/config || mount -t configfs configfs /sys/kernel/config
	truncate -s 96M /tmp/iser.img && losetup "$DISK" /tmp/iser.img
}

daemon()
{
	mkdir -p /run/lock/iscsi
	modprobe -a sd_mod scsi_transport_iscsi && iscsid
}

session_is()
{
	[[ $(cat /sys/class/iscsi_session/session*/state 2> /dev/null) == "$1" ]]
}

logged_in()
{
	session_is LOGGED_IN || return
	NAMED=$(cd /sys/block && echo sd*)
	[[ -b /dev/$NAMED ]]
}

the_disk() { echo "/dev/$NAMED"; }
disk_statistics() { echo "/sys/block/$NAMED/stat"; }

# An answer of the disk itself, which waits as long as the session is down.
answers()
{
	timeout -k 5 60 dd if="/dev/$NAMED" of=/dev/null bs=4k count=1 iflag=direct
}

gone()
{
	! compgen -G '/sys/class/iscsi_session/session*' && ! compgen -G '/sys/block/sd*'
} > /dev/null

login()
{
	howto client login && wait_until 30 logged_in
}

file_system()
{
	local disk=/dev/$NAMED
	mkfs.ext4 -q "$disk" && mkdir -p /mnt/iser && mount "$disk" /mnt/iser &&
		cp "$DATA" /mnt/iser/file && umount /mnt/iser && fsck.ext4 -fn "$disk" &&
		mount -o ro "$disk" /mnt/iser && cmp "$DATA" /mnt/iser/file && umount /mnt/iser
}

# TCP connections end as if the network had reset them.
two_resets()
{
	for _ in 1 2; do
		ss -Kn "dport = :3260" | grep -q 3260 || return
		wait_until 60 logged_in && answers || return
	done
}

# Short enough for TCP to mend it.
flap()
{
	flap_server 1 && answers
}

cut_long()
{
	local status=0
	cut_wire || return
	wait_until 60 session_is FAILED || status=1
	mend_wire
	wait_until 90 logged_in && answers && [[ $status == 0 ]]
}

killed_users()
{
	local i
	for ((i = 0; i < 5; i++)); do
		timeout -s KILL "0.$((RANDOM % 6 + 1))" \
			dd if=/dev/zero of="/dev/$NAMED" bs=64k seek=800 count=600 oflag=direct
		timeout -s KILL "0.$((RANDOM % 6 + 1))" \
			dd if="/dev/$NAMED" of=/dev/null bs=64k iflag=direct
	done 2> /dev/null
	round_trip
}

# With both ends in one machine the target's portal goes with the link, and stays away:
# LIO opens none again by itself. So the session ends here, and is made anew.
link_deleted_in_use()
{
	verified_load 50 > /tmp/fio.log 2>&1 &
	local load=$!
	wait_until 30 io_in_flight || return
	rdma link delete srn0 || return
	wait_until 30 session_is FAILED || return
	# It waits for its requests, which end by the logout. Alive it would open the disk again,
	# and make a file of that name once the disk is gone.
	killall -KILL fio && howto client logout && wait_until 60 gone
	local status=$?
	wait "$load"
	return "$status"
}

new_link()
{
	rdma link add srn0 type "$SRN_LINK_TYPE" netdev "$NETDEV" && wait_ready srn0
}

run_check "a link" both_ends
head -c 8M /dev/urandom > "$DATA"
run_check "a disk to offer" on_server offered_disk
run_check "iscsid" daemon
run_check "howto: target" howto server start
run_check "howto: login" login
run_check "written, read back, equal" round_trip
run_check "fio verifies" verified_load
run_check "a file system" file_system
run_check "connections reset under load" load_through two_resets
run_check "a link flaps under load" load_through flap
check_cut "the wire is cut under load, and mended" load_through cut_long
run_check "users killed in mid-request" killed_users
run_check "fio verifies, with little memory" with_little_memory verified_load
run_check "howto: logout" howto client logout
run_check "the disk is gone" wait_until 30 gone
run_check "howto: login again" login
run_check "link deleted under load, logout" link_deleted_in_use
run_check "a new link" new_link
run_check "howto: target stops" howto server stop
run_check "howto: target starts again" howto server start
run_check "howto: login over the new link" login
run_check "written, read back, equal, after all that" round_trip
run_check "logged out" howto client logout
run_check "target stopped" howto server stop
run_check "every block of the howto was run" howto_complete
run_check "links deleted" links_deleted
dismiss_server
finish
