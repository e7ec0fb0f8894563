// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The server of ibsim's protocol: control messages, and datagrams between programs and the fabric. */
#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <poll.h>
#include <unistd.h>

#include "../core/agent.h"
#include "sim.h"

#define CLIENTS			32
#define PENDING			256
#define MAGIC			0xdeadbeef
#define CTL_DATA		64
#define NODE_ID			32
/* Datagrams of one program at a time, so that all have their turn. */
#define TURN			64
/* A program that does not read for so long loses a datagram. */
#define SLOW_MS			100

enum ctl_type {
	CTL_ERROR,
	CTL_CONNECT,
	CTL_DISCONNECT,
	CTL_PORT,
	CTL_VENDOR,
	CTL_GID,
	CTL_GUID,
	CTL_NODE_INFO,
	CTL_PORT_INFO,
	CTL_SET_ISSM,
	CTL_PKEYS,
};

/* Numbers are those of this machine. */
struct ctl {
	u32 magic;
	u32 client;
	u32 type;
	u32 len;
	u8 data[CTL_DATA];
};

struct ctl_connect {
	u32 id;	/* in: process; out: client */
	u32 qp;
	u32 issm;
	char node[NODE_ID];
};

struct ctl_vendor {
	u32 vendor;
	u32 device;
	u32 revision;
	u32 hole;
	u64 firmware;
};

/* A LID is two bytes of the wire in a number of four. */
struct packet {
	u32 dlid;
	u32 slid;
	u32 dqp;
	u32 sqp;
	u32 status;
	u32 hole;
	u64 length;
	u8 mad[FAB_MAD_BYTES];
};

static_assert(sizeof(struct ctl) == 80, "ibsim's control message");
static_assert(sizeof(struct packet) == 288, "ibsim's packet");

struct client {
	int fd;
	u32 pid;	/* 0: none */
	bool issm;
	bool slow;	/* did not read in time, and is not waited for */
	struct fab_port *port;
};

/* A request that a program has to answer. */
struct pending {
	u64 tid;
	struct fab_port *at;
	u32 client;
};

struct sim {
	struct topology *topo;
	const char *name;
	int ctl;
	int epoll;
	int signals;
	struct client clients[CLIENTS];
	struct pending pending[PENDING];
	u32 pending_at;
};

static u64 now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

/* An abstract name, whose last NUL counts. */
static socklen_t make_name(struct sockaddr_un *name, const char *base, const char *what, int number)
{
	int len;

	memset(name, 0, sizeof(*name));
	name->sun_family = AF_UNIX;
	if (number < 0)
		len = snprintf(name->sun_path + 1, sizeof(name->sun_path) - 1, "%s:%s", base, what);
	else
		len = snprintf(name->sun_path + 1, sizeof(name->sun_path) - 1, "%s:%s%d", base, what, number);
	return offsetof(struct sockaddr_un, sun_path) + 1 + len + 1;
}

static int open_socket(struct sim *sim, const char *what, int number, u32 tag)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u32 = tag };
	struct sockaddr_un name;
	socklen_t len = make_name(&name, sim->name, what, number);
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&name, len) ||
	    epoll_ctl(sim->epoll, EPOLL_CTL_ADD, fd, &event)) {
		fprintf(stderr, "softhca-fabric: socket @%s: %s\n", name.sun_path + 1, strerror(errno));
		if (fd >= 0)
			close(fd);
		return -1;
	}
	return fd;
}

/* ---- control ---------------------------------------------------------------- */

static void client_end(struct client *client)
{
	struct sockaddr nobody = { .sa_family = AF_UNSPEC };

	if (client->pid && client->issm)
		fab_set_manager(client->port, false);
	client->pid = 0;
	client->issm = false;
	client->slow = false;
	connect(client->fd, &nobody, sizeof(nobody));
}

