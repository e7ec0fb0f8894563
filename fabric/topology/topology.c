// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Nodes by name. */
#include <stdlib.h>

#include "topology.h"

/* GUIDs of nodes for which a file has none: those of ibsim. */
#define GUID_CA			0x100000
#define GUID_SWITCH		0x200000
#define GUID_ROUTER		0x300000

static void *need(void *memory)
{
	if (memory)
		return memory;
	fputs("softhca-fabric: out of memory\n", stderr);
	exit(1);
}

static const struct {
	const char *name;
	u8 code;
} widths[] = {
	{ "1x", 1 }, { "2x", 16 }, { "4x", 2 }, { "8x", 4 }, { "12x", 8 },
};

/* What a port of this speed supports: all slower ones, too. */
static const struct {
	const char *name;
	struct fab_rate rate;
} speeds[] = {
	{ "SDR", { .speed = 1 } },
	{ "DDR", { .speed = 3 } },
	{ "QDR", { .speed = 7 } },
	{ "FDR10", { .speed = 7, .fdr10 = 1 } },
	{ "FDR", { .speed = 7, .ext = 1 } },
	{ "EDR", { .speed = 7, .ext = 3 } },
	{ "HDR", { .speed = 7, .ext = 7 } },
	{ "NDR", { .speed = 7, .ext = 15 } },
	{ "XDR", { .speed = 7, .ext = 15, .ext2 = 1 } },
};

bool topo_rate(const char *text, struct fab_rate *rate)
{
	size_t i, j, len;

	for (i = 0; i < ARRAY_SIZE(widths); i++) {
		len = strlen(widths[i].name);
		if (strncmp(text, widths[i].name, len))
			continue;
		for (j = 0; j < ARRAY_SIZE(speeds); j++) {
			if (strcmp(text + len, speeds[j].name))
				continue;
			*rate = speeds[j].rate;
			rate->width = 1 | widths[i].code;
			return true;
		}
	}
	return false;
}

/* The name of a rate in use, such as "4xNDR". */
static const char *rate_name(const struct fab_rate *rate, char *text, size_t room)
{
	const char *width = "?", *speed = "?";
	size_t i;

	for (i = 0; i < ARRAY_SIZE(widths); i++)
		if (rate->width == widths[i].code)
			width = widths[i].name;
	for (i = 0; i < ARRAY_SIZE(speeds); i++) {
		const struct fab_rate *row = &speeds[i].rate;

		/* (the highest bit of each that a port of this speed supports) */
		if ((rate->ext2 ? row->ext2 == rate->ext2 :
		     rate->ext ? !row->ext2 && fls(row->ext) == fls(rate->ext) :
		     !row->ext && row->fdr10 == rate->fdr10 && fls(row->speed) == fls(rate->speed)))
			speed = speeds[i].name;
	}
	snprintf(text, room, "%s%s", width, speed);
	return text;
}

void topo_init(struct topology *topo)
{
	memset(topo, 0, sizeof(*topo));
	topo->next_guid[FAB_CA] = GUID_CA;
	topo->next_guid[FAB_SWITCH] = GUID_SWITCH;
	topo->next_guid[FAB_ROUTER] = GUID_ROUTER;
	topo_rate("4xQDR", &topo->rate);
}

void topo_free(struct topology *topo)
{
	struct fab_node *node;
	u32 i;

	for (i = 0; i < topo->nodes_nr; i++) {
		node = &topo->nodes[i]->node;
		if (node->sw) {
			free(node->sw->lft);
			free(node->sw->mft);
			free(node->sw->sl2vl);
		}
		free(node->sw);
		free(node->ports);
		free(topo->nodes[i]->id);
		free(topo->nodes[i]);
	}
	free(topo->nodes);
	free(topo->slots);
}

/* FNV-1a. */
static u32 hash(const char *id)
{
	u32 value = 2166136261u;

	while (*id)
		value = (value ^ (u8)*id++) * 16777619u;
	return value;
}

/* Return: where a name is in the table, or could be. */
static u32 *slot_of(const struct topology *topo, const char *id)
{
	u32 at = hash(id) & (topo->slots_nr - 1);

	while (topo->slots[at] && strcmp(topo->nodes[topo->slots[at] - 1]->id, id))
		at = (at + 1) & (topo->slots_nr - 1);
	return &topo->slots[at];
}

static void grow(struct topology *topo)
{
	u32 i;

	if (topo->nodes_nr < topo->room)
		return;
	topo->room = topo->room ? 2 * topo->room : 64;
	topo->nodes = need(realloc(topo->nodes, topo->room * sizeof(*topo->nodes)));
	free(topo->slots);
	topo->slots_nr = 2 * topo->room;
	topo->slots = need(calloc(topo->slots_nr, sizeof(*topo->slots)));
	for (i = 0; i < topo->nodes_nr; i++)
		*slot_of(topo, topo->nodes[i]->id) = i + 1;
}

