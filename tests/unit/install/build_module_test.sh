#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# usage: build_module_test.sh SCRIPTS
#
# What is said of a kernel for which softrnic cannot be built. The kernels are folders with a Makefile,
# which has the compiler translate a file that is wrong in one way.
set -euo pipefail
scripts=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export SRN_BUILD=$work/build
headers=$work/headers
failed=0

mkdir -p "$headers/include/generated" "$headers/include/config"
echo '#define UTS_RELEASE "7.9.1"' > "$headers/include/generated/utsrelease.h"
cat > "$headers/Makefile" << 'MAKE'
modules:
	@cc -Werror -c -o $(M)/wrong.o ../wrong.c
MAKE

# says WHAT TEXT: the build fails, and the last line has TEXT.
says()
{
	local log=$work/log
	if ! "$scripts/build-module" "$headers" > "$log" 2>&1 && tail -n 1 "$log" | grep -qF "$2"; then
		return
	fi
	echo "not so: $1"
	sed 's/^/    /' "$log"
	failed=1
}

echo '# CONFIG_INFINIBAND is not set' > "$headers/include/config/auto.conf"
says "a kernel without InfiniBand" "kernel 7.9.1 has no InfiniBand"
echo 'CONFIG_INFINIBAND=m' > "$headers/include/config/auto.conf"
echo 'int f(void) { return not_there(1); }' > "$work/wrong.c"
says "a function that is gone" "kernel 7.9.1 may have another not_there than"
echo 'int g(int a, int b); int f(void) { return g(1); }' > "$work/wrong.c"
says "a function with more arguments" "another g than"
echo 'struct s { int a; }; int f(struct s *x) { return x->b + x->c; }' > "$work/wrong.c"
says "members that are gone" "another b, c than"
echo '#include <linux/there_is_no_such.h>' > "$work/wrong.c"
says "a header that is gone" "another linux/there_is_no_such.h than"
exit $failed
