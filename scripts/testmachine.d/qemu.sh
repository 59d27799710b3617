# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# How the machine is started: the QEMU command line, and the overlay (a cpio
# behind the initramfs) that brings softrnic and the job into it.

# Kernel arguments. Without KVM each of these is worth time: no mitigations, no
# self-tests of ciphers, and none of the "rep movsb" string instructions, which
# TCG runs byte by byte. slab_nomerge makes each slab cache visible by its name.
# shellcheck disable=SC2054  # the commas belong to the arguments
KERNEL_ARGS=(
	console=ttyS0 quiet loglevel=4 panic=-1 oops=panic
	mitigations=off nokaslr no_timer_check tsc=reliable audit=0
	cryptomgr.notests random.trust_cpu=on clearcpuid=rep_good,erms,fsrm
	rcupdate.rcu_expedited=1 rcupdate.rcu_cpu_stall_timeout=60
	log_buf_len=4M slab_nomerge net.ifnames=0
)

# qemu_command INITRD OUT: fill the array QEMU, without serial ports.
qemu_command()
{
	local initrd=$1 out=$2 machine
	machine=$(machine_dir)
	local -a extra
	read -ra extra <<< "$QEMU_EXTRA"
	# shellcheck disable=SC2034,SC2054  # run.sh and shell.sh use it
	QEMU=(
		qemu-system-x86_64 -M pc -cpu Nehalem
		-accel "tcg,thread=multi,tb-size=512"
		-smp "$SMP" -m "$MEM"
		-nodefaults -no-user-config -display none -no-reboot
		-kernel "$machine/vmlinux" -initrd "$initrd"
		-append "${KERNEL_ARGS[*]} $APPEND"
		-device isa-debug-exit,iobase=0xf4,iosize=1
		-drive "if=none,id=root,file=$machine/root.ext4,format=raw,readonly=on,cache=unsafe,aio=threads"
		-device virtio-blk-pci,drive=root
		-fsdev "local,id=out,path=$out,security_model=none"
		-device virtio-9p-pci,fsdev=out,mount_tag=out
		-device virtio-rng-pci
		"${extra[@]}"
	)
}

# The caller's variables that the machine's init hands to the script.
exported_variables()
{
	local name
	for name in SRN_LINK_TYPE ${SRN_ENV:-}; do
		if [[ -n ${!name:-} ]]; then
			printf 'export %s=%q\n' "$name" "${!name}"
		fi
	done
}

# Where the module and the provider of the machine's kernel are built.
module_path()
{
	printf '%s/module/%s/softrnic.ko\n' "$BUILD" \
		"$(<"$(machine_dir)/kernel-version")"
}

# make_initrd WORK CONFIG-TEXT FILE…: write WORK/initrd. The files lie in /job.
make_initrd()
{
	local work=$1 config=$2 overlay=$1/overlay
	shift 2
	mkdir -p "$overlay"/{job,etc/modprobe.d,usr/sbin}
	# As on a Debian with systemd: no interface that nobody asked for.
	printf 'options %s\n' "bonding max_bonds=0" "dummy numdummies=0" \
		"ifb numifbs=0" > "$overlay/etc/modprobe.d/testmachine.conf"
	printf '%s\n' "$config" > "$overlay/etc/testmachine.conf"
	install -m 755 "$LIB/guest/init" "$overlay/usr/sbin/testmachine-init"
	install -m 755 "$LIB/guest/remove-softrnic" "$overlay/usr/sbin/"
	cp -r "$TOP/tests/selftests/lib" "$overlay/job/"
	if (($#)); then
		cp -rL -- "$@" "$overlay/job/"
	fi
	add_module "$overlay"
	add_provider "$overlay"
	(cd "$work" && find overlay | cpio -o -H newc -R 0:0 --quiet) |
		cat "$(machine_dir)/initramfs.cpio" - > "$work/initrd"
	rm -rf "$overlay"
}

# The module goes to "updates", with the indexes that modprobe reads: depmod
# takes a fraction of a second here and many seconds in the machine.
add_module()
{
	local overlay=$1 module version tree stage
	module=$(module_path)
	version=$(<"$(machine_dir)/kernel-version")
	tree=$(machine_dir)/tree/usr/lib/modules/$version
	if [[ ! -f $module ]]; then
		say "softrnic.ko is not built (make guest-module): running without it"
		return
	fi
	stage=$overlay/lib/modules/$version
	mkdir -p "$stage/updates"
	# Debug information only costs time to load.
	objcopy --strip-debug "$module" "$stage/updates/softrnic.ko"
	cp "$tree"/modules.{order,builtin,builtin.modinfo} "$stage/"
	ln -s "$tree/kernel" "$stage/kernel"
	depmod -b "$overlay" "$version"
	rm "$stage/kernel"
	mkdir -p "$overlay/usr/lib"
	mv "$overlay/lib/modules" "$overlay/usr/lib/"
	rmdir "$overlay/lib"
}

# Installed as "make install" does it, so that what users get is what is tested;
# from a build that is not complete, at least the library.
add_provider()
{
	local overlay=$1 library
	for library in "$BUILD"/provider/libsoftrnic-rdmav*.so; do
		[[ -f $library ]] && break
	done
	if [[ ! -f $library ]]; then
		say "the provider is not built (make provider): running without it"
		return
	fi
	if DESTDIR=$overlay cmake --install "$BUILD/provider" > /dev/null 2>&1; then
		rm -rf "$overlay/usr/include"
		return
	fi
	say "the provider's build is not complete: taking its library only"
	install -D -t "$overlay/usr/lib/x86_64-linux-gnu/libibverbs" "$library"
	mkdir -p "$overlay/etc/libibverbs.d"
	echo "driver softrnic" > "$overlay/etc/libibverbs.d/softrnic.driver"
}
