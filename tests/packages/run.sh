#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# usage: tests/packages/run.sh DIR
#
# Install, upgrade, remove and purge the packages of "make deb" in a fresh Debian tree of
# SRN_RELEASE (default: this host's), which is in DIR then, and boot it in the test machine, with two kernels one
# after the other. Prints TAP. What apt and DKMS do runs in the tree on this host: there is a network,
# and a compiler is 20 times as fast.
set -euo pipefail
export PATH=$PATH:/usr/sbin:/sbin
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
TOP=$(cd "$HERE/../.." && pwd)
LIB=$TOP/scripts/testmachine.d
# The helpers of scripts/testmachine want these.
# shellcheck disable=SC2034
KERNEL=stock FLAVOUR='' FORCE=''
DIR=${1:?usage: tests/packages/run.sh DIR}
OLD_VERSION=0.0.1

# shellcheck source=scripts/testmachine.d/common.sh
. "$LIB/common.sh"
# shellcheck source=scripts/testmachine.d/arch.sh
. "$LIB/arch.sh"
# shellcheck source=scripts/testmachine.d/build.sh
. "$LIB/build.sh"
# shellcheck source=scripts/testmachine.d/foreign.sh
. "$LIB/foreign.sh"
# shellcheck source=tests/packages/reboot.sh
. "$HERE/reboot.sh"

# shellcheck disable=SC2034
ARCH=$(host_arch) RELEASE=${SRN_RELEASE:-$(default_release)}
set_arch

COUNT=0 FAILED=0
# result OK NAME: one test; what $LOG has is shown if it failed.
LOG=$DIR/check.log
# A folder for test machines, as scripts/testmachine has one in its cache.
WORK=$DIR/cache/testmachine/$RELEASE TREE=$DIR/cache/testmachine/$RELEASE/tree
result()
{
	COUNT=$((COUNT + 1))
	if (($1)); then
		echo "ok $COUNT - $2"
	else
		echo "not ok $COUNT - $2"
		tail -n 40 "$LOG" | sed 's/^/# /'
		FAILED=$((FAILED + 1))
	fi
}
# check NAME COMMAND…: not as a condition, inside of which "set -e" does not act.
check()
{
	local name=$1 status
	shift
	set +e
	(set -e; "$@") > "$LOG" 2>&1 < /dev/null
	status=$?
	set -e
	result $((status == 0)) "$name"
}
skip()
{
	COUNT=$((COUNT + 1))
	echo "ok $COUNT - $1 # SKIP $2"
}

base_dir() { printf '%s/packages-%s\n' "$(cache_root)" "$RELEASE"; }
base_key() { { cat "$HERE/packages" "$LIB/build.sh" && declare -f make_base kernels two_kernels; } | sha256sum | cut -d" " -f1; }

# The releases of all kernels of the usual flavour whose image and headers the archive has.
kernels()
{
	in_tree "$1" apt-cache pkgnames linux-headers- |
		grep -E "^linux-headers-[0-9]+\.[0-9]+.*-$ARCH\$" | grep -vE -- '-(rt|cloud)-' |
		sed 's/^linux-headers-//' | sort -V | while read -r kernel; do
		# Its name may be known and the package gone.
		if [[ $(in_tree "$1" apt-cache policy "linux-image-$kernel" 2> /dev/null) =~ Candidate:\ [0-9] ]]; then
			echo "$kernel"
		fi
	done
}

# The kernel that users of the release have, and the newest other one: the older of them first.
two_kernels()
{
	local usual
	usual=$(newest_kernel "$1")
	{
		echo "$usual"
		kernels "$1" | { grep -vxF -- "$usual" || true; } | tail -n 1
	} | sort -V
}

# The tree with a kernel, without its headers. An initrd of the kernel's package is of no use here.
make_base()
{
	build_step "debootstrap $RELEASE" make_tree "$1"
	build_step "packages" install_packages "$1" "$HERE/packages"
	two_kernels "$1" > "$1/kernels"
	build_step "kernel" in_tree "$1" INITRD=No apt-get -qy install "linux-image-$(head -n 1 "$1/kernels")"
}

apt() { in_tree "$WORK" INITRD=No apt-get -qy -o APT::Install-Recommends=false "$@"; }

