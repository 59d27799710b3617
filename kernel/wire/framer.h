/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Writing FPDUs into linear memory, with markers where the peer wants them (RFC 5044
 * sections 4.1 and 4.3). Pure functions on bytes.
 *
 *	n = srn_framer_begin(f, out);
 *	n += srn_framer_put(f, out + n, header and payload, piece by piece);
 *	n += srn_framer_end(f, out + n);
 *
 * A marker is 4 bytes: 16 of zero, then how far the FPDU's length field lies back. It
 * stands at each 512th byte of the stream, counted from the first FPDU, and counts as
 * part of the FPDU that it is in or in front of.
 */
#ifndef SRN_WIRE_FRAMER_H
#define SRN_WIRE_FRAMER_H

#include "platform.h"

#define SRN_MARKER_LEN		4u
#define SRN_MARKER_INTERVAL	512u

/* Markers among @len bytes of an FPDU, at most. */
#define SRN_MAX_MARKERS(len)	((len) / (SRN_MARKER_INTERVAL - SRN_MARKER_LEN) + 2)

struct srn_framer {
	bool with_crc;
	bool markers;
	u32 position;		/* in the stream; wraps */
	u32 fpdu;		/* where the length field of the FPDU in hand is */
	u32 length;		/* bytes of it up to here, without markers */
	u32 crc;
};

static inline bool srn_marker_due(u32 position)
{
	return !(position % SRN_MARKER_INTERVAL);
}

void srn_framer_init(struct srn_framer *f, bool with_crc, bool markers);
u32 srn_framer_begin(struct srn_framer *f, u8 *out);
u32 srn_framer_put(struct srn_framer *f, u8 *out, const void *data, u32 len);
u32 srn_framer_end(struct srn_framer *f, u8 *out);

#endif /* SRN_WIRE_FRAMER_H */
