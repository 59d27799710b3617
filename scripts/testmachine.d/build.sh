# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Build the test machine: a Debian tree, its root image, an uncompressed kernel
# and a small initramfs. Nothing is mounted on the host except inside a private
# mount namespace, and the result appears with one rename, so an interrupted
# build leaves no half-made machine behind.
#
# Result, in machine_dir:
#   tree/            the unpacked Debian system (depmod reads its modules)
#   root.ext4        the same as an image
#   vmlinux          Debian's kernel, uncompressed: starts seconds faster
#   initramfs.cpio   busybox and the modules that reach the root image
#   kernel-version   such as 6.1.0-56-amd64
#   key              hash of the recipe

# Make sure that the machine of $RELEASE exists and is current.
ensure_machine()
{
	[[ -n $QEMU_PROGRAM ]] || die "there is no machine for $ARCH, only unit tests"
	machine_is_current || build_machine
	[[ $KERNEL == stock || -f $(kernel_dir)/image ]] ||
		die "no $KERNEL kernel: scripts/debug-kernel build $KERNEL"
}

build_machine()
{
	build_once "$(machine_dir)" machine_key make_machine "the $(machine_name) test machine"
}

make_machine()
{
	build_step "debootstrap $RELEASE" make_tree "$1"
	build_step "packages" install_packages "$1" "$LIB/packages"
	build_step "kernel and modules" install_kernel "$1"
	! is_foreign || build_step "programs for $ARCH" replace_programs "$1" "$LIB/packages"
	build_step "initramfs" make_initramfs "$1"
	build_step "root image" make_image "$1"
}

# build_once FOLDER KEY-FUNCTION FUNCTION TEXT: FUNCTION, which is given a folder to work in,
# builds FOLDER, unless that is current. KEY-FUNCTION prints what decides about that.
build_once()
{
	local final=$1 key=$2 build=$3 text=$4 start=$SECONDS root work lock name
	root=$(cache_root) name=${1##*/}
	mkdir -p "$root"

	# One build at a time; who waited finds the work done.
	exec {lock}> "$root/.lock-$name"
	if ! flock --nonblock "$lock"; then
		say "waiting for another build of $text"
		flock "$lock"
	fi
	if [[ -z ${FORCE:-} ]] && is_current "$final" "$("$key")"; then
		exec {lock}>&-
		return
	fi

	check_build_tools
	find_mirrors
	rm -rf --one-file-system "$root/.build-$name."*
	work=$(mktemp -d "$root/.build-$name.XXXXXX")
	chmod 755 "$work"
	BUILD_LOG=$root/build-$name.log
	: > "$BUILD_LOG"
	say "building $text (once; about two minutes; log: $BUILD_LOG)"
	"$build" "$work"

	"$key" > "$work/key"
	if [[ -e $final ]]; then
		mv "$final" "$work.old"
	fi
	mv "$work" "$final"
	rm -rf --one-file-system "$work.old"
	exec {lock}>&-
	say "built $final in $((SECONDS - start)) s"
}

# build_step TEXT FUNCTION ARG...: run FUNCTION with its output in the log. In
# a child process of its own, because "set -e" does not act inside a condition.
build_step()
{
	local text=$1 start=$SECONDS rc=0
	shift
	printf 'testmachine:   %-24s' "$text" >&2
	set +e
	(
		set -e
		"$@"
	) >> "$BUILD_LOG" 2>&1 < /dev/null
	rc=$?
	set -e
	if ((rc != 0)); then
		printf ' failed\n' >&2
		tail -n 25 "$BUILD_LOG" >&2
		die "the build failed; all of it is in $BUILD_LOG"
	fi
	printf ' %3d s\n' $((SECONDS - start)) >&2
}

check_build_tools()
{
	((EUID == 0)) || die "building the test machine needs root"
	local tool
	for tool in debootstrap mke2fs cpio xz depmod $QEMU_PROGRAM; do
		command -v "$tool" > /dev/null && continue
		"$TOP/scripts/install-deps" "testmachine$(is_foreign && printf -- '-%s' "$ARCH")"
		return
	done
}

# The release that programs and libraries are of. With RELEASE=trixie-backports the kernel is that
# of the backports, and everything else is of trixie.
base_release()
{
	printf '%s\n' "${RELEASE%-backports}"
}

# A minimal Debian. Packages are kept beside the machine for the next build.
make_tree()
{
	local work=$1 archives
	archives=$(cache_root)/archives
	mkdir -p "$archives"
	# What it mounts in the tree must not outlive it, however it ends.
	unshare --mount --propagation private \
		debootstrap --variant=minbase --cache-dir="$archives" \
		--include=ca-certificates "$(base_release)" "$work/tree" "$MIRROR"
}

# Run a command inside the tree with /proc, /sys and the package cache mounted,
# all of which vanish with the command's mount namespace. Trees of several releases
# share the cache, of which apt wants to be the only user.
in_tree()
{
	local work=$1
	shift
	# shellcheck disable=SC2016
	flock "$(cache_root)/archives/.lock" unshare --mount --propagation private bash -euc '
		tree=$1 archives=$2
		shift 2
		mount -t proc proc "$tree/proc"
		mount -t sysfs -o ro sysfs "$tree/sys"
		mount --bind "$archives" "$tree/var/cache/apt/archives"
		exec chroot "$tree" /usr/bin/env -i \
			PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C \
			DEBIAN_FRONTEND=noninteractive "$@"
	' in_tree "$work/tree" "$(cache_root)/archives" "$@"
}

write_sources()
{
	local base
	base=$(base_release)
	printf 'deb %s %s main\n' "$MIRROR" "$base"
	case $base in
	sid | unstable) return ;;
	esac
	printf 'deb %s %s-updates main\n' "$MIRROR" "$base"
	# It does not have all processors for as long as this host's, and libraries of both have to be
	# of one version. Those that it always has are those with a machine.
	if [[ -n $SECURITY_MIRROR && -n $QEMU_PROGRAM ]]; then
		printf 'deb %s %s-security main\n' "$SECURITY_MIRROR" "$base"
	fi
	# apt takes nothing from there that the release has, unless it is asked to.
	[[ $RELEASE == "$base" ]] || printf 'deb %s %s main\n' "$MIRROR" "$RELEASE"
}

