// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The receive engine: it turns the bytes of the socket into FPDUs for the layer above.
 */
#include <linux/sched/mm.h>
#include <linux/skbuff.h>
#include <net/tcp.h>

#include "charge.h"
#include "direct.h"
#include "engines.h"
#include "hold.h"
#include "reassembly.h"
#include "rx.h"
#include "stream_trace.h"
#include "worker.h"

/*
 * How long to wait if the layer above keeps segments, and may have no more memory for them. Whoever
 * makes room says so.
 */
#define HELD_RETRY_DELAY	(HZ / 10)

/*
 * So long the receiver goes on before others have their turn. The time is shorter where the
 * receiver itself, and not the network, keeps softirqs off.
 */
#define TURN_IN_SOFTIRQ		1000	/* microseconds */
#define TURN_IN_PROCESS		100

/* After so many bytes, or the same in steps, it looks at the clock. */
#define LOOK_EVERY		8192
#define STEP_COST		1024

/* Reassembling an FPDU of fewer bytes costs little. */
#define SHORT_FPDU		4096

/*
 * A turn begins. Most are over before anybody looks at the clock, and are not slowed down by it: it
 * starts when that is done for the first time.
 */
static void begin_turn(struct srn_stream *s)
{
	s->rx_left = LOOK_EVERY;
	s->rx_turn_end = 0;
}

static void spend(struct srn_stream *s, u32 bytes)
{
	s->rx_left -= STEP_COST + bytes;
}

static bool turn_is_over(struct srn_stream *s)
{
	u32 now;

	if (likely(s->rx_left > 0))
		return false;
	now = div_u64(local_clock(), NSEC_PER_USEC);
	if (!s->rx_turn_end)
		s->rx_turn_end = now + (in_serving_softirq() ? TURN_IN_SOFTIRQ : TURN_IN_PROCESS);
	else if ((s32)(now - s->rx_turn_end) >= 0)
		return true;
	s->rx_left = LOOK_EVERY;
	return false;
}

/**
 * srn_rx_step - may the receiver do one more thing in this turn?
 * @s: stream
 * @bytes: payload that the step is about
 *
 * Context: the receiver.
 *
 * Return: false if others have their turn first.
 */
bool srn_rx_step(struct srn_stream *s, u32 bytes)
{
	if (turn_is_over(s))
		return false;
	spend(s, bytes);
	return true;
}

/**
 * srn_rx_leave_more - there is more to do than fits into this turn
 * @s: stream
 *
 * A worker goes on.
 *
 * Context: the receiver.
 */
void srn_rx_leave_more(struct srn_stream *s)
{
	s->rx_more = true;
	srn_worker_receive(s, 0);
}

static void count_violation(struct srn_counters __percpu *counters, struct srn_term_code term)
{
	srn_count(counters, SRN_COUNT_VIOLATIONS);
	if (term.layer == SRN_LAYER_LLP && term.ecode == SRN_MPA_CRC)
		srn_count(counters, SRN_COUNT_CRC_ERRORS);
	if (srn_rdmap_is_access_fault(term))
		srn_count(counters, SRN_COUNT_ACCESS_ERRORS);
}

/**
 * srn_rx_violation - the peer has broken the protocol: receive nothing more
 * @s: stream
 * @term: how
 * @header: header of the segment at fault, for the peer
 * @len: its length, at most %SRN_MAX_HEADER
 *
 * Context: the receiver.
 */
void srn_rx_violation(struct srn_stream *s, struct srn_term_code term, const u8 *header, u32 len)
{
	count_violation(s->counters, term);
	s->rx_stopped = true;
	/* What there was no memory for is dropped. */
	s->rx_starved = false;
	s->rx_segment_waits = false;
	s->term = term;
	s->term_header_len = len;
	memcpy(s->term_header, header, len);
	s->ops->ended(s, SRN_END_VIOLATION);
}

