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

# Each word is offered as it is: a network device may have a name that bash would expand.
_softrnicctl_offer()
{
	local word=$1 candidate
	shift
	for candidate; do
		[[ $candidate != "$word"* ]] || COMPREPLY+=("$(printf '%q' "$candidate")")
	done
}

_softrnicctl()
{
	local word=${COMP_WORDS[COMP_CWORD]} command='' arguments=0 i candidates=()
	COMPREPLY=()
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
	:0) candidates=(add del enable disable list status doctor --help --version) ;;
	add:1 | enable:1) mapfile -t candidates < <(ls /sys/class/net 2> /dev/null) ;;
	del:0 | disable:0 | status:0) mapfile -t candidates < <(_softrnicctl_names) ;;
	doctor:0) [[ ${COMP_WORDS[COMP_CWORD - 1]} == --port ]] || candidates=(--port) ;;
	esac
	[[ $command:$arguments != status:0 && $command:$arguments != list:0 ]] || candidates+=(--json)
	_softrnicctl_offer "$word" "${candidates[@]}"
}

complete -F _softrnicctl softrnicctl
