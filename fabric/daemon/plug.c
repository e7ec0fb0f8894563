// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Edges of the fabric and the files that their frames pass by. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "plug.h"

/* Frames of one plug at a time, so that all have their turn. */
#define TURN			64
#define RETRY_NS		1000000000ull
/*
 * Memory that the kernel counts for the longest frame in a socket. On this machine that is 9,000
 * bytes; a network adapter may have taken a page or two for each of three fragments.
 */
#define SOCKET_FRAME_BYTES	16384

struct plugs {
	struct topology *topo;
	struct loop *loop;
	struct sim *sim;
	u64 retry;
};

bool plug_complain(const char *where, const char *what)
{
	fprintf(stderr, "softhca-fabric: %s: %s: %s\n", where, what, strerror(errno));
	return false;
}

bool plug_refuse(const char *where, const char *why)
{
	fprintf(stderr, "softhca-fabric: %s: %s\n", where, why);
	return false;
}

static struct plug *plug_of(struct fab_edge *edge)
{
	return (struct plug *)((char *)edge - offsetof(struct plug, edge));
}

/* ---- frames ----------------------------------------------------------------- */

static bool plugs_send(struct fab_edge *edge, const u8 *frame, u32 len)
{
	struct plug *plug = plug_of(edge);

	return plug->watch.fd >= 0 && plug->kind->send(plug, frame, len);
}

static void plug_down(struct plug *plug, int error)
{
	errno = error;
	plug_complain(plug->where, "no frames can pass");
	fab_edge_carrier(&plug->edge, false, loop_now());
	close(plug->watch.fd);
	plug->watch.fd = -1;
	if (!plug->kind->reopen)
		return;
	plug->retry = loop_now() + RETRY_NS;
	plug->plugs->retry = min_t(u64, plug->plugs->retry, plug->retry);
}

/* Return: false: there is none. */
static bool plug_receive(struct plug *plug, u64 now)
{
	struct fab_data *data = plug->plugs->topo->fabric.data;
	struct fab_packet *packet = fab_packet_get(data), spare;
	ssize_t len = plug->kind->receive(plug, (packet ?: &spare)->frame, data->rest);

	if (len > 0 && packet) {
		fab_edge_receive(&plug->edge, packet, len, now);
		return true;
	}
	if (packet)
		fab_packet_put(data, packet);
	if (len < 0 && len != -EAGAIN && len != -EINTR)
		plug_down(plug, -len);
	return len >= 0;
}

static void plug_ready(struct watch *watch)
{
	struct plug *plug = (struct plug *)((char *)watch - offsetof(struct plug, watch));
	u64 now = loop_now();
	u32 i;

	if (plug->watch.fd >= 0 && plug->kind->flush)
		plug->kind->flush(plug);
	for (i = 0; i < TURN && plug->watch.fd >= 0 && plug_receive(plug, now); i++)
		;
	fab_data_run(&plug->plugs->topo->fabric, now);
}

bool plug_watch(struct plug *plug, struct watch *watch)
{
	return loop_add(plug->plugs->loop, watch);
}

void plug_want_room(struct plug *plug, bool wants)
{
	loop_want_room(plug->plugs->loop, &plug->watch, wants);
}

void plug_up(struct plug *plug)
{
	plug->watch.ready = plug_ready;
	plug->retry = ~0ull;
	if (loop_add(plug->plugs->loop, &plug->watch))
		fab_edge_carrier(&plug->edge, true, loop_now());
	else
		plug_down(plug, errno);
}

u64 plugs_advance(struct plugs *plugs)
{
	struct fab_data *data = plugs->topo->fabric.data;
	u64 now = loop_now();
	struct plug *plug;
	u32 i;

	if (now < plugs->retry)
		return plugs->retry;
	plugs->retry = ~0ull;
	for (i = 0; i < data->edges_nr; i++) {
		plug = plug_of(data->edges[i]);
		if (now >= plug->retry) {
			plug->retry = now + RETRY_NS;
			if (plug->kind->reopen(plug))
				plug_up(plug);
		}
		plugs->retry = min_t(u64, plugs->retry, plug->retry);
	}
	return plugs->retry;
}

/* Ask for a buffer, beyond the limit of unprivileged processes if that is permitted. */
static bool size_buffer(int fd, int force, int plain, int bytes)
{
	return !setsockopt(fd, SOL_SOCKET, force, &bytes, sizeof(bytes)) ||
	       !setsockopt(fd, SOL_SOCKET, plain, &bytes, sizeof(bytes));
}

bool plug_size_socket(struct plug *plug)
{
	/* The kernel doubles what is asked for. */
	int bytes = (plug->window + 1) * SOCKET_FRAME_BYTES / 2, fd = plug->watch.fd;
	socklen_t len = sizeof(bytes);

	if (!size_buffer(fd, SO_SNDBUFFORCE, SO_SNDBUF, bytes) || !size_buffer(fd, SO_RCVBUFFORCE, SO_RCVBUF, bytes) ||
	    getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, &len))
		return false;
	plug->window = min_t(u32, plug->window, max_t(u32, bytes / SOCKET_FRAME_BYTES, 1));
	return true;
}

