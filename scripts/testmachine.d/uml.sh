# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# How the machine is started in User Mode Linux: the kernel is a process of this
# host, the root image its block device, and /out a folder that it sees by itself.
# SMP is what --smp says where the kernel was built for more than one CPU.

UML_ARGS=(
	panic=-1 oops=panic loglevel=4 log_buf_len=4M slab_nomerge net.ifnames=0
	bonding.max_bonds=0 dummy.numdummies=0 cryptomgr.notests
	con=null ssl=null
	# Caches that faults can be confined to: those of kmalloc() but the one in which Linux has
	# events for programs, whose lack it does not survive (faults.sh).
	"slub_debug=A,kmalloc-8,kmalloc-16,kmalloc-32,kmalloc-64,kmalloc-96,kmalloc-128,kmalloc-192,kmalloc-256,kmalloc-1k,kmalloc-2k,kmalloc-4k,kmalloc-8k"
)

# UML keeps its memory in a file that it must be able to execute. One in memory
# is faster; a small /dev/shm, as containers have, is no place for it.
uml_memory_folder()
{
	local mib=${MEM%[GM]} free
	[[ $MEM != *G ]] || mib=$((mib * 1024))
	free=$(df -m --output=avail /dev/shm 2> /dev/null | tail -n 1)
	if [[ ${free:-0} -gt $mib ]] && ! findmnt -no OPTIONS -T /dev/shm | grep -q noexec; then
		echo /dev/shm
	else
		echo "$WORK"
	fi
}

# Run the machine of $WORK/initrd until it ends; what the script prints goes to
# standard output.
start_uml()
{
	local -a cpus=()
	[[ -z $QEMU_EXTRA ]] || say "no QEMU here: without $QEMU_EXTRA"
	# It refuses several CPUs where it traces its processes.
	[[ $KERNEL != *uml-smp ]] || cpus=("ncpus=$((SMP > 2 ? 2 : SMP))" seccomp=on)
	# c: others read that image, too. UML leaves processes behind if it is not ended as a group.
	TMPDIR=$(uml_memory_folder) timeout -k 5 $((TIMEOUT + GRACE)) \
		"$(kernel_dir)/image" "mem=$MEM" "initrd=$WORK/initrd" \
		"ubd0rc=$(machine_dir)/root.ext4" "uml_dir=$WORK/" umid=machine \
		"${UML_ARGS[@]}" "${cpus[@]}" con0=null,fd:4 con1=null,fd:3 "$APPEND" \
		"testmachine.out=$OUT" testmachine.output=/dev/tty1 \
		3>&1 4> "$OUT/console.log" > "$OUT/qemu.log" 2>&1 < /dev/null |
		tee "$OUT/output.log"
	return "${PIPESTATUS[0]}"
}
