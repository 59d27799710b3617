# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# What depends on the machine's processor: ARCH, under Debian's name for it.

host_arch()
{
	dpkg --print-architecture
}

# The processor is another than this host's.
is_foreign()
{
	[[ $ARCH != "$(host_arch)" ]]
}

# Set GNU_TYPE (GCC's name), and what its machine is: QEMU_PROGRAM, BOARD (arguments of QEMU), CONSOLE and
# ARCH_ARGS (arguments of the kernel). Without QEMU_PROGRAM there is no machine, but programs can be
# built, and run in QEMU's user mode.
# shellcheck disable=SC2034,SC2054  # others use them; the commas belong to the arguments
set_arch()
{
	QEMU_PROGRAM='' BOARD=() CONSOLE='' ARCH_ARGS=()
	case $ARCH in
	amd64)
		GNU_TYPE=x86_64-linux-gnu
		QEMU_PROGRAM=qemu-system-x86_64 CONSOLE=ttyS0
		BOARD=(-M pc -cpu Nehalem -device isa-debug-exit,iobase=0xf4,iosize=1)
		# The debug kernels stall in the ACPI of the older board.
		[[ $KERNEL == stock ]] || BOARD[1]=q35
		# Without the "rep movsb" string instructions, which TCG runs byte by byte.
		ARCH_ARGS=(no_timer_check tsc=reliable clearcpuid=rep_good,erms,fsrm)
		;;
	arm64)
		GNU_TYPE=aarch64-linux-gnu
		QEMU_PROGRAM=qemu-system-aarch64 CONSOLE=ttyAMA0
		# Newer processors sign pointers, which takes TCG long.
		BOARD=(-M virt -cpu cortex-a72)
		;;
	s390x) GNU_TYPE=s390x-linux-gnu ;;
	*) die "unknown processor $ARCH: amd64, arm64 or s390x" ;;
	esac
}
