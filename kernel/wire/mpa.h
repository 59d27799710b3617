/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * MPA connection set-up frames (RFC 5044 section 7.1, RFC 6581 section 9): encode
 * and decode. Pure functions on bytes.
 */
#ifndef SRN_WIRE_MPA_H
#define SRN_WIRE_MPA_H

#include "platform.h"

#define SRN_MPA_KEY_LEN		16
#define SRN_MPA_FRAME		20	/* key, flags, revision, private data length */
#define SRN_MPA_ENHANCED	4	/* IRD/ORD words of revision 2 */
#define SRN_MPA_MAX_PRIVATE	512

/* "Not negotiated", RFC 6581 section 9.1. */
#define SRN_MPA_NO_DEPTH	0x3fff

struct srn_mpa_frame {
	bool reply;		/* else a request */
	bool markers;		/* the sender wants to receive markers */
	bool crc;		/* the sender wants CRC */
	bool reject;		/* reply only */
	u8 revision;		/* 1 or 2; other values decode as they are */
	u16 private_len;	/* bytes that follow the frame, enhanced data included */

	/* revision 2 with its S bit */
	bool enhanced;
	bool peer_to_peer;
	bool rtr_send;
	bool rtr_write;
	bool rtr_read;
	u16 ird;
	u16 ord;
};

int srn_mpa_get_frame(const u8 *bytes, bool reply, struct srn_mpa_frame *f);
int srn_mpa_get_enhanced(const u8 *bytes, u32 len, struct srn_mpa_frame *f);
u32 srn_mpa_put_frame(u8 *out, const struct srn_mpa_frame *f, u32 ulp_private_len);

#endif /* SRN_WIRE_MPA_H */
