// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Plugs of UDP sockets: a frame is a datagram, and the peer is another process, here or on another
 * machine. The kernel keeps datagrams of other addresses out of the peer's socket, and so out of its
 * buffer. Who can write the peer's address into a datagram can send frames in its name.
 */
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../../kernel/core/be.h"
#include "plug.h"

#define PLACE_MAX		128
/* Datagrams of others that are counted at a time. */
#define TURN			64

/*
 * @others:	a socket at the same address, not connected: for what does not come from the peer
 */
struct udp {
	struct plug plug;
	struct watch others;
};

static struct udp *udp_of(struct plug *plug)
{
	return (struct udp *)((char *)plug - offsetof(struct udp, plug));
}

/* ---- frames ----------------------------------------------------------------- */

static bool udp_send(struct plug *plug, const u8 *frame, u32 len)
{
	u32 tries;

	/* The peer's machine has refused an earlier one: the error is told once. */
	for (tries = 0; tries < 2; tries++)
		if (send(plug->watch.fd, frame, len, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)len)
			return true;
	return false;
}

static ssize_t udp_receive(struct plug *plug, u8 *frame, u8 *rest)
{
	ssize_t len = recv(plug->watch.fd, frame, FAB_FRAME_MAX, MSG_DONTWAIT);

	/* Other errors tell of a datagram that was sent, and do not last. */
	if (len < 0)
		return errno == EAGAIN ? -EAGAIN : 0;
	/* No other protocol is here. */
	if (len >= FAB_HEAD && get_be16(frame + 2 * SHCA_IB_MAC_BYTES) == SHCA_IB_ETHERTYPE)
		return len;
	plug->edge.bad_frames++;
	return 0;
}

static void others_ready(struct watch *watch)
{
	struct udp *udp = (struct udp *)((char *)watch - offsetof(struct udp, others));
	u8 first;
	u32 i;

	for (i = 0; i < TURN && recv(watch->fd, &first, sizeof(first), MSG_DONTWAIT) >= 0; i++)
		udp->plug.edge.foreign++;
}

/* ---- addresses -------------------------------------------------------------- */

/* ADDRESS:PORT, or [ADDRESS]:PORT of IPv6, in numbers. Return: NULL: it is none. */
static struct addrinfo *parse(const char *text, size_t len)
{
	const struct addrinfo hints = {
		.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV,
		.ai_socktype = SOCK_DGRAM,
	};
	char place[PLACE_MAX], *host = place, *port;
	struct addrinfo *found;

	if (len >= sizeof(place))
		return NULL;
	memcpy(place, text, len);
	place[len] = '\0';
	port = strrchr(place, ':');
	if (!port || port == place)
		return NULL;
	*port++ = '\0';
	if (*host == '[' && port[-2] == ']') {
		host++;
		port[-2] = '\0';
	} else if (strchr(host, ':')) {
		return NULL;
	}
	return getaddrinfo(host, port, &hints, &found) ? NULL : found;
}

/* A packet may be longer than the network takes at once: then IP divides it. */
static bool divide(int fd, int family)
{
	int value = family == AF_INET ? IP_PMTUDISC_DONT : IPV6_PMTUDISC_DONT;

	if (family == AF_INET)
		return !setsockopt(fd, IPPROTO_IP, IP_MTU_DISCOVER, &value, sizeof(value));
	return !setsockopt(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, &value, sizeof(value));
}

/*
 * Return: a socket at the address; -1, with errno.
 * @shares:	with others of this user
 */
static int listen_at(const struct addrinfo *own, int shares)
{
	int fd = socket(own->ai_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), error;

	if (fd < 0)
		return -1;
	if (!setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &shares, sizeof(shares)) && !bind(fd, own->ai_addr, own->ai_addrlen))
		return fd;
	error = errno;
	close(fd);
	errno = error;
	return -1;
}

/* Two sockets that share the address would share it with another process, too. */
static bool is_free(const struct addrinfo *own)
{
	int fd = listen_at(own, false);

	if (fd < 0)
		return false;
	close(fd);
	return true;
}

static bool dial(struct udp *udp, const struct addrinfo *own, const struct addrinfo *peer)
{
	struct plug *plug = &udp->plug;
	u8 first;

	if (!is_free(own))
		return false;
	plug->watch.fd = listen_at(own, true);
	if (plug->watch.fd < 0 || !divide(plug->watch.fd, own->ai_family) || !plug_size_socket(plug) ||
	    connect(plug->watch.fd, peer->ai_addr, peer->ai_addrlen))
		return false;
	/* What came before it was connected may be of anybody. */
	while (recv(plug->watch.fd, &first, sizeof(first), MSG_DONTWAIT) >= 0)
		;
	udp->others = (struct watch){ listen_at(own, true), others_ready };
	return udp->others.fd >= 0 && plug_watch(plug, &udp->others);
}

static bool udp_open(struct plug *plug)
{
	const char *comma = strchr(plug->where, ',');
	struct addrinfo *own = NULL, *peer = NULL;
	bool ok;

	udp_of(plug)->others.fd = -1;
	if (comma) {
		own = parse(plug->where, comma - plug->where);
		peer = parse(comma + 1, strlen(comma + 1));
	}
	if (own && peer && own->ai_family == peer->ai_family)
		ok = dial(udp_of(plug), own, peer) || plug_complain(plug->where, "UDP");
	else
		ok = plug_refuse(plug->where, "not two addresses, as 192.0.2.1:7001,192.0.2.2:7001 or [2001:db8::1]:7001,[2001:db8::2]:7001");
	if (own)
		freeaddrinfo(own);
	if (peer)
		freeaddrinfo(peer);
	return ok;
}

static void udp_close(struct plug *plug)
{
	close(udp_of(plug)->others.fd);
}

const struct plug_kind plug_udp = {
	.form = "END=ADDRESS:PORT,ADDRESS:PORT",
	.size = sizeof(struct udp),
	.open = udp_open,
	.receive = udp_receive,
	.send = udp_send,
	.close = udp_close,
};
