/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The sender's half of MPA framing: how large an FPDU may be, what it ends with, and writing one
 * into linear memory, with markers where the peer wants them (RFC 5044 sections 4.1 and 4.3). Pure
 * functions on bytes.
 *
 *	n = srn_framer_begin(f, out);
 *	n += srn_framer_put(f, out + n, header and payload, piece by piece);
 *	n += srn_framer_end(f, out + n);
 */
#ifndef SRN_WIRE_FRAMER_H
#define SRN_WIRE_FRAMER_H

#include "fpdu.h"

/*
 * The most that a sender may put in an FPDU, which then fits an IP datagram (RFC 5044 section 3);
 * a receiver takes what the length field can say.
 */
#define SRN_MAX_ULPDU		64768u
#define SRN_MAX_FPDU		(SRN_MPA_LENGTH + SRN_MAX_ULPDU + 2 + SRN_CRC_LEN)

/*
 * A smaller MSS is treated as this one, and FPDUs then span segments. It has room for the least
 * ULPDU that RFC 5044 section 4.5 allows, 128 bytes, and for what goes with that.
 */
#define SRN_MIN_MSS		256u

/* The most markers that can lie among @len bytes of an FPDU. */
#define SRN_MAX_MARKERS(len)	((len) / (SRN_MARKER_INTERVAL - SRN_MARKER_LEN) + 2)

struct srn_framer {
	bool with_crc;
	bool markers;
	u32 position;		/* in the stream; wraps */
	u32 fpdu;		/* position of the length field of the current FPDU */
	u32 length;		/* bytes of the current FPDU so far, without markers */
	u32 crc;
};

/* Must all payload be copied? A CRC is of bytes that nobody changes; markers lie in between. */
static inline bool srn_framer_copies(const struct srn_framer *f)
{
	return f->with_crc || f->markers;
}

u32 srn_framer_mulpdu(u32 mss, bool markers);
u32 srn_framer_put_trailer(u8 *out, u32 ulpdu_and_length, bool with_crc, u32 crc);
void srn_framer_init(struct srn_framer *f, bool with_crc, bool markers);
u32 srn_framer_begin(struct srn_framer *f, u8 *out);
u32 srn_framer_put(struct srn_framer *f, u8 *out, const void *data, u32 len);
u32 srn_framer_end(struct srn_framer *f, u8 *out);

#endif /* SRN_WIRE_FRAMER_H */
