#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# timeout: 150
# mem: 2G
#
# The verbs that only the kernel uses: fast registration, local and remote
# invalidation, the DMA key. NFS/RDMA and NVMe/RDMA move data through them, and the
# data is compared.
. lib/ktap.sh
. lib/topology.sh

DATA=/tmp/data BACK=/tmp/back
CHECK_TIMEOUT=40

same_data()
{
	cmp "$DATA" "$BACK"
}

nfs_server()
{
	modprobe -a nfsd rpcrdma nfs nfsv4 nfsv3
	mkdir -p /tmp/export /mnt/nfs /run/rpcbind /run/rpc_pipefs /var/lib/nfs/v4recovery
	mount -t rpc_pipefs rpc_pipefs /run/rpc_pipefs
	mount -t nfsd nfsd /proc/fs/nfsd
	mount -t tmpfs -o size=256m tmpfs /tmp/export
	rpcbind -w
	rpc.statd --no-notify
	exportfs -o rw,no_root_squash,insecure,fsid=0,no_subtree_check '*:/tmp/export'
	rpc.mountd
	rpc.nfsd -V 3 -V 4 2
	echo 'rdma 20049' > /proc/fs/nfsd/portlist
}

nfs_server_stop()
{
	rpc.nfsd 0
	killall -q rpc.mountd rpc.statd nfsdcld rpcbind
	exportfs -ua
	umount /tmp/export
}

nfs_round_trip()
{
	local path=$1 options=$2
	mount -t nfs -o "rdma,port=20049,$options" "10.1.0.1:$path" /mnt/nfs || return
	cp "$DATA" /mnt/nfs/file && sync -f /mnt/nfs/file
	# A new mount has nothing cached.
	umount /mnt/nfs &&
		mount -t nfs -o "rdma,port=20049,$options" "10.1.0.1:$path" /mnt/nfs &&
		cp /mnt/nfs/file "$BACK" && umount /mnt/nfs && rm /tmp/export/file && same_data
}

nvme_target()
{
	local config=/sys/kernel/config/nvmet
	modprobe -a nvmet nvmet-rdma nvme-rdma brd configfs loop
	mountpoint -q /sys/kernel/config || mount -t configfs configfs /sys/kernel/config
	truncate -s 64M /tmp/nvme.img
	LOOP=$(losetup -f --show /tmp/nvme.img) || return
	mkdir "$config"/subsystems/t "$config"/subsystems/t/namespaces/1 "$config"/ports/1
	echo 1 > "$config"/subsystems/t/attr_allow_any_host
	echo -n "$LOOP" > "$config"/subsystems/t/namespaces/1/device_path
	echo 1 > "$config"/subsystems/t/namespaces/1/enable
	echo 10.1.0.1 > "$config"/ports/1/addr_traddr
	echo rdma > "$config"/ports/1/addr_trtype
	echo 4420 > "$config"/ports/1/addr_trsvcid
	echo ipv4 > "$config"/ports/1/addr_adrfam
	ln -s "$config"/subsystems/t "$config"/ports/1/subsystems/t
}

nvme_target_stop()
{
	local config=/sys/kernel/config/nvmet
	rm "$config"/ports/1/subsystems/t
	rmdir "$config"/ports/1
	echo 0 > "$config"/subsystems/t/namespaces/1/enable
	rmdir "$config"/subsystems/t/namespaces/1 "$config"/subsystems/t
	losetup -d "$LOOP"
}

nvme_disk_there()
{
	[[ -b /dev/nvme0n1 ]]
}

nvme_round_trip()
{
	nvme connect -t rdma -a 10.1.0.1 -s 4420 -n t -i 2 -Q 32 &&
		wait_until 10 nvme_disk_there &&
		dd if="$DATA" of=/dev/nvme0n1 bs=256k oflag=direct &&
		dd if=/dev/nvme0n1 of="$BACK" bs=1M count=16 iflag=direct && same_data &&
		nvme disconnect -n t
}

plan 8
run_check "a link" dummy_link
head -c 16M /dev/urandom > "$DATA"
run_check "NFS server on port 20049" nfs_server
run_check "NFS 4.2: written, read back, equal" nfs_round_trip / vers=4.2
run_check "NFS 3: written, read back, equal" nfs_round_trip /tmp/export vers=3,nolock
nfs_server_stop > /dev/null 2>&1
run_check "NVMe target on port 4420" nvme_target
run_check "NVMe: written, read back, equal" nvme_round_trip
run_check "NVMe target removed" nvme_target_stop
# The core keeps completion queues for its consumers as long as there is a device.
run_check "link deleted" rdma link delete srn0
finish
