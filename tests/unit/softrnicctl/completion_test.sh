#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# usage: completion_test.sh SOFTRNICCTL.BASH
#
# What bash would offer: softrnicctl and the network devices are given.
set -euo pipefail

# The real one asks the kernel.
softrnicctl()
{
	[[ $* == list ]] || return 1
	printf '%s\n' 'LINK  NETDEV  STATE' 'srn0  eth0    ACTIVE' 'srn1  eth1    absent'
}

# shellcheck source=/dev/null
. "$1"
failed=0

# offers EXPECTED WORD…: for the last word, which may be empty.
offers()
{
	local expected=$1
	shift
	COMP_WORDS=(softrnicctl "$@")
	COMP_CWORD=$#
	COMPREPLY=()
	_softrnicctl
	[[ ${COMPREPLY[*]} == "$expected" ]] && return
	echo "for '$*': '${COMPREPLY[*]}', not '$expected'"
	failed=1
}

offers 'add del enable disable list status doctor --help --version' ''
offers 'del' de
offers 'enable' en
offers '' add ''
offers 'lo' add srn0 lo
offers 'lo' enable srn0 lo
offers '' add srn0 lo ''
offers 'srn0 srn1' del ''
offers 'srn1' disable srn1
offers '' del srn0 ''
offers 'srn0 srn1 --json' status ''
offers 'srn0 srn1 --json' status --json ''
offers '--json' list ''
offers '--port' doctor ''
offers '' doctor --port ''
offers '' nonsense ''

# A name is data. The kernel allows this one for a network device.
softrnicctl()
{
	# shellcheck disable=SC2016
	printf '%s\n' 'LINK  NETDEV  STATE' '$(failed=1;echo>x)  eth0    ACTIVE'
}

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
offers '\$\(failed=1\;echo\>x\)' del ''
[[ ! -e x ]] || failed=1
complete -p softrnicctl | grep -q -- '-F _softrnicctl softrnicctl' || failed=1
exit "$failed"
