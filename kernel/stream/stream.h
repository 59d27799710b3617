/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * A connected stream: one TCP socket, a transmit engine and a receive engine.
 *
 * The stream knows messages, FPDUs and bytes. What they mean is the business of
 * the layer above, which hands down a table of operations.
 *
 * Transmit. Whoever has work calls srn_tx_kick() (from a process context that may sleep: the
 * caller itself transmits) or srn_tx_kick_async() (from any context: the caller transmits as a
 * softirq would, or a tasklet does, or a worker if somebody else uses the socket or the transmitter
 * has to sleep). There is one transmitter at a time; a kick that finds one active makes it look
 * again, so no kick is lost. The transmitter asks ->tx_next for messages, cuts them into FPDUs, and
 * collects the FPDUs of many messages in one batch that is pushed with one sendmsg. A push that the
 * socket cannot take completely is continued when the socket has room again. When a whole batch is
 * in the socket, ->tx_pushed is called.
 *
 * Receive. Bytes are taken where they arrive (softirq, or whoever releases the
 * socket lock), walked once, and given to ->rx_*. Payload whose CRC is not known yet waits.
 *
 * Begin. While a stream has no socket, the role of its transmitter is taken, so that kicks are only
 * noted. srn_stream_attach() gives the stream a socket. srn_stream_start() lets it receive and
 * frees the role, and srn_stream_halt() takes the role again.
 *
 * End. The engines report an end with ->ended (any context); the layer above then
 * calls srn_stream_halt() and srn_stream_stop() from process context.
 *
 * Lock order: as in direct.h.
 */
#ifndef SRN_STREAM_H
#define SRN_STREAM_H

#include <linux/interrupt.h>
#include <linux/net.h>
#include <linux/timer.h>
#include <linux/workqueue.h>
#include <net/sock.h>

#include "../device/counters.h"
#include "../memory/cursor.h"
#include "../wire/fpdu.h"
#include "../wire/framer.h"

struct mem_cgroup;
struct srn_stream;
struct srn_tx_batch;
struct srn_reassembly;
struct srn_direct;

/* A message to be sent. */
struct srn_tx_msg {
	u8 opcode;		/* enum srn_rdmap_opcode */
	u32 inv_stag;		/* untagged */
	u32 msn;		/* untagged */
	u32 stag;		/* tagged: data sink */
	u64 to;			/* tagged: offset of the first byte */
	u32 length;		/* payload bytes */
	u32 done;		/* payload bytes that are in FPDUs; kept by the stream */
	bool open;		/* not yet completely in FPDUs; kept by the stream */
	struct srn_cursor source;
};

/* What is sent at the end of a stream. */
struct srn_tx_last {
	bool write;		/* a Write without payload comes first */
	u32 stag;		/* its STag */
	u64 to;			/* its offset */
	u32 terminate_len;	/* length of the Terminate that follows; 0: none does */
	u8 terminate[SRN_TERM_MAX];	/* its payload */
};

enum srn_tx_verdict {
	SRN_TX_MESSAGE,		/* the message has been filled in */
	SRN_TX_AGAIN,		/* work was done that needs no bytes: ask again */
	SRN_TX_FLUSH,		/* ask again when what was handed out is in the socket */
	SRN_TX_WAIT,		/* there is work, for which a later kick will come */
	SRN_TX_NONE,		/* nothing to do */
	SRN_TX_SLEEP,		/* from tx_idle only: ask again where it may sleep */
};

/* Why a stream ended. */
enum srn_stream_end {
	SRN_END_PEER_CLOSED,	/* FIN, perhaps within an FPDU: what came before it shows that */
	SRN_END_BROKEN,		/* error of the socket, such as a reset */
	SRN_END_VIOLATION,	/* the peer broke the protocol; stream->term says how */
	SRN_END_LOCAL,		/* memory here that a message is sent from became invalid */
};

