#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# usage: install_test.sh SCRIPTS
#
# Modules of two kernels are installed in a folder, one after the other, then one of them again, and
# all of it is removed. The modules are any files, and of the headers there is what names the kernel.
set -euo pipefail
scripts=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export SRN_BUILD=$work/build
root=$work/root
failed=0

is_so()
{
	"${@:2}" && return
	echo "not so: $1"
	failed=1
}

# built RELEASE TEXT
built()
{
	mkdir -p "$SRN_BUILD/module/$1" "$work/headers-$1/include/generated"
	echo "$2" > "$SRN_BUILD/module/$1/softrnic.ko"
	touch "$work/headers-$1/Makefile"
	echo "#define UTS_RELEASE \"$1\"" > "$work/headers-$1/include/generated/utsrelease.h"
	"$scripts/install" --destdir "$root" "$work/headers-$1" > "$work/log"
}
module_is() { [[ $(cat "$root/lib/modules/$1/updates/softrnic.ko") == "$2" ]]; }

mkdir -p "$root/lib"
built 6.1.0-1-amd64 first
built 6.12.5+deb13-amd64 second
is_so "the first kernel's module stays" module_is 6.1.0-1-amd64 first
is_so "the second's is there" module_is 6.12.5+deb13-amd64 second
built 6.1.0-1-amd64 newer
is_so "the first kernel's module is the newer one" module_is 6.1.0-1-amd64 newer
is_so "the second's stays" module_is 6.12.5+deb13-amd64 second
"$scripts/uninstall" --destdir "$root" > "$work/log"
is_so "nothing is left but what was there before" \
	test "$(cd "$root" && find . -mindepth 1)" == ./lib
exit $failed