# install_packages WORK LIST-FILE [PACKAGE…]
install_packages()
{
	local work=$1 list=$2 tree=$1/tree
	local -a packages
	shift 2
	write_sources > "$tree/etc/apt/sources.list"
	# A proxy that apt on the host needs, apt in the tree needs as well.
	apt-config dump | grep -i '^Acquire::.*proxy' \
		> "$tree/etc/apt/apt.conf.d/00host" || true
	cat > "$tree/etc/apt/apt.conf.d/01lean" <<-'EOF'
		APT::Install-Recommends "false";
		Acquire::Languages "none";
		DPkg::Options { "--force-unsafe-io"; "--force-confold"; };
	EOF
	# A mirror may have stood still for longer than sid's index says that it is good for.
	[[ $RELEASE != sid ]] || echo 'Acquire::Check-Valid-Until "false";' >> "$tree/etc/apt/apt.conf.d/01lean"
	# No daemon is started: the machine has its own init.
	printf '#!/bin/sh\nexit 101\n' > "$tree/usr/sbin/policy-rc.d"
	chmod 755 "$tree/usr/sbin/policy-rc.d"

	mapfile -t packages < <(read_list "$list")
	add_arch "$work"
	in_tree "$work" apt-get -q update
	in_tree "$work" apt-get -qy dist-upgrade
	in_tree "$work" apt-get -qy install "${packages[@]}" "$@"
}

# Debian's stock kernel is unpacked, not installed: its maintainer scripts
# would build an initramfs and a boot menu that nothing here reads.
install_kernel()
{
	local work=$1 tree=$1/tree version deb image modules
	version=$(newest_kernel "$work")
	mkdir "$work/kernel"
	# Newer releases have image and modules in packages of their own.
	# shellcheck disable=SC2016
	in_tree "$work" bash -euc 'cd /tmp
		apt-cache depends --recurse --no-recommends --no-suggests "linux-image-$1:$2" |
			sed -nE "s/^(linux-[a-z]+-${1//+/\\+})(:.*)?\$/\1:$2/p" | sort -u |
			xargs apt-get -q download' kernel "$version" "$ARCH"
	for deb in "$tree"/tmp/linux-*.deb; do
		dpkg-deb -x "$deb" "$work/kernel"
		rm -f "$deb"
	done

	image=$(find "$work/kernel" -name "vmlinuz*" -type f | head -n 1)
	modules=$(find "$work/kernel" -path "*/lib/modules/$version" -type d | head -n 1)
	uncompress_kernel "$image" "$work/vmlinux"
	keep_modules "$modules" "$tree/usr/lib/modules/$version"
	depmod -b "$tree" "$version"
	echo "$version" > "$work/kernel-version"
	rm -rf "$work/kernel"
}

