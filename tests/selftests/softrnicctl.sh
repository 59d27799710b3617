#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# timeout: 300
#
# Every command of softrnicctl, done and refused. The machine has no systemd: a script of the same
# name writes down what it is told, and the unit's commands are run as they stand in its file.
: "${SRN_SAME_HOST:=default}"
. lib/ktap.sh
. lib/pairs.sh

LINKS=/etc/softrnic/links.d
UNIT=/usr/lib/systemd/system/softrnic-link@.service
TOLD=/tmp/systemctl
SAME_HOST=/sys/class/infiniband/srn0/mpa/same_host


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

# The kernel takes it, and shows the device's own.
other_name()
{
	ip link property add dev d0 altname other-d0 && softrnicctl del srn0 &&
		softrnicctl add srn0 other-d0 && softrnicctl list | grep -qE '^srn0 +d0 ' &&
		softrnicctl del srn0 && softrnicctl add srn0 v0
}

in_namespace()
{
	ip netns add n1 && ip link add nd0 netns n1 type dummy &&
		ip netns exec n1 softrnicctl add srnn nd0 && softrnicctl list &&
		softrnicctl list | grep -E 'srnn +\(another namespace\)' &&
		ip netns exec n1 softrnicctl list | grep -E 'srnn +nd0 ' &&
		! ip netns exec n1 softrnicctl enable srnm nd0 2> /tmp/enable.log &&
		grep 'another network namespace' /tmp/enable.log && softrnicctl del srnn
	local status=$?
	ip netns delete n1
	return "$status"
}

not_root() { setpriv --reuid 65534 --clear-groups "$@"; }

# A rule as rdma-core has it, which renames what is added.
udev_renames()
{
	echo 'ACTION=="add", SUBSYSTEM=="infiniband", KERNEL=="srnu", \
		PROGRAM="/usr/bin/rdma dev set %k name renamed0"' > /etc/udev/rules.d/60-renames.rules
	/lib/systemd/systemd-udevd --daemon && soon test -e /run/udev/control &&
		rdma link add srnu type softrnic netdev d0 && wait_until 20 exists renamed0
	local status=$?
	rdma link show
	softrnicctl del renamed0
	((status == 0)) && softrnicctl add srnu d0 && gone renamed0 && exists srnu &&
		udevadm settle && gone renamed0 && softrnicctl del srnu
	status=$?
	udevadm control --exit
	return "$status"
}

# rdma-core's own rule leaves a name alone that a user has given, if the kernel tells it so.
rule_leaves_the_name()
{
	rm -f /etc/udev/rules.d/60-renames.rules
	/lib/systemd/systemd-udevd --daemon && soon test -e /run/udev/control &&
		rdma link add srnu type softrnic netdev d0 && wait_until 20 exists srnu &&
		udevadm trigger --action=add --subsystem-match=infiniband --settle &&
		udevadm settle && exists srnu
	local status=$?
	rdma link show
	softrnicctl del "$(rdma link show | sed -n 's|^link \([^/]*\)/1 .* netdev d0 *$|\1|p')"
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
	if_module rdma_rxe "add: another driver's name" refused_with 1 'File exists' add "$OTHER" d0
	run_check "add: another name of the network device" other_name
	refused "enable: lo" 1 'softrnicctl add srnx lo' enable srnx lo
	refused "add: no name for a link" 2 'no link can be called "../x"' add ../x d0
	refused "add: no name for a network device" 2 'no network device can be called' add srnx a/b
	ip link add ipip1 type ipip local 10.3.0.1 remote 10.3.0.2
	refused "add: what the kernel says in its log" 1 'kernel: ipip1: only Ethernet' \
		add srnx ipip1
	refused "add: an error number in words" 1 'ipip1: Operation not supported' add srnx ipip1
	ip link delete ipip1
	refused "del: no such link" 3 'no link called nothing' del nothing
	if_module rdma_rxe "del: another driver's device" \
		refused_with 3 "no link called $OTHER" del "$OTHER"
	run_check "add is for root" exits 4 not_root softrnicctl add srnx d0
	run_check "del is for root" exits 4 not_root softrnicctl del srn0
	run_check "what was refused has changed nothing" only_srn0
	run_check "a name is kept although udev renames" udev_renames
	if grep -qs user-assigned /usr/lib/udev/rdma_rename; then
		run_check "rdma-core's rule leaves a name alone that a user has given" rule_leaves_the_name
	else
		skip "rdma-core's rule leaves a name alone that a user has given" \
			"rdma-core before 53 renames all"
	fi
}

only_srn0()
{
	(cd /sys/class/infiniband && [[ $(echo *) == "${OTHER:+$OTHER }srn0" ]])
}

