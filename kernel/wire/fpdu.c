// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * MPA framing: the FPDU parser.
 */
#include "fpdu.h"

/**
 * srn_fpdu_init - prepare a parser for the first byte of a stream
 * @p: parser
 * @with_crc: check the CRC of each FPDU
 * @markers: the peer was asked to insert markers
 *
 * Context: any.
 */
void srn_fpdu_init(struct srn_fpdu_parser *p, bool with_crc, bool markers)
{
	memset(p, 0, sizeof(*p));
	p->with_crc = with_crc;
	p->markers = markers;
	p->crc = SRN_CRC_SEED;
}

static u32 fail(struct srn_fpdu_parser *p, struct srn_fpdu_event *ev, struct srn_term_code term)
{
	p->stage = SRN_STAGE_BROKEN;
	ev->type = SRN_FPDU_ERROR;
	ev->term = term;
	return 0;
}

static u32 ulpdu_length(const u8 *bytes)
{
	return bytes[0] << 8 | bytes[1];
}

/* Return: bytes of length field and header that are needed, as far as is known by now. */
static u32 header_need(const u8 *bytes, u32 have)
{
	if (have < SRN_MPA_LENGTH + 1)
		return SRN_MPA_LENGTH + 1;
	return bytes[SRN_MPA_LENGTH] & SRN_DDP_TAGGED ? SRN_TAGGED_HEADER : SRN_UNTAGGED_HEADER;
}

static bool crc_matches(u32 crc, const u8 *field)
{
	__le32 want = cpu_to_le32(~crc);

	return !memcmp(&want, field, SRN_CRC_LEN);
}

/* The same for an FPDU that lies in one piece, with @len bytes in front of the CRC. */
static bool whole_crc_matches(const u8 *fpdu, u32 len)
{
	return crc_matches(crc32c(SRN_CRC_SEED, fpdu, len), fpdu + len);
}

/* The same for one that came in pieces, once its trailer is complete. */
static bool trailer_matches(const struct srn_fpdu_parser *p)
{
	u32 end = p->trailer_len - SRN_CRC_LEN;
	u32 crc = crc32c(p->crc, p->trailer + p->trailer_summed, end - p->trailer_summed);

	return crc_matches(crc, p->trailer + end);
}

/*
 * If the whole FPDU lies in this piece of input, as it does whenever the sender keeps FPDUs within
 * TCP segments, its CRC is checked before a single byte of it is interpreted or placed.
 */
static int verify_early(struct srn_fpdu_parser *p, const u8 *data, u32 len)
{
	u32 body, pad;

	if (!p->with_crc || p->markers || len < SRN_MPA_LENGTH)
		return 0;
	body = SRN_MPA_LENGTH + ulpdu_length(data);
	pad = srn_fpdu_pad(body);
	if (len < body + pad + SRN_CRC_LEN)
		return 0;
	if (!whole_crc_matches(data, body + pad))
		return -EBADMSG;
	p->crc_verified = true;
	return 0;
}

/* Collect length field and header. Return: bytes used; @ev is HEADER once both are complete. */
static u32 collect_header(struct srn_fpdu_parser *p, const u8 *data, u32 len,
			  struct srn_fpdu_event *ev)
{
	u32 used = 0, need, take;

	ev->type = SRN_FPDU_MORE;
	while (p->have < (need = header_need(p->header, p->have))) {
		take = need - p->have < len - used ? need - p->have : len - used;
		if (!take)
			return used;
		memcpy(p->header + p->have, data + used, take);
		/* A marker may lie within the header, so the CRC is computed in wire order. */
		if (p->markers && p->with_crc)
			p->crc = crc32c(p->crc, data + used, take);
		p->have += take;
		used += take;
		/* A ULPDU too short for its own header never becomes complete. */
		if (p->have > SRN_MPA_LENGTH &&
		    ulpdu_length(p->header) + SRN_MPA_LENGTH < header_need(p->header, p->have)) {
			fail(p, ev, SRN_TERM(SRN_LAYER_LLP, SRN_LLP_MPA, SRN_MPA_LENGTH_MARKER));
			return used;
		}
	}
	ev->type = SRN_FPDU_HEADER;
	return used;
}

/*
 * Take length field and header in one copy of constant length. A peer on this host may change them
 * while they are looked at, so only the copy is. Return: false if they have to be collected.
 */
static bool copy_header(struct srn_fpdu_parser *p, const u8 *data, u32 len)
{
	if (p->have || p->markers || len < SRN_MAX_HEADER)
		return false;
	memcpy(p->header, data, SRN_MAX_HEADER);
	return ulpdu_length(p->header) + SRN_MPA_LENGTH >= SRN_MAX_HEADER;
}

