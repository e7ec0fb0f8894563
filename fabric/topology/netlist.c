// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Topology files. A line is a node, a port with its cable, a property of the node that follows,
 * or a comment:
 *
 *	switchguid=0x2c90000000001(2c90000000001)
 *	Switch	36 "S-0002c90000000001"		# "leaf 1" enhanced port 0 lid 3 lmc 0
 *	[1]	"H-0002c90000000010"[1](2c90000000011)	# "host 1" lid 1 4xFDR
 *
 * Other lines are passed over: tools print warnings and names of chassis between these.
 */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>

#include "topology.h"

/* Bits of LinkWidth and LinkSpeed. */
#define WIDTHS			0x1f
#define SPEEDS			0x07

/* Properties that come before their node. */
struct props {
	u32 vendor;
	u16 device;
	u64 system_guid;
	u64 guid;
	u64 port_guid;
};

/* One end of a cable, as its line has it. */
struct wire {
	u32 line;
	struct topo_node *node;
	u8 number;
	char *peer;
	u8 peer_number;
	u64 peer_guid;
	bool has_rate;
	struct fab_rate rate;
};

struct reader {
	struct topology *topo;
	const char *path;
	u32 line;
	struct props props;
	struct topo_node *node;
	struct wire *wires;
	u32 wires_nr;
	u32 wires_room;
	u32 strange;
	bool bad;
};

static void complain(struct reader *reader, u32 line, const char *format, ...)
{
	va_list args;

	fprintf(stderr, "%s:%u: ", reader->path, line);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
}

static char *skip(char *at)
{
	while (isspace((u8)*at))
		at++;
	return at;
}

/* Return: a quoted word without its quotes, which end with a NUL in place, and what follows. */
static char *quoted(char *at, char **rest)
{
	char *end;

	if (*at != '"')
		return NULL;
	end = strchr(at + 1, '"');
	if (!end)
		return NULL;
	*end = '\0';
	*rest = end + 1;
	return at + 1;
}

/* "[number]", then maybe "[ext number]" and "(hexadecimal)". Return: what follows; NULL: it is none. */
static char *port_number(char *at, u32 *number, u64 *guid)
{
	char *end;

	if (*at != '[' || !isdigit((u8)at[1]))
		return NULL;
	*number = strtoul(at + 1, &end, 10);
	if (*end != ']')
		return NULL;
	at = end + 1;
	if (!strncmp(at, "[ext ", 5)) {
		end = strchr(at, ']');
		if (!end)
			return NULL;
		at = end + 1;
	}
	*guid = 0;
	if (*at == '(' || (*at == ' ' && at[1] == '(')) {
		at += *at == ' ';
		*guid = strtoull(at + 1, &end, 16);
		at = *end == ')' ? end + 1 : end;
	}
	return at;
}

/* ---- properties ------------------------------------------------------------- */

static bool property(struct reader *reader, const char *text)
{
	const char *value = strchr(text, '=');
	struct props *props = &reader->props;
	char *end;
	u64 number;

	if (!value)
		return false;
	number = strtoull(value + 1, &end, 0);
	if (!strncmp(text, "vendid=", 7)) {
		props->vendor = number;
	} else if (!strncmp(text, "devid=", 6)) {
		props->device = number;
	} else if (!strncmp(text, "sysimgguid=", 11)) {
		props->system_guid = number;
	} else if (!strncmp(text, "switchguid=", 11) || !strncmp(text, "caguid=", 7) ||
		   !strncmp(text, "hcaguid=", 8) || !strncmp(text, "rtguid=", 7)) {
		props->guid = number;
		if (*end == '(')
			props->port_guid = strtoull(end + 1, NULL, 16);
	} else {
		return false;
	}
	return true;
}

/* ---- nodes ------------------------------------------------------------------ */

static const struct {
	const char *word;
	enum fab_type type;
} kinds[] = {
	{ "Switch", FAB_SWITCH }, { "Ca", FAB_CA }, { "Hca", FAB_CA }, { "Rt", FAB_ROUTER },
};

/* ibnetdiscover makes names of GUIDs. */
static u64 guid_of_id(const char *id)
{
	char *end;
	u64 guid;

	if (!strchr("SHR", *id) || id[1] != '-' || strlen(id) != 18)
		return 0;
	guid = strtoull(id + 2, &end, 16);
	return *end ? 0 : guid;
}

