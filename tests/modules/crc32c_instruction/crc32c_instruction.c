// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * CRC32C by the processor's own instruction, for all that ask the kernel's crypto API for it. User
 * Mode Linux has none of the code that the kernel has for x86, so that CRCs would take many times
 * what they take on hardware. This one needs no vector registers.
 */
#include <crypto/internal/hash.h>
#include <linux/crc32.h>
#include <linux/module.h>
#include <asm/unaligned.h>

/*
 * The instruction's result can be used three cycles later, so that three parts of the input are
 * worked on at a time. To join them, the CRC of a part is moved past the next one: that is linear,
 * so it is looked up by byte.
 */
#define PART	256

static u32 past_part[sizeof(u32)][256];

static void make_table(void)
{
	u32 byte, value;

	for (byte = 0; byte < sizeof(u32); byte++)
		for (value = 0; value < 256; value++)
			past_part[byte][value] = __crc32c_le_shift(value << (8 * byte), PART);
}

static u32 move_past_part(u32 crc)
{
	return past_part[0][crc & 0xff] ^ past_part[1][crc >> 8 & 0xff] ^
	       past_part[2][crc >> 16 & 0xff] ^ past_part[3][crc >> 24];
}

static inline u64 add_word(u64 crc, const u8 *data)
{
	asm("crc32q %1, %0" : "+r" (crc) : "m" (*(const u64 *)data));
	return crc;
}

static inline u32 add_byte(u32 crc, u8 byte)
{
	asm("crc32b %1, %0" : "+r" (crc) : "rm" (byte));
	return crc;
}

static u32 crc_parts(u32 crc, const u8 *data)
{
	u64 first = crc, second = 0, third = 0;
	u32 at;

	for (at = 0; at < PART; at += sizeof(u64)) {
		first = add_word(first, data + at);
		second = add_word(second, data + PART + at);
		third = add_word(third, data + 2 * PART + at);
	}
	return move_past_part(move_past_part(first) ^ second) ^ third;
}

static u32 crc_of(u32 crc, const u8 *data, unsigned int len)
{
	for (; len >= 3 * PART; len -= 3 * PART, data += 3 * PART)
		crc = crc_parts(crc, data);
	for (; len >= sizeof(u64); len -= sizeof(u64), data += sizeof(u64))
		crc = add_word(crc, data);
	while (len--)
		crc = add_byte(crc, *data++);
	return crc;
}

static int set_key(struct crypto_shash *tfm, const u8 *key, unsigned int len)
{
	if (len != sizeof(u32))
		return -EINVAL;
	*(u32 *)crypto_shash_ctx(tfm) = get_unaligned_le32(key);
	return 0;
}

static int set_default_key(struct crypto_tfm *tfm)
{
	*(u32 *)crypto_tfm_ctx(tfm) = ~0;
	return 0;
}

static int begin(struct shash_desc *desc)
{
	*(u32 *)shash_desc_ctx(desc) = *(u32 *)crypto_shash_ctx(desc->tfm);
	return 0;
}

static int update(struct shash_desc *desc, const u8 *data, unsigned int len)
{
	u32 *crc = shash_desc_ctx(desc);

	*crc = crc_of(*crc, data, len);
	return 0;
}

static int finish(struct shash_desc *desc, u8 *out)
{
	put_unaligned_le32(~*(u32 *)shash_desc_ctx(desc), out);
	return 0;
}

static struct shash_alg alg = {
	.setkey = set_key,
	.init = begin,
	.update = update,
	.final = finish,
	.digestsize = sizeof(u32),
	.descsize = sizeof(u32),
	.base = {
		.cra_name = "crc32c",
		.cra_driver_name = "crc32c-instruction",
		.cra_priority = 200,
		.cra_flags = CRYPTO_ALG_OPTIONAL_KEY,
		.cra_blocksize = 1,
		.cra_ctxsize = sizeof(u32),
		.cra_init = set_default_key,
		.cra_module = THIS_MODULE,
	},
};

static int __init crc32c_instruction_init(void)
{
	u8 text[1000];
	u32 i;

	make_table();
	for (i = 0; i < sizeof(text); i++)
		text[i] = i * i;
	if (crc_of(~0, text, sizeof(text)) != __crc32c_le(~0, text, sizeof(text)))
		return -EINVAL;
	return crypto_register_shash(&alg);
}

static void __exit crc32c_instruction_exit(void)
{
	crypto_unregister_shash(&alg);
}

module_init(crc32c_instruction_init);
module_exit(crc32c_instruction_exit);
MODULE_DESCRIPTION("CRC32C by the processor's instruction, for the benchmark");
MODULE_LICENSE("Dual BSD/GPL");
