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

# shellcheck disable=SC2034  # lib/howto.sh uses it
HOWTO=howto-nfs-rdma.md
export EXPORT=/tmp/export VERS=4.2
DATA=/tmp/data MIRROR=/tmp/mirror
MIB=8 WORK_SECONDS=4 VERSIONS=(3 4.2) THOROUGH=(4.2)
if [[ -n ${FULL:-} ]]; then
	MIB=256 WORK_SECONDS=60 VERSIONS=(3 4.1 4.2) THOROUGH=(3 4.1 4.2)
fi

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

# counter NAME: of all links of this machine.
counter()
{
	awk '{ sum += $1 } END { print sum + 0 }' \
		/sys/class/infiniband/*/ports/1/hw_counters/"$1"
}

# Workers are for Read Responses, and for a socket that was full.
few_worker_runs()
{
	local runs sends
	runs=$(counter tx_worker_runs) sends=$(counter tx_send_messages)
	echo "$runs for $sends messages"
	((sends > 100 && runs * 4 < sends))
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

read_back()
{
	remount && cmp "$DATA" /mnt/file && rm /mnt/file
}

plain()
{
	cp "$DATA" /mnt/file && read_back
}

direct()
{
	dd if="$DATA" of=/mnt/file bs=1M oflag=direct && remount &&
		dd if=/mnt/file bs=512k iflag=direct | cmp - "$DATA" && rm /mnt/file
}

mapped()
{
	timeout -k 5 200 fio --name=mapped --filename=/mnt/file --rw=randrw --bs=4k \
		--ioengine=mmap --size=$((MIB / 4))m --verify=crc32c --verify_fatal=1 &&
		rm /mnt/file
}

small_files()
{
	cp -a /etc /mnt/tree && remount &&
		diff -r --no-dereference /etc /mnt/tree && rm -r /mnt/tree
}

# The same random operations on the mount and on a local folder, which must end up
# equal. Names are few, so that operations meet files of operations before them.
random_work()
{
	local end=$((SECONDS + WORK_SECONDS)) steps=0
	rm -rf "$MIRROR" && mkdir "$MIRROR" /mnt/work || return
	while ((SECONDS < end)); do
		random_step "$((RANDOM % 7))" "$((RANDOM % 12))" "$((RANDOM % 12))" \
			"$((RANDOM * 5))" || return
		steps=$((steps + 1))
	done
	echo "$steps operations"
	remount && diff -r "$MIRROR" /mnt/work && rm -r /mnt/work
}

# Done on both, or impossible on both.
random_step()
{
	local remote="done" local="done"
	one_step /mnt/work "$@" 2> /dev/null || remote=refused
	one_step "$MIRROR" "$@" 2> /dev/null || local=refused
	[[ $remote == "$local" ]] || {
		echo "step $*: $remote by the server, $local here"
		return 1
	}
}

one_step()
{
	local a=$1/$3 b=$1/d$4 length=$5
	case $2 in
	0) head -c "$length" "$DATA" > "$a" ;;
	1) tail -c "$length" "$DATA" >> "$a" ;;
	2) truncate -s "$length" "$a" ;;
	3) mkdir "$b" ;;
	4) mv -T "$a" "$b/x" ;;
	5) ln "$a" "$b/y" ;;
	6) rm -r "$b" ;;
	esac
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

killed_users()
{
	local i
	for ((i = 0; i < 5; i++)); do
		timeout -s KILL "0.$((RANDOM % 6 + 1))" cp "$DATA" /mnt/killed
		timeout -s KILL "0.$((RANDOM % 6 + 1))" \
			dd if="$DATA" of=/mnt/killed bs=1M oflag=direct
	done 2> /dev/null
	rm -f /mnt/killed && plain
}

# Little memory is free while pages have to be written to the server.
without_memory()
{
	local free
	free=$(awk '/MemAvailable/ { print int($2 / 1024) }' /proc/meminfo)
	mkdir -p /tmp/hog && mount -t tmpfs -o size=90% tmpfs /tmp/hog || return
	head -c "$((free - 90))M" /dev/zero > /tmp/hog/fill
	"$@"
	local status=$?
	umount /tmp/hog
	return "$status"
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
	[[ -z ${FULL:-} ]] ||
		run_check "NFS $1: with little memory" without_memory plain
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
run_check "requests are transmitted by who posts them" few_worker_runs
run_check "links deleted" links_deleted
dismiss_server
finish
