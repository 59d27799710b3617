// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Listening. A port is one listening socket. A port with the wildcard address is shared by the
 * links of a network namespace, and each connection goes to the link that has its local address.
 * So a wildcard listener is reached by all addresses of its link, whichever interface the packets
 * come in on, loopback included. rdma_cm takes a loopback address for a wildcard, and listens on
 * all links: that port is shared in the same way.
 */
#include <linux/inetdevice.h>
#include <linux/slab.h>
#include <net/addrconf.h>
#include <net/l3mdev.h>

#include "../device/workqueues.h"
#include "../stream/acceptor.h"
#include "../stream/charge.h"
#include "../stream/sock.h"
#include "conn_req.h"
#include "ep.h"
#include "listen.h"
#include "passive.h"
#include "rdma_id.h"
#include "report.h"

#define DEFAULT_BACKLOG	128

struct srn_tcp_port {
	struct list_head node;		/* in ports, under ports_mutex */
	struct list_head listeners;	/* struct member, under ports_mutex */
	struct net *net;
	struct sockaddr_storage address;
	bool v6only;
	struct srn_acceptor acceptor;
};

struct member {
	struct list_head node;
	struct srn_ep *ep;
};

static LIST_HEAD(ports);
static DEFINE_MUTEX(ports_mutex);
/*
 * Held while a port is opened or closed: whoever listens next has to find the address free. A port
 * that is closed waits for its work, which takes ports_mutex; so this one is taken before that.
 */
static DEFINE_MUTEX(open_mutex);

/* Does rdma_cm listen there on all links? */
static bool is_shared(const struct sockaddr_storage *a)
{
	const struct in6_addr *in6 = &((const struct sockaddr_in6 *)a)->sin6_addr;
	__be32 in = ((const struct sockaddr_in *)a)->sin_addr.s_addr;

	if (a->ss_family == AF_INET)
		return in == htonl(INADDR_ANY) || ipv4_is_loopback(in);
	return ipv6_addr_any(in6) || ipv6_addr_loopback(in6);
}

static bool netdev_has_ipv4(struct net_device *netdev, __be32 address)
{
	const struct in_ifaddr *ifa;
	struct in_device *in_dev;
	bool found = false;

	/* The loopback device has all of 127.0.0.0/8, not only the address that it shows. */
	if (ipv4_is_loopback(address))
		return netdev->flags & IFF_LOOPBACK;
	rcu_read_lock();
	in_dev = __in_dev_get_rcu(netdev);
	if (in_dev)
		in_dev_for_each_ifa_rcu(ifa, in_dev)
			found |= ifa->ifa_local == address;
	rcu_read_unlock();
	return found;
}

static bool netdev_has_address(struct net_device *netdev, const struct sockaddr_storage *a)
{
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)a;

	if (a->ss_family == AF_INET)
		return netdev_has_ipv4(netdev, ((struct sockaddr_in *)a)->sin_addr.s_addr);
	if (ipv6_addr_v4mapped(&in6->sin6_addr))
		return netdev_has_ipv4(netdev, in6->sin6_addr.s6_addr32[3]);
	/* Several may have the same link-local address. A VRF speaks for its devices. */
	if (in6->sin6_scope_id && in6->sin6_scope_id != netdev->ifindex &&
	    in6->sin6_scope_id != l3mdev_master_ifindex(netdev))
		return false;
	return IS_ENABLED(CONFIG_IPV6) &&
	       ipv6_chk_addr(dev_net(netdev), &in6->sin6_addr, netdev, 1);
}

/* Whose connection is it? Context: ports_mutex held. */
static struct srn_ep *find_listener(struct srn_tcp_port *port, struct socket *sock)
{
	struct sockaddr_storage local;
	struct member *m;

	lockdep_assert_held(&ports_mutex);
	if (!is_shared(&port->address)) {
		m = list_first_entry_or_null(&port->listeners, struct member, node);
		return m ? m->ep : NULL;
	}
	if (kernel_getsockname(sock, (struct sockaddr *)&local) < 0)
		return NULL;
	list_for_each_entry(m, &port->listeners, node)
		if (netdev_has_address(m->ep->dev->netdev, &local))
			return m->ep;
	return NULL;
}

