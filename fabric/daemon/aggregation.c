// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* An aggregation node at each switch, and memory for their jobs. */
#include <stdlib.h>
#include <sys/mman.h>

#include "../core/aggregator.h"
#include "../core/data.h"
#include "aggregation.h"

/* Of all jobs. Only what values have been in takes memory. */
#define ROOM			(256ull << 20)

static bool add_at(struct topology *topo, struct topo_node *sw)
{
	struct fab_port *port = &sw->node.ports[sw->node.ports_nr];
	struct topo_node *added;
	char id[256];

	snprintf(id, sizeof(id), "softhca aggregation node %s", sw->id);
	if (port->peer) {
		fprintf(stderr, "softhca-fabric: port %u of \"%s\" has a cable, and so no aggregation node\n", port->number, sw->id);
		return false;
	}
	added = topo_add(topo, FAB_CA, id, 1, 0, 0);
	if (!added) {
		fprintf(stderr, "softhca-fabric: \"%s\" is a node of the file\n", id);
		return false;
	}
	snprintf(id, sizeof(id), "softhca aggregation node %.64s", (char *)sw->node.desc);
	memset(added->node.desc, 0, sizeof(added->node.desc));
	memcpy(added->node.desc, id, min_t(size_t, strlen(id), sizeof(added->node.desc)));
	added->node.is_aggregator = true;
	fab_node_init(&topo->fabric, &added->node);
	fab_join(port, &added->node.ports[1]);
	topo->cables_nr++;
	return true;
}

bool aggregation_add(struct topology *topo)
{
	u32 nr = topo->nodes_nr, i;

	for (i = 0; i < nr; i++)
		if (topo->nodes[i]->node.sw && !add_at(topo, topo->nodes[i]))
			return false;
	return true;
}

static void *take(struct fab_reduce *reduce, u64 bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

static void give(struct fab_reduce *reduce, void *memory, u64 bytes)
{
	munmap(memory, bytes);
}

bool aggregation_start(struct topology *topo)
{
	struct fab_aggregators *all = calloc(1, sizeof(*all));
	u32 i;

	if (!all)
		goto no_memory;
	all->all = calloc(topo->nodes_nr, sizeof(*all->all));
	all->reduce.nodes = calloc(topo->nodes_nr, sizeof(*all->reduce.nodes));
	all->reduce.room = ROOM;
	all->reduce.take = take;
	all->reduce.give = give;
	if (!all->all || !all->reduce.nodes)
		goto no_memory;
	for (i = 0; i < topo->nodes_nr; i++) {
		struct fab_node *node = &topo->nodes[i]->node;

		/* (one whose cable ends at a real port is a host like others) */
		if (node->is_aggregator && node->ports[1].peer)
			fab_aggregator_init(all, node);
		else
			node->is_aggregator = false;
	}
	topo->fabric.data->aggregators = all;
	return true;
no_memory:
	fputs("softhca-fabric: out of memory\n", stderr);
	return false;
}
