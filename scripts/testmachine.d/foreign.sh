# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# A tree of Debian for a processor that is not this host's. Maintainer scripts call that
# processor's programs, which do not run here. So the tree is made as for this host, and then its
# packages are unpacked once more, from the other processor: what the scripts have set up is the
# same for both.

# To be asked for the other processor's packages, apt in the tree has to know of them.
add_arch()
{
	! is_foreign || in_tree "$1" dpkg --add-architecture "$ARCH"
}

# foreign_apt WORK COMMAND…: apt, as on a machine of that processor with nothing installed.
foreign_apt()
{
	local work=$1 command=$2
	shift 2
	in_tree "$work" "$command" -q -o APT::Architecture="$ARCH" -o APT::Architectures="$ARCH" \
		-o Dir::State::status=/dev/null "$@"
}

# replace_programs WORK LIST-FILE: after the last command that is to run in the tree.
replace_programs()
{
	local work=$1 list=$2 tree=$1/tree deb
	local -a packages
	mapfile -t packages < <(read_list "$list")
	mkdir -p "$tree/var/tmp/unpack/partial"
	foreign_apt "$work" apt-get -y --download-only -o Dir::Cache::archives=/var/tmp/unpack \
		install '?essential' '?priority(required)' "${packages[@]}"
	# Libraries are in a folder for each processor: nothing else would remove this host's.
	rm -rf "$tree"/usr/lib/*-linux-gnu "$tree/usr/lib64" "$tree/etc/ld.so.cache"
	for deb in "$tree"/var/tmp/unpack/*.deb; do
		dpkg-deb --fsys-tarfile "$deb" | tar -x --keep-directory-symlink -C "$tree"
	done
	rm -rf "$tree/var/tmp/unpack"
}
