#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# timeout: 900
# mem: 2G
#
# SCSI over RDMA by the RDMA connection manager: the kernel's target ib_srpt and its
# initiator ib_srp, both in one machine. Not with a shared receive queue: Debian's
# ib_srpt then frees a cache that it does not have, and the kernel warns about it.
. lib/ktap.sh
. lib/topology.sh
. lib/diskwork.sh

ADDRESS=10.1.0.1 PORT=5555 DISK=/dev/loop0
TARGET=/sys/kernel/config/target
DISK1=$TARGET/core/iblock_0/disk1 CM_PORT=$TARGET/srpt/discovery_auth/rdma_cm_port
DATA=/tmp/data

target()
{
	local guid tpg
	modprobe -a loop configfs target_core_mod target_core_iblock || return
	mountpoint -q /sys/kernel/config || mount -t configfs configfs /sys/kernel/config
	truncate -s 96M /tmp/srp.img && losetup "$DISK" /tmp/srp.img || return
	mkdir -p "$DISK1"
	echo "udev_path=$DISK" > "$DISK1/control"
	echo 1 > "$DISK1/enable"
	# A port's name is the second half of its first GID.
	guid=$(cut -d: -f5- /sys/class/infiniband/srn0/ports/1/gids/0)
	tpg=$TARGET/srpt/$guid/$guid
	mkdir -p "$tpg/lun/lun_0" && ln -s "$DISK1" "$tpg/lun/lun_0/disk1" &&
		mkdir "$tpg/acls/$ADDRESS" && mkdir "$tpg/acls/$ADDRESS/lun_0" &&
		ln -s "$tpg/lun/lun_0" "$tpg/acls/$ADDRESS/lun_0/disk1" &&
		echo 1 > "$tpg/enable" &&
		echo "$PORT" > "$CM_PORT" &&
		TPG=$tpg
}

target_stop()
{
	echo 0 > "$CM_PORT"
	echo 0 > "$TPG/enable"
	rm "$TPG/acls/$ADDRESS/lun_0/disk1" "$TPG/lun/lun_0/disk1"
	rmdir "$TPG/acls/$ADDRESS/lun_0" "$TPG/acls/$ADDRESS" "$TPG/lun/lun_0" "$TPG" \
		"$(dirname "$TPG")" "$DISK1"
}

login()
{
	local guid
	modprobe sd_mod || return
	guid=$(cat /sys/module/ib_srpt/parameters/srpt_service_guid)
	guid=$(printf '%016x' "$((guid))")
	echo "id_ext=$guid,ioc_guid=$guid,dest=$ADDRESS:$PORT" \
		> /sys/class/infiniband_srp/srp-srn0-1/add_target &&
		wait_until 30 disk_there
}

disk_there()
{
	NAMED=$(cd /sys/block && echo sd*)
	[[ -b /dev/$NAMED ]]
}

the_disk() { echo "/dev/$NAMED"; }

gone()
{
	! compgen -G '/sys/block/sd*' > /dev/null
}

# The initiator finds out by its next request, and logs in again.
reset_and_recovered()
{
	ss -Kn "dport = :$PORT" | grep "$PORT" &&
		timeout -k 5 100 dd if="/dev/$NAMED" of=/dev/null bs=4k count=1 iflag=direct &&
		round_trip
}

logout()
{
	echo 1 > "$(compgen -G '/sys/class/srp_remote_ports/*/delete')" && wait_until 30 gone
}

modprobe -a ib_srpt ib_srp || skip_all "no SRP in this kernel"
run_check "a link" dummy_link
head -c 8M /dev/urandom > "$DATA"
run_check "target on port $PORT" target
run_check "login" login
run_check "written, read back, equal" round_trip
run_check "fio verifies" verified_load
run_check "connections reset, logged in again" reset_and_recovered
run_check "logout" logout
run_check "target stops" target_stop
run_check "link deleted" rdma link delete srn0
finish
