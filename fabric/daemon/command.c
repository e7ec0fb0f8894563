// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Commands for a running fabric. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "command.h"
#include "local_socket.h"
#include "routing.h"
#include "../core/data_internal.h"

/* (254 ports of a switch) */
#define TEXT_MAX		131072
#define WORDS_MAX		8
/* Of a flow that says nothing else. */
#define SEND_MB			10
#define MB_MAX			100000
#define PKEY_DEFAULT		0xffff
#define CLIENTS			64
#define BYTES_PER_MB		1000000ull
#define NS_PER_US		1000ull

struct client {
	struct watch watch;
	struct control *control;
};

struct control {
	struct topology *topo;
	struct loop *loop;
	const char *path;
	struct watch listener;
	struct client clients[CLIENTS];	/* @watch.fd is -1: none */
};

/* Numbers by name, like those of softhca fault. */
enum option {
	OPTION_MB,
	OPTION_SL,
	OPTION_PKEY,
	OPTION_COUNT,
	OPTIONS,
};

/* A command, and the answer so far. */
struct request {
	struct topology *topo;
	char *words[WORDS_MAX];
	u32 words_nr;
	struct fab_node *node;
	struct fab_port *port;	/* NULL: all of @node */
	u64 number;
	char answer[TEXT_MAX];
	u32 len;
};

/* ---- what commands do ------------------------------------------------------- */

static void say(struct request *request, const char *format, ...)
{
	va_list values;
	int len;

	va_start(values, format);
	len = vsnprintf(request->answer + request->len, TEXT_MAX - request->len, format, values);
	va_end(values);
	request->len = min_t(u32, request->len + max_t(s32, len, 0), TEXT_MAX - 1);
}

/* In place of an answer. */
static void refuse(struct request *request, const char *why)
{
	request->len = 0;
	say(request, "error: %s\n", why);
}

static void cut(struct request *request)
{
	fab_cut(request->port, true, loop_now());
}

static void mend(struct request *request)
{
	fab_cut(request->port, false, loop_now());
}

static void lose(struct request *request)
{
	request->port->io->lose_each = request->number;
	request->port->io->left = 0;
}

static void damage(struct request *request)
{
	request->port->io->damage_each = request->number;
	request->port->io->left = 0;
}

static void rate(struct request *request)
{
	request->port->io->rate = request->number * BYTES_PER_MB;
	request->port->io->busy = 0;
	fab_output_kick(request->port);
}

static void delay_by(struct request *request)
{
	struct fab_port *port = request->port;

	if (port->peer && port->peer->io)
		port->io->delay = request->number * NS_PER_US;
	else
		refuse(request, "only cables between switches have a delay");
}

static void slow_down(struct request *request)
{
	struct fab_port *port = request->port;

	if (port->node->type != FAB_CA || !port->peer || !port->peer->io) {
		refuse(request, "only a simulated host with a cable to a switch can be slow");
		return;
	}
	port->takes = request->number * BYTES_PER_MB;
	port->taking = 0;
	fab_output_kick(port->peer);
}

/* ---- traffic ---------------------------------------------------------------- */

static bool number_of(const char *word, u64 most, u64 *number)
{
	char *end;

	errno = 0;
	*number = strtoull(word, &end, 0);
	return *word >= '0' && *word <= '9' && !*end && !errno && *number <= most;
}

/* What is behind the third word. Return: false: refused. */
static bool read_options(struct request *request, u64 *values)
{
	static const struct {
		const char *name;
		u64 most;
	} options[OPTIONS] = {
		[OPTION_MB] = { "mb=", MB_MAX },
		[OPTION_SL] = { "sl=", SHCA_IB_SLS - 1 },
		[OPTION_PKEY] = { "pkey=", 0xffff },
		[OPTION_COUNT] = { "count=", ~0u },
	};
	u32 i, word;

	for (word = 4; word < request->words_nr; word++) {
		for (i = 0; i < OPTIONS; i++)
			if (!strncmp(request->words[word], options[i].name, strlen(options[i].name)))
				break;
		if (i == OPTIONS || !number_of(strchr(request->words[word], '=') + 1, options[i].most, &values[i])) {
			request->len = 0;
			say(request, "error: %s: options are mb=1..100000, sl=0..15, pkey=0..0xffff, count=1..4294967295\n",
			    request->words[word]);
			return false;
		}
	}
	if (values[OPTION_MB] && values[OPTION_COUNT])
		return true;
	refuse(request, "mb= and count= are at least 1");
	return false;
}

