// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The sender's half of MPA framing.
 */
#include "framer.h"

/**
 * srn_framer_mulpdu - MULPDU, the largest ULPDU whose FPDU fits an effective MSS
 * @mss: bytes of TCP payload in one segment
 * @markers: the stream has markers, which take a part of @mss
 *
 * An FPDU with a ULPDU of this length fills @mss as far as the 4-byte granularity of FPDUs
 * allows, so that segmentation offload cuts the stream at FPDU boundaries (RFC 5044 section 4.5).
 *
 * Context: any.
 *
 * Return: bytes.
 */
u32 srn_framer_mulpdu(u32 mss, bool markers)
{
	u32 fpdu = (mss < SRN_MIN_MSS ? SRN_MIN_MSS : mss) & ~3u;
	u32 ulpdu;

	if (markers)
		fpdu -= SRN_MARKER_LEN * ((fpdu + SRN_MARKER_INTERVAL - 1) / SRN_MARKER_INTERVAL);
	ulpdu = fpdu - SRN_MPA_LENGTH - SRN_CRC_LEN;
	return ulpdu < SRN_MAX_ULPDU ? ulpdu : SRN_MAX_ULPDU;
}

/**
 * srn_framer_put_trailer - write padding and CRC of an FPDU
 * @out: where to, %SRN_MAX_TRAILER bytes
 * @ulpdu_and_length: bytes before the padding
 * @with_crc: CRC is on; otherwise the CRC field is zero
 * @crc: running CRC32C over the bytes before the padding
 *
 * Context: any.
 *
 * Return: bytes written.
 */
u32 srn_framer_put_trailer(u8 *out, u32 ulpdu_and_length, bool with_crc, u32 crc)
{
	u32 pad = srn_fpdu_pad(ulpdu_and_length);
	__le32 field = 0;

	memset(out, 0, SRN_MAX_TRAILER);
	if (with_crc)
		field = cpu_to_le32(~(pad ? crc32c(crc, out, pad) : crc));
	memcpy(out + pad, &field, SRN_CRC_LEN);
	return pad + SRN_CRC_LEN;
}

/**
 * srn_framer_init - prepare for the first byte of a stream
 * @f: framer
 * @with_crc: CRC is on; otherwise the CRC field is zero
 * @markers: the peer wants markers
 *
 * Context: any.
 */
void srn_framer_init(struct srn_framer *f, bool with_crc, bool markers)
{
	memset(f, 0, sizeof(*f));
	f->with_crc = with_crc;
	f->markers = markers;
}

static void account(struct srn_framer *f, const u8 *bytes, u32 len)
{
	f->position += len;
	if (f->with_crc)
		f->crc = crc32c(f->crc, bytes, len);
}

static u32 put_marker(struct srn_framer *f, u8 *out, u32 back)
{
	__be32 marker = cpu_to_be32(back);

	if (!f->markers || !srn_marker_due(f->position))
		return 0;
	memcpy(out, &marker, SRN_MARKER_LEN);
	account(f, out, SRN_MARKER_LEN);
	return SRN_MARKER_LEN;
}

/**
 * srn_framer_begin - begin an FPDU
 * @f: framer
 * @out: where to, %SRN_MARKER_LEN bytes
 *
 * Context: any.
 *
 * Return: bytes written.
 */
u32 srn_framer_begin(struct srn_framer *f, u8 *out)
{
	u32 n;

	f->crc = SRN_CRC_SEED;
	f->length = 0;
	n = put_marker(f, out, 0);
	f->fpdu = f->position;
	return n;
}

/**
 * srn_framer_put - add bytes to an FPDU, from its length field on
 * @f: framer
 * @out: where to; room for @len bytes and %SRN_MAX_MARKERS(@len) markers
 * @data: bytes; each is read once
 * @len: how many
 *
 * Context: any.
 *
 * Return: bytes written.
 */
u32 srn_framer_put(struct srn_framer *f, u8 *out, const void *data, u32 len)
{
	const u8 *from = data;
	u32 n = 0, take;

	while (len) {
		/* The marker in front of the FPDU has been written. */
		if (f->length)
			n += put_marker(f, out + n, f->position - f->fpdu);
		take = len;
		if (f->markers) {
			take = SRN_MARKER_INTERVAL - f->position % SRN_MARKER_INTERVAL;
			take = take < len ? take : len;
		}
		memcpy(out + n, from, take);
		account(f, out + n, take);
		f->length += take;
		from += take;
		n += take;
		len -= take;
	}
	return n;
}

/**
 * srn_framer_end - end an FPDU: padding and CRC
 * @f: framer
 * @out: where to; room for %SRN_MAX_TRAILER and %SRN_MARKER_LEN bytes
 *
 * Context: any.
 *
 * Return: bytes written.
 */
u32 srn_framer_end(struct srn_framer *f, u8 *out)
{
	static const u8 zeros[3];
	__le32 field = 0;
	u32 n;

	n = srn_framer_put(f, out, zeros, srn_fpdu_pad(f->length));
	n += put_marker(f, out + n, f->position - f->fpdu);
	if (f->with_crc)
		field = cpu_to_le32(~f->crc);
	memcpy(out + n, &field, SRN_CRC_LEN);
	f->position += SRN_CRC_LEN;
	return n + SRN_CRC_LEN;
}
