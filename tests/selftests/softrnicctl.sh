#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# timeout: 150
#
# Every command of softrnicctl, done and refused. The machine has no systemd: a script of the same
# name writes down what it is told, and the unit's commands are run as they stand in its file.
. lib/ktap.sh
. lib/topology.sh

LINKS=/etc/softrnic/links.d
UNIT=/usr/lib/systemd/system/softrnic-link@.service
TOLD=/tmp/systemctl

exists() { [[ -e /sys/class/infiniband/$1 ]]; }
gone() { ! exists "$1"; }

# exits STATUS COMMAND…
exits()
{
	local expected=$1 status=0
	shift
	"$@" || status=$?
	((status == expected)) || { echo "status $status"; return 1; }
}

# refused NAME STATUS PATTERN ARGUMENT…: with this status, and for this reason.
refused()
{
	local name=$1 status=$2 pattern=$3
	shift 3
	run_check "$name" refused_with "$status" "$pattern" "$@"
}

refused_with()
{
	local status=$1 pattern=$2
	shift 2
	exits "$status" softrnicctl "$@" 2> /tmp/refusal
	local right=$?
	cat /tmp/refusal
	((right == 0)) && grep -qE -- "$pattern" /tmp/refusal
}

devices()
{
	local dev
	ip link add v0 type veth peer name v1 && ip link add d0 type dummy &&
		ip link add name a-b type dummy || return
	for dev in v0 v1 d0 a-b; do
		ip link set "$dev" up || return
	done
	ip addr add 10.3.0.1/24 dev v0
}

# ------------------------------------------------------------------ now

adds_and_loads()
{
	modprobe -r softrnic && softrnicctl add srn0 v0 && exists srn0 && wait_ready srn0 &&
		rdma link show srn0/1 | grep 'netdev v0'
}

deletes()
{
	softrnicctl add srnx d0 && exists srnx && softrnicctl del srnx && gone srnx
}

in_namespace()
{
	ip netns add n1 && ip link add nd0 netns n1 type dummy &&
		ip netns exec n1 softrnicctl add srnn nd0 && softrnicctl list &&
		softrnicctl list | grep -E 'srnn +\(another namespace\)' &&
		ip netns exec n1 softrnicctl list | grep -E 'srnn +nd0 ' && softrnicctl del srnn
	local status=$?
	ip netns delete n1
	return "$status"
}

not_root() { setpriv --reuid 65534 --clear-groups "$@"; }

# rdma-core's rules rename what is added.
udev_renames()
{
	/lib/systemd/systemd-udevd --daemon && wait_until 10 test -e /run/udev/control &&
		rdma link add srnu type softrnic netdev d0 && wait_until 20 gone srnu
	local renamed=$?
	rdma link show
	rdma link delete "$(rdma link show | sed -n 's,link \([^/]*\)/.*netdev d0.*,\1,p')"
	((renamed == 0)) && softrnicctl add srnu d0 && exists srnu && udevadm settle && exists srnu &&
		softrnicctl del srnu
	local status=$?
	udevadm control --exit
	return "$status"
}

test_links()
{
	run_check "add loads the module and adds" adds_and_loads || finish
	run_check "del deletes" deletes
	run_check "in another namespace" in_namespace
	refused "add: no such network device" 3 'no network device none0' add srnx none0
	refused "add: the name is taken" 1 'srn0 on v0 already' add srn0 d0
	refused "add: the network device has a link" 1 'srn0 on v0 already' add srnx v0
	refused "add: another driver's name" 1 'File exists' add "$OTHER" d0
	refused "add: no name for a link" 2 'no link can be called "../x"' add ../x d0
	refused "add: no name for a network device" 2 'no network device can be called' add srnx a/b
	refused "add: what the kernel says in its log" 1 'kernel: lo: .* dummy device instead' \
		add srnx lo
	refused "add: an error number in words" 1 'lo: Operation not supported' add srnx lo
	refused "del: no such link" 3 'no link called nothing' del nothing
	refused "del: another driver's device" 3 "no link called $OTHER" del "$OTHER"
	run_check "add is for root" exits 4 not_root softrnicctl add srnx d0
	run_check "del is for root" exits 4 not_root softrnicctl del srn0
	run_check "what was refused has changed nothing" only_srn0
	run_check "a name is kept although udev renames" udev_renames
}

