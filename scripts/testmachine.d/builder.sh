# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# A Debian tree of the machine's release with compiler, headers and libraries of that
# release: modules and providers for it can only be built there. What is run in it
# sees the clone under its own path. Where this host is of that release, it is the host.
# For another processor the tree has its libraries beside this host's, and cross compilers.
#
# Result, in builder_dir: tree/ and key, as in build.sh.

builder_dir()
{
	printf '%s/builder-%s\n' "$(cache_root)" "$(machine_name)"
}

# The kernel's headers are part of it, so that it follows the machine.
builder_key()
{
	{
		cat "$LIB/builder-packages" "$LIB/builder.sh" "$LIB/build.sh" "$LIB/foreign.sh"
		machine_kernel
	} | sha256sum | cut -d' ' -f1
}

# Print the release of the machine's kernel, where there is a machine.
machine_kernel()
{
	[[ -z $QEMU_PROGRAM ]] || cat "$(machine_dir)/kernel-version"
}

ensure_builder()
{
	[[ -z $QEMU_PROGRAM ]] || ensure_machine
	is_current "$(builder_dir)" "$(builder_key)" ||
		build_once "$(builder_dir)" builder_key make_builder "a tree to build for $(machine_name) in"
}

make_builder()
{
	build_step "debootstrap $RELEASE" make_tree "$1"
	if is_foreign; then
		build_step "compilers, libraries" install_cross_compilers "$1"
		[[ -z $QEMU_PROGRAM ]] || build_step "headers" install_foreign_headers "$1"
	else
		build_step "compilers, headers" install_packages "$1" "$LIB/builder-packages" \
			"linux-headers-$(machine_kernel)"
	fi
}

# The libraries that programs are run with are that processor's own: those of the cross compiler do
# not fit the libc of the others.
install_cross_compilers()
{
	local -a libraries
	mapfile -t libraries < <(read_list "$LIB/builder-packages" | grep '^lib.*-dev$')
	install_packages "$1" "$LIB/builder-packages" qemu-user-static "g++-${GNU_TYPE/_/-}" \
		"${libraries[@]/%/:$ARCH}" {libstdc++6,libasan8,libubsan1}":$ARCH"
}

# The headers of another processor ask for its compiler, too, so they are only unpacked. What
# runs when a module is built is in a package that they share with this host's.
install_foreign_headers()
{
	local work=$1 headers
	headers=linux-headers-$(machine_kernel):$ARCH
	# shellcheck disable=SC2016
	in_tree "$work" bash -euc 'cd /tmp
		apt-cache depends "$1" | sed -nE "s/^ *Depends: <?(linux-(headers|kbuild)-[^:>]*).*/\1/p" |
			xargs apt-get -qy install
		apt-get -q download "$1"
		dpkg-deb --fsys-tarfile linux-headers-*.deb | tar -x --keep-directory-symlink -C /
		rm linux-headers-*.deb' headers "$headers"
}

# run_in_release COMMAND…: in the folder in which the caller is.
run_in_release()
{
	(($#)) || die "in-release: which command?"
	[[ $RELEASE != "$(host_release)" ]] || is_foreign || exec "$@"
	ensure_builder
	# shellcheck disable=SC2016
	exec unshare --mount --propagation private bash -euc '
		tree=$1 top=$2 build=$3 dir=$4 cross=$5
		shift 5
		mount -t proc proc "$tree/proc"
		mount -t sysfs -o ro sysfs "$tree/sys"
		mount --rbind /dev "$tree/dev"
		for folder in "$top" "$build"; do
			mkdir -p "$folder" "$tree$folder"
			mount --bind "$folder" "$tree$folder"
		done
		exec chroot "$tree" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root \
			LC_ALL=C.UTF-8 SRN_BUILD="$build" $cross \
			sh -euc "cd \"\$1\" && shift && exec \"\$@\"" sh "$dir" "$@"
	' run_in_release "$(builder_dir)/tree" "$TOP" "$BUILD" "$PWD" "$(cross_variables)" "$@"
}

# What tells Debian's kernel headers, CMake, pkg-config and our scripts for which processor they
# build, without spaces. Nothing looks for leaks: LeakSanitizer does not work under an emulator.
cross_variables()
{
	is_foreign || return 0
	printf '%s ' "DEB_BUILD_ARCH=$(host_arch)" "DEB_HOST_ARCH=$ARCH" \
		"DEB_HOST_GNU_TYPE=$GNU_TYPE" "CMAKE_TOOLCHAIN_FILE=$LIB/cross.cmake" \
		"CC=$GNU_TYPE-gcc" "CXX=$GNU_TYPE-g++" "ASAN_OPTIONS=detect_leaks=0" \
		"PKG_CONFIG_LIBDIR=/usr/lib/$GNU_TYPE/pkgconfig:/usr/share/pkgconfig"
}