struct topo_node *topo_find(const struct topology *topo, const char *id)
{
	u32 *slot = topo->nodes_nr ? slot_of(topo, id) : NULL;

	return slot && *slot ? topo->nodes[*slot - 1] : NULL;
}

struct topo_node *topo_find_any(const struct topology *topo, const char *name)
{
	struct topo_node *found = topo_find(topo, name);
	char *end;
	u64 guid = strtoull(name, &end, 0);
	u32 i;

	for (i = 0; !found && i < topo->nodes_nr; i++)
		if (!strncmp((char *)topo->nodes[i]->node.desc, name, SHCA_IB_DESC_BYTES) ||
		    (!*end && *name && topo->nodes[i]->node.guid == guid))
			found = topo->nodes[i];
	return found;
}

static void switch_alloc(struct fab_node *node)
{
	node->sw = need(calloc(1, sizeof(*node->sw)));
	node->sw->lft = need(calloc(FAB_LFT_ENTRIES, 1));
	node->sw->mft = need(calloc(1, fab_mft_bytes(node->ports_nr)));
	node->sw->sl2vl = need(calloc(1, fab_sl2vl_bytes(node->ports_nr)));
}

struct topo_node *topo_add(struct topology *topo, enum fab_type type, const char *id, u32 ports,
			   u64 guid, u64 port_guid)
{
	struct topo_node *added;
	struct fab_node *node;
	u32 i;

	grow(topo);
	ports += topo->aggregates && type == FAB_SWITCH;
	if (!ports || ports > FAB_PORTS_MAX || topo_find(topo, id))
		return NULL;
	if (!guid) {
		guid = topo->next_guid[type];
		topo->next_guid[type] += type == FAB_SWITCH ? 1 : ports + 1;
	}
	added = need(calloc(1, sizeof(*added)));
	added->id = need(strdup(id));
	node = &added->node;
	node->type = type;
	node->guid = guid;
	node->system_guid = guid;
	node->ports_nr = ports;
	memcpy(node->desc, id, min_t(size_t, strlen(id), sizeof(node->desc)));
	node->ports = need(calloc(ports + 1, sizeof(*node->ports)));
	if (type == FAB_SWITCH)
		switch_alloc(node);
	for (i = 0; i <= ports; i++) {
		node->ports[i].guid = type == FAB_SWITCH ? (port_guid ? port_guid : guid) : guid + i;
		node->ports[i].supported = topo->rate;
	}
	*slot_of(topo, id) = topo->nodes_nr + 1;
	topo->nodes[topo->nodes_nr++] = added;
	return added;
}

/* ---- writing ---------------------------------------------------------------- */

static const struct {
	char letter;
	const char *property;
	const char *word;
} kinds[] = {
	[FAB_CA] = { 'H', "caguid", "Ca" },
	[FAB_SWITCH] = { 'S', "switchguid", "Switch" },
	[FAB_ROUTER] = { 'R', "rtguid", "Rt" },
};

static void write_port(const struct fab_port *port, FILE *out)
{
	const struct fab_node *peer = port->peer->node;
	char rate[16];

	fprintf(out, "[%u]", port->number);
	if (!port->node->sw)
		fprintf(out, "(%llx) ", (unsigned long long)port->guid);
	fprintf(out, "\t\"%c-%016llx\"[%u]", kinds[peer->type].letter, (unsigned long long)peer->guid,
		port->peer->number);
	if (!peer->sw)
		fprintf(out, "(%llx) ", (unsigned long long)port->peer->guid);
	fprintf(out, "\t\t# \"%.64s\" lid 0 %s\n", (char *)peer->desc,
		rate_name(&port->active, rate, sizeof(rate)));
}

static void write_node(const struct fab_node *node, FILE *out)
{
	u32 i;

	fprintf(out, "\nvendid=0x%x\ndevid=0x%x\n", node->vendor, node->device);
	if (node->system_guid)
		fprintf(out, "sysimgguid=0x%llx\n", (unsigned long long)node->system_guid);
	fprintf(out, "%s=0x%llx", kinds[node->type].property, (unsigned long long)node->guid);
	if (node->sw)
		fprintf(out, "(%llx)", (unsigned long long)node->ports[0].guid);
	fprintf(out, "\n%s\t%u \"%c-%016llx\"\t\t# \"%.64s\"", kinds[node->type].word, node->ports_nr,
		kinds[node->type].letter, (unsigned long long)node->guid, (char *)node->desc);
	if (node->sw)
		fprintf(out, " %s port 0 lid 0 lmc 0", node->sw->is_enhanced ? "enhanced" : "base");
	fputc('\n', out);
	for (i = 1; i <= node->ports_nr; i++)
		if (node->ports[i].peer)
			write_port(&node->ports[i], out);
}

bool topo_write(const struct topology *topo, FILE *out)
{
	u32 i;

	for (i = 0; i < topo->nodes_nr; i++)
		write_node(&topo->nodes[i]->node, out);
	return !fflush(out) && !ferror(out);
}
