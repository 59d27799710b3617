# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# "testmachine run": one script in one fresh machine.

# The machine stops the script itself when its time is up and then still tells
# what hangs; only a machine that does not answer is stopped from here, after seconds in
# which it also has to boot, and at the end to wait for TCP's last sockets.
# shellcheck disable=SC2034  # qemu.sh and uml.sh use it
GRACE=240
GRACE_EMULATED_CHECKS=480

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
	[[ $KERNEL != qemu && $KERNEL != kcsan ]] || GRACE=$GRACE_EMULATED_CHECKS
	prepare_out

	WORK=$(mktemp -d)
	trap 'rm -rf "$WORK"' EXIT
	make_initrd "$WORK" "$(run_config "${script##*/}")" "$script" "$@"
	local start=$EPOCHREALTIME machine_status=0
	if [[ $KERNEL == *uml* ]]; then
		start_uml || machine_status=$?
	else
		start_qemu || machine_status=$?
	fi
	report_run "$machine_status" "$start"
}

# Default folder of the run's results; another run of the same name that is
# still going keeps its own. A folder that the caller chose is that one or none: there
# it looks for results.
prepare_out()
{
	local given=$OUT base=${OUT:-$BUILD/testmachine/$NAME} n=1
	OUT=$base
	mkdir -p "$OUT"
	exec {out_lock}> "$OUT/.lock"
	while [[ -z ${SRN_OUT_LOCKED:-} ]] && ! flock --nonblock "$out_lock"; do
		[[ -z $given ]] || die "another run writes to $OUT"
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
