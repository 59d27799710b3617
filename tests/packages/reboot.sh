# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Boot the tree of run.sh with systemd, from an image that keeps what is written, so that a link can
# be there after a reboot. The machine has a network card with nobody else in its network.

# prepare_reboots FOLDER: with the image that "boot" made last, and its kernel.
prepare_reboots()
{
	local folder=$1 job=$1/overlay/opt/packages-test units=$1/overlay/etc/systemd/system
	rm -rf "$folder"
	mkdir -p "$job" "$units/multi-user.target.wants" "$folder/out"
	cp --sparse=always "$WORK/root.ext4" "$folder/root.ext4"
	install -m 755 "$HERE/systemd-init" "$folder/init"
	cp -r "$TOP/tests/selftests/lib" "$HERE/reboot-guest.sh" "$HERE/reboot-step" "$job/"
	cp "$HERE/packages-test.service" "$units/"
	ln -s ../packages-test.service "$units/multi-user.target.wants/"
}

# after_boot FOLDER STEP: start the machine, in which reboot-guest.sh STEP runs, and see that it ends.
after_boot()
{
	local folder=$1 step=$2 status=0 clock
	local -a qemu
	clock=$(clock_args)
	echo "$step" > "$folder/overlay/opt/packages-test/step"
	(cd "$folder" && find init overlay | cpio -o -H newc -R 0:0 --quiet) |
		cat "$WORK/initramfs.cpio" - > "$folder/initrd"
	# shellcheck disable=SC2054  # the commas belong to the arguments
	qemu=(
		"$QEMU_PROGRAM" "${BOARD[@]}" -accel "tcg,thread=multi" -smp 2 -m 1G
		-nodefaults -no-user-config -display none -no-reboot
		-kernel "$WORK/vmlinux" -initrd "$folder/initrd"
		-append "console=$CONSOLE ${ARCH_ARGS[*]} $clock mitigations=off oops=panic panic=-1"
		-drive "if=none,id=root,file=$folder/root.ext4,format=raw,cache=unsafe"
		-device virtio-blk-pci,drive=root
		-fsdev "local,id=out,path=$folder/out,security_model=none"
		-device virtio-9p-pci,fsdev=out,mount_tag=out
		-netdev user,id=n0,restrict=on -device virtio-net-pci,netdev=n0
		-device virtio-rng-pci -serial "file:$folder/console-$step.log"
	)
	timeout -k 5 "${SRN_TIMEOUT:-300}" "${qemu[@]}" || status=$?
	cat "$folder/out/log-$step"
	grep -E 'WARNING:|BUG:|Oops|unregister_netdevice' "$folder/console-$step.log" "$folder/out/dmesg-$step" &&
		return 1
	[[ $status == 0 && $(< "$folder/out/status-$step") == 0 ]]
}
