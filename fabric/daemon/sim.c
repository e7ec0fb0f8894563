// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The server of ibsim's protocol: control messages, and datagrams between programs and the fabric. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <poll.h>
#include <unistd.h>

#include "../core/agent.h"
#include "sim.h"

#define CLIENTS			32
#define PENDING			256
#define MAGIC			0xdeadbeef
#define CTL_DATA		64
/* Methods of subnet administration. */
#define METHOD_GET_TABLE	0x12
#define METHOD_DELETE		0x15
#define NODE_ID			32
/* Datagrams of one program at a time, so that all have their turn. */
#define TURN			64
/* A program that does not read for so long loses a datagram. */
#define SLOW_MS			100
/* A request without an answer comes back after so many ns: what OpenSM's time-out and retries are in all. */
#define ANSWER_NS		800000000ull

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
	struct watch watch;
	struct sim *sim;
	u32 pid;	/* 0: none */
	bool issm;
	bool slow;	/* did not read in time, and is not waited for */
	struct fab_port *port;
};

/* A request that has no answer yet. */
struct pending {
	struct packet packet;	/* as the program has sent it */
	struct fab_port *at;
	u32 client;
	u32 pid;
	u64 deadline;	/* 0: it has its answer */
};

struct sim {
	struct topology *topo;
	const char *name;
	struct watch ctl;
	struct loop *loop;
	struct client clients[CLIENTS];
	/* A ring, in the order of their deadlines: from @pending_first up to @pending_end. */
	struct pending pending[PENDING];
	u32 pending_first;
	u32 pending_end;
};

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

static bool open_socket(struct sim *sim, const char *what, int number, struct watch *watch)
{
	struct sockaddr_un name;
	socklen_t len = make_name(&name, sim->name, what, number);

	watch->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (watch->fd >= 0 && !bind(watch->fd, (struct sockaddr *)&name, len) && loop_add(sim->loop, watch))
		return true;
	fprintf(stderr, "softhca-fabric: socket @%s: %s\n", name.sun_path + 1, strerror(errno));
	return false;
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
	connect(client->watch.fd, &nobody, sizeof(nobody));
}

