// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Adaptive routing: its memory, its words, and what is said when it is refused. */
#include <stdlib.h>
#include <sys/mman.h>

#include "routing.h"
#include "../core/adaptive.h"

#define TEXT_MAX		2048

static const char *const names[] = {
	[FAB_ADAPTIVE_OFF] = "off",
	[FAB_ADAPTIVE_FLOWLET] = "flowlet",
	[FAB_ADAPTIVE_PACKET] = "packet",
};

/* The ports of a circle in the order in which packets pass them. */
static const char *refusal(const struct fab_adaptive *adaptive)
{
	static char text[TEXT_MAX];
	u32 i, len, known = min_t(u32, adaptive->circle_nr, FAB_CIRCLE_PORTS);

	len = snprintf(text, sizeof(text), "packets could wait for themselves in a circle, and for ever:");
	for (i = known; i--;)
		len += snprintf(text + len, sizeof(text) - len, " '%.*s' port %u%s", SHCA_IB_DESC_BYTES,
				(const char *)adaptive->circle[i]->node->desc, adaptive->circle[i]->number, i ? "," : "");
	if (known < adaptive->circle_nr)
		snprintf(text + len, sizeof(text) - len, ", and %u more", adaptive->circle_nr - known);
	return text;
}

static void refuse(struct fab_adaptive *adaptive)
{
	fprintf(stderr, "softhca-fabric: adaptive routing pauses with these forwarding tables: %s\n", refusal(adaptive));
}

static bool give_groups(struct topology *topo, struct fab_adaptive *adaptive)
{
	u32 i;

	for (i = 0; i < topo->nodes_nr; i++) {
		struct fab_node *node = &topo->nodes[i]->node;
		struct fab_groups *groups;

		if (!node->sw)
			continue;
		groups = calloc(1, sizeof(*groups));
		if (!groups)
			return false;
		groups->turns = calloc(node->ports_nr + 1, sizeof(*groups->turns));
		if (!groups->turns)
			return false;
		node->sw->groups = groups;
		adaptive->switches[adaptive->switches_nr++] = node;
	}
	return true;
}

/* Return: false: no memory. */
static bool make(struct topology *topo)
{
	struct fab_adaptive *adaptive = calloc(1, sizeof(*adaptive));
	u64 bytes = topo->fabric.data->pool_nr * sizeof(*adaptive->flows);

	if (!adaptive)
		return false;
	adaptive->refuse = refuse;
	adaptive->switches = calloc(topo->nodes_nr, sizeof(*adaptive->switches));
	/* Only what flows have been in takes memory. */
	adaptive->flows = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (!adaptive->switches || adaptive->flows == MAP_FAILED || !give_groups(topo, adaptive))
		return false;
	fab_adaptive_init(&topo->fabric, adaptive);
	return true;
}

const char *routing_set(struct topology *topo, const char *mode)
{
	struct fab_data *data = topo->fabric.data;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(names) && strcmp(mode, names[i]); i++)
		;
	if (i == ARRAY_SIZE(names))
		return "off, flowlet or packet is expected";
	if (!data)
		return "no data passes this fabric (option --tap)";
	if (!data->adaptive && i == FAB_ADAPTIVE_OFF)
		return NULL;
	if (!data->adaptive && !make(topo))
		return "there is no memory for it";
	return fab_adaptive_set(data->adaptive, i) ? NULL : refusal(data->adaptive);
}

const char *routing_state(const struct topology *topo)
{
	const struct fab_adaptive *adaptive = topo->fabric.data ? topo->fabric.data->adaptive : NULL;

	if (!adaptive)
		return names[FAB_ADAPTIVE_OFF];
	return adaptive->mode && adaptive->circle_nr ? "refused" : names[adaptive->mode];
}