/* A program that was killed has not said so: its socket is gone. */
static bool client_lives(const struct sim *sim, struct client *client)
{
	struct sockaddr_un name;
	socklen_t len = make_name(&name, sim->name, "in", client->pid);

	if (client->pid && connect(client->fd, (struct sockaddr *)&name, len))
		client_end(client);
	return client->pid;
}

static struct fab_port *port_of_node(struct fab_node *node)
{
	u32 i;

	if (node->sw)
		return node->ports;
	for (i = 1; i < node->ports_nr && !node->ports[i].peer; i++)
		;
	return &node->ports[node->ports[i].peer ? i : 1];
}

static bool ctl_connect(struct sim *sim, struct ctl *ctl)
{
	struct ctl_connect info;
	struct topo_node *node = sim->topo->nodes[0];
	struct sockaddr_un name;
	struct client *client;
	socklen_t len;
	u32 i;

	memcpy(&info, ctl->data, sizeof(info));
	info.node[NODE_ID - 1] = '\0';
	if (!info.id)	/* stands for no program */
		return false;
	if (info.node[0])
		node = topo_find_any(sim->topo, info.node);
	for (i = 0; i < CLIENTS && client_lives(sim, &sim->clients[i]); i++)
		;
	if (!node || i == CLIENTS) {
		fprintf(stderr, "softhca-fabric: process %u refused: %s\n", info.id,
			node ? "there are 32 programs" : "there is no node of the name in SIM_HOST");
		return false;
	}
	client = &sim->clients[i];
	len = make_name(&name, sim->name, "in", info.id);
	if (connect(client->fd, (struct sockaddr *)&name, len))
		return false;
	client->pid = info.id;
	client->port = port_of_node(&node->node);
	client->issm = info.issm;
	if (info.issm)
		fab_set_manager(client->port, true);
	info.id = i;
	memset(info.node, 0, sizeof(info.node));
	memcpy(info.node, node->id, min_t(size_t, strlen(node->id), NODE_ID - 1));
	memcpy(ctl->data, &info, sizeof(info));
	return true;
}

static void ctl_vendor(const struct fab_node *node, u8 *data)
{
	struct ctl_vendor vendor = {
		.vendor = node->vendor,
		.device = node->device,
		.revision = node->revision,
		.firmware = 1,
	};

	memcpy(data, &vendor, sizeof(vendor));
}

/* What the agent of the port answers. */
static void ctl_read(struct fab_port *port, u32 attr, u32 mod, u8 *data)
{
	u8 mad[FAB_MAD_BYTES] = { 1, CLASS_LID_ROUTED, 1, METHOD_GET };

	put_be16(mad + MAD_ATTR, attr);
	put_be32(mad + MAD_ATTR_MOD, mod);
	put_be64(mad + SMP_MKEY, port->end.mkey.key);
	fab_sma(port, mad, now_ns());
	memcpy(data, mad + SMP_DATA, CTL_DATA);
}

/* The library takes NodeGUID plus the port's number for the GUID of the port. */
static void ctl_node_info(struct fab_port *port, u8 *data)
{
	ctl_read(port, ATTR_NODE_INFO, 0, data);
	put_be64(data + 12, port->guid - port->number);
}

static void set_issm(struct client *client, const u8 *data)
{
	u32 issm;

	memcpy(&issm, data, sizeof(issm));
	client->issm = issm;
	fab_set_manager(client->port, issm);
}