add_without_module()
{
	without_module || return
	refused_with 1 'Module softrnic not found' add srn0 v0
	local status=$?
	with_module && return "$status"
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

rping_to_itself()
{
	rping -s -a 10.3.0.1 -p 7174 -C 3 > /dev/null 2>&1 &
	wait_listening 7174 && rping -c -a 10.3.0.1 -p 7174 -C 3 && wait
}

# The first message of a connection is an empty Write.
counted()
{
	echo off > "$SAME_HOST" && rping_to_itself && says '1 made, 1 accepted' || return
	softrnicctl status --json srn0 > /tmp/status.json && python3 - <<- 'END'
		import json, os
		link = json.load(open("/tmp/status.json"))[0]
		folder = "/sys/class/infiniband/srn0/ports/1/hw_counters/"
		for name in os.listdir(folder):
		    if name != "lifespan":
		        assert link["counters"][name] == int(open(folder + name).read()), name
		assert link["mpa"]["crc"] is True and link["mpa"]["same_host"] == "off", link
		assert link["wrong"] == [], link
	END
}

# Nobody sees that path on the network.
counted_bypass()
{
	! says 'bypassed TCP' > /dev/null && echo netns > "$SAME_HOST" && rping_to_itself &&
		says 'same_host=netns' '2 made, .* 2 ends bypassed TCP'
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
	"${break[@]}" && soon says "$pattern" || return
	"$@" && soon says 'wrong +nothing'
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
	run_check "status has connections that bypass TCP" counted_bypass
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
# The machine of trixie has a systemctl. fake_systemctl takes its place then.
no_systemd()
{
	rm -f /usr/bin/systemctl
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
	read -ra command <<< "$(sed -n "s/^$1=//p" "$UNIT")"
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
	softrnicctl enable srn1 later0 2>&1 | grep 'no network device later0 yet' &&
		softrnicctl enable srn2 a-b &&
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

# A file that somebody has written, with a name that the kernel knows the device by as well.
starts_by_other_name()
{
	echo 'netdev = other-d0' > "$LINKS/srn4.conf"
	unit_command ExecStart other-d0 && softrnicctl list | grep -qE '^srn4 +d0 ' &&
		unit_command ExecStart other-d0 && unit_command ExecStop other-d0 && gone srn4
	local status=$?
	rm "$LINKS/srn4.conf"
	return "$status"
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

# Somebody else than the unit has added the link.
disabled()
{
	rm -f "$TOLD"
	softrnicctl disable srn0 && was_told 'disable softrnic-link@v0.service' &&
		[[ ! -e "$LINKS/srn0.conf" ]] && ! softrnicctl list | grep '^srn0 ' &&
		softrnicctl disable srn1 && softrnicctl disable srn2 && [[ -z $(ls "$LINKS") ]] &&
		softrnicctl add srn0 v0
}

# What somebody has written is kept.
enable_over_nonsense()
{
	echo 'netdevice = d0' > "$LINKS/srn4.conf"
	refused_with 1 'srn4.conf is there, and makes no sense' enable srn4 d0 &&
		grep -qx 'netdevice = d0' "$LINKS/srn4.conf"
	local status=$?
	rm -f "$LINKS/srn4.conf"
	return "$status"
}

test_boot()
{
	run_check "enable without systemd" no_systemd
	fake_systemctl
	run_check "enable writes a file and enables the unit" enabled
	run_check "enable before the network device is there" enabled_early
	run_check "enable leaves nothing if systemctl fails" enable_fails
	run_check "enable does not overwrite what makes no sense" enable_over_nonsense
	refused "enable: the name is taken" 1 'srn0 is enabled on v0 already' enable srn0 d0
	refused "enable: the network device is taken" 1 'link srn0 at boot already' enable srnx v0
	refused "enable: no such name" 2 'no link can be called' enable 'a b' v0
	run_check "enable is for root" exits 4 not_root softrnicctl enable srnx d0
	run_check "the unit's commands, twice each" starts_and_stops
	run_check "the unit's commands load the module" starts_without_module
	run_check "the unit's commands, by another name of the device" starts_by_other_name
	run_check "start finds another link" start_finds_a_rival
	refused "start: no file" 3 'no file in .* has a link on d0' start d0
	refused "start: no network device" 3 'no network device later0' start later0
	run_check "a file that makes no sense" bad_file
	run_check "del says that the link comes back" deleted_but_enabled
	run_check "disable is for root" exits 4 not_root softrnicctl disable srn0
	run_check "disable removes the file and disables the unit" disabled
	refused "disable: not enabled" 3 'no link called srn0 is enabled' disable srn0
}

# ------------------------------------------------------------------ doctor

PROVIDER=$(echo /usr/lib/*-linux-gnu/libibverbs/libsoftrnic-rdmav*.so)
LIBRARY=$(echo /usr/lib/*-linux-gnu/libibverbs.so.1)
DRIVER=/etc/libibverbs.d/softrnic.driver
MODULE=/lib/modules/$(uname -r)/updates/softrnic.ko

# doctor STATUS PATTERN OPTION…: one of its lines.
doctor()
{
	local status=$1 pattern=$2
	shift 2
	exits "$status" softrnicctl doctor "$@" > /tmp/doctor
	local right=$?
	cat /tmp/doctor
	((right == 0)) && grep -qE -- "$pattern" /tmp/doctor
}

healthy() { doctor 0 '^ok +verbs: srn0 can be opened' && ! grep '^wrong' /tmp/doctor; }

# ill PATTERN COMMAND… -- COMMAND…: doctor sees what the first does, until the second undoes it.
ill()
{
	local pattern=$1 seen
	local -a break=()
	shift
	while [[ $1 != -- ]]; do
		break+=("$1")
		shift
	done
	shift
	"${break[@]}" || return
	doctor 1 "^wrong +$pattern.*; mend by: ."
	seen=$?
	"$@" && ((seen == 0)) && wait_until $((20 * SLOW)) healthy
}

hide_modules() { mkdir -p /tmp/empty && mount --bind /tmp/empty /lib/modules; }
unhide_modules() { umount /lib/modules; }

spoil() { crashes_are_not_told && cp -p "$1" /tmp/spoiled && truncate -s 5000 "$1"; }
restore() { cp -p /tmp/spoiled "$1"; }
heal() { crashes_are_told && restore "$1"; }

# The module on the disk says that it is another one.
other_module()
{
	cp -p "$MODULE" /tmp/spoiled &&
		sed -i 's/srcversion=...../srcversion=00000/' "$MODULE"
}

without_module()
{
	softrnicctl del srn0 && modprobe -r softrnic && hide_modules
}

with_module()
{
	unhide_modules && softrnicctl add srn0 v0 && wait_ready srn0
}

# A program that listens by rdma_cm has a TCP port.
port_is_taken()
{
	doctor 0 '^ok +port: 7174 on 10.3.0.1: it is free' --port 7174 || return
	rping -s -a 10.3.0.1 -p 7174 > /dev/null 2>&1 &
	wait_listening 7174 && doctor 1 '^wrong +port: 7174 on 10.3.0.1: it is in use' --port 7174
	local status=$?
	kill %% && wait %% 2> /dev/null
	return "$status"
}

little_memlock()
{
	(
		ulimit -l 64
		doctor 1 '^wrong +memlock: .* 64 KiB'
	)
}

# input_chain POLICY: a base chain of nf_tables, as nft makes it: 0 drops, 1 accepts.
input_chain()
{
	python3 - "$1" <<- 'END'
		import socket, struct, sys
		def attr(kind, data):
		    size = 4 + len(data)
		    return struct.pack("HH", size, kind) + data + bytes(-size % 4)
		def message(kind, flags, family, res, body=b""):
		    body = struct.pack("!BBH", family, 0, res) + body
		    return struct.pack("IHHII", 16 + len(body), kind, flags, 1, 0) + body
		hook = attr(1, struct.pack("!I", 1)) + attr(2, struct.pack("!I", 0))
		table = attr(1, b"filter\0")
		chain = attr(1, b"filter\0") + attr(3, b"input\0") + attr(0x8004, hook) + \
		    attr(5, struct.pack("!I", int(sys.argv[1]))) + attr(7, b"filter\0")
		s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 12)
		s.bind((0, 0))
		s.send(message(16, 1, 0, 10) + message(0xa00, 0x401, 1, 0, table) +
		       message(0xa03, 0x405, 1, 0, chain) + message(17, 1, 0, 10))
		answer = s.recv(4096)
		assert struct.unpack_from("i", answer, 16)[0] == 0, answer
	END
}

no_chain()
{
	python3 - <<- 'END'
		import socket, struct
		def message(kind, flags, family, res, body=b""):
		    body = struct.pack("!BBH", family, 0, res) + body
		    return struct.pack("IHHII", 16 + len(body), kind, flags, 1, 0) + body
		table = struct.pack("HH", 11, 1) + b"filter\0\0"
		s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 12)
		s.bind((0, 0))
		s.send(message(16, 1, 0, 10) + message(0xa02, 5, 1, 0, table) + message(17, 1, 0, 10))
		answer = s.recv(4096)
		assert struct.unpack_from("i", answer, 16)[0] == 0, answer
	END
}

firewall()
{
	input_chain 1 && doctor 0 '^ok +firewall: nothing drops' || return
	not_root softrnicctl doctor | grep '^unknown +firewall: its rules cannot be read' -E || return
	no_chain && ill 'firewall: the chain "inet filter input" drops all' input_chain 0 -- no_chain
}

unit_not_enabled()
{
	softrnicctl enable srn0 v0 && doctor 0 '^ok +boot: srn0 comes at boot' || return
	touch /tmp/systemctl-fails
	doctor 1 '^wrong +boot: srn0 has a file, but its unit is not enabled'
	local status=$?
	rm /tmp/systemctl-fails
	softrnicctl disable srn0 && softrnicctl add srn0 v0 && return "$status"
}

# if_module MODULE NAME COMMAND…: a test, where the kernel has that as a module.
if_module()
{
	local name=$2
	if modprobe -q "$1" && [[ -e /sys/module/$1/initstate ]]; then
		run_check "$name" "${@:3}"
	else
		skip "$name" "$1 is no module of this kernel"
	fi
}

test_doctor()
{
	run_check "doctor finds nothing wrong" healthy || return
	run_check "doctor: without the provider" ill 'provider: .* there is no ' \
		mv "$PROVIDER" /tmp/provider.so -- mv /tmp/provider.so "$PROVIDER"
	run_check "doctor: the provider's driver file" ill 'provider: .* no file in /etc/libibverbs.d' \
		mv "$DRIVER" /tmp/driver -- mv /tmp/driver "$DRIVER"
	run_check "doctor: a provider for another libibverbs" ill 'provider: .* there is no ' \
		mv "$PROVIDER" "${PROVIDER/rdmav/rdmav9}" -- mv "${PROVIDER/rdmav/rdmav9}" "$PROVIDER"
	run_check "doctor: what it means for programs" ill 'verbs: srn0: libibverbs does not list it' \
		mv "$PROVIDER" /tmp/provider.so -- mv /tmp/provider.so "$PROVIDER"
	run_check "doctor: a spoiled provider" ill 'provider: it cannot be loaded' \
		spoil "$PROVIDER" -- heal "$PROVIDER"
	run_check "doctor: a program dies of it" ill 'verbs: a program that opens the links dies' \
		spoil "$PROVIDER" -- heal "$PROVIDER"
	run_check "doctor: without libibverbs" ill 'libibverbs: libibverbs.so.1: cannot open' \
		mv "$LIBRARY" /tmp/library -- mv /tmp/library "$LIBRARY"
	run_check "doctor: a module that is loaded only" ill 'module: .* and none is installed' \
		hide_modules -- unhide_modules
	run_check "doctor: another module is loaded" ill 'module: .*, another one, is installed' \
		other_module -- restore "$MODULE"
	run_check "doctor: a provider without its module" ill 'module: not installed' \
		without_module -- with_module
	run_check "doctor: without headers" ill 'headers: those of .* are not installed' \
		without_module -- with_module
	if_module rdma_ucm "doctor: rdma_ucm is not loaded" \
		ill 'devices: /dev/infiniband/rdma_cm is not there' rmmod rdma_ucm -- modprobe rdma_ucm
	run_check "doctor: the network device is down" ill 'link: srn0: v0 is down' \
		ip link set v0 down -- ip link set v0 up
	run_check "doctor: udev has renamed a link" ill 'names: udev has renamed a link' \
		rdma dev set srn0 name iwx020000000001 -- rdma dev set iwx020000000001 name srn0
	run_check "doctor: memory that may be pinned" little_memlock
	run_check "doctor: a port" port_is_taken
	if_module nf_tables "doctor: the firewall" firewall
	run_check "doctor: a unit that is not enabled" unit_not_enabled
}

no_infiniband()
{
	rmmod rdma_ucm && hide_modules && doctor 1 '^wrong +kernel: .* has no rdma_ucm'
	local status=$?
	unhide_modules && modprobe rdma_ucm && return "$status"
}

# The kernel does not take this back.
unsigned_module()
{
	local enforce=/sys/module/module/parameters/sig_enforce
	modprobe -r softrnic && echo Y > "$enforce" && doctor 1 '^wrong +signature: .* it is not signed' &&
		refused_with 1 'Key was rejected by service|Required key not available' add srn0 v0
}

test_signature()
{
	if [[ ! -e /sys/module/module/parameters/sig_enforce ]]; then
		skip "doctor: the module is not signed" "this kernel never wants a signature"
		return
	fi
	run_check "doctor: the module is not signed" unsigned_module
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
	refused "no port" 2 'a port is a number' doctor --port 65536
	run_check "an answer that cannot be written" exits 1 full_disk
}

full_disk() { softrnicctl list > /dev/full; }

run_check "network devices" devices || finish
OTHER=rxe0
modprobe rdma_rxe && rdma link add $OTHER type rxe netdev v1 || OTHER=''
test_links
test_showing
test_boot
test_doctor
if_module rdma_ucm "doctor: a kernel without InfiniBand" no_infiniband
run_check "add without a module" add_without_module
test_command_line
[[ -z $OTHER ]] || rdma link delete $OTHER
test_signature
finish
