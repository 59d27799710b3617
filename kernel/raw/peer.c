// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Who the peer of a bring-up by hand is: the addresses of both ends, which their GIDs tell.
 */
#include <net/ip.h>
#include <net/ipv6.h>

#include "../stream/sock.h"
#include "peer.h"

/* Return: false if @gid is no address that a peer can have. */
static bool address_of(const struct srn_device *dev, const union ib_gid *gid, union srn_address *a)
{
	const struct in6_addr *in6 = (const struct in6_addr *)gid;

	memset(a, 0, sizeof(*a));
	if (ipv6_addr_v4mapped(in6)) {
		a->in.sin_family = AF_INET;
		a->in.sin_addr.s_addr = in6->s6_addr32[3];
		return !ipv4_is_zeronet(a->in.sin_addr.s_addr) &&
		       !ipv4_is_multicast(a->in.sin_addr.s_addr) &&
		       !ipv4_is_lbcast(a->in.sin_addr.s_addr);
	}
	a->in6.sin6_family = AF_INET6;
	a->in6.sin6_addr = *in6;
	if (ipv6_addr_type(in6) & IPV6_ADDR_LINKLOCAL)
		a->in6.sin6_scope_id = dev->netdev->ifindex;
	return ipv6_addr_type(in6) & IPV6_ADDR_UNICAST && memcmp(gid, &dev->gid, sizeof(*gid));
}

static bool same_host(const union srn_address *a, const union srn_address *b)
{
	if (a->family != b->family)
		return false;
	if (a->family == AF_INET)
		return a->in.sin_addr.s_addr == b->in.sin_addr.s_addr;
	return ipv6_addr_equal(&a->in6.sin6_addr, &b->in6.sin6_addr);
}

static int get_addresses(struct srn_raw *raw, const struct ib_qp_attr *attr, const char **reason)
{
	const struct ib_global_route *grh = rdma_ah_read_grh(&attr->ah_attr);

	*reason = "there is no GRH, whose GIDs tell the peer's address";
	if (!(rdma_ah_get_ah_flags(&attr->ah_attr) & IB_AH_GRH) || !grh->sgid_attr)
		return -EINVAL;
	raw->sgid = grh->sgid_attr->gid;
	*reason = "the GID at sgid_index is no IP address";
	if (!address_of(raw->dev, &raw->sgid, &raw->local))
		return -EINVAL;
	*reason = "the destination's GID is no IP address";
	if (!address_of(raw->dev, &grh->dgid, &raw->remote))
		return -EINVAL;
	*reason = "one GID is an IPv4 address and the other one is not";
	return raw->local.family == raw->remote.family ? 0 : -EINVAL;
}

/* Two attempts to connect would meet otherwise. */
static void choose_role(struct srn_raw *raw)
{
	u32 qpn = raw->qp->ibqp.qp_num;
	int order = memcmp(&raw->sgid, &raw->attr.ah_attr.grh.dgid, sizeof(raw->sgid));

	raw->self = !order && qpn == raw->attr.dest_qp_num;
	raw->active = order < 0 || (!order && qpn < raw->attr.dest_qp_num);
}

/**
 * srn_raw_peer_set - learn the addresses of both ends, and which one connects
 * @raw: bring-up with its attributes
 * @attr: what the program has set, with the core's reference to its own GID
 * @reason: result: what is wrong, if this fails
 *
 * Context: process, before anybody else knows of the bring-up.
 *
 * Return: 0 or -EINVAL.
 */
int srn_raw_peer_set(struct srn_raw *raw, const struct ib_qp_attr *attr, const char **reason)
{
	int ret = get_addresses(raw, attr, reason);

	if (!ret)
		choose_role(raw);
	return ret;
}

/**
 * srn_raw_peer_is_at - does a connection come from the peer's address to ours?
 * @raw: bring-up
 * @sock: connected socket
 *
 * Context: process, sleeps for the socket lock.
 *
 * Return: true if it does.
 */
bool srn_raw_peer_is_at(const struct srn_raw *raw, struct socket *sock)
{
	union srn_address local = {}, remote = {};

	return !srn_sock_ends(sock, &local, &remote) &&
	       same_host(&local, &raw->local) && same_host(&remote, &raw->remote);
}
