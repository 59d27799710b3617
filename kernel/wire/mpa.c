// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * MPA connection set-up frames: encode and decode.
 */
#include "mpa.h"

#define FLAG_MARKERS	0x80
#define FLAG_CRC	0x40
#define FLAG_REJECT	0x20
#define FLAG_ENHANCED	0x10

#define WORD_HIGH	0x8000	/* A in the IRD word, C in the ORD word */
#define WORD_LOW	0x4000	/* B in the IRD word, D in the ORD word */
#define WORD_DEPTH	0x3fff

struct wire_frame {
	u8 key[SRN_MPA_KEY_LEN];
	u8 flags;
	u8 revision;
	__be16 private_len;
} __packed;

struct wire_enhanced {
	__be16 ird;
	__be16 ord;
} __packed;

static_assert(sizeof(struct wire_frame) == SRN_MPA_FRAME);
static_assert(sizeof(struct wire_enhanced) == SRN_MPA_ENHANCED);

static const char request_key[] = "MPA ID Req Frame";
static const char reply_key[] = "MPA ID Rep Frame";

/**
 * srn_mpa_get_frame - decode the fixed part of a set-up frame
 * @bytes: %SRN_MPA_FRAME bytes
 * @reply: which key is expected
 * @f: result; the enhanced fields are left zero until srn_mpa_get_enhanced()
 *
 * Context: any.
 *
 * Return: 0, or -EPROTO for a wrong key, a private data length beyond
 * %SRN_MPA_MAX_PRIVATE, revision 0, or a frame that claims enhanced data and has no
 * room for it.
 */
int srn_mpa_get_frame(const u8 *bytes, bool reply, struct srn_mpa_frame *f)
{
	struct wire_frame w;

	memcpy(&w, bytes, sizeof(w));
	memset(f, 0, sizeof(*f));
	if (memcmp(w.key, reply ? reply_key : request_key, SRN_MPA_KEY_LEN))
		return -EPROTO;
	f->reply = reply;
	f->markers = w.flags & FLAG_MARKERS;
	f->crc = w.flags & FLAG_CRC;
	f->reject = reply && (w.flags & FLAG_REJECT);
	f->revision = w.revision;
	f->private_len = be16_to_cpu(w.private_len);
	f->enhanced = w.revision >= 2 && (w.flags & FLAG_ENHANCED);
	if (!w.revision || f->private_len > SRN_MPA_MAX_PRIVATE ||
	    (f->enhanced && f->private_len < SRN_MPA_ENHANCED))
		return -EPROTO;
	return 0;
}

/**
 * srn_mpa_get_enhanced - decode the IRD/ORD words of an enhanced frame
 * @bytes: the private data
 * @len: its length
 * @f: frame, decoded by srn_mpa_get_frame() with its enhanced flag set
 *
 * Context: any.
 *
 * Return: 0, or -EPROTO if @len is too short.
 */
int srn_mpa_get_enhanced(const u8 *bytes, u32 len, struct srn_mpa_frame *f)
{
	struct wire_enhanced w;
	u16 ird, ord;

	if (len < sizeof(w))
		return -EPROTO;
	memcpy(&w, bytes, sizeof(w));
	ird = be16_to_cpu(w.ird);
	ord = be16_to_cpu(w.ord);
	f->ird = ird & WORD_DEPTH;
	f->ord = ord & WORD_DEPTH;
	f->peer_to_peer = ird & WORD_HIGH;
	/* Without the peer-to-peer flag the RTR flags have no meaning. */
	f->rtr_send = f->peer_to_peer && (ird & WORD_LOW);
	f->rtr_write = f->peer_to_peer && (ord & WORD_HIGH);
	f->rtr_read = f->peer_to_peer && (ord & WORD_LOW);
	return 0;
}

/**
 * srn_mpa_put_frame - write a set-up frame without the ULP's private data
 * @out: where to, %SRN_MPA_FRAME + %SRN_MPA_ENHANCED bytes
 * @f: what to say; its private_len is not used
 * @ulp_private_len: bytes of private data that the caller sends after the frame
 *
 * Context: any.
 *
 * Return: bytes written.
 */
u32 srn_mpa_put_frame(u8 *out, const struct srn_mpa_frame *f, u32 ulp_private_len)
{
	struct wire_enhanced e;
	struct wire_frame w;

	memcpy(w.key, f->reply ? reply_key : request_key, SRN_MPA_KEY_LEN);
	w.flags = (f->markers ? FLAG_MARKERS : 0) | (f->crc ? FLAG_CRC : 0) |
		  (f->reply && f->reject ? FLAG_REJECT : 0) |
		  (f->enhanced ? FLAG_ENHANCED : 0);
	w.revision = f->revision;
	w.private_len = cpu_to_be16(ulp_private_len + (f->enhanced ? SRN_MPA_ENHANCED : 0));
	memcpy(out, &w, sizeof(w));
	if (!f->enhanced)
		return sizeof(w);
	/* Without the peer-to-peer flag the RTR flags must be clear. */
	e.ird = cpu_to_be16((f->ird & WORD_DEPTH) | (f->peer_to_peer ? WORD_HIGH : 0) |
			    (f->peer_to_peer && f->rtr_send ? WORD_LOW : 0));
	e.ord = cpu_to_be16((f->ord & WORD_DEPTH) |
			    (f->peer_to_peer && f->rtr_write ? WORD_HIGH : 0) |
			    (f->peer_to_peer && f->rtr_read ? WORD_LOW : 0));
	memcpy(out + sizeof(w), &e, sizeof(e));
	return sizeof(w) + sizeof(e);
}