static void rx_violation(struct srn_stream *s, struct srn_term_code term)
{
	srn_rx_violation(s, term, s->parser.header, s->parser.header_len);
}

static int rx_header(struct srn_stream *s, struct srn_term_code *term)
{
	const struct srn_rdmap_header *h = &s->parser.rdmap;

	if (srn_rdmap_check_header(h, term))
		return -EPROTO;
	return s->ops->rx_begin(s, h, s->parser.payload_len, term);
}

static void count_fpdu(struct srn_stream *s, u32 payload, bool last)
{
	u8 opcode = s->parser.rdmap.opcode;

	spend(s, 0);
	srn_tally_fpdu(s->counters, SRN_RX, &s->rx_tally, opcode, payload, last);
}

/* Only the first FPDU of a message may have its offset in the parser's header. */
static void trace_received(const struct srn_stream *s, u64 offset, u32 payload, bool last)
{
	const struct srn_rdmap_header *h = &s->parser.rdmap;

	trace_srn_fpdu_received(s, h->opcode, h->stag, h->msn, offset, payload, last);
}

static int rx_end(struct srn_stream *s, struct srn_term_code *term)
{
	const struct srn_fpdu_parser *p = &s->parser;
	const struct srn_rdmap_header *h = &p->rdmap;
	int ret;

	if (unlikely(READ_ONCE(s->tx_hold)))
		srn_hold_end(s);
	count_fpdu(s, p->payload_len, h->last);
	if (trace_srn_fpdu_received_enabled())
		trace_received(s, h->tagged ? h->to : h->mo, p->payload_len, h->last);
	ret = s->ops->rx_end(s, term);
	if (unlikely(s->rx_held) && !ret && !s->rx_stopped)
		s->ops->rx_resume(s);
	return ret;
}

/* Return: 0 or -EPROTO; or -ENOMEM if nothing was done: call get_memory(), then retry. */
static int rx_event(struct srn_stream *s, struct srn_fpdu_event *ev)
{
	bool in_doubt = srn_fpdu_in_doubt(&s->parser);
	int ret = 0;

	switch (ev->type) {
	case SRN_FPDU_HEADER:
		if (!in_doubt)
			return rx_header(s, &ev->term);
		srn_count(s->counters, SRN_COUNT_REASSEMBLED);
		break;
	case SRN_FPDU_PAYLOAD:
		if (!in_doubt)
			return s->ops->rx_place(s, ev->data, ev->len, &ev->term);
		srn_reassembly_add(s, ev);
		break;
	case SRN_FPDU_END:
		if (in_doubt)
			ret = rx_header(s, &ev->term) ?: srn_reassembly_deliver(s, &ev->term);
		return ret ?: rx_end(s, &ev->term);
	case SRN_FPDU_ERROR:
		return -EPROTO;
	case SRN_FPDU_MORE:
		break;
	}
	return 0;
}

/*
 * Get the memory without which rx_event() did nothing; or, with SRN_FPDU_MORE, memory for the
 * payload at hand. Return: 0 or -ENOMEM.
 */
static int get_memory(struct srn_stream *s, enum srn_fpdu_event_type type, gfp_t gfp)
{
	struct mem_cgroup *before = srn_charge_to(s->payer);
	int ret;

	gfp |= srn_charge_gfp(s->payer);
	if (type == SRN_FPDU_MORE)
		ret = srn_reassembly_grow(s, s->rx_wanted, gfp);
	else
		ret = s->ops->rx_memory(s, gfp);
	set_active_memcg(before);
	return ret;
}

static int get_memory_now(struct srn_stream *s, enum srn_fpdu_event_type type)
{
	return get_memory(s, type, srn_charge_gfp_now(s->payer));
}

