#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# timeout: 300
#
# In a machine on which softrnic was installed by its packages, and nothing else brought along: DKMS'
# module is loaded when a link is added, programs find the provider, and data goes through.
. lib/ktap.sh
. lib/perftest.sh

module_of_dkms()
{
	[[ $(modinfo -n softrnic) == */updates/dkms/* && -e /sys/module/softrnic &&
		$(cat /sys/module/softrnic/version) == "$VERSION" ]]
}

# dummy0, and a link on it.
link_by_tool()
{
	ip link add dummy0 type dummy
	ip addr add 10.1.0.1/24 dev dummy0
	ip link set dummy0 up
	softrnicctl add srn0 dummy0 && wait_ready srn0
}

# As Secure Boot has it. The kernel does not take this back, so it comes last.
key_to_enrol()
{
	local said
	modprobe -r softrnic && echo Y > /sys/module/module/parameters/sig_enforce || return
	! modprobe softrnic || return
	said=$(softrnicctl doctor)
	echo "$said"
	grep -E "^wrong +signature: .*DKMS module signing key, whose key the kernel does not know" <<< "$said" &&
		grep -F "mokutil --import /var/lib/dkms/mok.pub" <<< "$said"
}

run_check "softrnicctl adds a link" link_by_tool
run_check "the module is that of DKMS, version $VERSION" module_of_dkms
run_check "ibv_devinfo opens it" ibv_devinfo -d srn0
pair_again "ib_write_bw -R" 18515 ib_write_bw -d srn0 -R -F -n 100 -- \
	ib_write_bw -d srn0 -R -F -n 100 10.1.0.1
run_check "softrnicctl status" softrnicctl status
run_check "softrnicctl deletes it" softrnicctl del srn0
run_check "doctor points to DKMS' key if the kernel wants signatures" key_to_enrol
finish
