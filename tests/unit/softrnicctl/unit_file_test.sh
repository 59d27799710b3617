#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# usage: unit_file_test.sh SOFTRNIC-LINK@.SERVICE.IN
#
# systemd understands the unit, and has nothing to say about it. Where there is no systemd the exit
# status is 77.
set -euo pipefail
command -v systemd-analyze > /dev/null || { echo "SKIP: there is no systemd-analyze"; exit 77; }

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# The program need not be installed here; systemd wants to see one.
sed 's,@CMAKE_INSTALL_FULL_SBINDIR@/softrnicctl,/bin/true,' "$1" > "$folder/softrnic-link@.service"

# verify UNIT: and what it says.
verify()
{
	local status=0
	SYSTEMD_LOG_LEVEL=warning systemd-analyze verify --man=no "$folder/$1" > "$folder/said" 2>&1 ||
		status=$?
	cat "$folder/said"
	# It reads the whole system for that; what it says of other units is theirs.
	((status == 0)) && ! grep -q 'softrnic' "$folder/said"
}

verify 'softrnic-link@eth0.service'
verify 'softrnic-link@a\x2db.service'
echo 'Nonsense=yes' >> "$folder/softrnic-link@.service"
if verify 'softrnic-link@eth0.service'; then
	echo "a line that makes no sense goes unseen"
	exit 1
fi
