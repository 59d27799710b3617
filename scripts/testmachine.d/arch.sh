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
		# The oldest processor with all that the kernel's CRC32C wants.
		BOARD=(-M pc -cpu Westmere,+rdrand -device isa-debug-exit,iobase=0xf4,iosize=1)
		# The debug kernels stall in the ACPI of the older board.
		[[ $KERNEL == stock ]] || BOARD[1]=q35
		# Without the "rep movsb" string instructions, which TCG runs byte by byte.
		ARCH_ARGS=(no_timer_check tsc=reliable clearcpuid=rep_good,erms,fsrm)
		;;
	arm64)
		GNU_TYPE=aarch64-linux-gnu
		QEMU_PROGRAM=qemu-system-aarch64 CONSOLE=ttyAMA0
		# Older processors have no pages of 16 KiB, and newer ones sign pointers, which takes TCG long.
		BOARD=(-M virt -cpu neoverse-n1)
		;;
	s390x) GNU_TYPE=s390x-linux-gnu ;;
	*) die "unknown processor $ARCH: amd64, arm64 or s390x" ;;
	esac
}

# Print the kernel argument that tells the frequency of the time stamp counter, if the machine needs
# it. While it boots the kernel would measure that. On a busy host it found a twentieth of it, and
# each time limit in the machine was over at once. The machine's counter is the host's, so that is
# measured. Where time goes by instructions the kernel measures right.
clock_args()
{
	local program
	[[ $ARCH == amd64 && -z ${ICOUNT:-} ]] && ! is_foreign || return 0
	program=$(cache_root)/tsc-frequency
	if [[ $LIB/tsc-frequency.cpp -nt $program ]]; then
		g++ -std=c++20 -O2 -o "$program.$$" "$LIB/tsc-frequency.cpp"
		mv "$program.$$" "$program"
	fi
	printf 'tsc_early_khz=%s' "$("$program")"
}
