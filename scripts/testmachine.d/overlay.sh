# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# What a run brings into the machine: a cpio behind the initramfs with softrnic,
# its provider and the job.

# The caller's variables that the machine's init hands to the script.
exported_variables()
{
	local name
	for name in SRN_LINK_TYPE ${SRN_ENV:-}; do
		if [[ -n ${!name:-} ]]; then
			printf 'export %s=%q\n' "$name" "${!name}"
		fi
	done
}

# Where the module of the machine's kernel is built.
module_path()
{
	printf '%s/module/%s/softrnic.ko\n' "$BUILD" "$(kernel_release)"
}

# make_initrd WORK CONFIG-TEXT FILE…: write WORK/initrd. The files lie in /job.
make_initrd()
{
	local work=$1 config=$2 overlay=$1/overlay
	local -a parts=(overlay)
	shift 2
	mkdir -p "$overlay"/{job,etc/modprobe.d,usr/sbin,usr/local/sbin,usr/share/testmachine}
	# As on a Debian with systemd: no interface that nobody asked for.
	printf 'options %s\n' "bonding max_bonds=0" "dummy numdummies=0" \
		"ifb numifbs=0" > "$overlay/etc/modprobe.d/testmachine.conf"
	printf '%s\n' "$config" > "$overlay/etc/testmachine.conf"
	install -m 755 "$LIB/guest/init" "$overlay/usr/sbin/testmachine-init"
	install -m 755 "$LIB/guest/remove-softrnic" "$LIB/guest/remember-module" \
		"$LIB/guest/count-sockets" "$overlay/usr/sbin/"
	install -m 755 "$LIB/guest/kmod" "$overlay/usr/local/sbin/rmmod"
	install -m 755 "$LIB/guest/kmod" "$overlay/usr/local/sbin/modprobe"
	install -m 644 "$LIB/guest/kmemleak.awk" "$overlay/usr/share/testmachine/"
	cp -r "$TOP/tests/selftests/lib" "$overlay/job/"
	if (($#)); then
		cp -rL -- "$@" "$overlay/job/"
	fi
	add_module "$overlay"
	add_provider "$overlay"
	add_siw "$overlay"
	if [[ $KERNEL != stock ]]; then
		# The initramfs loads nothing into a kernel that has it built in.
		: > "$work/modules.list"
		parts+=(modules.list)
	fi
	(cd "$work" && find "${parts[@]}" | cpio -o -H newc -R 0:0 --quiet) |
		cat "$(machine_dir)/initramfs.cpio" - > "$work/initrd"
	rm -rf "$overlay"
}

# The module goes to "updates", with the indexes that modprobe reads: depmod
# takes a fraction of a second here and many seconds in the machine.
add_module()
{
	local overlay=$1 module version tree stage
	module=$(module_path)
	version=$(kernel_release)
	tree=$(kernel_modules)
	if [[ ! -f $module ]]; then
		say "softrnic.ko is not built for $version: running without it"
		return
	fi
	stage=$overlay/lib/modules/$version
	mkdir -p "$stage/updates"
	# Debug information only costs time to load.
	"$GNU_TYPE-objcopy" --strip-debug "$module" "$stage/updates/softrnic.ko"
	cp "$tree"/modules.{order,builtin,builtin.modinfo} "$stage/"
	if [[ $KERNEL == stock ]]; then
		# These are in the machine already.
		ln -s "$tree/kernel" "$stage/kernel"
		depmod -b "$overlay" "$version"
		rm "$stage/kernel"
	else
		cp -r "$tree/kernel" "$stage/" 2> /dev/null || true
		depmod -b "$overlay" "$version"
	fi
	mkdir -p "$overlay/usr/lib"
	mv "$overlay/lib/modules" "$overlay/usr/lib/"
	rmdir "$overlay/lib"
}

# Installed as "make install" does it, so that what users get is what is tested;
# from a build that is not complete, at least the library.
add_provider()
{
	local overlay=$1 library
	for library in "$BUILD"/provider/libsoftrnic-rdmav*.so; do
		[[ -f $library ]] && break
	done
	if [[ ! -f $library ]]; then
		say "the provider is not built (make provider): running without it"
		return
	fi
	if DESTDIR=$overlay cmake --install "$BUILD/provider" > /dev/null 2>&1; then
		rm -rf "$overlay/usr/include"
		return
	fi
	say "the provider's build is not complete: taking its library only"
	install -D -t "$overlay/usr/lib/$GNU_TYPE/libibverbs" "$library"
	mkdir -p "$overlay/etc/libibverbs.d"
	echo "driver softrnic" > "$overlay/etc/libibverbs.d/softrnic.driver"
}

# The kernel's own iWARP driver, for the tests that want it; scripts/siw-module builds it.
add_siw()
{
	local built variant
	built=$("$TOP/scripts/siw-module" path "$(kernel_release)")
	[[ -f $built/key ]] || return 0
	for variant in crc-off crc-on; do
		install -D -m 644 -t "$1/usr/lib/siw/$variant" "$built/$variant/siw.ko"
	done
}