static u32 parse_header(struct srn_fpdu_parser *p, const u8 *data, u32 len,
			struct srn_fpdu_event *ev)
{
	u32 used, need, ulpdu;

	if (!p->have) {
		p->crc_verified = p->vouched;
		p->vouched = false;
		p->fpdu = p->position;
		if (!p->crc_verified && verify_early(p, data, len))
			return fail(p, ev, SRN_TERM(SRN_LAYER_LLP, SRN_LLP_MPA, SRN_MPA_CRC));
	}
	if (copy_header(p, data, len)) {
		used = header_need(p->header, SRN_MAX_HEADER);
	} else {
		used = collect_header(p, data, len, ev);
		if (ev->type != SRN_FPDU_HEADER)
			return used;
	}
	need = header_need(p->header, SRN_MAX_HEADER);
	ulpdu = ulpdu_length(p->header);
	p->header_len = need;
	p->payload_len = ulpdu + SRN_MPA_LENGTH - need;
	p->payload_done = 0;
	p->trailer_len = srn_fpdu_pad(ulpdu + SRN_MPA_LENGTH) + SRN_CRC_LEN;
	p->have = 0;
	if (srn_fpdu_in_doubt(p) && !p->markers)
		p->crc = crc32c(SRN_CRC_SEED, p->header, need);
	srn_rdmap_get_header(p->header, &p->rdmap);
	p->stage = p->payload_len ? SRN_STAGE_PAYLOAD : SRN_STAGE_TRAILER;
	ev->type = SRN_FPDU_HEADER;
	return used;
}

static u32 parse_payload(struct srn_fpdu_parser *p, const u8 *data, u32 len,
			 struct srn_fpdu_event *ev)
{
	u32 left = p->payload_len - p->payload_done;
	u32 take = left < len ? left : len;

	if (srn_fpdu_in_doubt(p))
		p->crc = crc32c(p->crc, data, take);
	ev->type = SRN_FPDU_PAYLOAD;
	ev->data = data;
	ev->len = take;
	ev->offset = p->payload_done;
	p->payload_done += take;
	if (p->payload_done == p->payload_len)
		p->stage = SRN_STAGE_TRAILER;
	return take;
}

static u32 parse_trailer(struct srn_fpdu_parser *p, const u8 *data, u32 len,
			 struct srn_fpdu_event *ev)
{
	u32 take = p->trailer_len - p->have;

	if (take > len)
		take = len;
	/* Nobody looks at a trailer that is complete and has been checked. */
	if (take < p->trailer_len || srn_fpdu_in_doubt(p))
		memcpy(p->trailer + p->have, data, take);
	p->have += take;
	if (p->have < p->trailer_len) {
		ev->type = SRN_FPDU_MORE;
		return take;
	}
	if (srn_fpdu_in_doubt(p) && !trailer_matches(p)) {
		fail(p, ev, SRN_TERM(SRN_LAYER_LLP, SRN_LLP_MPA, SRN_MPA_CRC));
		return take;
	}
	/* With CRC on, it is known only now that the marker has arrived as it was sent. */
	if (p->marker_wrong) {
		fail(p, ev, SRN_TERM(SRN_LAYER_LLP, SRN_LLP_MPA, SRN_MPA_LENGTH_MARKER));
		return take;
	}
	p->have = 0;
	p->trailer_summed = 0;
	p->crc = SRN_CRC_SEED;
	p->stage = SRN_STAGE_HEADER;
	p->mid_message = !p->rdmap.last;
	ev->type = SRN_FPDU_END;
	return take;
}

static u32 parse_unmarked(struct srn_fpdu_parser *p, const u8 *data, u32 len,
			  struct srn_fpdu_event *ev)
{
	if (!len && p->stage != SRN_STAGE_BROKEN) {
		ev->type = SRN_FPDU_MORE;
		return 0;
	}
	switch (p->stage) {
	case SRN_STAGE_HEADER:
		return parse_header(p, data, len, ev);
	case SRN_STAGE_PAYLOAD:
		return parse_payload(p, data, len, ev);
	case SRN_STAGE_TRAILER:
		return parse_trailer(p, data, len, ev);
	default:
		return fail(p, ev, SRN_TERM(SRN_LAYER_LLP, SRN_LLP_MPA,
					    SRN_MPA_LOCAL_CATASTROPHIC));
	}
}

/*
 * A marker is complete. It lies in front of the next FPDU or within the current one, and counts for
 * the CRC. Return: true if it points to where its FPDU begins.
 */
