# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Name the objects in a kmemleak report that a removed module's code allocated.
#   awk -v start=ADDRESS -v size=BYTES -v allowed=FILE -f kmemleak.awk SYMBOLS REPORT
# SYMBOLS: the module's lines of /proc/kallsyms, sorted. One line for each object:
# what it is, and the module's functions that led to it. Those that are known to be
# the kernel's own leaks go to FILE instead.

# The lower 48 bits: more than these a number cannot hold exactly.
function address(hex,    i, n) {
	sub(/^0x/, "", hex)
	if (length(hex) > 12)
		hex = substr(hex, length(hex) - 11)
	for (i = 1; i <= length(hex); i++)
		n = n * 16 + index("0123456789abcdef", substr(hex, i, 1)) - 1
	return n
}

function function_at(at,    i) {
	for (i = symbols; i > 0 && where[i] > at; i--)
		;
	return name[i]
}

# When a device is registered, Linux 6.1 puts the commands of uverbs into a radix tree.
# If a node of it cannot be allocated, the empty ones above stay linked: only entries
# are removed when the attempt is given up, and with the last entry its nodes. Such a
# node came from radix_tree_insert(), called from uverbs_alloc_api(), with none of
# the module's functions in between; that one of them registered the device does not
# make it the module's.
function is_kernels_own() {
	return inner ~ / radix_tree_insert( .*)? uverbs_alloc_api$/
}

function report() {
	if (callers != "" && is_kernels_own())
		print object callers > allowed
	else if (callers != "")
		print object callers
	callers = inner = ""
}

BEGIN { first = address(start); last = first + size }

FILENAME == ARGV[1] {
	name[++symbols] = $3
	where[symbols] = address($1)
	next
}

/^unreferenced object/ {
	report()
	object = $0
	next
}

# From the allocation outwards. Of the kernel's functions those up to
# uverbs_alloc_api() matter, and only before the first of the module's. Newer kernels leave out the
# address in front of the name. Lines of the dump have several words.
/^    (\[<[^>]*>\] )?[^ ]+( \[[^ ]+\])?$/ {
	at = address($NF)
	if ($NF ~ /^0x[0-9a-f]+$/ && at >= first && at < last)
		callers = callers " < " function_at(at)
	else if (callers == "" && inner !~ / uverbs_alloc_api$/)
		inner = inner " " substr($NF, 1, index($NF "+", "+") - 1)
}

END { report() }