static bool ctl_handle(struct sim *sim, struct ctl *ctl)
{
	struct client *client;
	struct fab_port *port;

	if (ctl->type == CTL_CONNECT)
		return ctl_connect(sim, ctl);
	if (ctl->client >= CLIENTS || !sim->clients[ctl->client].pid)
		return ctl->type == CTL_DISCONNECT;
	client = &sim->clients[ctl->client];
	port = client->port;
	switch (ctl->type) {
	case CTL_DISCONNECT:
		client_end(client);
		return true;
	case CTL_PORT:
		memcpy(ctl->data, &port->end.lid, 2);
		ctl->data[2] = port->state;
		return true;
	case CTL_VENDOR:
		ctl_vendor(port->node, ctl->data);
		return true;
	case CTL_GID:
		put_be64(ctl->data, port->end.gid_prefix);
		put_be64(ctl->data + 8, port->guid);
		return true;
	case CTL_GUID:
		put_be64(ctl->data, port->node->guid);
		return true;
	case CTL_NODE_INFO:
		ctl_node_info(port, ctl->data);
		return true;
	case CTL_PORT_INFO:
		ctl_read(port, ATTR_PORT_INFO, ctl->data[0] ? ctl->data[0] : port->number, ctl->data);
		return true;
	case CTL_SET_ISSM:
		set_issm(client, ctl->data);
		return true;
	case CTL_PKEYS:
		ctl_read(port, ATTR_PKEY_TABLE, 0, ctl->data);
		return true;
	default:
		return false;
	}
}

static void ctl_serve(struct sim *sim)
{
	struct sockaddr_un from;
	socklen_t len = sizeof(from);
	struct ctl ctl;

	if (recvfrom(sim->ctl, &ctl, sizeof(ctl), 0, (struct sockaddr *)&from, &len) != sizeof(ctl) ||
	    ctl.magic != MAGIC)
		return;
	if (!ctl_handle(sim, &ctl))
		ctl.type = CTL_ERROR;
	if (sendto(sim->ctl, &ctl, sizeof(ctl), 0, (struct sockaddr *)&from, len) < 0)
		fprintf(stderr, "softhca-fabric: control answer: %s\n", strerror(errno));
}

/* ---- datagrams -------------------------------------------------------------- */

static u32 to_wire(u16 lid)
{
	return htons(lid);
}

static void deliver(struct client *client, struct packet *packet, const struct fab_mad *mad)
{
	struct pollfd waits = { .fd = client->fd, .events = POLLOUT };

	packet->dlid = to_wire(mad->dlid);
	packet->slid = to_wire(mad->slid);
	packet->dqp = htonl(mad->dqp);
	packet->sqp = htonl(mad->sqp);
	packet->status = 0;
	packet->length = htobe64(FAB_MAD_BYTES);
	while (send(client->fd, packet, sizeof(*packet), 0) < 0) {
		if (errno == EINTR)
			continue;
		if (errno == ECONNREFUSED || errno == ENOTCONN)
			client_end(client);
		if (errno != EAGAIN && errno != ENOBUFS)
			return;
		/* The queue of a socket is short. One that stays full delays the others once. */
		if (client->slow || poll(&waits, 1, SLOW_MS) <= 0) {
			client->slow = true;
			return;
		}
	}
	client->slow = false;
}

static struct client *asker(struct sim *sim, const struct fab_mad *mad)
{
	u64 tid = get_be64(mad->data + MAD_TID);
	u32 i;

	for (i = 1; i <= PENDING; i++) {
		struct pending *p = &sim->pending[(sim->pending_at - i) % PENDING];

		if (p->at == mad->to && p->tid == tid)
			return &sim->clients[p->client];
	}
	return NULL;
}

/*
 * A program for a datagram that no agent takes. An answer is for the one that asked. Requests are
 * for a subnet manager only: libumad2sim.so crashes if its program has not registered the class.
 * @from:	who sends it; NULL: a node, and no answer is passed on
 */
static struct client *receiver(struct sim *sim, const struct client *from, const struct fab_mad *mad)
{
	u8 class = mad->data[MAD_CLASS];
	u32 i;

	if (mad->data[MAD_METHOD] & METHOD_RESPONSE)
		return asker(sim, mad);
	if (class != CLASS_LID_ROUTED && class != CLASS_DIRECTED && class != CLASS_SA)
		return NULL;
	for (i = 0; i < CLIENTS; i++) {
		if (!sim->clients[i].pid || !sim->clients[i].issm || sim->clients[i].port != mad->to)
			continue;
		if (from)
			sim->pending[sim->pending_at++ % PENDING] = (struct pending){
				.tid = get_be64(mad->data + MAD_TID),
				.at = from->port,
				.client = from - sim->clients,
			};
		return &sim->clients[i];
	}
	return NULL;
}

