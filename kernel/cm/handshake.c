// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * MPA's set-up frames on the socket of an endpoint. RFC 5044 section 7.1.
 */
#include <linux/net.h>

#include "handshake.h"

static int read_some(struct srn_ep *ep, u32 until)
{
	struct msghdr msg = { .msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL };
	struct kvec iov;
	int ret;

	while (ep->have < until) {
		iov = (struct kvec){ .iov_base = ep->in + ep->have, .iov_len = until - ep->have };
		ret = kernel_recvmsg(ep->sock, &msg, &iov, 1, iov.iov_len, MSG_DONTWAIT);
		if (ret == 0)
			return -ECONNRESET;
		if (ret < 0)
			return ret;
		ep->have += ret;
	}
	return 0;
}

/**
 * srn_handshake_read - read the peer's set-up frame, and not a byte more
 * @ep: endpoint
 * @reply: which kind is expected
 *
 * Context: process, ep->lock held.
 *
 * Return: 0 when the frame is complete and decoded in ep->frame; -EAGAIN if more of it has to
 * come; -EPROTO if it is not such a frame; another negative errno if the socket failed.
 */
int srn_handshake_read(struct srn_ep *ep, bool reply)
{
	int ret;

	ret = read_some(ep, SRN_MPA_FRAME);
	if (ret)
		return ret;
	ret = srn_mpa_get_frame(ep->in, reply, &ep->frame);
	if (ret)
		return ret;
	ret = read_some(ep, SRN_MPA_FRAME + ep->frame.private_len);
	if (ret)
		return ret;
	if (ep->frame.enhanced)
		ret = srn_mpa_get_enhanced(ep->in + SRN_MPA_FRAME, ep->frame.private_len,
					   &ep->frame);
	return ret;
}

/**
 * srn_handshake_send - send our set-up frame
 * @ep: endpoint
 * @frame: what to say
 * @data: private data of the consumer
 * @len: its length
 *
 * Nothing was sent on this socket before, so there is room.
 *
 * Context: process, ep->lock held.
 */
int srn_handshake_send(struct srn_ep *ep, const struct srn_mpa_frame *frame, const void *data,
		       u32 len)
{
	struct msghdr msg = { .msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL };
	u8 head[SRN_MPA_FRAME + SRN_MPA_ENHANCED];
	struct kvec iov[2] = { { .iov_base = head }, { .iov_base = (void *)data, .iov_len = len } };
	int total, ret;

	iov[0].iov_len = srn_mpa_put_frame(head, frame, len);
	total = iov[0].iov_len + len;
	ret = kernel_sendmsg(ep->sock, &msg, iov, len ? 2 : 1, total);
	if (ret < 0)
		return ret;
	return ret == total ? 0 : -EPIPE;
}
