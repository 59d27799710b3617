// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * MPA's set-up frames on a socket. RFC 5044 section 7.1.
 */
#include <linux/slab.h>

#include "handshake.h"

/**
 * srn_handshake_init - make room for the peer's frame
 * @h: zeroed
 * @gfp: how to allocate it
 *
 * Context: process. srn_handshake_exit() undoes it.
 *
 * Return: 0 or -ENOMEM.
 */
int srn_handshake_init(struct srn_handshake *h, gfp_t gfp)
{
	h->in = kmalloc(SRN_MPA_FRAME + SRN_MPA_MAX_PRIVATE, gfp);
	return h->in ? 0 : -ENOMEM;
}

/**
 * srn_handshake_exit - undo srn_handshake_init()
 * @h: what it was given; nothing happens if its room was given back before
 *
 * Context: process.
 */
void srn_handshake_exit(struct srn_handshake *h)
{
	kfree(xchg(&h->in, NULL));
}

static int read_some(struct srn_handshake *h, struct socket *sock, u32 until)
{
	struct msghdr msg = { .msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL };
	struct kvec iov;
	int ret;

	while (h->have < until) {
		iov = (struct kvec){ .iov_base = h->in + h->have, .iov_len = until - h->have };
		ret = kernel_recvmsg(sock, &msg, &iov, 1, iov.iov_len, MSG_DONTWAIT);
		if (ret == 0)
			return -ECONNRESET;
		if (ret < 0)
			return ret;
		h->have += ret;
	}
	return 0;
}

/**
 * srn_handshake_read - read the peer's set-up frame, and not a byte more
 * @h: what has come so far
 * @sock: connected socket
 * @reply: which kind is expected
 *
 * Once the frame is complete, this may be called again. It then looks at what has come only.
 *
 * Context: process; the caller sees to it that nobody else reads.
 *
 * Return: 0 when the frame is complete and decoded in @h->frame; -EAGAIN if more of it has to
 * come; -EPROTO if it is not such a frame; another negative errno if the socket failed.
 */
int srn_handshake_read(struct srn_handshake *h, struct socket *sock, bool reply)
{
	int ret;

	ret = read_some(h, sock, SRN_MPA_FRAME);
	if (ret)
		return ret;
	ret = srn_mpa_get_frame(h->in, reply, &h->frame);
	if (ret)
		return ret;
	ret = read_some(h, sock, SRN_MPA_FRAME + h->frame.private_len);
	if (ret)
		return ret;
	if (h->frame.enhanced)
		ret = srn_mpa_get_enhanced(h->in + SRN_MPA_FRAME, h->frame.private_len, &h->frame);
	return ret;
}

/**
 * srn_handshake_no_request - why a connection is dropped that has made no request
 * @ret: what srn_handshake_read() has returned; -EAGAIN if the time is up
 *
 * Context: any.
 *
 * Return: reason, for the log.
 */
const char *srn_handshake_no_request(int ret)
{
	if (ret == -EAGAIN)
		return "no request in time";
	return ret == -EPROTO ? "not an MPA request" : "closed too early";
}

/**
 * srn_handshake_send - send our set-up frame
 * @sock: connected socket, on which nothing was sent before but such frames, so there is room
 * @frame: what to say
 * @data: private data
 * @len: its length
 *
 * Context: process.
 *
 * Return: 0 or a negative errno.
 */
int srn_handshake_send(struct socket *sock, const struct srn_mpa_frame *frame, const void *data,
		       u32 len)
{
	struct msghdr msg = { .msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL };
	u8 head[SRN_MPA_FRAME + SRN_MPA_ENHANCED];
	struct kvec iov[2] = { { .iov_base = head }, { .iov_base = (void *)data, .iov_len = len } };
	int total, ret;

	iov[0].iov_len = srn_mpa_put_frame(head, frame, len);
	total = iov[0].iov_len + len;
	ret = kernel_sendmsg(sock, &msg, iov, len ? 2 : 1, total);
	if (ret < 0)
		return ret;
	return ret == total ? 0 : -EPIPE;
}

/**
 * srn_handshake_private - private data of the peer's frame
 * @h: what has come of it; of a frame that is not complete there is none
 * @len: result: its length
 *
 * Context: process.
 *
 * Return: the data, or NULL if there is none.
 */
u8 *srn_handshake_private(const struct srn_handshake *h, u32 *len)
{
	u32 head = SRN_MPA_FRAME + (h->frame.enhanced ? SRN_MPA_ENHANCED : 0);

	/* The frame is decoded as soon as its header is there. */
	bool whole = h->in && h->have >= SRN_MPA_FRAME &&
		     h->have == SRN_MPA_FRAME + h->frame.private_len;

	*len = whole && h->have > head ? h->have - head : 0;
	return *len ? h->in + head : NULL;
}