static void packet_serve(struct sim *sim, struct client *from, struct packet *packet, u64 now)
{
	struct fab_mad mad = {
		.data = packet->mad,
		.slid = packet->slid ? ntohs(packet->slid) : from->port->end.lid,
		.dlid = ntohs(packet->dlid),
		.sqp = ntohl(packet->sqp),
		.dqp = ntohl(packet->dqp),
	};
	struct client *to = NULL;

	switch (fab_send(from->port, &mad, now)) {
	case FAB_ANSWERED:
		to = from;
		break;
	case FAB_ARRIVED:
		to = receiver(sim, from, &mad);
		break;
	default:
		break;
	}
	if (to && to->pid)
		deliver(to, packet, &mad);
}

static void client_serve(struct sim *sim, struct client *client)
{
	u64 now = now_ns();
	struct packet packet;
	ssize_t got;
	u32 i;

	for (i = 0; i < TURN; i++) {
		got = recv(client->fd, &packet, sizeof(packet), 0);
		if (got < 0)
			return;
		if (got == sizeof(packet) && client->pid)
			packet_serve(sim, client, &packet, now);
	}
}

static void traps_serve(struct sim *sim)
{
	struct packet packet;
	struct fab_mad mad = { .data = packet.mad };
	struct client *to;

	packet.hole = 0;
	while (fab_trap_next(&sim->topo->fabric, &mad, now_ns())) {
		to = receiver(sim, NULL, &mad);
		if (to)
			deliver(to, &packet, &mad);
	}
}

/* Milliseconds to wait until a trap is due; -1: for ever. */
static int traps_wait(const struct sim *sim)
{
	u64 deadline = fab_trap_deadline(&sim->topo->fabric), now;

	if (deadline == ~0ull)
		return -1;
	now = now_ns();
	return deadline > now ? (deadline - now) / 1000000 + 1 : 0;
}

/* ---- the server ------------------------------------------------------------- */

struct sim *sim_open(struct topology *topo, const char *name)
{
	struct sim *sim = calloc(1, sizeof(*sim));
	struct epoll_event event = { .events = EPOLLIN, .data.u32 = CLIENTS + 1 };
	sigset_t set;
	u32 i;

	if (!sim)
		return NULL;
	sim->topo = topo;
	sim->name = name;
	sim->epoll = epoll_create1(EPOLL_CLOEXEC);
	for (i = 0; i < CLIENTS; i++) {
		sim->clients[i].fd = open_socket(sim, "out", i, i);
		if (sim->clients[i].fd < 0)
			return NULL;
	}
	sim->ctl = open_socket(sim, "ctl", -1, CLIENTS);
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	sim->signals = signalfd(-1, &set, SFD_CLOEXEC);
	if (sim->ctl < 0 || sim->signals < 0 ||
	    epoll_ctl(sim->epoll, EPOLL_CTL_ADD, sim->signals, &event))
		return NULL;
	return sim;
}

void sim_run(struct sim *sim)
{
	struct epoll_event events[CLIENTS + 2];
	int i, nr;

	for (;;) {
		nr = epoll_wait(sim->epoll, events, CLIENTS + 2, traps_wait(sim));
		for (i = 0; i < nr; i++) {
			if (events[i].data.u32 > CLIENTS)
				return;
			if (events[i].data.u32 == CLIENTS)
				ctl_serve(sim);
			else
				client_serve(sim, &sim->clients[events[i].data.u32]);
		}
		traps_serve(sim);
	}
}

void sim_close(struct sim *sim)
{
	u32 i;

	for (i = 0; i < CLIENTS; i++)
		close(sim->clients[i].fd);
	close(sim->ctl);
	close(sim->signals);
	close(sim->epoll);
	free(sim);
}
