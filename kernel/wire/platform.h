/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * What the codecs need from their surroundings: integer types, byte order,
 * memcpy and CRC32C. In the module these are the kernel's; the unit tests and
 * fuzzers build the same sources in user space and link a crc32c() of their own.
 */
#ifndef SRN_WIRE_PLATFORM_H
#define SRN_WIRE_PLATFORM_H

#include <linux/types.h>

#ifdef __KERNEL__

#include <linux/build_bug.h>
#include <linux/compiler.h>
#include <linux/crc32c.h>
#include <linux/errno.h>
#include <linux/string.h>
#include <asm/byteorder.h>

#else

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;

#define be16_to_cpu(x)	be16toh(x)
#define be32_to_cpu(x)	be32toh(x)
#define be64_to_cpu(x)	be64toh(x)
#define cpu_to_be16(x)	htobe16(x)
#define cpu_to_be32(x)	htobe32(x)
#define cpu_to_be64(x)	htobe64(x)
#define cpu_to_le32(x)	htole32(x)
#ifndef __packed
#define __packed	__attribute__((__packed__))
#endif
#ifndef unlikely
#define unlikely(x)	__builtin_expect(!!(x), 0)
#endif

u32 crc32c(u32 crc, const void *address, unsigned int length);

#endif /* __KERNEL__ */

#endif /* SRN_WIRE_PLATFORM_H */