static bool end_marker(struct srn_fpdu_parser *p)
{
	bool between = p->stage == SRN_STAGE_HEADER && !p->have;
	u32 at = p->position - SRN_MARKER_LEN;

	if (p->with_crc && p->stage == SRN_STAGE_TRAILER) {
		/* Padding comes before the marker, which comes before the CRC. */
		p->crc = crc32c(p->crc, p->trailer, p->have);
		p->trailer_summed = p->have;
	}
	if (p->with_crc)
		p->crc = crc32c(p->crc, p->marker, SRN_MARKER_LEN);
	return (u32)(p->marker[2] << 8 | (p->marker[3] & ~3)) == (between ? 0 : at - p->fpdu);
}

/* Return: bytes of a marker that were taken, 0 if none is due. */
static u32 take_marker(struct srn_fpdu_parser *p, const u8 *data, u32 len)
{
	u32 take = SRN_MARKER_LEN - p->marker_have;

	if (!p->marker_have && !srn_marker_due(p->position))
		return 0;
	if (take > len)
		take = len;
	memcpy(p->marker + p->marker_have, data, take);
	p->marker_have += take;
	p->position += take;
	return take;
}

static u32 parse_marked(struct srn_fpdu_parser *p, const u8 *data, u32 len,
			struct srn_fpdu_event *ev)
{
	u32 used = 0, run, n;

	do {
		ev->type = SRN_FPDU_MORE;
		used += take_marker(p, data + used, len - used);
		if (p->marker_have && p->marker_have < SRN_MARKER_LEN)
			return used;
		if (p->marker_have && !end_marker(p))
			p->marker_wrong = true;
		if (p->marker_wrong && !p->with_crc) {
			fail(p, ev, SRN_TERM(SRN_LAYER_LLP, SRN_LLP_MPA, SRN_MPA_LENGTH_MARKER));
			return used;
		}
		p->marker_have = 0;
		run = SRN_MARKER_INTERVAL - p->position % SRN_MARKER_INTERVAL;
		n = parse_unmarked(p, data + used, run < len - used ? run : len - used, ev);
		p->position += n;
		used += n;
	} while (ev->type == SRN_FPDU_MORE && used < len);
	return used;
}

/**
 * srn_fpdu_up_to_crc - where is the CRC field of an FPDU?
 * @length: its length field, %SRN_MPA_LENGTH bytes
 *
 * Context: any.
 *
 * Return: bytes that come before it.
 */
u32 srn_fpdu_up_to_crc(const u8 *length)
{
	u32 body = SRN_MPA_LENGTH + ulpdu_length(length);

	return body + srn_fpdu_pad(body);
}

/**
 * srn_fpdu_vouch - say that the FPDU that comes next is whole, if its CRC is good
 * @p: parser between two FPDUs, without markers; it has to be given the FPDU next
 * @crc: running CRC32C of all that comes before the CRC field, from %SRN_CRC_SEED on
 * @field: CRC field
 *
 * An FPDU that lies in several pieces need not be reassembled if somebody has seen all of them. A
 * bad CRC is left to srn_fpdu_parse(), which says so.
 *
 * Context: any.
 */
void srn_fpdu_vouch(struct srn_fpdu_parser *p, u32 crc, const u8 *field)
{
	p->vouched = crc_matches(crc, field);
}

/**
 * srn_fpdu_set_header - take a header that has come by another way, and is as it was sent
 * @p: parser between two FPDUs
 * @header: length field and header, %SRN_MAX_HEADER bytes
 * @payload: bytes that follow
 *
 * The parser has the header as that of the last FPDU, and is still between two FPDUs.
 *
 * Context: any.
 */
void srn_fpdu_set_header(struct srn_fpdu_parser *p, const u8 *header, u32 payload)
{
	memcpy(p->header, header, SRN_MAX_HEADER);
	p->header_len = header_need(p->header, SRN_MAX_HEADER);
	p->payload_len = payload;
	p->crc_verified = true;
	p->mid_message = false;
	srn_rdmap_get_header(p->header, &p->rdmap);
}

/**
 * srn_fpdu_parse - consume bytes up to the next event
 * @p: parser
 * @data: the stream's next bytes
 * @len: how many; may be 0
 * @ev: what was found; with %SRN_FPDU_MORE all of @data is used up
 *
 * Call it again with the rest until it asks for more. An FPDU gives one HEADER,
 * PAYLOAD events that cover its payload in order (none if it is empty), and one
 * END. Payload is handed out in place. If there are no markers and an FPDU lies in
 * one piece, its CRC is checked before HEADER, and so it is after srn_fpdu_vouch();
 * otherwise before END. After ERROR the parser is broken for good. RFC 5044 section 4.
 *
 * Context: any.
 *
 * Return: bytes of @data consumed.
 */