/* A program that was killed has not said so: its socket is gone. */
static bool client_lives(const struct sim *sim, struct client *client)
{
	struct sockaddr_un name;
	socklen_t len = make_name(&name, sim->name, "in", client->pid);

	if (client->pid && connect(client->watch.fd, (struct sockaddr *)&name, len))
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
	if (connect(client->watch.fd, (struct sockaddr *)&name, len))
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
	fab_sma(port, mad);
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

static void ctl_ready(struct watch *watch)
{
	struct sim *sim = (struct sim *)((char *)watch - offsetof(struct sim, ctl));
	struct sockaddr_un from;
	socklen_t len = sizeof(from);
	struct ctl ctl;

	if (recvfrom(sim->ctl.fd, &ctl, sizeof(ctl), 0, (struct sockaddr *)&from, &len) != sizeof(ctl) ||
	    ctl.magic != MAGIC)
		return;
	if (!ctl_handle(sim, &ctl))
		ctl.type = CTL_ERROR;
	if (sendto(sim->ctl.fd, &ctl, sizeof(ctl), 0, (struct sockaddr *)&from, len) < 0)
		fprintf(stderr, "softhca-fabric: control answer: %s\n", strerror(errno));
}

/* ---- datagrams -------------------------------------------------------------- */

static u32 to_wire(u16 lid)
{
	return htons(lid);
}

/*
 * @waits:	for a program that does not read. What comes from a real port does not wait: data would
 *		wait behind it
 */
static void post(struct client *client, const struct packet *packet, bool waits)
{
	struct pollfd room = { .fd = client->watch.fd, .events = POLLOUT };

	while (send(client->watch.fd, packet, sizeof(*packet), 0) < 0) {
		if (errno == EINTR)
			continue;
		if (errno == ECONNREFUSED || errno == ENOTCONN)
			client_end(client);
		if (errno != EAGAIN && errno != ENOBUFS)
			return;
		/* The queue of a socket is short. One that stays full delays the others once. */
		if (!waits)
			return;
		if (client->slow || poll(&room, 1, SLOW_MS) <= 0) {
			client->slow = true;
			return;
		}
	}
	client->slow = false;
}

static void deliver(struct client *client, struct packet *packet, const struct fab_mad *mad, bool waits)
{
	packet->dlid = to_wire(mad->dlid);
	packet->slid = to_wire(mad->slid);
	packet->dqp = htonl(mad->dqp);
	packet->sqp = htonl(mad->sqp);
	packet->status = 0;
	packet->length = htobe64(FAB_MAD_BYTES);
	post(client, packet, waits);
}

/* Does a program wait for an answer to this? (IBTA 13.4.5; of a trap it is TrapRepress) */
static bool is_request(const u8 *mad)
{
	switch (mad[MAD_METHOD]) {
	case METHOD_GET:
	case METHOD_SET:
	case METHOD_TRAP:
	case METHOD_REPORT:
	case METHOD_GET_TABLE:
	case METHOD_DELETE:
		return true;
	default:
		return false;
	}
}

/* The answer to this request is for the program that has sent it. */
static void remember(struct sim *sim, const struct client *from, const struct packet *packet, u64 now)
{
	struct pending *p = &sim->pending[sim->pending_end++ % PENDING];

	p->packet = *packet;
	p->at = from->port;
	p->client = from - sim->clients;
	p->pid = from->pid;
	p->deadline = now + ANSWER_NS;
	/* (the oldest one has lost its place) */
	if (sim->pending_end - sim->pending_first > PENDING)
		sim->pending_first = sim->pending_end - PENDING;
}

/* Return: the program that waits for this answer, and does not any longer; NULL: none does. */
static struct client *asker(struct sim *sim, const struct fab_mad *mad)
{
	u32 i;

	for (i = sim->pending_end; i != sim->pending_first; i--) {
		struct pending *p = &sim->pending[(i - 1) % PENDING];

		if (!p->deadline || p->at != mad->to || memcmp(p->packet.mad + MAD_TID, mad->data + MAD_TID, sizeof(u64)))
			continue;
		p->deadline = 0;
		return sim->clients[p->client].pid == p->pid ? &sim->clients[p->client] : NULL;
	}
	return NULL;
}

/*
 * A request comes back to its program when no answer has come in time, as from the kernel's umad:
 * OpenSM waits for that.
 */
static u64 expire(struct sim *sim, u64 now)
{
	for (; sim->pending_first != sim->pending_end; sim->pending_first++) {
		struct pending *p = &sim->pending[sim->pending_first % PENDING];
		struct client *client = &sim->clients[p->client];

		if (!p->deadline)
			continue;
		if (p->deadline > now)
			return p->deadline;
		p->packet.status = htonl(ETIMEDOUT);
		if (client->pid == p->pid)
			post(client, &p->packet, true);
	}
	return ~0ull;
}

/*
 * A program for a datagram that no agent takes. An answer is for the one that asked. Requests are
 * for a subnet manager only: libumad2sim.so crashes if its program has not registered the class.
 */
static struct client *receiver(struct sim *sim, const struct fab_mad *mad)
{
	u8 class = mad->data[MAD_CLASS];
	u32 i;

	if (mad->data[MAD_METHOD] & METHOD_RESPONSE)
		return asker(sim, mad);
	if (class != CLASS_LID_ROUTED && class != CLASS_DIRECTED && class != CLASS_SA)
		return NULL;
	for (i = 0; i < CLIENTS; i++) {
		if (sim->clients[i].pid && sim->clients[i].issm && sim->clients[i].port == mad->to)
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
	struct packet request = *packet;
	struct client *to = NULL;
	enum fab_verdict verdict = fab_send(from->port, &mad, now);

	if (verdict == FAB_ANSWERED)
		to = from;
	else if (verdict == FAB_ARRIVED)
		to = receiver(sim, &mad);
	else if (verdict == FAB_CONSUMED && mad.data[MAD_METHOD] == METHOD_TRAP_REPRESS)
		to = asker(sim, &mad);	/* (a manager has sent the trap, and not its node) */
	if (verdict != FAB_ANSWERED && is_request(request.mad))
		remember(sim, from, &request, now);
	if (to && to->pid)
		deliver(to, packet, &mad, true);
}

static void client_ready(struct watch *watch)
{
	struct client *client = (struct client *)((char *)watch - offsetof(struct client, watch));
	u64 now = loop_now();
	struct packet packet;
	ssize_t got;
	u32 i;

	for (i = 0; i < TURN; i++) {
		got = recv(client->watch.fd, &packet, sizeof(packet), 0);
		if (got < 0)
			return;
		if (got == sizeof(packet) && client->pid)
			packet_serve(client->sim, client, &packet, now);
	}
}

void sim_arrive(struct sim *sim, struct fab_mad *mad)
{
	struct packet packet = { 0 };
	struct client *to = receiver(sim, mad);

	memcpy(packet.mad, mad->data, FAB_MAD_BYTES);
	if (to && to->pid)
		deliver(to, &packet, mad, false);
}

static void traps_serve(struct sim *sim)
{
	struct packet packet;
	struct fab_mad mad = { .data = packet.mad };
	struct client *to;

	packet.hole = 0;
	while (fab_trap_next(&sim->topo->fabric, &mad, loop_now())) {
		to = receiver(sim, &mad);
		if (to)
			deliver(to, &packet, &mad, true);
	}
}

u64 sim_advance(struct sim *sim)
{
	u64 deadline = expire(sim, loop_now());

	traps_serve(sim);
	return min_t(u64, deadline, fab_trap_deadline(&sim->topo->fabric));
}

/* ---- the server ------------------------------------------------------------- */

struct sim *sim_open(struct topology *topo, const char *name, struct loop *loop)
{
	struct sim *sim = calloc(1, sizeof(*sim));
	u32 i;

	if (!sim)
		return NULL;
	sim->topo = topo;
	sim->name = name;
	sim->loop = loop;
	for (i = 0; i < CLIENTS; i++) {
		sim->clients[i].sim = sim;
		sim->clients[i].watch.ready = client_ready;
		if (!open_socket(sim, "out", i, &sim->clients[i].watch))
			return NULL;
	}
	sim->ctl.ready = ctl_ready;
	return open_socket(sim, "ctl", -1, &sim->ctl) ? sim : NULL;
}

void sim_close(struct sim *sim)
{
	u32 i;

	for (i = 0; i < CLIENTS; i++)
		close(sim->clients[i].watch.fd);
	close(sim->ctl.fd);
	free(sim);
}
