/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * MPA framing of a connected stream (RFC 5044 section 4): what an FPDU consists of, and a parser
 * that finds the FPDUs in a byte stream, with or without markers. Pure functions on bytes. framer.h
 * writes FPDUs.
 *
 * An FPDU is: ULPDU length (2 bytes), ULPDU, zeros up to a multiple of 4, CRC32C
 * (4 bytes; present, but zero, where CRC is off).
 *
 * A marker has 4 bytes: 16 zero bits, then the distance back to the FPDU's length field. There is
 * a marker at each 512th byte of the stream, counted from the first FPDU. It counts as part of the
 * FPDU in which, or in front of which, it lies.
 */
#ifndef SRN_WIRE_FPDU_H
#define SRN_WIRE_FPDU_H

#include "platform.h"
#include "rdmap.h"

#define SRN_CRC_LEN		4
#define SRN_MAX_TRAILER		(3 + SRN_CRC_LEN)
/* The running CRC starts here; its complement is what is sent. */
#define SRN_CRC_SEED		(~0u)

#define SRN_MARKER_LEN		4u
#define SRN_MARKER_INTERVAL	512u

static inline bool srn_marker_due(u32 position)
{
	return !(position % SRN_MARKER_INTERVAL);
}

static inline u32 srn_fpdu_pad(u32 ulpdu_and_length)
{
	return -ulpdu_and_length & 3;
}

enum srn_fpdu_event_type {
	SRN_FPDU_MORE,		/* all input is consumed */
	SRN_FPDU_HEADER,	/* header and payload_len are valid */
	SRN_FPDU_PAYLOAD,	/* data[0..len) is at payload offset @offset */
	SRN_FPDU_END,		/* the FPDU is complete and its CRC is good */
	SRN_FPDU_ERROR,		/* term says why; the parser must not be fed again */
};

struct srn_fpdu_event {
	enum srn_fpdu_event_type type;
	const u8 *data;
	u32 len;
	u32 offset;
	struct srn_term_code term;
};

enum srn_fpdu_stage {
	SRN_STAGE_HEADER,
	SRN_STAGE_PAYLOAD,
	SRN_STAGE_TRAILER,
	SRN_STAGE_BROKEN,
};

struct srn_fpdu_parser {
	/* set up by srn_fpdu_init() */
	bool with_crc;
	bool markers;		/* the peer inserts them */

	/* of the current FPDU */
	u8 stage;		/* enum srn_fpdu_stage */
	bool crc_verified;	/* the CRC was checked before anything was placed */
	bool vouched;		/* the CRC of the FPDU that comes next has been checked */
	bool mid_message;	/* between two FPDUs of one message */
	u8 have;		/* bytes of header or trailer collected */
	u8 trailer_len;
	u8 header[SRN_MAX_HEADER];
	u8 header_len;
	u8 trailer[SRN_MAX_TRAILER];
	u32 payload_len;
	u32 payload_done;
	u32 crc;
	struct srn_rdmap_header rdmap;

	/* with markers */
	u32 position;		/* in the stream; wraps */
	u32 fpdu;		/* position of the length field of the current FPDU */
	u8 marker_have;
	u8 marker[SRN_MARKER_LEN];
	bool marker_wrong;	/* a marker in the current FPDU does not point to its start */
	u8 trailer_summed;	/* bytes of the trailer that are in the CRC already */
};

/* An FPDU that goes on where the one before it ended, and does not end the message. */
struct srn_fpdu_continuation {
	const u8 *payload;
	u32 len;		/* bytes at @payload, at least 1 */
	u64 offset;		/* TO or MO */
};

void srn_fpdu_init(struct srn_fpdu_parser *p, bool with_crc, bool markers);
u32 srn_fpdu_up_to_crc(const u8 *length);
void srn_fpdu_vouch(struct srn_fpdu_parser *p, u32 crc, const u8 *field);
void srn_fpdu_set_header(struct srn_fpdu_parser *p, const u8 *header, u32 payload);
u32 srn_fpdu_parse(struct srn_fpdu_parser *p, const u8 *data, u32 len,
		   struct srn_fpdu_event *ev);
u32 srn_fpdu_parse_whole(struct srn_fpdu_parser *p, const u8 *data, u32 len);
u32 srn_fpdu_parse_continuation(const struct srn_fpdu_parser *p, const u8 *data, u32 len,
				struct srn_fpdu_continuation *m);

/* Is the stream at an FPDU boundary, so that its end would be an orderly one? */
static inline bool srn_fpdu_at_boundary(const struct srn_fpdu_parser *p)
{
	return p->stage == SRN_STAGE_HEADER && !p->have && !p->marker_have;
}

/* Is it still unknown whether the current FPDU has arrived as it was sent? */
static inline bool srn_fpdu_in_doubt(const struct srn_fpdu_parser *p)
{
	return p->with_crc && !p->crc_verified;
}

/* Could the next bytes be for srn_fpdu_parse_continuation()? */
static inline bool srn_fpdu_in_message(const struct srn_fpdu_parser *p)
{
	return p->mid_message && p->stage == SRN_STAGE_HEADER && !p->have && !p->markers;
}

#endif /* SRN_WIRE_FPDU_H */
