# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Work on a file system that is mounted on /mnt, whose data is compared. The script has:
#
#	remount          mount it anew, so that nothing is cached
#	DATA, MIB        a file with so many MiB of random bytes
#	WORK_SECONDS     time for random_work
#	TREE             folder with small files, /etc if it is not set

: "${TREE:=/etc}"
MIRROR=/tmp/mirror

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
	timeout -k 5 600 fio --name=mapped --filename=/mnt/file --rw=randrw --bs=4k \
		--ioengine=mmap --size=$((MIB / 4))m --verify=crc32c --verify_fatal=1 &&
		rm /mnt/file
}

small_files()
{
	cp -a "$TREE" /mnt/tree && remount &&
		diff -r --no-dereference "$TREE" /mnt/tree && rm -r /mnt/tree
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