/* There is no memory for an event: the input behind it is left in the socket for now. */
static void starve(struct srn_stream *s, enum srn_fpdu_event_type type)
{
	/* The first time it may be enough that a worker can sleep in order to get memory. */
	unsigned long delay = 0;

	if (!s->rx_starved) {
		srn_count(s->counters, SRN_COUNT_RX_NO_MEMORY);
		s->rx_retry = 0;
	} else {
		delay = s->rx_held ? HELD_RETRY_DELAY : srn_stream_retry_delay(&s->rx_retry);
	}
	s->rx_starved = true;
	s->rx_event = type;
	srn_worker_receive(s, delay);
}

static void take_event(struct srn_stream *s, struct srn_fpdu_event *ev)
{
	int ret = rx_event(s, ev);

	if (unlikely(ret == -ENOMEM) && !get_memory_now(s, ev->type))
		ret = rx_event(s, ev);
	if (unlikely(ret == -ENOMEM)) {
		starve(s, ev->type);
		return;
	}
	s->rx_starved = false;
	if (ret)
		rx_violation(s, ev->term);
}

/* Is there room for the bytes at hand, if they have to be reassembled? */
static bool have_room(struct srn_stream *s, u32 len)
{
	if (likely(srn_reassembly_ready(s, len)))
		return true;
	s->rx_wanted = len;
	if (!get_memory_now(s, SRN_FPDU_MORE))
		return true;
	starve(s, SRN_FPDU_MORE);
	return false;
}

/* Take whole FPDUs that continue the current message without ending it. Return: bytes used. */
static u32 rx_continuations(struct srn_stream *s, const u8 *data, u32 len)
{
	struct srn_fpdu_parser *p = &s->parser;
	struct srn_fpdu_continuation m;
	u32 used = 0, n;

	while (!turn_is_over(s) &&
	       (n = srn_fpdu_parse_continuation(p, data + used, len - used, &m))) {
		if (!s->ops->rx_continue(s, &m))
			break;
		count_fpdu(s, m.len, false);
		if (trace_srn_fpdu_received_enabled())
			trace_received(s, m.offset, m.len, false);
		used += n;
	}
	return used;
}

/* Take an FPDU in one piece. Return: bytes used; 0 if there is none or it needs more memory. */
static u32 rx_whole(struct srn_stream *s, const u8 *data, u32 len)
{
	struct srn_fpdu_parser *p = &s->parser;
	u32 used = srn_fpdu_parse_whole(p, data, len);
	struct srn_term_code term;
	int ret;

	if (!used)
		return 0;
	ret = rx_header(s, &term);
	if (ret == -ENOMEM)
		return 0;
	if (!ret && p->payload_len)
		ret = s->ops->rx_place(s, data + p->header_len, p->payload_len, &term);
	if (!ret)
		ret = rx_end(s, &term);
	if (ret)
		rx_violation(s, term);
	return used;
}

/* What is left of a packet: the bytes from @at to @end. */
struct packet {
	struct sk_buff *skb;
	unsigned int at;
	unsigned int end;
};

/* The CRC of so many bytes. Return: false if the walk does not reach all of them. */
static bool packet_crc(const struct packet *rest, u32 len, u32 *crc)
{
	struct skb_seq_state walk;
	u32 done = 0, n;
	const u8 *data;

	*crc = SRN_CRC_SEED;
	skb_prepare_seq_read(rest->skb, rest->at, rest->at + len, &walk);
	while (done < len) {
		n = skb_seq_read(done, &data, &walk);
		if (!n)
			break;
		n = min(n, len - done);
		*crc = crc32c(*crc, data, n);
		done += n;
	}
	skb_abort_seq_read(&walk);
	return done == len;
}

/*
 * If all of the FPDU that begins here lies in the packet, though in several pieces, check its CRC
 * now, so that its payload need not be reassembled. A short one is left to reassembly: each walk
 * begins at the start of the packet, and there could be one for each piece.
 */
