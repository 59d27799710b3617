# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Completion for softrnicctl: commands, options, and the names of links and network devices that
# fit where the cursor is.

_softrnicctl_names()
{
	# The first word of each line, without the header.
	softrnicctl list 2> /dev/null | sed -n '2,$s/ .*//p'
}

_softrnicctl()
{
	local word=${COMP_WORDS[COMP_CWORD]} command='' arguments=0 i candidates=''
	for ((i = 1; i < COMP_CWORD; i++)); do
		if [[ ${COMP_WORDS[i]} == -* ]]; then
			continue
		elif [[ -z $command ]]; then
			command=${COMP_WORDS[i]}
		else
			arguments=$((arguments + 1))
		fi
	done
	case $command:$arguments in
	:0) candidates='add del enable disable list status doctor --help --version' ;;
	add:1 | enable:1) candidates=$(cd /sys/class/net 2> /dev/null && echo *) ;;
	del:0 | disable:0) candidates=$(_softrnicctl_names) ;;
	status:0) candidates="$(_softrnicctl_names) --json" ;;
	list:0) candidates=--json ;;
	doctor:0) [[ ${COMP_WORDS[COMP_CWORD - 1]} == --port ]] || candidates=--port ;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "$candidates" -- "$word")
}

complete -F _softrnicctl softrnicctl