/* A description may be without quotes; then it ends where the state of port 0 begins. */
static void describe(struct fab_node *node, char *at)
{
	static const char *const ends[] = { " enhanced port ", " base port ", " lid ", " lmc " };
	char *rest, *text, *end;
	u32 i;

	at = skip(at);
	text = quoted(at, &rest);
	if (!text) {
		text = at;
		rest = at;
		for (i = 0; i < ARRAY_SIZE(ends); i++) {
			end = strstr(text, ends[i]);
			if (end) {
				rest = strdup(end);
				*end = '\0';
				break;
			}
		}
	}
	if (node->sw)
		node->sw->is_enhanced = strstr(rest, "enhanced port 0");
	if (*text) {
		memset(node->desc, 0, sizeof(node->desc));
		memcpy(node->desc, text, min_t(size_t, strlen(text), sizeof(node->desc)));
	}
	if (rest != at && text == at)
		free(rest);
}

static bool node_line(struct reader *reader, char *text)
{
	struct props *props = &reader->props;
	char *at = text, *id;
	struct fab_node *node;
	bool has_system = false;
	u32 i, ports, len;

	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		len = strlen(kinds[i].word);
		if (!strncmp(text, kinds[i].word, len) && isspace((u8)text[len]))
			break;
	}
	if (i == ARRAY_SIZE(kinds))
		return false;
	ports = strtoul(text + len, &at, 10);
	id = quoted(skip(at), &at);
	if (!id)
		return false;
	/* ibnetdiscover leaves out a SystemImageGUID of 0. */
	if (props->guid)
		has_system = true;
	else
		props->guid = guid_of_id(id);
	reader->node = topo_add(reader->topo, kinds[i].type, id, ports, props->guid,
				props->port_guid);
	if (!reader->node) {
		complain(reader, reader->line, topo_find(reader->topo, id) ?
			 "there is a node \"%s\" already" : "\"%s\" has no number of ports from 1 to 254", id);
		reader->bad = true;
		return true;
	}
	node = &reader->node->node;
	node->vendor = props->vendor;
	node->device = props->device;
	if (props->system_guid || has_system)
		node->system_guid = props->system_guid;
	memset(props, 0, sizeof(*props));
	at = strchr(at, '#');
	if (at)
		describe(node, at + 1);
	return true;
}

/* ---- cables ----------------------------------------------------------------- */

/* The rate is the last word of what ibnetdiscover writes, and ibsim has w= and s=. */
static void wire_rate(struct wire *wire, const struct topology *topo, char *at)
{
	char *word, *save = NULL, *rest;
	bool named = false;

	wire->rate = topo->rate;
	for (word = strtok_r(at, " \t", &save); word; word = strtok_r(NULL, " \t", &save)) {
		/* (the names of nodes have quotes, and may have anything in them) */
		if (*word == '"' && !strchr(word + 1, '"')) {
			rest = save ? strchr(save, '"') : NULL;
			if (!rest)
				return;
			save = rest + 1;
		} else if (topo_rate(word, &wire->rate)) {
			named = true;
		} else if (!named && !strncmp(word, "w=", 2)) {
			wire->has_rate = true;
			wire->rate.width = strtoul(word + 2, NULL, 0) & WIDTHS;
		} else if (!named && !strncmp(word, "s=", 2)) {
			wire->has_rate = true;
			wire->rate.speed = strtoul(word + 2, NULL, 0) & SPEEDS;
		}
	}
	wire->has_rate |= named;
}

static bool port_line(struct reader *reader, char *text)
{
	struct wire *wire;
	u32 number, peer_number = 1;
	u64 guid, peer_guid = 0;
	char *at = port_number(text, &number, &guid), *peer, *end;

	if (!at || !reader->node)
		return false;
	peer = quoted(skip(at), &at);
	if (!peer)
		return false;
	end = port_number(at, &peer_number, &peer_guid);
	at = end ? end : at;
	if (!number || number > reader->node->node.ports_nr) {
		complain(reader, reader->line, "\"%s\" has no port %u", reader->node->id, number);
		reader->bad = true;
		return true;
	}
	if (guid && reader->node->node.type != FAB_SWITCH)
		reader->node->node.ports[number].guid = guid;
	if (reader->wires_nr == reader->wires_room) {
		reader->wires_room = reader->wires_room ? 2 * reader->wires_room : 256;
		reader->wires = realloc(reader->wires, reader->wires_room * sizeof(*reader->wires));
		if (!reader->wires) {
			fputs("softhca-fabric: out of memory\n", stderr);
			exit(1);
		}
	}
	wire = &reader->wires[reader->wires_nr++];
	*wire = (struct wire){
		.line = reader->line,
		.node = reader->node,
		.number = number,
		.peer = peer,
		.peer_number = peer_number,
		.peer_guid = peer_guid,
	};
	wire_rate(wire, reader->topo, at);
	return true;
}

