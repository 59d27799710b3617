# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Where the debug kernels' source comes from: Debian's linux-source packages. That of 6.1 is
# installed on this host. Those of 7.x are not in bookworm: one is downloaded from the backports
# of the next release, with lists of its own, so that the host's packages stay what they are.
# It is kept beside the kernels.

INSTALLED=linux-source-6.1
SUITE=trixie-backports
# The one that is known to work; where the mirror has it no more, the newest one of the suite.
KNOWN=linux-source-7.3=7.3.4-1~bpo13+1

# apt with the lists of SUITE only, without a look at what this host has installed.
apt_of_suite()
{
	local apt=$ROOT/apt
	"$1" -o "Dir::Etc::sourcelist=$apt/sources.list" -o Dir::Etc::sourceparts=- \
		-o "Dir::State::lists=$apt/lists" -o "Dir::Cache=$apt/cache" \
		-o Dir::State::status=/dev/null -o Acquire::Languages=none \
		-o APT::Sandbox::User=root "${@:2}"
}

# The Debian mirror that this host uses.
mirror()
(
	# shellcheck source=scripts/testmachine.d/common.sh
	. "$TOP/scripts/testmachine.d/common.sh"
	find_mirrors
	echo "$MIRROR"
)

update_lists()
{
	local apt=$ROOT/apt
	mkdir -p "$apt"/{lists,cache/archives}/partial
	echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $(mirror) $SUITE main" \
		> "$apt/sources.list"
	apt_of_suite apt-get -q update
}

newest_of_suite()
{
	apt_of_suite apt-cache madison '^linux-source-7' | sort -t'|' -k2 -V |
		awk -F'|' '{ gsub(/ /, ""); last = $1 "=" $2 } END { print last }'
}

# Leave the package in $ROOT/7.x.deb and its name and version in $ROOT/7.x.version.
download_source()
{
	local wanted=$KNOWN
	update_lists
	apt_of_suite apt-cache madison "${KNOWN%%=*}" | grep -qF "${KNOWN#*=}" ||
		wanted=$(newest_of_suite)
	[[ $wanted == *=* ]] || {
		echo "no Linux 7.x in $SUITE"
		return 1
	}
	rm -rf "$ROOT/download"
	mkdir "$ROOT/download"
	(cd "$ROOT/download" && apt_of_suite apt-get -q download "$wanted")
	mv "$ROOT/download"/*.deb "$ROOT/7.x.deb"
	echo "$wanted" > "$ROOT/7.x.version"
	rm -rf "$ROOT/download"
}

# Make sure that there is something to unpack; install-deps has seen to 6.1.
get_source()
{
	if [[ $SERIES != 6.1 && ! -f $ROOT/7.x.version ]]; then
		mkdir -p "$ROOT"
		say "downloading the source of Linux 7.x"
		download_source > "$ROOT/download.log" 2>&1 || {
			tail -n 25 "$ROOT/download.log" >&2
			die "the source of Linux 7.x cannot be had"
		}
	fi
}

# The patch of a series changes only User Mode Linux.
patch_of_series() { printf '%s\n' "$CONFIGS/uml-$SERIES.patch"; }

source_version()
{
	if [[ $SERIES == 6.1 ]]; then
		dpkg-query -W -f '${Version}' "$INSTALLED"
	else
		cat "$ROOT/7.x.version"
	fi
	cat "$(patch_of_series)"
}

# Print the source as an uncompressed archive.
source_archive()
{
	if [[ $SERIES == 6.1 ]]; then
		xz -dc "/usr/src/$INSTALLED.tar.xz"
	else
		dpkg-deb --fsys-tarfile "$ROOT/7.x.deb" |
			tar -x --wildcards -O './usr/src/linux-source-*.tar.xz' | xz -dc
	fi
}

patch_source()
{
	local file
	file=$(patch_of_series)
	patch -d "$1" -p1 -s --no-backup-if-mismatch < "$file" || die "$file does not fit this kernel"
}

# Set SOURCE: one tree for all kinds of a series; each is built outside of it.
unpack_source()
{
	SOURCE=$ROOT/source
	[[ $SERIES == 6.1 ]] || SOURCE+=-$SERIES
	if [[ $(cat "$SOURCE/.version" 2> /dev/null) == "$(source_version)" ]]; then
		return
	fi
	say "unpacking the source of Linux $SERIES"
	rm -rf "$SOURCE" "$SOURCE.new"
	mkdir -p "$SOURCE.new"
	source_archive | tar -x --strip-components=1 -C "$SOURCE.new"
	patch_source "$SOURCE.new"
	source_version > "$SOURCE.new/.version"
	mv "$SOURCE.new" "$SOURCE"
}
