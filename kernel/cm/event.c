// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Events of the core, as they are made and queued.
 */
#include "event.h"

/**
 * srn_event_private - the private data that the peer has sent
 * @ep: endpoint
 * @len: their length in bytes; an event has no room for a longer one
 *
 * Context: any; the data stay as long as ep->peer.in.
 *
 * Return: the data, or NULL if there are none.
 */
void *srn_event_private(const struct srn_ep *ep, u8 *len)
{
	u32 all;
	u8 *data = srn_handshake_private(&ep->peer, &all);

	*len = min_t(u32, all, SRN_EVENT_MAX_PRIVATE);
	return data;
}

static void event_address(struct sockaddr_storage *to, const union srn_address *known,
			  const struct sockaddr_storage *asked_for)
{
	if (known->family)
		memcpy(to, known, sizeof(*known));
	else
		*to = *asked_for;
}

/**
 * srn_event_init - begin an event
 * @ep: endpoint whose addresses, IRD and ORD the event carries
 * @cm_id: id that the event is for; its addresses are taken where the real ones are not known
 * @event: to be filled in
 * @type: what has happened
 *
 * Context: any.
 */
void srn_event_init(const struct srn_ep *ep, const struct iw_cm_id *cm_id,
		    struct iw_cm_event *event, enum iw_cm_event_type type)
{
	/* Here ird is what the consumer may initiate, and ord what it must serve. */
	*event = (struct iw_cm_event) {
		.event = type, .ird = ep->ord, .ord = ep->ird,
	};
	event_address(&event->local_addr, &ep->local, &cm_id->local_addr);
	event_address(&event->remote_addr, &ep->remote, &cm_id->remote_addr);
}

/**
 * srn_event_send - queue an event at the core
 * @ep: endpoint that the event tells of
 * @cm_id: id that the event is for
 * @event: the event
 *
 * Context: process, the locks of the id's endpoint held.
 *
 * Return: 0, or -ENOMEM if the core has no room for it.
 */
int srn_event_send(struct srn_ep *ep, struct iw_cm_id *cm_id, struct iw_cm_event *event)
{
	int ret = cm_id->event_handler(cm_id, event);

	if (ret)
		srn_ep_notice(ep, "no room for a connection event\n");
	return ret;
}