/* Return: LID of a host; 0: refused. */
static u16 lid_of(struct request *request, const char *name)
{
	struct topo_node *node = topo_find_any(request->topo, name);
	u32 i;

	if (!node || node->node.type != FAB_CA) {
		refuse(request, "traffic goes to a host, and there is none of this name");
		return 0;
	}
	for (i = 1; i <= node->node.ports_nr; i++)
		if (node->node.ports[i].end.lid)
			return node->node.ports[i].end.lid;
	refuse(request, "the receiver has no LID: has a subnet manager been here?");
	return 0;
}

static void send_flow(struct request *request)
{
	struct fab_port *from = request->port;
	u64 values[OPTIONS] = { SEND_MB, 0, PKEY_DEFAULT, ~0ull };
	struct fab_source flow;

	if (from->node->type != FAB_CA || !from->peer || !from->peer->io) {
		refuse(request, "only a simulated host sends, by a port with a cable to a switch");
		return;
	}
	if (!read_options(request, values))
		return;
	flow = (struct fab_source){
		.dlid = lid_of(request, request->words[3]),
		.sl = values[OPTION_SL],
		.pkey = values[OPTION_PKEY],
		.rate = values[OPTION_MB] * BYTES_PER_MB,
		.left = values[OPTION_COUNT],
	};
	if (flow.dlid && !fab_source_start(from, &flow))
		refuse(request, "there are 64 flows");
}

static void stop(struct request *request)
{
	fab_sources_stop(request->port);
}

static void show_flows(struct request *request, const struct fab_port *port)
{
	const struct fab_data *data = request->topo->fabric.data;
	const struct fab_source *flow;
	const char *comma = "";

	say(request, ", \"flows\": [");
	for (flow = data->sources; flow < data->sources + FAB_SOURCES; flow++) {
		if (flow->from != port)
			continue;
		say(request, "%s{\"to\": %u, \"sl\": %u, \"pkey\": %u, \"left\": %llu, \"sent\": %llu, \"arrived\": %llu}", comma, flow->dlid, flow->sl,
		    flow->pkey, (unsigned long long)flow->left, (unsigned long long)flow->sent, (unsigned long long)flow->arrived);
		comma = ", ";
	}
	say(request, "]");
}

/* ---- ports ------------------------------------------------------------------ */

static const char *state_name(u8 state)
{
	static const char *const names[] = { "?", "Down", "Initialize", "Armed", "Active" };

	return state < ARRAY_SIZE(names) ? names[state] : "?";
}

static u32 waiting(const struct fab_port *port)
{
	u32 lane, packets = 0;

	for (lane = 0; port->io && lane < SHCA_IB_LANES; lane++)
		packets += port->io->input[lane].packets;
	return packets;
}

