# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# A Debian tree of the machine's release with compiler, headers and libraries of that
# release: modules and providers for it can only be built there. What is run in it
# sees the clone under its own path. Where this host is of that release, it is the host.
#
# Result, in builder_dir: tree/ and key, as in build.sh.

builder_dir()
{
	printf '%s/builder-%s\n' "$(cache_root)" "$RELEASE"
}

# The kernel's headers are part of it, so that it follows the machine.
builder_key()
{
	cat "$LIB/builder-packages" "$LIB/builder.sh" "$LIB/build.sh" "$(machine_dir)/kernel-version" |
		sha256sum | cut -d' ' -f1
}

ensure_builder()
{
	ensure_machine
	is_current "$(builder_dir)" "$(builder_key)" ||
		build_once "$(builder_dir)" builder_key make_builder "a tree to build for $RELEASE in"
}

make_builder()
{
	build_step "debootstrap $RELEASE" make_tree "$1"
	build_step "compilers, headers" install_packages "$1" "$LIB/builder-packages" \
		"linux-headers-$(< "$(machine_dir)/kernel-version")"
}

# run_in_release COMMAND…: in the folder in which the caller is.
run_in_release()
{
	(($#)) || die "in-release: which command?"
	[[ $RELEASE != "$(host_release)" ]] || exec "$@"
	ensure_builder
	# shellcheck disable=SC2016
	exec unshare --mount --propagation private bash -euc '
		tree=$1 top=$2 build=$3 dir=$4
		shift 4
		mount -t proc proc "$tree/proc"
		mount --rbind /dev "$tree/dev"
		for folder in "$top" "$build"; do
			mkdir -p "$folder" "$tree$folder"
			mount --bind "$folder" "$tree$folder"
		done
		exec chroot "$tree" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root \
			LC_ALL=C.UTF-8 SRN_BUILD="$build" sh -euc "cd \"\$1\" && shift && exec \"\$@\"" sh "$dir" "$@"
	' run_in_release "$(builder_dir)/tree" "$TOP" "$BUILD" "$PWD" "$@"
}