static void check_pieces(struct srn_fpdu_parser *p, const u8 *data, u32 len,
			 const struct packet *rest)
{
	u8 field[SRN_CRC_LEN];
	u32 body, crc;

	if (!p->with_crc || p->markers || !srn_fpdu_at_boundary(p) || len < SRN_MPA_LENGTH)
		return;
	body = srn_fpdu_up_to_crc(data);
	if (body >= SHORT_FPDU && body + SRN_CRC_LEN <= rest->end - rest->at &&
	    !skb_copy_bits(rest->skb, rest->at + body, field, sizeof(field)) &&
	    packet_crc(rest, body, &crc))
		srn_fpdu_vouch(p, crc, field);
}

/*
 * Take @len bytes, which are the first of what is left of the packet. Return: bytes used; fewer
 * than there are if the stream has ended, memory is short, or others have their turn.
 */
static u32 rx_bytes(struct srn_stream *s, const u8 *data, u32 len, struct packet rest)
{
	unsigned int start = rest.at;
	struct srn_fpdu_event ev;
	u32 used = 0, whole;

	/* Without bytes the parser has no event. */
	while (used < len && !turn_is_over(s) && !s->rx_stopped && !s->rx_starved) {
		if (srn_fpdu_in_message(&s->parser))
			used += rx_continuations(s, data + used, len - used);
		whole = rx_whole(s, data + used, len - used);
		used += whole;
		if (whole)
			continue;
		if (!have_room(s, len - used))
			break;
		rest.at = start + used;
		check_pieces(&s->parser, data + used, len - used, &rest);
		used += srn_fpdu_parse(&s->parser, data + used, len - used, &ev);
		take_event(s, &ev);
	}
	return used;
}

static void end_turn(struct srn_stream *s, read_descriptor_t *desc)
{
	desc->count = 0;
	srn_rx_leave_more(s);
}

/* Whatever arrives after the end is taken and dropped, so that the peer can finish. */
static int rx_actor(read_descriptor_t *desc, struct sk_buff *skb, unsigned int offset, size_t len)
{
	struct srn_stream *s = desc->arg.data;
	struct packet rest = { .skb = skb, .at = offset, .end = offset + len };
	struct skb_seq_state walk;
	unsigned int consumed = 0, n;
	const u8 *data;

	if (s->rx_stopped) {
		spend(s, 0);
		if (turn_is_over(s))
			end_turn(s, desc);
		return len;
	}
	rcu_read_lock();
	skb_prepare_seq_read(skb, offset, offset + len, &walk);
	while (!s->rx_stopped && !s->rx_starved && consumed < len && !turn_is_over(s)) {
		n = skb_seq_read(consumed, &data, &walk);
		if (!n)
			break;
		/* The walk goes on to the end of a fragment; before urgent data the input ends. */
		n = rx_bytes(s, data, min_t(unsigned int, n, len - consumed), rest);
		consumed += n;
		rest.at = offset + consumed;
		spend(s, n);
	}
	skb_abort_seq_read(&walk);
	s->ops->rx_pause(s);
	rcu_read_unlock();
	if (turn_is_over(s))
		end_turn(s, desc);
	return s->rx_stopped ? len : consumed;
}

/* Let the peer deliver its segment again, or give that up. */
static void starved_segment(struct srn_stream *s)
{
	bool alone = srn_direct_alone(s);

	if (!alone && !s->rx_memory_came && get_memory_now(s, SRN_FPDU_HEADER)) {
		starve(s, SRN_FPDU_HEADER);
		return;
	}
	s->rx_starved = false;
	s->rx_segment_waits = false;
	s->rx_memory_came = false;
	if (!alone)
		srn_direct_open(s);
}

/* Retry what there was no memory for. */
static void starved_event(struct srn_stream *s)
{
	struct srn_fpdu_event ev = { .type = s->rx_event };

	if (s->rx_segment_waits) {
		starved_segment(s);
		return;
	}
	if (ev.type == SRN_FPDU_MORE) {
		if (srn_reassembly_ready(s, s->rx_wanted) || !get_memory_now(s, ev.type))
			s->rx_starved = false;
		else
			starve(s, ev.type);
		return;
	}
	rcu_read_lock();
	take_event(s, &ev);
	s->ops->rx_pause(s);
	rcu_read_unlock();
}