static void show_port(struct request *request, struct fab_port *port)
{
	const struct fab_counters *c = &port->counters;

	fab_output_account(port);
	say(request, "{\"port\": %u, \"lid\": %u, \"state\": \"%s\", \"cut\": %s, \"real\": %s, ", port->number, fab_end_port(port)->end.lid,
	    state_name(port->state), port->is_cut ? "true" : "false", port->edge ? "true" : "false");
	say(request, "\"sent\": %llu, \"received\": %llu, \"discards\": %u, \"errors\": %u, \"waiting\": %u, \"xmit_wait_us\": %llu",
	    (unsigned long long)c->xmit_pkts, (unsigned long long)c->rcv_pkts, c->error[FAB_ERR_DISCARD],
	    c->error[FAB_ERR_RCV], waiting(port), (unsigned long long)(c->xmit_wait / 1000));
	if (port->io)
		say(request, ", \"lose_each\": %u, \"damage_each\": %u, \"rate\": %llu, \"delay_us\": %llu", port->io->lose_each,
		    port->io->damage_each, (unsigned long long)port->io->rate, (unsigned long long)(port->io->delay / NS_PER_US));
	if (port->edge)
		say(request, ", \"bad_frames\": %llu, \"bad_credits\": %llu, \"foreign\": %llu, \"unsent\": %llu",
		    (unsigned long long)port->edge->bad_frames, (unsigned long long)port->edge->bad_credits,
		    (unsigned long long)(port->edge->foreign + port->edge->phy.others), (unsigned long long)port->edge->unsent);
	if (port->io && port->number)
		say(request, ", \"marked\": %llu, \"adaptive\": \"%s\", \"moved\": %llu, \"replaced\": %llu", (unsigned long long)port->io->marked,
		    routing_state(request->topo), (unsigned long long)port->io->moved, (unsigned long long)port->io->replaced);
	show_flows(request, port);
	say(request, "}\n");
}

/* Of the whole fabric. */
static void adaptive(struct request *request)
{
	const char *why = routing_set(request->topo, request->words[1]);

	if (why)
		refuse(request, why);
	else
		say(request, "ok\n");
}


static void show(struct request *request)
{
	struct fab_node *node = request->node;
	u32 i;

	if (request->port) {
		show_port(request, request->port);
		return;
	}
	for (i = 1; i <= node->ports_nr; i++)
		show_port(request, &node->ports[i]);
}

/* @words: at least, and at most. @is_output: of a port of a switch. */
static const struct {
	const char *name;
	void (*run)(struct request *request);
	u8 words[2];
	bool has_number;
	bool is_output;
} commands[] = {
	{ "cut", cut, { 3, 3 } },
	{ "mend", mend, { 3, 3 } },
	{ "lose", lose, { 4, 4 }, true, true },
	{ "damage", damage, { 4, 4 }, true, true },
	{ "rate", rate, { 4, 4 }, true, true },
	{ "delay", delay_by, { 4, 4 }, true, true },
	{ "slow", slow_down, { 4, 4 }, true },
	{ "send", send_flow, { 4, WORDS_MAX } },
	{ "stop", stop, { 3, 3 } },
	{ "show", show, { 2, 3 } },
};

/* Return: false: refused. */
static bool find_port(struct request *request)
{
	struct topo_node *node = topo_find_any(request->topo, request->words[1]);
	u64 number;

	if (!node) {
		refuse(request, "there is no node of this name");
		return false;
	}
	request->node = &node->node;
	if (request->words_nr == 2)
		return true;
	if (!number_of(request->words[2], node->node.ports_nr, &number) || (!number && !node->node.sw)) {
		refuse(request, "the node has no port of this number");
		return false;
	}
	request->port = &node->node.ports[number];
	return true;
}

static void obey(struct request *request)
{
	u32 i;

	if (request->words_nr == 2 && !strcmp(request->words[0], "adaptive")) {
		adaptive(request);
		return;
	}
	for (i = 0; i < ARRAY_SIZE(commands); i++)
		if (request->words_nr && !strcmp(request->words[0], commands[i].name))
			break;
	if (i == ARRAY_SIZE(commands) || request->words_nr < commands[i].words[0] ||
	    request->words_nr > commands[i].words[1]) {
		refuse(request, "commands are: cut, mend, stop NODE PORT; lose, damage, rate, delay, slow NODE PORT NUMBER; "
				"show NODE [PORT]; send HOST PORT HOST [mb=N] [sl=N] [pkey=N] [count=N]; adaptive MODE");
		return;
	}
	if (!find_port(request))
		return;
	if (commands[i].has_number && !number_of(request->words[3], ~0u, &request->number)) {
		refuse(request, "a number is expected at the end");
		return;
	}
	if (commands[i].is_output && (!request->port->io || !request->port->number)) {
		refuse(request, "cables are bad and slow where a switch sends: this is no port of a switch");
		return;
	}
	say(request, "ok\n");
	commands[i].run(request);
}