/* ---- the cable -------------------------------------------------------------- */

/* The port of a switch that is meant by a host or by NODE[PORT]. Return: NULL, with a message. */
static struct fab_port *port_of(struct plugs *plugs, char *end)
{
	struct topo_node *node = topo_find_any(plugs->topo, end);
	size_t len = strlen(end);
	u32 number = 0, i;
	char *bracket = strrchr(end, '['), *rest;

	if (!node && bracket && end[len - 1] == ']') {
		number = strtoul(bracket + 1, &rest, 10);
		*bracket = '\0';
		node = topo_find_any(plugs->topo, end);
		*bracket = '[';
		if (rest != end + len - 1 || !number || (node && number > node->node.ports_nr)) {
			plug_refuse(end, "the node has no port of this number");
			return NULL;
		}
	}
	if (!node || !node->node.sw != !number) {
		plug_refuse(end, "the fabric has no host of this name, nor such a port of a switch");
		return NULL;
	}
	if (number)
		return &node->node.ports[number];
	for (i = 1; i <= node->node.ports_nr; i++)
		if (node->node.ports[i].peer)
			return node->node.ports[i].peer;
	plug_refuse(end, "it has no cable to a switch");
	return NULL;
}

/* The other end of its cable is alone from now on. */
static void unplug(struct fab_port *port)
{
	if (!port->peer)
		return;
	fab_part(port);
	/* (it was never plugged in) */
	port->counters = (struct fab_counters){ 0 };
}

static bool draw(void *bytes, size_t len)
{
	return getrandom(bytes, len, 0) == (ssize_t)len;
}

static void plug_free(struct plug *plug)
{
	if (plug->watch.fd >= 0)
		close(plug->watch.fd);
	if (plug->is_open && plug->kind->close)
		plug->kind->close(plug);
	free(plug);
}

/* Return: false, with a message on stderr. */
static bool plug_begin(struct plug *plug, struct fab_port *port)
{
	u32 session = 0;

	/* Locally administered. */
	plug->edge.mac[0] = 2;
	while (!session)
		if (!draw(&session, sizeof(session)) || !draw(plug->edge.mac + 1, sizeof(plug->edge.mac) - 1))
			return plug_complain(plug->where, "random number");
	plug->is_open = true;
	if (!plug->kind->open(plug))
		return false;
	if (!plug->mtu)
		return plug_refuse(plug->where, "its MTU is below 390");
	unplug(port);
	fab_edge_init(&plug->edge, port, session, plug->mtu, plug->window);
	if (plug->batch_mtu)
		fab_edge_batches(&plug->edge, plug->batch_mtu);
	return true;
}

bool plugs_add(struct plugs *plugs, const struct plug_kind *kind, char *end, const char *where)
{
	struct fab_port *port = port_of(plugs, end);
	struct plug *plug;

	if (!port)
		return false;
	if (!port->io || port->edge)
		return plug_refuse(end, port->edge ? "this cable leaves the process already" : "it has no cable to a switch");
	plug = calloc(1, kind->size);
	if (!plug)
		return plug_complain(end, "memory");
	*plug = (struct plug){
		.kind = kind,
		.plugs = plugs,
		.where = where,
		.watch.fd = -1,
		.mtu = SHCA_IB_MTU_MAX,
		.window = FAB_EDGE_WINDOW,
		.retry = kind->reopen ? 0 : ~0ull,
	};
	if (!plug_begin(plug, port)) {
		plug_free(plug);
		return false;
	}
	if (plug->watch.fd >= 0)
		plug_up(plug);
	plugs->retry = min_t(u64, plugs->retry, plug->retry);
	return true;
}

static void plugs_arrive(struct fab_data *data, struct fab_mad *mad)
{
	sim_arrive(plug_of(data->edges[0])->plugs->sim, mad);
}

void plugs_set_programs(struct plugs *plugs, struct sim *sim)
{
	plugs->sim = sim;
	plugs->topo->fabric.data->arrive = plugs_arrive;
}

/* ---- begin and end ---------------------------------------------------------- */

struct plugs *plugs_open(struct topology *topo, struct loop *loop)
{
	struct plugs *plugs = calloc(1, sizeof(*plugs));

	if (!plugs) {
		plug_complain("plugs", "memory");
		return NULL;
	}
	*plugs = (struct plugs){ .topo = topo, .loop = loop, .retry = ~0ull };
	topo->fabric.data->send = plugs_send;
	return plugs;
}

void plugs_close(struct plugs *plugs)
{
	struct fab_data *data = plugs->topo->fabric.data;
	struct plug *plug;
	u32 i;

	for (i = 0; i < data->edges_nr; i++) {
		plug = plug_of(data->edges[i]);
		if (plug->watch.fd >= 0)
			fab_edge_bye(&plug->edge, loop_now());
		plug_free(plug);
	}
	data->edges_nr = 0;
	free(plugs);
}
