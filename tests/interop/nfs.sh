#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# timeout: 900
# mem: 2G
# files: Documentation/howto-nfs-rdma.md
# pair: yes
#
# NFS over RDMA: knfsd and the kernel's client, versions 3, 4.1 and 4.2, data verified,
# through connections that are reset, a wire that is cut and a server that is restarted.
# The commands are those of the howto. FULL=1 does more of it.
. lib/ktap.sh
. lib/howto.sh
. lib/ends.sh
. lib/memory.sh
. lib/filework.sh
. lib/workers.sh

# shellcheck disable=SC2034  # lib/howto.sh uses it
HOWTO=howto-nfs-rdma.md
export EXPORT=/tmp/export VERS=4.2
DATA=/tmp/data
MIB=8 WORK_SECONDS=4 VERSIONS=(3 4.2) THOROUGH=(4.2)
if [[ -n ${FULL:-} ]]; then
	MIB=256 WORK_SECONDS=60 VERSIONS=(3 4.1 4.2) THOROUGH=(3 4.1 4.2)
fi
# Between two emulated machines each packet takes its time.
[[ -z $ROLE ]] || MIB=$((MIB / 8 + 8))
# The server's files are in memory as well.
LITTLE_MEMORY_MIB=$((LITTLE_MEMORY_MIB + MIB))

# What the package's units start. After a restart the server lets clients reclaim
# their state for a grace period, in which others wait: 90 s, if it is not told.
server_runs()
{
	modprobe -a nfsd nfs nfsv4 nfsv3
	mkdir -p "$EXPORT" /run/rpcbind /run/rpc_pipefs /var/lib/nfs/v4recovery
	mount -t rpc_pipefs rpc_pipefs /run/rpc_pipefs
	mount -t nfsd nfsd /proc/fs/nfsd
	mount -t tmpfs -o size=700m tmpfs "$EXPORT"
	echo 10 > /proc/fs/nfsd/nfsv4gracetime
	echo 10 > /proc/fs/nfsd/nfsv4leasetime
	rpcbind -w && rpc.statd --no-notify && rpc.mountd && rpc.nfsd -V 3 -V 4 4
}

server_ends()
{
	killall rpc.mountd rpc.statd rpcbind
	umount "$EXPORT"
}

client_ready()
{
	modprobe -a nfs nfsv4 nfsv3
	mountpoint -q /run/rpc_pipefs || {
		mkdir -p /run/rpc_pipefs && mount -t rpc_pipefs rpc_pipefs /run/rpc_pipefs
	}
}

mount_version()
{
	VERS=$1
	if [[ $VERS == 3 ]]; then
		howto client mount3
	else
		howto client mount
	fi && grep -q 'xprt:[[:space:]]*rdma' /proc/self/mountstats
}

# A new mount has nothing cached.
remount()
{
	umount /mnt && mount_version "$VERS"
}

write_through()
{
	local writer status=0
	: > /mnt/file
	dd if="$DATA" of=/mnt/file bs=64k oflag=direct conv=notrunc 2> /tmp/dd.log &
	writer=$!
	wait_until 30 some_written || status="nothing written"
	"$@" || status="failed: $*"
	wait "$writer" || status="dd: $(cat /tmp/dd.log)"
	echo "$status"
	[[ $status == 0 ]] && read_back
}

some_written()
{
	[[ -s /mnt/file ]]
}

restart_server()
{
	on_server rpc.nfsd 0 && sleep 1 && on_server rpc.nfsd -V 3 -V 4 4 &&
		on_server grep rdma /proc/fs/nfsd/portlist
}

reset_connection()
{
	ss -Kn "dport = :20049" | grep 20049
}

cut_for_a_while()
{
	cut_wire && sleep 4 && mend_wire
}

version()
{
	run_check "NFS $1: mount" mount_version "$1" || return
	run_check "NFS $1: written, read back, equal" plain
	run_check "NFS $1: O_DIRECT" direct
	[[ " ${THOROUGH[*]} " != *" $1 "* ]] || thorough "$1"
	run_check "NFS $1: unmount" howto client umount
}

thorough()
{
	run_check "NFS $1: mapped files" mapped
	run_check "NFS $1: small files" small_files
	run_check "NFS $1: random work, compared with a local folder" random_work
	run_check "NFS $1: connection reset in mid-write" write_through reset_connection
	run_check "NFS $1: wire cut in mid-write" write_through cut_for_a_while
	run_check "NFS $1: users killed in mid-request" killed_users
	run_check "NFS $1: server restarted in mid-write" write_through restart_server
	run_check "NFS $1: with little memory" with_little_memory plain
}

run_check "a link" both_ends
run_check "an NFS server" on_server server_runs
run_check "a client" client_ready
head -c "${MIB}M" /dev/urandom > "$DATA"
run_check "howto: RDMA on port 20049" howto server start
run_check "howto: RDMA after restarts, too" howto server keep
for v in "${VERSIONS[@]}"; do
	version "$v"
done
run_check "howto: server stops" howto server stop
run_check "the rest of the server ends" on_server server_ends
run_check "every block of the howto was run" howto_complete
check_who_transmits
run_check "links deleted" links_deleted
dismiss_server
finish