only_srn0() { [[ $(echo /sys/class/infiniband/*) == "/sys/class/infiniband/$OTHER /sys/class/infiniband/srn0" ]]; }

add_without_module()
{
	mkdir -p /tmp/empty
	softrnicctl del srn0 && modprobe -r softrnic && mount --bind /tmp/empty /lib/modules || return
	refused_with 1 'module softrnic not found|Module softrnic not found' add srn0 v0
	local status=$?
	umount /lib/modules
	((status == 0)) && softrnicctl add srn0 v0
}

# ------------------------------------------------------------------ showing

listed()
{
	softrnicctl list && softrnicctl list | grep -qE '^srn0 +v0 +ACTIVE +no +10\.3\.0\.1/24'
}

listed_as_json()
{
	softrnicctl list --json > /tmp/list.json && python3 - <<- 'END'
		import json
		links = json.load(open("/tmp/list.json"))
		assert links == [{"name": "srn0", "netdev": "v0", "state": "ACTIVE", "at_boot": False,
		                  "addresses": links[0]["addresses"]}], links
		assert "10.3.0.1/24" in links[0]["addresses"]
	END
}

# status WORD…: these are in what it says.
says()
{
	local word
	softrnicctl status srn0 > /tmp/status && cat /tmp/status || return
	for word; do
		grep -qE -- "$word" /tmp/status || { echo "no '$word'"; return 1; }
	done
}

# The first message of a connection is an empty Write.
counted()
{
	rping -s -a 10.3.0.1 -p 7174 -C 3 > /dev/null 2>&1 &
	wait_listening 7174 && rping -c -a 10.3.0.1 -p 7174 -C 3 && wait &&
		says '1 made, 1 accepted' || return
	softrnicctl status --json srn0 > /tmp/status.json && python3 - <<- 'END'
		import json, os
		link = json.load(open("/tmp/status.json"))[0]
		folder = "/sys/class/infiniband/srn0/ports/1/hw_counters/"
		for name in os.listdir(folder):
		    if name != "lifespan":
		        assert link["counters"][name] == int(open(folder + name).read()), name
		assert link["mpa"]["crc"] is True and link["wrong"] == [], link
	END
}

# breaks PATTERN COMMAND… -- COMMAND…: it says so, and that it is well again afterwards.
breaks()
{
	local pattern=$1
	local -a break=()
	shift
	while [[ $1 != -- ]]; do
		break+=("$1")
		shift
	done
	shift
	"${break[@]}" && wait_until 5 says "$pattern" || return
	"$@" && wait_until 5 says 'wrong +nothing'
}

hostile_netdev()
{
	local name=$'e\e[31m"'
	ip link add name "$name" type dummy && rdma link add srnh type softrnic netdev "$name" || return
	softrnicctl list | grep -qF 'e?[31m"' && ! softrnicctl status | grep -q $'\e' &&
		softrnicctl list --json | python3 -c '
import json, sys
assert any(link["netdev"] == "e\x1b[31m\"" for link in json.load(sys.stdin))'
	local status=$?
	ip link delete "$name"
	return "$status"
}

test_showing()
{
	run_check "list" listed
	run_check "list as JSON" listed_as_json
	run_check "status has the counters" counted
	run_check "status: nothing is wrong" says 'v0 is up, MTU 1500' 'wrong +nothing'
	run_check "status: the network device is down" breaks 'mend by +ip link set v0 up' \
		ip link set v0 down -- ip link set v0 up
	run_check "status: no carrier" breaks 'v0 has no carrier' ip link set v1 down -- ip link set v1 up
	run_check "status: no address" breaks 'link-local addresses only|no IP address' \
		ip addr del 10.3.0.1/24 dev v0 -- ip addr add 10.3.0.1/24 dev v0
	run_check "status does not need root" not_root softrnicctl status srn0
	run_check "names that would act on a terminal" hostile_netdev
	refused "status: no such link" 3 'no link called nothing' status nothing
}

# ------------------------------------------------------------------ at boot

# Where systemd is missing.
no_systemd()
{
	refused_with 1 'systemctl: No such file' enable srn0 v0 && [[ -z $(ls "$LINKS") ]]
}

fake_systemctl()
{
	cat > /usr/bin/systemctl <<- 'END'
		#!/bin/bash
		echo "$*" >> /tmp/systemctl
		[[ ! -e /tmp/systemctl-fails ]] || { echo "Failed to do it."; exit 1; }
	END
	chmod +x /usr/bin/systemctl
}

was_told() { cat "$TOLD" && grep -qxF -- "--quiet --no-ask-password $*" "$TOLD"; }

# unit_command ExecStart|ExecStop NETDEV: as it stands in the unit.
unit_command()
{
	local -a command
	read -ra command < <(sed -n "s/^$1=//p" "$UNIT")
	"${command[@]/"%I"/$2}"
}

enabled()
{
	rm -f "$TOLD"
	softrnicctl enable srn0 v0 && was_told 'enable softrnic-link@v0.service' &&
		cat "$LINKS/srn0.conf" && grep -qx 'netdev = v0' "$LINKS/srn0.conf" &&
		softrnicctl list | grep -qE '^srn0 +v0 +ACTIVE +yes' && softrnicctl enable srn0 v0
}

# Of the device that is not there yet, too, and with a name that needs escapes.
enabled_early()
{
	softrnicctl enable srn1 later0 && softrnicctl enable srn2 a-b &&
		was_told 'enable softrnic-link@a\x2db.service' &&
		softrnicctl list | grep -E '^srn1 +later0 +absent +yes' &&
		softrnicctl status srn1 | grep 'there is no network device later0' &&
		softrnicctl status srn2 | grep "systemctl restart 'softrnic-link@a.x2db.service'"
}

enable_fails()
{
	touch /tmp/systemctl-fails
	refused_with 1 'Failed to do it' enable srn3 d0
	local status=$?
	rm /tmp/systemctl-fails
	((status == 0)) && [[ ! -e "$LINKS/srn3.conf" ]]
}

starts_and_stops()
{
	unit_command ExecStart a-b && exists srn2 && unit_command ExecStart a-b && exists srn2 &&
		unit_command ExecStop a-b && gone srn2 && unit_command ExecStop a-b
}

starts_without_module()
{
	modprobe -r softrnic && unit_command ExecStop v0 && unit_command ExecStart v0 && exists srn0
}

start_finds_a_rival()
{
	softrnicctl add other0 a-b || return
	refused_with 1 'other0 on a-b already' start a-b
	local status=$?
	softrnicctl status srn2 | grep 'a-b has the link other0 instead' || status=1
	softrnicctl del other0
	return "$status"
}

bad_file()
{
	echo "netdev = ../x" > "$LINKS/bad.conf"
	softrnicctl list 2> /tmp/complaint && grep 'bad.conf: line 1: no network device' /tmp/complaint &&
		refused_with 3 'bad.conf: line 1' start d0
	local status=$?
	rm "$LINKS/bad.conf"
	return "$status"
}

deleted_but_enabled()
{
	softrnicctl del srn0 2>&1 | grep 'will come back at boot' && unit_command ExecStart v0
}

disabled()
{
	rm -f "$TOLD"
	softrnicctl disable srn0 && was_told 'disable softrnic-link@v0.service' &&
		[[ ! -e "$LINKS/srn0.conf" ]] && softrnicctl list | grep -qE '^srn0 .* no '
}

test_boot()
{
	run_check "enable without systemd" no_systemd
	fake_systemctl
	run_check "enable writes a file and enables the unit" enabled
	run_check "enable before the network device is there" enabled_early
	run_check "enable leaves nothing if systemctl fails" enable_fails
	refused "enable: the name is taken" 1 'srn0 is enabled on v0 already' enable srn0 d0
	refused "enable: the network device is taken" 1 'link srn0 at boot already' enable srnx v0
	refused "enable: no such name" 2 'no link can be called' enable 'a b' v0
	run_check "enable is for root" exits 4 not_root softrnicctl enable srnx d0
	run_check "the unit's commands, twice each" starts_and_stops
	run_check "the unit's commands load the module" starts_without_module
	run_check "start finds another link" start_finds_a_rival
	refused "start: no file" 3 'no file in .* has a link on d0' start d0
	refused "start: no network device" 3 'no network device later0' start later0
	run_check "a file that makes no sense" bad_file
	run_check "del says that the link comes back" deleted_but_enabled
	run_check "disable is for root" exits 4 not_root softrnicctl disable srn0
	run_check "disable removes the file and disables the unit" disabled
	refused "disable: not enabled" 3 'no link called srn0 is enabled' disable srn0
}

test_command_line()
{
	run_check "--help" softrnicctl --help
	run_check "--version" softrnicctl --version
	refused "no command" 2 'what is to be done' --json
	refused "no such command" 2 'no command frob' frob
	refused "too few arguments" 2 'arguments do not make sense' add srnx
	refused "too many arguments" 2 'arguments do not make sense' del a b
	refused "no such option" 2 'frob' list --frob
	refused "an option of another command" 2 'does not know --json' del --json srn0
	run_check "an answer that cannot be written" exits 1 full_disk
}

full_disk() { softrnicctl list > /dev/full; }

run_check "network devices" devices || finish
OTHER=rxe0
modprobe rdma_rxe && rdma link add $OTHER type rxe netdev v1
test_links
test_showing
test_boot
run_check "add without a module" add_without_module
test_command_line
rdma link delete $OTHER
finish