/* ---- sockets ---------------------------------------------------------------- */

static void complain(const char *path, const char *what)
{
	fprintf(stderr, "softhca-fabric: %s: %s: %s\n", path, what, strerror(errno));
}

/* Words are separated by NULs, so that they may have blanks. */
static void split(struct request *request, char *text, u32 len)
{
	u32 at = 0;

	text[len] = '\0';
	while (at < len && request->words_nr < WORDS_MAX) {
		request->words[request->words_nr++] = text + at;
		at += strlen(text + at) + 1;
	}
	if (at < len)
		request->words_nr = WORDS_MAX + 1;
}

static void client_ready(struct watch *watch)
{
	struct client *client = (struct client *)((char *)watch - offsetof(struct client, watch));
	struct request request = { .topo = client->control->topo };
	char text[TEXT_MAX + 1];
	ssize_t len = recv(watch->fd, text, TEXT_MAX, MSG_DONTWAIT);

	if (len < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (len <= 0) {
		close(watch->fd);
		watch->fd = -1;
		return;
	}
	split(&request, text, len);
	obey(&request);
	/* Who does not read loses the answer. */
	if (send(watch->fd, request.answer, request.len, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		complain(client->control->path, "answer");
	if (request.topo->fabric.data)
		fab_data_run(&request.topo->fabric, loop_now());
}

static void listener_ready(struct watch *watch)
{
	struct control *control = (struct control *)((char *)watch - offsetof(struct control, listener));
	int fd = accept4(watch->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct client *client = NULL;
	u32 i;

	for (i = 0; i < CLIENTS; i++)
		if (control->clients[i].watch.fd < 0)
			client = &control->clients[i];
	if (fd < 0 || !client) {
		if (fd >= 0)
			close(fd);
		return;
	}
	*client = (struct client){ .watch = { fd, client_ready }, .control = control };
	if (!loop_add(control->loop, &client->watch)) {
		close(fd);
		client->watch.fd = -1;
	}
}

struct control *control_open(struct topology *topo, struct loop *loop, const char *path)
{
	struct control *control = calloc(1, sizeof(*control));
	u32 i;

	if (!control)
		return NULL;
	*control = (struct control){ .topo = topo, .loop = loop, .path = path };
	for (i = 0; i < CLIENTS; i++)
		control->clients[i].watch.fd = -1;
	control->listener = (struct watch){ local_listen(path, SOCK_SEQPACKET, CLIENTS), listener_ready };
	if (control->listener.fd >= 0 && loop_add(loop, &control->listener))
		return control;
	complain(path, "socket");
	free(control);
	return NULL;
}

void control_close(struct control *control)
{
	u32 i;

	unlink(control->path);
	close(control->listener.fd);
	for (i = 0; i < CLIENTS; i++)
		if (control->clients[i].watch.fd >= 0)
			close(control->clients[i].watch.fd);
	free(control);
}

int control_ask(const char *path, char *const *words)
{
	char text[TEXT_MAX];
	u32 len = 0;
	ssize_t got;
	int fd;

	for (; *words; words++) {
		if (len + strlen(*words) + 1 > TEXT_MAX)
			return 2;
		memcpy(text + len, *words, strlen(*words) + 1);
		len += strlen(*words) + 1;
	}
	fd = local_dial(path, SOCK_SEQPACKET);
	if (fd < 0 || send(fd, text, len, 0) < 0) {
		complain(path, "no fabric takes commands there");
		return 2;
	}
	got = recv(fd, text, sizeof(text) - 1, 0);
	close(fd);
	if (got <= 0) {
		fprintf(stderr, "softhca-fabric: %s: no answer: the fabric has ended, or takes 64 commands now\n", path);
		return 2;
	}
	text[got] = '\0';
	if (strncmp(text, "ok\n", 3)) {
		fprintf(stderr, "softhca-fabric: %s", text);
		return 1;
	}
	fputs(text + 3, stdout);
	return 0;
}
