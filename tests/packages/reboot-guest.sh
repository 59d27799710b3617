#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# usage: reboot-guest.sh before|after
#
# In a machine that systemd has booted, and on which softrnic was installed by its packages. Before a
# reboot: a link is enabled. After it the link has come by itself, data goes through, and it is disabled.
. lib/ktap.sh
. lib/perftest.sh

# The machine's only network card, under the name that udev gives it when its driver has found it.
netdev()
{
	wait_until 60 compgen -G '/sys/class/net/*/device' > /dev/null
	udevadm settle
	basename "$(dirname /sys/class/net/*/device)"
}
CARD=$(netdev)
UNIT=softrnic-link@$CARD.service

has_address() { ip -4 addr show dev "$CARD" | grep -q 'inet 10\.1\.0\.1/24'; }

# As a user of Debian's cloud images has it.
address()
{
	printf '%s\n' '[Match]' "Name=$CARD" '[Network]' 'Address=10.1.0.1/24' \
		> /etc/systemd/network/10-card.network
	systemctl enable systemd-networkd && systemctl restart systemd-networkd &&
		wait_until 30 has_address
}

no_link() { ! rdma link show | grep -q srn0; }
link_came() { wait_until 60 device_ready srn0; }

before()
{
	run_check "an address for $CARD" address
	run_check "softrnicctl enable" softrnicctl enable srn0 "$CARD"
	run_check "the link is there" wait_ready srn0
	run_check "it is softrnicctl's unit that holds it" systemctl --quiet is-active "$UNIT"
	run_check "it comes again when it was deleted behind the unit" enabled_again
	run_check "at shutdown it outlives what uses the network" outlives_users
}
enabled_again() { softrnicctl del srn0 && softrnicctl enable srn0 "$CARD" && wait_ready srn0; }
outlives_users() { systemctl show -p Before "$UNIT" | grep -qw network.target; }

after()
{
	run_check "$CARD has its address again" wait_until 60 has_address
	run_check "the link has come by itself" link_came
	run_check "its unit is active" systemctl --quiet is-active "$UNIT"
	run_check "no port mapper runs" no_port_mapper
	pair_again "ib_write_bw -R" 18515 ib_write_bw -d srn0 -R -F -n 100 -- \
		ib_write_bw -d srn0 -R -F -n 100 10.1.0.1
	run_check "softrnicctl status" softrnicctl status
	run_check "softrnicctl disable" softrnicctl disable srn0
	run_check "the link is gone" no_link
	run_check "its unit is not enabled any more" disabled
	run_check "softrnic-tools goes, and with it the link that is up" purged_with_a_link
	run_check "nothing of its units is left" no_units
	run_check "what the user has enabled stays" test -e /etc/softrnic/links.d/srn0.conf
}
purged_with_a_link()
{
	softrnicctl enable srn0 "$CARD" && wait_ready srn0 && dpkg --purge softrnic-tools &&
		wait_until 30 no_link
}
no_units()
{
	! systemctl list-units --all --no-legend 'softrnic-link@*' | grep . &&
		! find /etc/systemd/system -name '*softrnic*' -o -name 'sys-subsystem-net-devices-*' | grep .
}
no_port_mapper() { command -v iwpmd && ! systemctl --quiet is-active iwpmd; }
disabled() { ! systemctl --quiet is-enabled "$UNIT"; }

case ${1:-} in
before | after) "$1" ;;
*) exit 2 ;;
esac
finish