# install_debs FOLDER: in the tree, with what they depend on.
install_debs()
{
	local -a debs
	rm -rf "$TREE/debs"
	mkdir "$TREE/debs"
	cp "$1"/*.deb "$TREE/debs/"
	mapfile -t debs < <(cd "$TREE" && printf '/%s\n' debs/*.deb)
	apt install "${debs[@]}"
}

# The module of that kernel that DKMS has built and installed.
module_of() { find "$TREE/usr/lib/modules/$1/updates/dkms" -name 'softrnic.ko*' 2> /dev/null; }
module_version_is()
{
	local module
	module=$(module_of "$1")
	echo "module of $1: $module"
	[[ -n $module && $(modinfo -F version "$module") == "$2" ]]
}
signed()
{
	modinfo "$(module_of "$1")"
	[[ $(modinfo -F signer "$(module_of "$1")") == "DKMS module signing key" ]]
}

refuses_beside_packages()
{
	rm -rf "$TREE/clone"
	mkdir "$TREE/clone"
	cp -r "$TOP/scripts" "$TREE/clone/"
	local status=0
	! in_tree "$WORK" /clone/scripts/install /nowhere 2> "$DIR/refusal" || status=1
	rm -r "$TREE/clone"
	cat "$DIR/refusal"
	grep 'apt purge .*softrnic-dkms' "$DIR/refusal" && return "$status"
}

# dkms_declines KERNEL NAME VERSION SED: DKMS is asked for a kernel of that name, whose configuration is that
# of KERNEL as SED has changed it. 77 is its status for a kernel that a module is not for. It leaves no log where it
# has tried to compile.
dkms_declines()
{
	local name=$2 status=0
	local headers=$TREE/usr/src/linux-headers-$name modules=$TREE/usr/lib/modules/$name
	mkdir -p "$headers/include" "$modules"
	sed "$4" "$TREE/usr/src/linux-headers-$1/.config" > "$headers/.config"
	ln -s "/usr/src/linux-headers-$name" "$modules/build"
	in_tree "$WORK" dkms install "softrnic/$3" -k "$name" || status=$?
	rm -r "$headers" "$modules"
	((status == 77)) && [[ ! -e $TREE/var/lib/dkms/softrnic/$3/build ]]
}

# provider_goes_before VERSION: apt would rather remove the provider than have it beside that libibverbs, whose
# private ABI it does not know. The package that asks for that has nothing in it.
provider_goes_before()
{
	local folder=$DIR/libibverbs1 plan
	mkdir -p "$folder/DEBIAN"
	cat > "$folder/DEBIAN/control" <<-END
		Package: libibverbs1
		Version: $1
		Architecture: $ARCH
		Multi-Arch: same
		Maintainer: nobody <nobody@example.org>
		Description: a version, and nothing else
	END
	dpkg-deb --build "$folder" "$TREE/debs/libibverbs1.deb"
	plan=$(apt --simulate --allow-downgrades install /debs/libibverbs1.deb)
	echo "$plan"
	grep "^Remv ibverbs-provider-softrnic " <<< "$plan" && grep "^Inst libibverbs1 .*$1" <<< "$plan"
}

# In a tree that was not booted newer DKMS does not know for which kernel, and says nothing.
says_no_headers()
{
	[[ -z $(module_of "$older") ]] || return
	# shellcheck disable=SC2016  # dpkg-query expands it
	in_tree "$WORK" dpkg --compare-versions \
		"$(in_tree "$WORK" dpkg-query -W -f '${Version}' dkms)" ge 3.2 ||
		grep -q "kernel headers for this kernel do" "$DIR/install.log"
}

# Both have files in the same places.
refuse_beside_make_install()
{
	local name deb
	mkdir -p "$TREE/var/lib/softrnic"
	touch "$TREE/var/lib/softrnic/installed"
	for name in softrnic-dkms softrnic-tools; do
		deb=$(cd "$TREE" && echo debs/"$name"_*.deb)
		! apt install --reinstall "/$deb" > "$DIR/refusal" 2>&1 || return
		cat "$DIR/refusal"
		grep 'first, in its clone, make uninstall' "$DIR/refusal" || return
		in_tree "$WORK" dpkg -s "$name" | grep 'Status: install ok installed' || return
	done
	rm -r "$TREE/var/lib/softrnic"
}

# boot KERNEL VERSION: the tree with that kernel, as a test machine of its own.
boot()
{
	local kernel=$1
	mkdir -p "$DIR/nothing-built"
	echo "$kernel" > "$WORK/kernel-version"
	extract_vmlinux "$TREE/boot/vmlinuz-$kernel" "$WORK/vmlinux"
	unpacked_modules "$kernel"
	make_initramfs "$WORK"
	image_of_tree
	machine_key > "$WORK/key"
	VERSION=$2 SRN_ENV=VERSION SRN_CACHE=$DIR/cache SRN_BUILD=$DIR/nothing-built \
		"$TOP/scripts/testmachine" run --release "$RELEASE" --out "$DIR/boot-$kernel" \
		--timeout "${SRN_TIMEOUT:-300}" "$HERE/guest.sh"
}

# The machine has no network: make_image removes what only apt needs, which goes on afterwards.
image_of_tree()
{
	local -a kept=(var/lib/apt/lists etc/apt/apt.conf.d/00host etc/resolv.conf)
	tar -C "$TREE" -cf "$DIR/kept.tar" "${kept[@]}"
	make_image "$WORK"
	tar -C "$TREE" -xf "$DIR/kept.tar"
	rm "$DIR/kept.tar"
}

# Guests have busybox in their initramfs, which loads no compressed module.
unpacked_modules()
{
	find "$TREE/usr/lib/modules/$1/kernel" -name '*.ko.xz' -exec xz -d {} +
	in_tree "$WORK" depmod "$1"
}

# What is left in the tree that has to do with softrnic.
leftovers()
{
	find "$TREE" -xdev -name '*softrnic*' -printf '/%P\n'
	grep -rl softrnic "$TREE/usr/lib/modules" "$TREE/var/lib/dpkg/status" || true
}
nothing_left() { [[ -z $(leftovers | tee /dev/stderr) ]]; }
links_stay() { [[ -e $TREE/etc/softrnic/links.d/srn7.conf && ! -e $TREE/usr/sbin/softrnicctl ]]; }

mkdir -p "$DIR"
version=$(dpkg-deb -f "$TOP"/build/deb/softrnic-dkms_*.deb Version)
"$TOP/scripts/deb" --version $OLD_VERSION "$DIR/old" > "$DIR/old.log" 2>&1
is_current "$(base_dir)" "$(base_key)" ||
	build_once "$(base_dir)" base_key make_base "a $RELEASE tree to install packages in"
rm -rf --one-file-system "$WORK"
mkdir -p "$WORK"
cp -a "$(base_dir)/tree" "$TREE"
mapfile -t all < "$(base_dir)/kernels"
older=${all[0]} newer=${all[1]:-}

echo "TAP version 13"
check "apt installs version $OLD_VERSION without the kernel's headers" install_debs "$DIR/old"
cp "$LOG" "$DIR/install.log"
check "and DKMS says that they are missing" says_no_headers
check "the documents are there" test -e "$TREE/usr/share/doc/softrnic-tools/admin-guide.md"
check "make install refuses beside packages" refuses_beside_packages
check "DKMS builds the module when they come: $older" apt install "linux-headers-$older"
check "its version" module_version_is "$older" $OLD_VERSION
check "it is signed by DKMS' key" signed "$older"
check "$older boots; a link, and data" boot "$older" $OLD_VERSION

if [[ -n $newer ]]; then
	check "a kernel with another ABI is installed: $newer" \
		apt install "linux-image-$newer" "linux-headers-$newer"
	check "DKMS has built the module for it" module_version_is "$newer" $OLD_VERSION
else
	newer=$older
	skip "a kernel with another ABI" "the archive has one kernel, $older"
fi
check "apt upgrades to $version" install_debs "$TOP/build/deb"
check "DKMS has built the new version" module_version_is "$newer" "$version"
check "$newer boots; a link, and data" boot "$newer" "$version"

check "a machine with systemd" prepare_reboots "$DIR/systemd"
check "softrnicctl enables a link in it" after_boot "$DIR/systemd" before
check "it is there after a reboot; data, and it is disabled" after_boot "$DIR/systemd" after

check "DKMS does not try to build for a kernel without InfiniBand" dkms_declines "$newer" \
	"$newer-without-infiniband" "$version" 's/^CONFIG_INFINIBAND=.*/# CONFIG_INFINIBAND is not set/'
check "DKMS does not try to build for a kernel before 6.1" dkms_declines "$newer" 5.10.0-99-amd64 "$version" ''
check "the provider goes before a libibverbs between those it is for" provider_goes_before 60.0-1
check "the provider goes before a libibverbs that is newer" provider_goes_before 66.0-1

check "packages are refused beside make install" refuse_beside_make_install
touch "$TREE/etc/softrnic/links.d/srn7.conf"
check "apt removes the packages" apt remove softrnic-dkms ibverbs-provider-softrnic softrnic-tools \
	libsoftrnic-verbs-dev
check "the links of the user stay" links_stay
check "apt purges what has left settings behind" apt purge '?config-files'
check "the links of the user stay" links_stay
rm -rf "$TREE/etc/softrnic" "$TREE/debs"
check "nothing else is left" nothing_left
rm -rf --one-file-system "$WORK"
echo "1..$COUNT"
exit $((FAILED != 0))
