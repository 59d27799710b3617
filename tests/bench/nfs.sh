# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck disable=SC2034,SC2154  # the cell comes from guest.sh, which takes the result
#
# NFS 4.2 in one guest: server and client, and a file in memory. The cell's "list" is how many
# requests are under way at a time.

NFS_EXPORT=/tmp/bench-export
NFS_MIB=64

# measure_nfs DRIVER
measure_nfs()
{
	local options=vers=4.2,proto=tcp
	[[ $1 == tcp ]] || options=vers=4.2,proto=rdma,port=20049
	mkdir -p /tmp/bench-mount
	if nfs_server_up > "$CLIENT_LOG" 2>&1 &&
		mount -t nfs -o "$options" "$SERVER_ADDRESS:/" /tmp/bench-mount > "$CLIENT_LOG" 2>&1; then
		load_fio /tmp/bench-mount/file
		run_fio /tmp/bench-mount/file
		umount /tmp/bench-mount
	fi
	has_fio_result "$1"
}

# It stays up. It has just started, so no client has state to reclaim, and none need wait for that.
nfs_server_up()
{
	[[ ! -e $NFS_EXPORT ]] || return 0
	modprobe -a nfsd nfsv4 rpcrdma || return
	mkdir -p "$NFS_EXPORT" /run/rpcbind /run/rpc_pipefs /var/lib/nfs/v4recovery
	mount -t rpc_pipefs rpc_pipefs /run/rpc_pipefs
	mount -t nfsd nfsd /proc/fs/nfsd
	mount -t tmpfs -o size=$((NFS_MIB + 16))m tmpfs "$NFS_EXPORT"
	fallocate -l ${NFS_MIB}M "$NFS_EXPORT/file" && rpcbind -w && rpc.mountd &&
		rpc.nfsd -N 3 -V 4.2 8 && echo Y > /proc/fs/nfsd/v4_end_grace &&
		exportfs -o rw,insecure,no_root_squash,no_subtree_check,fsid=0 "*:$NFS_EXPORT" &&
		echo "rdma 20049" > /proc/fs/nfsd/portlist
}

# A server that runs keeps the machine from its end.
nfs_server_down()
{
	[[ -e $NFS_EXPORT ]] || return 0
	rpc.nfsd 0
	killall rpc.mountd rpcbind
	exportfs -ua
	umount "$NFS_EXPORT"
}
