# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# How the machine is started in QEMU.

# Kernel arguments, beside those of arch.sh. Without KVM each of these is worth time: no
# mitigations, no self-tests of ciphers. slab_nomerge makes each slab cache visible by its name.
KERNEL_ARGS=(
	quiet loglevel=4 panic=-1 oops=panic mitigations=off nokaslr audit=0
	cryptomgr.notests random.trust_cpu=on
	rcupdate.rcu_expedited=1 rcupdate.rcu_cpu_stall_timeout=60
	log_buf_len=4M slab_nomerge net.ifnames=0
)

# qemu_command INITRD OUT: fill the array QEMU, without serial ports.
qemu_command()
{
	local initrd=$1 out=$2 machine image clock
	machine=$(machine_dir)
	clock=$(clock_args)
	image=$machine/vmlinux
	if [[ $KERNEL != stock ]]; then
		image=$(kernel_dir)/image
	fi
	local -a extra accel=(-accel "tcg,thread=multi,tb-size=512")
	if [[ -n $ICOUNT ]]; then
		# Two CPUs do not work with it.
		SMP=1
		accel=(-accel "tcg,thread=single,tb-size=512" -icount "shift=0,sleep=off")
	fi
	read -ra extra <<< "$QEMU_EXTRA"
	# shellcheck disable=SC2034,SC2054  # run.sh and shell.sh use it
	QEMU=(
		"$QEMU_PROGRAM" "${BOARD[@]}"
		"${accel[@]}"
		-smp "$SMP" -m "$MEM"
		-nodefaults -no-user-config -display none -no-reboot
		-kernel "$image" -initrd "$initrd"
		-append "console=$CONSOLE ${ARCH_ARGS[*]} ${KERNEL_ARGS[*]} $clock $APPEND"
		-drive "if=none,id=root,file=$machine/root.ext4,format=raw,readonly=on,cache=unsafe,aio=threads"
		-device virtio-blk-pci,drive=root
		-fsdev "local,id=out,path=$out,security_model=none"
		-device virtio-9p-pci,fsdev=out,mount_tag=out
		-device virtio-rng-pci
		"${extra[@]}"
	)
}

# Without KVM, QEMU now and then hangs before the kernel has printed a word. Seconds of
# silence after which that is taken for certain; kernels with checks start slowly.
silence_limit()
{
	if [[ $KERNEL == stock ]]; then echo 45; else echo 180; fi
}

# End a QEMU that stays silent, and leave "$OUT/.silent". The pauses are short because
# they outlive this job when it is ended.
watch_silence()
{
	local limit=$1 end=$((SECONDS + $1))
	while ((SECONDS < end)); do
		[[ ! -s $OUT/console.log ]] || return 0
		sleep 0.5
	done
	echo "$limit" > "$OUT/.silent"
	kill -KILL "$(< "$WORK/qemu.pid")"
}

# Before version 8.1 QEMU translates code that another CPU changes at that moment, and its CPU then
# meets a breakpoint that the kernel has taken away again. The kernel patches most while it boots,
# when nothing of ours is there yet.
tripped_at_boot()
{
	[[ ! -e $1/.booted ]] && grep -q 'int3: 0000 \[#1\]' "$1/console.log" 2> /dev/null
}

# Run the machine of $WORK/initrd until it ends; what the script prints goes to
# standard output. A machine that QEMU did not let boot is started once more.
start_qemu()
{
	local status=0 mishap=''
	qemu_command "$WORK/initrd" "$OUT"
	run_qemu || status=$?
	if [[ -e $OUT/.silent ]]; then
		mishap="said nothing for $(< "$OUT/.silent") s"
		rm "$OUT/.silent"
	elif tripped_at_boot "$OUT"; then
		mishap="met a breakpoint that was gone while it booted"
		mv "$OUT/console.log" "$OUT/console-1.log"
	fi
	[[ $mishap ]] || return "$status"
	say "the machine $mishap: it is started once more"
	touch "$OUT/.restarted"
	status=0
	run_qemu || status=$?
	return "$status"
}

run_qemu()
{
	local watch status=0
	rm -f "$OUT/console.log"
	# shellcheck disable=SC2154  # the lock is of prepare_out
	watch_silence "$(silence_limit)" > /dev/null 2>&1 {out_lock}>&- &
	watch=$!
	timeout --foreground -k 5 $((TIMEOUT + GRACE)) "${QEMU[@]}" \
		-pidfile "$WORK/qemu.pid" \
		-serial "file:$OUT/console.log" \
		-device virtio-serial-pci \
		-chardev file,id=output,path=/dev/fd/3 \
		-device virtserialport,chardev=output,name=output \
		3>&1 > "$OUT/qemu.log" 2>&1 < /dev/null | tee "$OUT/output.log"
	status=${PIPESTATUS[0]}
	kill "$watch" 2> /dev/null || true
	return "$status"
}