static void take(struct srn_acceptor *a, struct socket *sock)
{
	struct srn_tcp_port *port = container_of(a, struct srn_tcp_port, acceptor);
	struct srn_ep *ep;

	srn_charge_sock_as(sock->sk, a->sock->sk);
	/* Under the mutex the listener's link cannot go away. */
	mutex_lock(&ports_mutex);
	ep = find_listener(port, sock);
	if (ep)
		srn_passive_start(ep, sock);
	else
		srn_sock_abort(sock);
	mutex_unlock(&ports_mutex);
}

static void port_work(struct work_struct *work)
{
	srn_acceptor_run(container_of(to_delayed_work(work), struct srn_acceptor, work), take);
}

static bool same_address(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
	const struct sockaddr_in6 *a6 = (void *)a, *b6 = (void *)b;
	const struct sockaddr_in *a4 = (void *)a, *b4 = (void *)b;

	if (a->ss_family != b->ss_family)
		return false;
	if (a->ss_family == AF_INET)
		return a4->sin_port == b4->sin_port && a4->sin_addr.s_addr == b4->sin_addr.s_addr;
	return a6->sin6_port == b6->sin6_port && a6->sin6_scope_id == b6->sin6_scope_id &&
	       ipv6_addr_equal(&a6->sin6_addr, &b6->sin6_addr);
}

/* Context: open_mutex and ports_mutex held. */
static struct srn_tcp_port *find_port(const struct net *net, const struct iw_cm_id *cm_id)
{
	struct srn_tcp_port *port;

	lockdep_assert_held(&open_mutex);
	lockdep_assert_held(&ports_mutex);
	list_for_each_entry(port, &ports, node)
		if (net_eq(port->net, net) && port->v6only == cm_id->afonly &&
		    same_address(&port->address, &cm_id->local_addr))
			return port;
	return NULL;
}

/* Let go of ports_mutex, and close the port if nobody listens there. Context: open_mutex held. */
static void port_release(struct srn_tcp_port *port)
{
	bool unused = list_empty(&port->listeners);

	lockdep_assert_held(&open_mutex);
	if (unused)
		list_del(&port->node);
	mutex_unlock(&ports_mutex);
	if (!unused)
		return;
	srn_acceptor_close(&port->acceptor);
	kfree(port);
}

static int port_join(struct srn_tcp_port *port, struct srn_ep *ep)
{
	struct member *m;

	list_for_each_entry(m, &port->listeners, node)
		if (m->ep->dev == ep->dev || !is_shared(&port->address))
			return -EADDRINUSE;
	m = kmalloc(sizeof(*m), GFP_KERNEL);
	if (!m)
		return -ENOMEM;
	m->ep = ep;
	ep->port = port;
	list_add(&m->node, &port->listeners);
	return 0;
}

/* Undo port_join(). */
static void port_part(struct srn_tcp_port *port, struct srn_ep *ep)
{
	struct member *m, *tmp;

	lockdep_assert_held(&ports_mutex);
	list_for_each_entry_safe(m, tmp, &port->listeners, node) {
		if (m->ep == ep) {
			list_del(&m->node);
			kfree(m);
		}
	}
	ep->port = NULL;
}

static void port_leave(struct srn_ep *ep)
{
	struct srn_tcp_port *port = ep->port;

	if (!port)
		return;
	mutex_lock(&open_mutex);
	mutex_lock(&ports_mutex);
	port_part(port, ep);
	port_release(port);
	mutex_unlock(&open_mutex);
}

static struct srn_tcp_port *new_port(struct net *net, const struct iw_cm_id *cm_id)
{
	struct srn_tcp_port *port = kzalloc(sizeof(*port), GFP_KERNEL);

	if (!port)
		return NULL;
	INIT_LIST_HEAD(&port->listeners);
	port->acceptor.wq = srn_accept_wq;
	INIT_DELAYED_WORK(&port->acceptor.work, port_work);
	port->net = net;
	port->address = cm_id->local_addr;
	port->v6only = cm_id->afonly;
	return port;
}

/*
 * The caller may lose its processor while it opens a socket, for as long as its cgroup is
 * throttled. So it does without ports_mutex, which all accepted connections need. Context:
 * open_mutex held.
 */
