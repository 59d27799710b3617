#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# files: build/previous-abi/*
# timeout: 600
#
# Provider and module of different ages: the provider of the ABI before today's beside today's
# module, then today's provider beside the module of then. Users meet the first after each update
# of the module, since programs that run go on with the library that they have loaded; and the
# second until the next boot after each update of both.
. lib/ktap.sh
. lib/perftest.sh

OWN4=10.1.0.1
PROVIDER=$(echo /usr/lib/*-linux-gnu/libibverbs/libsoftrnic-rdmav*.so)
EARLIER=$(echo "$PWD"/libsoftrnic-rdmav*.so)

# Each kind of queue, with and without events, and what each has of operations.
all_works()
{
	local tool
	pair "$1: rping" 7174 rping -s -a $OWN4 -V -C 20 -- rping -c -a $OWN4 -V -C 20
	for tool in ib_send_bw "ib_send_bw --use-srq" ib_write_bw ib_read_bw "ib_read_bw -e" \
		ib_atomic_bw ib_send_lat "ib_send_lat -e -I 64" "ib_write_lat -I 64"; do
		works "$1: $tool" "$tool" -s 8
	done
	for tool in "ib_write_bw -q 4" "ib_write_bw -b" ib_read_bw; do
		works "$1: $tool, 64 KiB" "$tool" -s 65536
	done
	run_check "$1: nothing is left" no_objects_stay $((20 * SLOW))
}

# works NAME TOOL [OPTION…]
works()
{
	local name=$1
	local -a command
	read -ra command <<< "$2"
	shift 2
	command=("${command[0]}" -R -F -d srn0 -n 200 "${command[@]:1}" "$@")
	pair_again "$name" 18515 "${command[@]}" -- "${command[@]}" "$OWN4"
}

no_module()
{
	rdma link delete srn0 && ip link delete dummy0 && modprobe -r softrnic
}

load_earlier()
{
	local needs
	IFS=, read -ra needs <<< "$(modinfo -F depends ./softrnic.ko)"
	# modprobe would load what programs need besides.
	modprobe -a "${needs[@]}" ib_uverbs rdma_ucm && insmod ./softrnic.ko && dummy_link 1500
}

if [[ -e reason ]]; then
	skip_all "$(< reason)"
fi
(($(nproc) > 1)) || skip_all "both ends of perftest poll, and need a CPU each"
[[ -e $EARLIER && -e $PROVIDER && ${EARLIER##*/} == "${PROVIDER##*/}" ]] ||
	skip_all "no provider of before for this libibverbs"
cmp -s "$EARLIER" "$PROVIDER" && skip_all "the provider of before is today's"
crashes_are_not_told

run_check "a link" dummy_link || finish
run_check "the provider of before" mount --bind "$EARLIER" "$PROVIDER" || finish
all_works "earlier provider"
umount "$PROVIDER"
if [[ $(modinfo -F vermagic ./softrnic.ko) == "$(uname -r) "* ]]; then
	run_check "this module goes" no_module || finish
	run_check "the module of before" load_earlier || finish
	all_works "earlier module"
	run_check "that one goes" no_module
	run_check "this module comes again" modprobe softrnic
else
	skip "earlier module" "it is built for the stock kernel only"
fi
finish
