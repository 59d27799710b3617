# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# The commands of a howto, run by a test so that they cannot rot. A howto's fenced
# blocks say on which end they are to be typed, and have a name:
#
#	```sh server start
#	modprobe nvmet-rdma
#	```
#
#	HOWTO=howto-nvme-rdma.md           # beside the script, by its "# files:" line
#	howto server start                 # run that block, on that end
#	howto_complete                     # fails if a block has not been run
#
# The variables that a block uses are the script's exported ones.

: "${HOWTO_TIMEOUT:=60}"
HOWTO_RUN=''

howto()
{
	HOWTO_RUN+="$*"$'\n'
	if [[ $1 == server ]]; then
		on_server howto_here "$@"
	else
		howto_here "$@"
	fi
}

howto_here()
{
	local block
	block=$(howto_block "$*")
	if [[ -z $block ]]; then
		echo "$HOWTO has no block '$*'"
		return 1
	fi
	timeout -k 5 "$HOWTO_TIMEOUT" bash -euxo pipefail -c "$block"
}

howto_block()
{
	awk -v fence='```sh '"$1" '
		$0 == "```" { inside = 0 }
		inside
		$0 == fence { inside = 1 }' "$HOWTO"
}

howto_complete()
{
	local block missing=0 blocks=0
	while read -r block; do
		blocks=$((blocks + 1))
		grep -qxF "$block" <<< "$HOWTO_RUN" && continue
		echo "not run: $block"
		missing=1
	done <<< "$(sed -n 's/^```sh *//p' "$HOWTO")"
	((blocks && ! missing))
}