static int listen_at_new_port(struct srn_ep *ep, const struct iw_cm_id *cm_id)
{
	struct srn_tcp_port *port = new_port(ep->dev->net, cm_id);
	int ret;

	lockdep_assert_held(&open_mutex);
	if (!port)
		return -ENOMEM;
	/* A connection that comes at once finds the listener. */
	ret = port_join(port, ep);
	if (ret) {
		kfree(port);
		return ret;
	}
	ret = srn_acceptor_open(&port->acceptor, port->net, (struct sockaddr *)&port->address,
				port->v6only, srn_ep_tcp_backlog(ep));
	mutex_lock(&ports_mutex);
	if (!ret) {
		list_add(&port->node, &ports);
		mutex_unlock(&ports_mutex);
		return 0;
	}
	port_part(port, ep);
	mutex_unlock(&ports_mutex);
	kfree(port);
	return ret;
}

/* Context: open_mutex held, so that no port comes or goes meanwhile. */
static int listen_at_port(struct srn_ep *ep, const struct iw_cm_id *cm_id)
{
	struct srn_tcp_port *port;
	int ret = 0;

	mutex_lock(&ports_mutex);
	port = find_port(ep->dev->net, cm_id);
	if (port)
		ret = port_join(port, ep);
	mutex_unlock(&ports_mutex);
	return port ? ret : listen_at_new_port(ep, cm_id);
}

static int listen_on(struct srn_ep *ep, struct iw_cm_id *cm_id)
{
	int ret;

	/*
	 * In shared mode the core opens such a listener on every device, even on devices of
	 * other network namespaces, through which the program cannot be reached. It does so on
	 * behalf of any program when a link is added.
	 */
	if (is_shared(&cm_id->local_addr) && !net_eq(srn_rdma_id_net(cm_id), ep->dev->net))
		return 0;
	mutex_lock(&open_mutex);
	ret = listen_at_port(ep, cm_id);
	mutex_unlock(&open_mutex);
	return ret;
}

/* A listener has no queue pair, and no socket: the port has that. */
static void nothing_to_do(struct srn_ep *ep)
{
}

static const struct srn_ep_kind listener = {
	.work = nothing_to_do, .qp_ended = nothing_to_do, .tell = nothing_to_do,
};

/**
 * srn_listen_create - listen, for the core
 * @cm_id: listener, with its address
 * @backlog: requests that may wait; 0 or less: the default
 *
 * Context: process.
 *
 * Return: 0; -EAFNOSUPPORT; -ENOMEM; or a negative errno of the socket. For the task that registers
 * the link it is 0 even if nobody can listen.
 */
int srn_listen_create(struct iw_cm_id *cm_id, int backlog)
{
	struct srn_device *dev = to_srn_dev(cm_id->device);
	struct srn_ep *ep;
	int ret;

	if (cm_id->local_addr.ss_family != AF_INET && cm_id->local_addr.ss_family != AF_INET6)
		return -EAFNOSUPPORT;
	srn_rdma_id_complete_listener(cm_id);
	ep = srn_ep_alloc(dev, &listener, SRN_EP_LISTENING, NULL);
	if (!ep)
		return -ENOMEM;
	srn_ep_get(ep);
	mutex_lock(&ep->lock.mutex);
	ep->backlog = backlog > 0 ? backlog : DEFAULT_BACKLOG;
	srn_ep_take_cm_id(ep, cm_id);
	srn_report_init(ep);
	srn_ep_unlock(ep);
	ret = listen_on(ep, cm_id);
	if (ret)
		srn_ep_notice(ep, "cannot listen: error %d\n", ret);
	/* If one listener failed while the link is added, rdma_cm would leave out the link. */
	if (ret && READ_ONCE(dev->registering) != current) {
		mutex_lock(&ep->lock.mutex);
		srn_ep_close(ep, false);
		srn_ep_unlock(ep);
	} else {
		cm_id->provider_data = ep;
		ret = 0;
	}
	srn_ep_put(ep);
	return ret;
}

/**
 * srn_listen_destroy - listen no more, for the core
 * @cm_id: listener; it gets no more events once this has returned
 *
 * Context: process.
 *
 * Return: 0.
 */
int srn_listen_destroy(struct iw_cm_id *cm_id)
{
	struct srn_ep *ep = cm_id->provider_data;

	srn_ep_get(ep);
	port_leave(ep);
	mutex_lock(&ep->lock.mutex);
	srn_ep_close(ep, false);
	srn_ep_unlock(ep);
	srn_conn_req_listener_gone(ep);
	srn_ep_put(ep);
	return 0;
}