/* Links are trained once all ports know what they support. @own: else what the other end says of the rate */
static bool wire_ends(struct reader *reader, struct wire *wire, bool own)
{
	struct topo_node *peer = topo_find(reader->topo, wire->peer);
	struct fab_port *a = &wire->node->node.ports[wire->number], *b;

	if (!peer) {
		if (own)
			complain(reader, wire->line, "no node \"%s\": the port has no cable", wire->peer);
		return false;
	}
	if (!wire->peer_number || wire->peer_number > peer->node.ports_nr) {
		if (own)
			complain(reader, wire->line, "\"%s\" has no port %u: the port has no cable", wire->peer,
				 wire->peer_number);
		return false;
	}
	b = &peer->node.ports[wire->peer_number];
	if (wire->peer_guid && peer->node.type != FAB_SWITCH)
		b->guid = wire->peer_guid;
	if (wire->has_rate)
		(own ? a : b)->supported = wire->rate;
	return true;
}

static void wire_join(struct reader *reader, struct wire *wire)
{
	struct topo_node *peer = topo_find(reader->topo, wire->peer);
	struct fab_port *a = &wire->node->node.ports[wire->number];
	struct fab_port *b = &peer->node.ports[wire->peer_number];

	if (a->peer == b && b->peer == a)
		return;
	if (a == b || a->peer || b->peer) {
		complain(reader, wire->line, "port %u of \"%s\" %s", wire->number, wire->node->id,
			 a == b ? "cannot be joined with itself" : "or its peer has another cable already");
		return;
	}
	fab_join(a, b);
	reader->topo->cables_nr++;
}

static void join_all(struct reader *reader)
{
	u32 i;

	for (i = 0; i < reader->wires_nr; i++)
		wire_ends(reader, &reader->wires[i], false);
	for (i = 0; i < reader->wires_nr; i++)
		if (!wire_ends(reader, &reader->wires[i], true))
			reader->wires[i].peer = NULL;
	for (i = 0; i < reader->topo->nodes_nr; i++)
		fab_node_init(&reader->topo->fabric, &reader->topo->nodes[i]->node);
	for (i = 0; i < reader->wires_nr; i++)
		if (reader->wires[i].peer)
			wire_join(reader, &reader->wires[i]);
}

/* ---- the file --------------------------------------------------------------- */

static char *slurp(const char *path)
{
	FILE *file = strcmp(path, "-") ? fopen(path, "r") : stdin;
	size_t room = 1 << 16, len = 0, got;
	char *text = malloc(room), *more;

	while (file && text) {
		got = fread(text + len, 1, room - len - 1, file);
		len += got;
		if (!got)
			break;
		if (len < room - 1)
			continue;
		room *= 2;
		more = realloc(text, room);
		if (!more)
			free(text);
		text = more;
	}
	if (!file || !text || ferror(file)) {
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
		free(text);
		text = NULL;
	} else {
		text[len] = '\0';
	}
	if (file && file != stdin)
		fclose(file);
	return text;
}

static void read_line(struct reader *reader, char *text)
{
	text = skip(text);
	if (!*text || *text == '#')
		return;
	if (*text == '[' ? port_line(reader, text) :
	    property(reader, text) || node_line(reader, text))
		return;
	if (!reader->strange++)
		complain(reader, reader->line, "passed over, as no line of a topology: %.60s", text);
}

bool topo_read(struct topology *topo, const char *path)
{
	struct reader reader = { .topo = topo, .path = path };
	char *text = slurp(path), *line, *next;

	if (!text)
		return false;
	for (line = text; line; line = next) {
		next = strchr(line, '\n');
		if (next) {
			next[next > line && next[-1] == '\r' ? -1 : 0] = '\0';
			next++;
		}
		reader.line++;
		read_line(&reader, line);
	}
	if (!topo->nodes_nr && !reader.bad) {
		fprintf(stderr, "%s: no nodes\n", path);
		reader.bad = true;
	}
	if (!reader.bad)
		join_all(&reader);
	free(reader.wires);
	free(text);
	return !reader.bad;
}
