#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# files: build/tests/bin/uverbs_fuzz build/tests/bin/driver_data
# timeout: 300
#
# Commands to the device file that no library sends, and those of a library that is older or newer
# than the kernel.
#
# FUZZ_SEED: printed; by chance otherwise. FUZZ_TIME: seconds for each kind of user (20).
. lib/ktap.sh
. lib/pairs.sh

: "${FUZZ_SEED:=$RANDOM}" "${FUZZ_TIME:=20}"
A1=10.1.0.1

device() { echo /dev/infiniband/uverbs0; }

fuzz()
{
	timeout -k 5 $((FUZZ_TIME * 3 + 60 * SLOW)) "$@" ./uverbs_fuzz "$(device)" "$FUZZ_TIME" "$FUZZ_SEED"
}

# Somebody who is not root, and may have little memory pinned.
fuzz_as_nobody()
{
	chmod 666 "$(device)"
	fuzz prlimit --memlock=65536 setpriv --reuid=65534 --regid=65534 --clear-groups \
		--no-new-privs
}

# Each program at once with others on one device.
fuzz_together()
{
	local i status=0
	local -a pids
	for i in 1 2 3; do
		FUZZ_SEED=$((FUZZ_SEED + i)) fuzz > "/tmp/fuzz.$i" 2>&1 &
		pids+=($!)
	done
	for i in 1 2 3; do
		wait "${pids[i - 1]}" || {
			status=$?
			tail -n 3 "/tmp/fuzz.$i"
		}
	done
	return "$status"
}

show() { note "$(tail -n 40 "$CHECK_OUTPUT")"; }

chmod +x uverbs_fuzz driver_data
note "seed $FUZZ_SEED"
run_check "a link" dummy_link
CHECK_TIMEOUT=$((200 * SLOW)) run_check "older and newer libraries" ./driver_data "$(device)" && show
run_check "as root" fuzz && show
run_check "as nobody" fuzz_as_nobody && note "$(tail -n 1 "$CHECK_OUTPUT")"
run_check "three at once" fuzz_together
pair "rping works on that device" 7174 rping -s -a "$A1" -C 10 -- rping -c -a "$A1" -C 10 -V
finish
