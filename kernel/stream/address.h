/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Addresses of TCP's ends.
 */
#ifndef SRN_ADDRESS_H
#define SRN_ADDRESS_H

#include <linux/in.h>
#include <linux/in6.h>

/* An address in a quarter of the room of a sockaddr_storage. All zero: none. */
union srn_address {
	sa_family_t family;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
};

static inline int srn_address_len(sa_family_t family)
{
	return family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
}

/* The port is at the same place in both families. */
static inline void srn_address_set_port(union srn_address *a, u16 port)
{
	a->in.sin_port = htons(port);
}

static inline __be16 srn_address_port(const union srn_address *a)
{
	return a->in.sin_port;
}

#endif /* SRN_ADDRESS_H */