# Print the release of the kernel that linux-image-FLAVOUR stands for: in the backports, where RELEASE
# says so, else in what the release has, security updates included.
newest_kernel()
{
	local flavour=${FLAVOUR:-$ARCH}
	local -a options=()
	[[ $RELEASE == "$(base_release)" ]] || options=(-o APT::Default-Release="$RELEASE")
	in_tree "$1" apt-cache "${options[@]}" depends "linux-image-$flavour:$ARCH" |
		sed -nE "s/^ *Depends: linux-(image|binary)-([0-9].*-$flavour)(-unsigned)?(:$ARCH)?\$/\2/p" |
		head -n 1
}

# uncompress_kernel IMAGE OUT
uncompress_kernel()
{
	case $ARCH in
	amd64) extract_vmlinux "$1" "$2" ;;
	# It is not compressed.
	arm64) cp "$1" "$2" ;;
	esac
}

# Print the little-endian number of SIZE bytes at OFFSET of FILE.
number_at()
{
	od -An -v -tu"$3" -j"$2" -N"$3" "$1" | tr -d ' \n'
}

# Cut the compressed kernel out of a bzImage as its setup header describes it
# (Documentation/x86/boot.rst) and uncompress it. All formats but gzip have
# four bytes more at the end: the uncompressed size.
extract_vmlinux()
{
	local image=$1 out=$2 setup offset length magic
	setup=$(number_at "$image" $((0x1f1)) 1)
	offset=$(((setup + 1) * 512 + $(number_at "$image" $((0x248)) 4)))
	length=$(number_at "$image" $((0x24c)) 4)
	magic=$(od -An -v -tx1 -j"$offset" -N4 "$image" | tr -d ' ')

	local -a unpack
	case $magic in
	fd377a58) unpack=(xz -dc) length=$((length - 4)) ;;
	28b52ffd) unpack=(zstd -dc) length=$((length - 4)) ;;
	02214c18) unpack=(lz4 -dc) length=$((length - 4)) ;;
	1f8b*) unpack=(gzip -dc) ;;
	*)
		echo "unknown kernel compression: $magic"
		return 1
		;;
	esac
	head -c $((offset + length)) "$image" | tail -c "$length" |
		"${unpack[@]}" > "$out"
	[[ $(od -An -tx1 -N4 "$out" | tr -d ' ') == 7f454c46 ]]
}

keep_modules()
{
	local from=$1 to=$2 pattern path
	mkdir -p "$to/kernel"
	cp "$from"/modules.{order,builtin,builtin.modinfo} "$to/"
	while read -r pattern; do
		case $pattern in
		-*)
			rm -rf "${to:?}/kernel/${pattern#-}"
			;;
		*)
			for path in "$from/kernel/"$pattern; do
				[[ -e $path ]] || continue
				path=${path#"$from/"}
				mkdir -p "$to/${path%/*}"
				cp -r "$from/$path" "$to/${path%/*}/"
			done
			;;
		esac
	done < <(read_list "$LIB/modules")
	# busybox loads no compressed module.
	find "$to" -name '*.ko.xz' -exec xz -d {} +
	sed -i 's/\.ko\.xz$/.ko/' "$to/modules.order"
}

make_initramfs()
{
	local work=$1 tree=$1/tree dir=$1/initramfs version module path
	version=$(<"$work/kernel-version")
	mkdir -p "$dir"/{bin,modules,proc,sys,dev,lower,rw,new,overlay}
	cp "$tree/bin/busybox" "$dir/bin/"
	install -m 755 "$LIB/guest/initramfs-init" "$dir/init"
	for module in virtio_pci virtio_blk virtio_console crc32c_generic \
		crc32c_intel ext4 overlay 9p 9pnet_virtio; do
		# Newer kernels have CRC32C built in.
		[[ $module != crc32c_* ]] || modinfo -b "$tree" -k "$version" "$module" > /dev/null 2>&1 || continue
		modprobe -d "$tree" -S "$version" --show-depends "$module" |
		awk '$1 == "insmod" { print $2 }'
	done | awk '!seen[$0]++' | while read -r path; do
		cp "$path" "$dir/modules/"
		echo "${path##*/}" >> "$dir/modules.list"
	done
	(cd "$dir" && find . | cpio -o -H newc -R 0:0 --quiet) \
		> "$work/initramfs.cpio"
	rm -rf "$dir"
}

make_image()
{
	local work=$1 tree=$1/tree kib
	rm -rf "$tree"/var/lib/apt/lists/* "$tree/etc/apt/apt.conf.d/00host"
	# Mount points of the running machine.
	mkdir -p "$tree"/{out,job}
	: > "$tree/etc/resolv.conf"
	kib=$(du -sk --apparent-size "$tree" | cut -f1)
	mke2fs -q -t ext4 -O '^has_journal,^metadata_csum' \
		-E lazy_itable_init=0 -m 0 -N 80000 -d "$tree" \
		"$work/root.ext4" $((kib * 13 / 10 + 65536))k
}
