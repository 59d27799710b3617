# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# What every subcommand of scripts/testmachine shares: messages, where the
# cache is, and which Debian mirror this host uses.

say()
{
	printf 'testmachine: %s\n' "$*" >&2
}

die()
{
	say "$*"
	exit 125
}

# The cache is outside the clone, so that several clones share one machine and
# "git clean" does not cost two minutes.
cache_root()
{
	printf '%s/testmachine\n' \
		"${SRN_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/softrnic}"
}

machine_dir()
{
	printf '%s/%s\n' "$(cache_root)" "$(machine_name)"
}

# Of a processor that is not this host's, and of another kernel than the usual one, the name says which.
machine_name()
{
	printf '%s' "$RELEASE"
	! is_foreign || printf -- '-%s' "$ARCH"
	[[ -z $FLAVOUR ]] || printf -- '-%s' "$FLAVOUR"
}

# The debug kernel's folder.
kernel_dir()
{
	"$TOP/scripts/debug-kernel" path "$KERNEL"
}

kernel_release()
{
	if [[ $KERNEL == stock ]]; then
		cat "$(machine_dir)/kernel-version"
	else
		cat "$(kernel_dir)/release"
	fi
}

# The module tree of the machine's kernel, on this host.
kernel_modules()
{
	if [[ $KERNEL == stock ]]; then
		printf '%s/tree/usr/lib/modules/%s\n' "$(machine_dir)" "$(kernel_release)"
	else
		printf '%s/modules/lib/modules/%s\n' "$(kernel_dir)" "$(kernel_release)"
	fi
}

# Everything that decides what the machine contains. A cached machine whose
# key differs is built again.
machine_key()
{
	local d=$LIB
	cat "$d/packages" "$d/modules" "$d/build.sh" "$d/foreign.sh" \
		"$d/guest/initramfs-init" | sha256sum | cut -d' ' -f1
}

machine_is_current()
{
	is_current "$(machine_dir)" "$(machine_key)"
}

# is_current FOLDER KEY: what is there was built by the recipe that KEY stands for.
is_current()
{
	[[ $(cat "$1/key" 2> /dev/null) == "$2" ]]
}

# Print the name of this host's Debian release.
host_release()
{
	# shellcheck source=/dev/null
	(. /etc/os-release && printf '%s' "${VERSION_CODENAME:-}")
}

# Print the release that the machine is of if nobody says which: what is built on this host runs there.
default_release()
{
	case $(host_release) in
	trixie | sid) host_release ;;
	*) echo bookworm ;;
	esac
}

# Print the lines without comments and blanks of a list file.
read_list()
{
	sed -e 's/#.*//' -e 's/[[:space:]]*$//' -e '/^$/d' "$1"
}

# Print "URI RELEASE ORIGIN" of each Debian source that apt on this host uses.
# A "mirror+file:" source (Debian's cloud images) stands for the first URI in
# the named file.
host_sources()
{
	local uri rel origin
	# shellcheck disable=SC2016  # apt expands these, not the shell
	apt-get indextargets --format \
		'$(REPO_URI)|$(RELEASE)|$(ORIGIN)' \
		'Identifier: Packages' 'Component: main' |
	sort -u | while IFS='|' read -r uri rel origin; do
		[[ -z $origin || $origin == Debian ]] || continue
		case $uri in
		mirror+file:*)
			uri=${uri#mirror+file:}
			uri=$(read_list "${uri%/}" | awk '{ print $1; exit }')
			;;
		esac
		printf '%s %s %s\n' "${uri%/}" "$rel" "$origin"
	done
}

# Set MIRROR and SECURITY_MIRROR (may stay empty) from the host's own sources.
find_mirrors()
{
	local uri rel origin codename
	# apt lists no sources whose indexes it never fetched.
	[[ -n $(host_sources) ]] || apt-get -q update > /dev/null || true
	codename=$(host_release)
	MIRROR='' SECURITY_MIRROR=''
	while read -r uri rel origin; do
		case $rel in
		*-security | */updates)
			: "${SECURITY_MIRROR:=$uri}" ;;
		"$codename" | stable | oldstable | testing | unstable | sid)
			: "${MIRROR:=$uri}" ;;
		*)
			[[ $origin == Debian && $rel != *-* ]] &&
				: "${MIRROR:=$uri}" ;;
		esac
	done < <(host_sources)
	[[ -n $MIRROR ]] ||
		die "no Debian mirror in this host's apt sources (see apt-get indextargets)"
}