/*
 * Let the layer above go on with what it keeps. It can while it has no segment in hand: between two
 * FPDUs, or if there was no memory to begin one.
 */
static void resume(struct srn_stream *s)
{
	if (!srn_fpdu_at_boundary(&s->parser) && !s->rx_starved)
		return;
	rcu_read_lock();
	s->ops->rx_resume(s);
	s->ops->rx_pause(s);
	rcu_read_unlock();
}

static enum srn_rx_left rx_pass(struct srn_stream *s, struct sock *sk)
{
	read_descriptor_t desc = { .arg.data = s, .count = 1 };

	s->rx_more = false;
	begin_turn(s);
	if (unlikely(s->rx_held) && !s->rx_stopped)
		resume(s);
	if (unlikely(s->rx_starved) && !s->rx_stopped)
		starved_event(s);
	if (!s->rx_starved || s->rx_stopped)
		tcp_read_sock(sk, &desc, rx_actor);
	/* Nothing behind an urgent byte would ever be read, and MPA has no urgent data. */
	if (unlikely(tcp_sk(sk)->urg_data) && !s->rx_more && !s->rx_starved && !s->rx_stopped)
		rx_violation(s, SRN_TERM(SRN_LAYER_LLP, SRN_LLP_MPA, SRN_MPA_CLOSED));
	srn_tally_flush(s->counters, SRN_RX, &s->rx_tally);
	s->ops->rx_done(s);
	if (s->rx_more)
		return SRN_RX_MORE;
	if (s->rx_stopped)
		return SRN_RX_NOTHING;
	return s->rx_starved ? SRN_RX_NO_MEMORY : SRN_RX_NOTHING;
}

/**
 * srn_rx_input - take what the socket has
 * @s: stream
 * @sk: its socket
 *
 * Context: the socket is locked, by its owner or in softirq, and bottom halves are
 * disabled.
 *
 * Return: what is left to do.
 */
enum srn_rx_left srn_rx_input(struct srn_stream *s, struct sock *sk)
{
	struct srn_direct_end *end = srn_direct_own_end(s);
	enum srn_rx_left left;

	if (likely(!end))
		return rx_pass(s, sk);
	spin_lock(&end->lock);
	end->by_tcp = true;
	left = rx_pass(s, sk);
	end->by_tcp = false;
	spin_unlock(&end->lock);
	return left;
}

/**
 * srn_rx_segments_begin - a peer in this kernel is about to deliver
 * @s: stream
 *
 * Context: bottom halves disabled, RCU read lock held, as until srn_rx_segments_end(); the caller
 * is the receiver.
 */
void srn_rx_segments_begin(struct srn_stream *s)
{
	s->rx_more = false;
	begin_turn(s);
	if (s->rx_stopped)
		return;
	/* A peer of ours gives TCP nothing more, so somebody else has. */
	if (unlikely(s->rx_starved || !srn_fpdu_at_boundary(&s->parser)))
		srn_rx_violation(s, SRN_TERM(SRN_LAYER_LLP, SRN_LLP_MPA,
					     SRN_MPA_LOCAL_CATASTROPHIC), s->parser.header, 0);
	else if (unlikely(s->rx_held))
		resume(s);
}

/*
 * The rest of a segment will not come. What is there of it may have been kept, so nothing behind it
 * is taken any more, not even the sender's Terminate.
 */
static void abandon(struct srn_stream *s)
{
	s->rx_stopped = true;
	s->ops->ended(s, SRN_END_LOCAL);
}

