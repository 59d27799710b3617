// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * CRC32C in user space, with the calling convention of the kernel's crc32c(): the caller brings the
 * seed and inverts the result. A table made on first use; the tests and fuzzers are single-threaded.
 */
#include "platform.h"

#define CASTAGNOLI_REFLECTED 0x82f63b78u

static u32 table[256];

static void make_table(void)
{
	u32 crc;
	int i, bit;

	for (i = 0; i < 256; i++) {
		crc = i;
		for (bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? CASTAGNOLI_REFLECTED : 0);
		table[i] = crc;
	}
}

u32 crc32c(u32 crc, const void *address, unsigned int length)
{
	const u8 *p = address;

	if (!table[1])
		make_table();
	while (length--)
		crc = crc >> 8 ^ table[(crc ^ *p++) & 0xff];
	return crc;
}
