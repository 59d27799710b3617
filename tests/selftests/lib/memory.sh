# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Work while the kernel is short of memory, on both ends of lib/ends.sh:
#
#	with_little_memory COMMAND…
#
# Nearly all that could be freed is taken. What is left fills up with files that are read,
# again and again, so that whoever wants memory has to wait until the kernel has freed some,
# and who cannot wait may get none.

# Kernels that check themselves need twice as much: the stack of a thread has 64 KiB in one piece.
LITTLE_MEMORY_MIB=$((SLOW > 1 ? 160 : 80)) HOG=/run/memory-hog

take_memory()
{
	local available
	available=$(awk '/MemAvailable/ { print int($2 / 1024) }' /proc/meminfo)
	mkdir -p "$HOG" && mount -t tmpfs -o size=95% tmpfs "$HOG" &&
		head -c "$((available - LITTLE_MEMORY_MIB))M" /dev/zero > "$HOG/fill" || return
	pages_scanned > /run/scanned-before
	while [[ -e $HOG/fill ]]; do
		nice find /usr -xdev -type f -exec cat {} +
	done > /dev/null 2>&1 &
	wait_until 120 memory_is_looked_for
}

give_memory()
{
	echo "the kernel has looked at $(pages_looked_at) pages to find free ones"
	# The reader ends with it.
	rm "$HOG/fill" && umount "$HOG"
}

memory_is_looked_for()
{
	(($(pages_looked_at) > 1000))
}

pages_looked_at()
{
	echo $(($(pages_scanned) - $(cat /run/scanned-before)))
}

pages_scanned()
{
	awk '/^pgscan_(kswapd|direct) / { sum += $2 } END { print sum + 0 }' /proc/vmstat
}

with_little_memory()
{
	local status=0
	take_memory && { [[ -z $ROLE ]] || on_server take_memory; } && "$@" || status=$?
	give_memory || status=1
	[[ -z $ROLE ]] || on_server give_memory || status=1
	return "$status"
}
