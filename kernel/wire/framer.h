/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Writing FPDUs into linear memory, with markers where the peer wants them (RFC 5044
 * sections 4.1 and 4.3). Pure functions on bytes.
 *
 *	n = srn_framer_begin(f, out);
 *	n += srn_framer_put(f, out + n, header and payload, piece by piece);
 *	n += srn_framer_end(f, out + n);
 *
 * A marker has 4 bytes: 16 zero bits, then the distance back to the FPDU's length field. There is
 * a marker at each 512th byte of the stream, counted from the first FPDU. It counts as part of the
 * FPDU in which, or in front of which, it lies.
 */
#ifndef SRN_WIRE_FRAMER_H
#define SRN_WIRE_FRAMER_H

#include "platform.h"

#define SRN_MARKER_LEN		4u
#define SRN_MARKER_INTERVAL	512u

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

static inline bool srn_marker_due(u32 position)
{
	return !(position % SRN_MARKER_INTERVAL);
}

void srn_framer_init(struct srn_framer *f, bool with_crc, bool markers);
u32 srn_framer_begin(struct srn_framer *f, u8 *out);
u32 srn_framer_put(struct srn_framer *f, u8 *out, const void *data, u32 len);
u32 srn_framer_end(struct srn_framer *f, u8 *out);

#endif /* SRN_WIRE_FRAMER_H */
