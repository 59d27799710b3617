# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Name the objects in a kmemleak report that a removed module's code allocated.
#   awk -v start=ADDRESS -v size=BYTES -f kmemleak.awk SYMBOLS REPORT
# SYMBOLS: the module's lines of /proc/kallsyms, sorted. One line for each object:
# what it is, and the module's functions that led to it.

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

function report() {
	if (callers != "")
		print object callers
	callers = ""
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

/^    \[<.*>\] / {
	at = address($NF)
	if ($NF ~ /^0x[0-9a-f]+$/ && at >= first && at < last)
		callers = callers " < " function_at(at)
}

END { report() }
