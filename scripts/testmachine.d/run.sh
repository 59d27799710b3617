# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# "testmachine run": one script in one fresh machine.

# The machine stops the script itself when its time is up and then still tells
# what hangs; only a machine that does not answer is stopped from here.
GRACE=60

run_script()
{
	(($#)) || die "run: which script?"
	local script=$1 file
	shift
	for file in "$script" "$@"; do
		[[ -r $file ]] || die "run: cannot read $file"
	done
	ensure_machine
	: "${NAME:=$(basename "$script" .sh)}"
	prepare_out

	WORK=$(mktemp -d)
	trap 'rm -rf "$WORK"' EXIT
	make_initrd "$WORK" "$(run_config "${script##*/}")" "$script" "$@"
	qemu_command "$WORK/initrd" "$OUT"

	local start=$EPOCHREALTIME qemu_status
	set +e
	timeout --foreground -k 5 $((TIMEOUT + GRACE)) "${QEMU[@]}" \
		-serial "file:$OUT/console.log" \
		-device virtio-serial-pci \
		-chardev file,id=output,path=/dev/fd/3 \
		-device virtserialport,chardev=output,name=output \
		3>&1 > "$OUT/qemu.log" 2>&1 < /dev/null | tee "$OUT/output.log"
	qemu_status=${PIPESTATUS[0]}
	set -e
	report_run "$qemu_status" "$start"
}

# Default folder of the run's results; another run of the same name that is
# still going keeps its own.
prepare_out()
{
	local base=${OUT:-$BUILD/testmachine/$NAME} n=1
	OUT=$base
	mkdir -p "$OUT"
	exec {out_lock}> "$OUT/.lock"
	while ! flock --nonblock "$out_lock"; do
		exec {out_lock}>&-
		n=$((n + 1))
		OUT=$base.$n
		mkdir -p "$OUT"
		exec {out_lock}> "$OUT/.lock"
	done
	find "$OUT" -mindepth 1 ! -name .lock -delete
	OUT=$(cd "$OUT" && pwd)
}

# What the machine's init must know, as shell assignments.
run_config()
{
	printf 'MODE=run SCRIPT=%q TIMEOUT=%q CHECK_UNLOAD=%q\n' \
		"$1" "$TIMEOUT" "$CHECK_UNLOAD"
	exported_variables
}
