# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Tests with a server and a client that are kernels' own consumers of RDMA, which
# know no network namespace but the first. Both ends are in one machine, or in two:
# then the same script runs in both, ROLE says which end it is, and everything is
# driven by the client.
#
#	one machine:    srn0 ── dummy0 10.1.0.1 ── lo, which packets to oneself take
#
#	two machines:   server                              client
#	                srn0 ── eth0 10.3.0.1 ──── eth0 10.3.0.2 ── srn0
#	                        eth1 10.4.0.1 ──── eth1 10.4.0.2    commands, see below
#
#	both_ends               after all functions are defined: link on each end; the
#	                        server's script does not go on behind it
#	on_server COMMAND…      run it there; a function of the script, or a program
#	cut_wire, mend_wire     nothing passes between the ends, and nobody is told
#	check_cut NAME COMMAND… run_check of what happens if nothing passes for long
#	links_deleted           the links of both ends, when all is done
#	$SERVER                 address of the server's link

# shellcheck source=tests/selftests/lib/topology.sh
. lib/topology.sh

: "${ROLE:=}"
COMMAND_PORT=7000 COMMAND_TIMEOUT=150

if [[ -z $ROLE ]]; then
	export SERVER=10.1.0.1
	NETDEV=dummy0 WIRE=lo
else
	export SERVER=10.3.0.1
	NETDEV=eth0 WIRE=eth0
fi

both_ends()
{
	case $ROLE in
	'') dummy_link 1500 ;;
	server)
		card_link 10.3.0.1 10.4.0.1 || exit
		serve
		exit
		;;
	client)
		card_link 10.3.0.2 10.4.0.2 &&
			wait_until 60 connect_commands
		;;
	esac
}

card_link()
{
	ip link set eth0 up &&
		ip addr add "$1/24" dev eth0 &&
		ip link set eth1 up &&
		ip addr add "$2/24" dev eth1 &&
		rdma link add srn0 type "$SRN_LINK_TYPE" netdev eth0 && wait_ready srn0
}

# One connection carries commands, one a line, and for each what it printed behind a
# line with its status and number of lines.
serve()
{
	local line status
	local -a reply
	mkfifo /run/replies
	# shellcheck disable=SC2094  # a circle: nc sends what the loop replies
	nc -l 10.4.0.1 $COMMAND_PORT < /run/replies | while read -r line; do
		[[ $line != bye ]] || break
		status=0
		eval "$line" > /run/reply 2>&1 < /dev/null || status=$?
		mapfile -t reply < /run/reply
		echo "$status ${#reply[@]}"
		((${#reply[@]} == 0)) || printf '%s\n' "${reply[@]}"
	done > /run/replies
}

connect_commands()
{
	{ exec {COMMANDS}<> /dev/tcp/10.4.0.1/$COMMAND_PORT; } 2> /dev/null
}

on_server()
{
	if [[ -z $ROLE ]]; then
		"$@"
		return
	fi
	local status lines
	local -a reply
	[[ ! -e /run/server-is-lost ]] || {
		echo "the server has not answered before"
		return 1
	}
	{
		printf '%q ' "$@"
		echo
	} >&"$COMMANDS"
	read -r -t "$COMMAND_TIMEOUT" -u "$COMMANDS" status lines || {
		# A late answer would be taken for that to the next command.
		: > /run/server-is-lost
		echo "no answer of the server to: $*"
		return 1
	}
	if ((lines)); then
		mapfile -t -n "$lines" -u "$COMMANDS" reply
		printf '%s\n' "${reply[@]}"
	fi
	return "$status"
}

# Links that kernel consumers have used keep completion queues for them: each end
# deletes its own, instead of leaving that to whoever looks for leaks.
links_deleted()
{
	[[ -z $ROLE ]] || on_server rdma link delete srn0 || return
	rdma link delete srn0
}

# The server's script ends when its client has.
dismiss_server()
{
	[[ -z $ROLE ]] || echo bye >&"$COMMANDS"
}

cut_wire()
{
	tc qdisc add dev "$WIRE" root netem loss 100% || return
	[[ -z $ROLE ]] || on_server tc qdisc add dev "$WIRE" root netem loss 100%
}

mend_wire()
{
	tc qdisc del dev "$WIRE" root || return
	[[ -z $ROLE ]] || on_server tc qdisc del dev "$WIRE" root
}

# Where connections bypass TCP, both ends go on without the network.
check_cut()
{
	if [[ -z $ROLE && $SRN_SAME_HOST != off ]]; then
		skip "$1" "the path inside this host crosses no wire"
	else
		run_check "$@"
	fi
}

# The network device of the server's link goes down, and up again.
flap_server()
{
	on_server ip link set "$NETDEV" down
	sleep "${1:-1}"
	on_server ip link set "$NETDEV" up
}