/*
 * Each tx operation is called by the active transmitter, perhaps in softirq, so none may sleep
 * except tx_idle, if its parameter says so. tx_next and tx_built are called with bottom halves
 * disabled. Each rx operation except rx_memory is called with bottom halves disabled, by one
 * receiver at a time; all but rx_memory and rx_done are called under the RCU read lock. Those that
 * return int return 0, or -EPROTO with the reason, if nothing else is said.
 */
struct srn_stream_ops {
	/* @flushed: nothing is waiting in a batch */
	enum srn_tx_verdict (*tx_next)(struct srn_stream *s, struct srn_tx_msg *msg,
				       bool flushed);
	/* The message handed out last is completely in FPDUs. */
	void (*tx_built)(struct srn_stream *s);
	/* All messages that were built are in the socket. */
	void (*tx_pushed)(struct srn_stream *s);
	/*
	 * The transmitter is about to stop for lack of work. SRN_TX_AGAIN: there is some after all.
	 * SRN_TX_SLEEP: the last thing to do has to sleep.
	 */
	enum srn_tx_verdict (*tx_idle)(struct srn_stream *s, bool may_sleep);
	/* A worker is about to be asked to go on; srn_tx_take_over() may come before it. */
	void (*tx_deferred)(struct srn_stream *s);

	/* May return -ENOMEM if it did nothing for lack of memory: call rx_memory, then retry. */
	int (*rx_begin)(struct srn_stream *s, const struct srn_rdmap_header *h, u32 payload,
			struct srn_term_code *term);
	/*
	 * Get the memory that rx_begin had none of, or return -ENOMEM. The receiver calls this, in
	 * any context that @gfp allows.
	 */
	int (*rx_memory)(struct srn_stream *s, gfp_t gfp);
	int (*rx_place)(struct srn_stream *s, const u8 *data, u32 len,
			struct srn_term_code *term);
	int (*rx_end)(struct srn_stream *s, struct srn_term_code *term);
	/*
	 * rx_begin, rx_place and rx_end in one, for a segment in the middle of the current message.
	 * False: this cannot be done now, or something is wrong with the segment. Nothing was done,
	 * and the other operations find out which it is.
	 */
	bool (*rx_continue)(struct srn_stream *s, const struct srn_fpdu_continuation *m);
	/*
	 * If the layer above has set @rx_held: what it has kept may go on. The stream is between
	 * two segments. If there is too much for one turn, it calls srn_rx_leave_more().
	 */
	void (*rx_resume)(struct srn_stream *s);
	/* Input is used up for now: no memory access may stay open. */
	void (*rx_pause)(struct srn_stream *s);
	/*
	 * A receive pass is over: report what it completed. If there is too much for one turn, it
	 * calls srn_rx_leave_more().
	 */
	void (*rx_done)(struct srn_stream *s);

	void (*ended)(struct srn_stream *s, enum srn_stream_end why);
};

/* Whether to send nothing before the peer's first FPDU has arrived. */
enum srn_tx_hold {
	SRN_HOLD_NOT,
	SRN_HOLD_FOR_A_WHILE,	/* a peer that sends nothing either does not stop us for ever */
	SRN_HOLD,
};

struct srn_stream_params {
	struct srn_counters __percpu *counters;
	bool crc;
	bool tx_markers;	/* the peer wants to receive markers */
	bool rx_markers;	/* we want to receive markers */
	enum srn_tx_hold hold_tx;
	bool process;		/* the consumer is a process: nobody sends to write memory back */
	bool large_fpdus;	/* may exceed a TCP segment, if tx_markers is off */
};

/* The way that the transmitter takes. */
enum srn_tx_path {
	SRN_PATH_TCP,
	SRN_PATH_MOVING,	/* the message in hand is the last one by TCP */
	SRN_PATH_DIRECT,	/* to a peer in this kernel, see direct.h */
};

/* The role of the transmitter, which only one context has at a time. */
enum srn_tx_role {
	SRN_TX_FREE,
	SRN_TX_TAKEN,
	SRN_TX_KICKED,	/* taken, and its owner looks once more before it gives the role back */
};