/**
 * srn_rx_segment - place a segment from a peer in this kernel
 * @s: stream that receives, not stopped
 * @header: as it would come by TCP, %SRN_MAX_HEADER bytes
 * @source: payload; it moves on
 * @len: bytes of payload
 *
 * If the segment breaks the protocol the stream is stopped. srn_rx_segment_end() has to follow if
 * this returns 0.
 *
 * Context: between srn_rx_segments_begin() and srn_rx_segments_end().
 *
 * Return: 0; -ENOMEM if nothing was done for lack of memory, see srn_rx_segment_starves(); -EFAULT
 * if the source is not valid. If that became so meanwhile, the stream has ended as well.
 */
int srn_rx_segment(struct srn_stream *s, const u8 *header, struct srn_cursor *source, u32 len)
{
	struct srn_term_code term;
	void *data;
	int ret;
	u32 n;

	/* Before anything is done: the sender ends the stream as it would by TCP. */
	if (len && srn_cursor_peek(source, len, &data, &n) != SRN_MEM_OK)
		return -EFAULT;
	srn_fpdu_set_header(&s->parser, header, len);
	ret = rx_header(s, &term);
	if (unlikely(ret == -ENOMEM) && !get_memory_now(s, SRN_FPDU_HEADER))
		ret = rx_header(s, &term);
	if (unlikely(ret == -ENOMEM))
		return ret;
	for (; !ret && len; len -= n) {
		if (srn_cursor_peek(source, len, &data, &n) != SRN_MEM_OK) {
			abandon(s);
			return -EFAULT;
		}
		ret = s->ops->rx_place(s, data, n, &term);
		spend(s, n);
		source->offset += n;
	}
	if (ret)
		rx_violation(s, term);
	return 0;
}

/**
 * srn_rx_segment_end - a segment from a peer in this kernel is complete
 * @s: stream
 *
 * Memory of the segment must not be open: what the segment asks for may wait for that.
 *
 * Context: as srn_rx_segment().
 */
void srn_rx_segment_end(struct srn_stream *s)
{
	struct srn_term_code term;

	if (!s->rx_stopped && rx_end(s, &term))
		rx_violation(s, term);
}

/**
 * srn_rx_segment_starves - get the memory that a segment from a peer in this kernel needs
 * @s: stream for which srn_rx_segment() has returned -ENOMEM
 *
 * When there is some, srn_direct_open() is called.
 *
 * Context: the receiver, behind srn_rx_segments_end().
 */
void srn_rx_segment_starves(struct srn_stream *s)
{
	s->rx_segment_waits = true;
	starve(s, SRN_FPDU_HEADER);
}

/**
 * srn_rx_segments_end - a peer in this kernel delivers nothing more for now
 * @s: stream
 *
 * Context: as srn_rx_segments_begin().
 */
void srn_rx_segments_end(struct srn_stream *s)
{
	s->ops->rx_pause(s);
	srn_tally_flush(s->counters, SRN_RX, &s->rx_tally);
	s->ops->rx_done(s);
}

/* Return: false if there is none. */
static bool wait_for_memory(struct srn_stream *s)
{
	if (get_memory(s, s->rx_event, GFP_NOIO | __GFP_RETRY_MAYFAIL))
		return false;
	s->rx_memory_came = s->rx_segment_waits;
	return true;
}

/**
 * srn_rx_input_waiting - take all that the socket has, and wait for memory if it is short
 * @s: stream
 * @sk: its socket
 *
 * Memory may be written back through this stream, so this does not wait for write-back.
 *
 * Context: process, the socket is locked by the caller; sleeps.
 */
void srn_rx_input_waiting(struct srn_stream *s, struct sock *sk)
{
	enum srn_rx_left left;

	do {
		local_bh_disable();
		left = srn_rx_input(s, sk);
		local_bh_enable();
		cond_resched();
	} while (left == SRN_RX_MORE || (left == SRN_RX_NO_MEMORY && wait_for_memory(s)));
}