u32 srn_fpdu_parse(struct srn_fpdu_parser *p, const u8 *data, u32 len, struct srn_fpdu_event *ev)
{
	if (unlikely(p->markers) && p->stage != SRN_STAGE_BROKEN)
		return parse_marked(p, data, len, ev);
	return parse_unmarked(p, data, len, ev);
}

/*
 * Does a whole FPDU lie here, with a good CRC if that is on? Return: its length in bytes, of which
 * *@body lie in front of the padding; 0 if not. @len covers the length field at least.
 */
static inline u32 whole_fpdu(const struct srn_fpdu_parser *p, const u8 *data, u32 len, u32 *body)
{
	u32 pad;

	*body = SRN_MPA_LENGTH + ulpdu_length(data);
	pad = srn_fpdu_pad(*body);
	if (*body + pad + SRN_CRC_LEN > len)
		return 0;
	if (p->with_crc && !whole_crc_matches(data, *body + pad))
		return 0;
	return *body + pad + SRN_CRC_LEN;
}

/**
 * srn_fpdu_parse_whole - parse an FPDU that lies in one piece, in one step
 * @p: parser; afterwards it has the header and payload_len of this FPDU, and has passed it
 * @data: the stream's next bytes; the payload is at header_len
 * @len: how many
 *
 * Most FPDUs of short messages lie in one piece. An FPDU that does not, is wrong, or lies among
 * markers is left to srn_fpdu_parse(), which says what it is. srn_fpdu_parse() may also be given
 * the same bytes once more, if nothing has been done with them.
 *
 * Context: any.
 *
 * Return: length of the FPDU in bytes, 0 if no such FPDU lies here.
 */
u32 srn_fpdu_parse_whole(struct srn_fpdu_parser *p, const u8 *data, u32 len)
{
	u32 used, body, header;

	if (p->markers || p->stage != SRN_STAGE_HEADER || p->have || len < SRN_MAX_HEADER)
		return 0;
	used = whole_fpdu(p, data, len, &body);
	if (!used)
		return 0;
	/* As in copy_header(), only the copy is looked at. */
	memcpy(p->header, data, SRN_MAX_HEADER);
	header = header_need(p->header, SRN_MAX_HEADER);
	if (body < header)
		return 0;
	p->crc_verified = true;
	p->header_len = header;
	p->payload_len = body - header;
	srn_rdmap_get_header(p->header, &p->rdmap);
	p->mid_message = !p->rdmap.last;
	return used;
}

/* Does the header that lies here differ from the last one in length and offset only? */
static bool goes_on(const struct srn_fpdu_parser *p, const u8 *data, u64 *offset)
{
	struct srn_wire_untagged u;
	struct srn_wire_tagged t;

	if (p->header_len == SRN_TAGGED_HEADER) {
		memcpy(&t, data, sizeof(t));
		*offset = be64_to_cpu(t.to);
		return !memcmp(&t.ddp_ctrl, p->header + SRN_MPA_LENGTH,
			       offsetof(struct srn_wire_tagged, to) - SRN_MPA_LENGTH);
	}
	memcpy(&u, data, sizeof(u));
	*offset = be32_to_cpu(u.mo);
	return !memcmp(&u.ddp_ctrl, p->header + SRN_MPA_LENGTH,
		       offsetof(struct srn_wire_untagged, mo) - SRN_MPA_LENGTH);
}

/**
 * srn_fpdu_parse_continuation - parse a whole FPDU in the middle of a message, in one step
 * @p: parser; it is left unchanged, and continues behind this FPDU
 * @data: the stream's next bytes
 * @len: how many
 * @m: what the FPDU holds
 *
 * Most of a long message consists of such FPDUs: their control bytes, STag, queue and MSN are
 * those of the FPDU before, which has been checked, and only the offset differs. An FPDU that is
 * anything else, is wrong, lies in pieces or among markers is left to srn_fpdu_parse(), which says
 * what it is.
 *
 * Context: any.
 *
 * Return: length of the FPDU in bytes, 0 if no such FPDU lies here.
 */
u32 srn_fpdu_parse_continuation(const struct srn_fpdu_parser *p, const u8 *data, u32 len,
				struct srn_fpdu_continuation *m)
{
	u32 used, body;

	if (!srn_fpdu_in_message(p) || len < SRN_MAX_HEADER || !goes_on(p, data, &m->offset))
		return 0;
	used = whole_fpdu(p, data, len, &body);
	if (!used || body <= p->header_len)
		return 0;
	m->payload = data + p->header_len;
	m->len = body - p->header_len;
	return used;
}