struct srn_stream {
	const struct srn_stream_ops *ops;
	struct socket *sock;
	struct srn_counters __percpu *counters;
	struct mem_cgroup *payer;	/* charged for the stream's memory; NULL: the kernel's */
	/* Fields of the receiver that it seldom uses: they fill the line. */
	struct srn_reassembly *reassembly;	/* payload whose CRC is not known yet */
	struct srn_term_code term;	/* valid once ended with a violation */
	u8 term_header[SRN_MAX_HEADER];
	u8 term_header_len;

	/* Transmit: fields of the active transmitter. */
	atomic_t tx_role ____cacheline_aligned;	/* enum srn_tx_role */
	bool tx_stopped;
	bool tx_shut;			/* the peer has been told that nothing more comes */
	bool large_fpdus;
	u8 tx_hold;			/* enum srn_tx_hold; lifted by receive, or by hold_timer */
	u32 tx_path;			/* enum srn_tx_path */
	struct srn_framer framer;
	struct srn_tx_batch *batch;
	struct srn_tx_msg msg;
	struct srn_tally tx_tally;
	struct tasklet_struct tx_tasklet;
	struct delayed_work tx_work;
	struct timer_list hold_timer;

	/* Receive: fields of the receiver. Those before @parser fill a line. */
	struct delayed_work rx_work;	/* receives again, see srn_worker_receive() */
	struct srn_tally rx_tally;
	bool rx_stopped;		/* nothing more is received; the layer above may set it */
	bool rx_starved;		/* input waits in the socket until @rx_event has memory */
	bool rx_held;			/* the layer above keeps segments, see ->rx_resume */
	bool rx_more;			/* the pass has left something for another one */
	u8 rx_event;			/* event without memory: enum srn_fpdu_event_type */
	struct srn_fpdu_parser parser ____cacheline_aligned;
	s32 rx_left;			/* bytes until the receiver looks at the clock */
	u32 rx_turn_end;		/* when others have their turn; 0: nobody has looked yet */
	u32 rx_wanted;			/* bytes at hand that have to be reassembled */
	bool direct_end;		/* which end of @direct this stream is */
	bool direct_to;			/* which end of @direct its peer is */
	bool rx_segment_waits;		/* @rx_starved is about a segment that the peer has */
	bool rx_memory_came;		/* a worker has got the memory for that */
	bool tx_brief;			/* the tasklet runs on the stack of a caller */
	u16 tx_retry;			/* jiffies that it waited last for memory, or 0 */
	u16 rx_retry;			/* the same of the receiver */
	struct srn_direct *direct;	/* a peer in this kernel, or an offer; NULL: none */
};

void srn_stream_init(struct srn_stream *s, const struct srn_stream_ops *ops,
		     struct mem_cgroup *payer);
void srn_stream_attach(struct srn_stream *s, struct socket *sock,
		       const struct srn_stream_params *params);
void srn_stream_detach(struct srn_stream *s);
void srn_stream_exit(struct srn_stream *s);
void srn_stream_start(struct srn_stream *s);
void srn_stream_allow_large_fpdus(struct srn_stream *s);
/* Is there a transmitter, now or soon? It may already have looked for work for the last time. */
static inline bool srn_stream_transmits(const struct srn_stream *s)
{
	return atomic_read(&s->tx_role) != SRN_TX_FREE;
}

void srn_stream_shutdown(struct srn_stream *s);
void srn_stream_drain(struct srn_stream *s);
void srn_stream_halt(struct srn_stream *s);
struct socket *srn_stream_stop(struct srn_stream *s, const struct srn_tx_last *last);

/*
 * How long to wait before memory that was short is asked for again: 10 ms at first, then twice as
 * long each time. A cgroup that is full may have thousands of streams. @last is 0 when a shortage
 * begins, as far as its owner knows that it is another one. Return: jiffies.
 */
static inline u16 srn_stream_retry_delay(u16 *last)
{
	*last = *last ? min(2 * *last, HZ / 4) : max(HZ / 100, 1);
	return *last;
}

#endif /* SRN_STREAM_H */
