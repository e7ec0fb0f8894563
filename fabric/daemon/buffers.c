// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Memory for packets with data. */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "buffers.h"

/* Packets that are in no buffer: being read or copied, of a batch, or between two. */
#define SPARE			(64 + SHCA_IB_BATCH_MOST)

/* Packets that all buffers can have at a time. */
static u64 packets_of(const struct topology *topo, u32 edges)
{
	u64 buffers = 0;
	u32 i;

	for (i = 0; i < topo->nodes_nr; i++)
		if (topo->nodes[i]->node.sw)
			buffers += topo->nodes[i]->node.ports_nr + 1;
	return (buffers * FAB_LANE_PACKETS + edges * FAB_EDGE_PACKETS) * SHCA_IB_LANES + SPARE;
}

static bool give_ports(struct topology *topo, u64 rate)
{
	struct fab_io *io;
	u32 i, j;

	for (i = 0; i < topo->nodes_nr; i++) {
		struct fab_node *node = &topo->nodes[i]->node;

		if (!node->sw)
			continue;
		io = calloc(node->ports_nr + 1, sizeof(*io));
		if (!io)
			return false;
		for (j = 0; j <= node->ports_nr; j++) {
			fab_io_init(&node->ports[j], &io[j]);
			io[j].rate = rate;
		}
	}
	return true;
}

bool buffers_open(struct topology *topo, u32 edges, u64 rate)
{
	struct fab_data *data = calloc(1, sizeof(*data));
	u64 packets = packets_of(topo, edges);

	if (!data)
		goto no_memory;
	data->edges = calloc(edges, sizeof(*data->edges));
	data->pool_nr = packets;
	/* Only what packets have been in takes memory. */
	data->pool = mmap(NULL, packets * sizeof(*data->pool), PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if ((edges && !data->edges) || data->pool == MAP_FAILED || !give_ports(topo, rate))
		goto no_memory;
	fab_data_init(&topo->fabric, data);
	return true;
no_memory:
	fprintf(stderr, "softhca-fabric: buffers: memory: %s\n", strerror(errno));
	return false;
}

void buffers_close(struct topology *topo)
{
	struct fab_data *data = topo->fabric.data;
	u32 i;

	if (!data)
		return;
	for (i = 0; i < topo->nodes_nr; i++)
		if (topo->nodes[i]->node.sw)
			free(topo->nodes[i]->node.ports[0].io);
	munmap(data->pool, data->pool_nr * sizeof(*data->pool));
	free(data->edges);
	free(data);
	topo->fabric.data = NULL;
}
