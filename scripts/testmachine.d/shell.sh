# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# "testmachine shell": the same machine with a shell on its serial console.

run_shell()
{
	ensure_machine
	: "${NAME:=shell}"
	prepare_out

	local rows=24 columns=80 saved=''
	if [[ -t 0 ]]; then
		read -r rows columns < <(stty size)
		saved=$(stty -g)
	fi
	WORK=$(mktemp -d)
	# QEMU sets the terminal to raw and may end without putting it back.
	# shellcheck disable=SC2064
	trap "rm -rf '$WORK'; [[ -z '$saved' ]] || stty '$saved'" EXIT

	make_initrd "$WORK" "$(printf 'MODE=shell CONSOLE=%q ROWS=%q COLS=%q SHELL_TERM=%q\n' \
		"$CONSOLE" "$rows" "$columns" "${TERM:-vt100}"; exported_variables)" \
		"$LIB/guest/shell-setup.sh" "$@"
	qemu_command "$WORK/initrd" "$OUT"
	say "starting; \"exit\" ends the machine, Ctrl-A X stops it at once; /out is $OUT"
	"${QEMU[@]}" -serial mon:stdio || true
}
