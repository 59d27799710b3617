#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# usage: package_test.sh WORK-DIR CASE
#
# The library as others find it once it is installed. The case "install" comes
# first and puts it into WORK-DIR/prefix; the others are functions below.
set -euo pipefail
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
TOP=$(cd "$HERE/../../../.." && pwd)
WORK=$1
PREFIX=$WORK/prefix
EXAMPLE=$WORK/hello.cpp

fail()
{
	printf '%s\n' "$@" >&2
	exit 1
}

# The folder of the library alone: the rest needs to be built first.
case_install()
{
	rm -rf "$WORK"
	mkdir -p "$WORK"
	cmake -S "$TOP/userspace-provider" -B "$WORK/build" -DSOFTRNIC_EXAMPLES=OFF -DSOFTRNIC_TOOLS=OFF \
		-DCMAKE_INSTALL_PREFIX="$PREFIX"
	cmake --install "$WORK/build/include"
	documented_example > "$EXAMPLE"
}

# The indented block of cxx-library.md that includes the library, with a main().
documented_example()
{
	awk '/^    #include <softrnic\/softrnic.hpp>/ { found = 1 }
		found && /^[^ ]/ { exit }
		found { print substr($0, 5) }' "$TOP/Documentation/cxx-library.md"
	echo 'int main(int argc, char** argv) { return argc == 2 && hello(argv[1]) ? 0 : 1; }'
}

# stranger BUILD-DIR [CMAKE-ARGUMENT…]: configures the project beside this file.
stranger()
{
	local build=$WORK/$1
	shift
	rm -rf "$build"
	cmake -S "$HERE" -B "$build" -DCMAKE_PREFIX_PATH="$PREFIX" -DEXAMPLE="$EXAMPLE" "$@" \
		2>&1 | tee "$build.log"
}

without_verbs() { PKG_CONFIG_LIBDIR=$WORK/nothing "$@"; }

case_cmake()
{
	stranger found -DREQUIRE_LIBRARY=ON -DCMAKE_CXX_FLAGS='-Wall -Wextra -Werror'
	cmake --build "$WORK/found"
}

case_pkg_config()
{
	local -a flags
	export PKG_CONFIG_PATH
	PKG_CONFIG_PATH=$(dirname "$(find "$PREFIX" -name softrnic-verbs.pc)")
	read -ra flags < <(pkg-config --cflags --libs softrnic-verbs)
	"${CXX:-c++}" -std=c++20 "$EXAMPLE" "${flags[@]}" -o "$WORK/hello"
}

case_optional()
{
	without_verbs stranger optional ||
		fail "a library that may be missing ended the configuration"
	grep -q 'library found: \(0\|FALSE\)$' "$WORK/optional.log" ||
		fail "it counts as found without libibverbs"
	grep -q 'libibverbs' "$WORK/optional.log" || fail "it does not say what is missing"
}

case_required()
{
	! without_verbs stranger required -DREQUIRE_LIBRARY=ON ||
		fail "a library that must be there is not, and nobody minds"
	grep -q 'libibverbs' "$WORK/required.log" || fail "it does not say what is missing"
}

"case_$2"
