/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Nodes and cables, read from a file as ibnetdiscover writes it and ibsim reads it. */
#ifndef SHCA_FABRIC_TOPOLOGY_H
#define SHCA_FABRIC_TOPOLOGY_H

#include <stdio.h>

#include "../core/fabric.h"

/**
 * struct topo_node - a node with its name
 * @id:		what cables and SIM_HOST name it by
 * @node:	for fabric/core
 */
struct topo_node {
	char *id;
	struct fab_node node;
};

/**
 * struct topology - all nodes and cables
 * @fabric:	what they share
 * @nodes:	in the order in which they were added
 * @nodes_nr:	how many
 * @cables_nr:	cables that join two ports
 * @aggregates: each switch has a port more, for an aggregation node
 * @rate:	of ports for which nothing else is said
 * @room:	entries that @nodes has room for
 * @slots:	hash table of indices into @nodes, plus 1; 0: free
 * @slots_nr:	size of that, a power of two
 * @next_guid:	by enum fab_type: GUID of the next node that has none
 */
struct topology {
	struct fabric fabric;
	struct topo_node **nodes;
	u32 nodes_nr;
	u32 cables_nr;
	bool aggregates;
	struct fab_rate rate;
	u32 room;
	u32 *slots;
	u32 slots_nr;
	u64 next_guid[4];
};

void topo_init(struct topology *topo);
void topo_free(struct topology *topo);

/* What a name like "4xNDR" says. Return: false: it is none. */
bool topo_rate(const char *text, struct fab_rate *rate);

/*
 * Add a node without cables.
 * @guid:	0: one is drawn
 * @port_guid:	of a switch; 0: @guid
 *
 * Its ports have the default rate.
 *
 * Return: NULL: there is one of this name, or it has no port or too many.
 */
struct topo_node *topo_add(struct topology *topo, enum fab_type type, const char *id, u32 ports,
			   u64 guid, u64 port_guid);

/* Return: the node of this name, or NULL. */
struct topo_node *topo_find(const struct topology *topo, const char *id);

/* The same by name, description or 0xGUID. */
struct topo_node *topo_find_any(const struct topology *topo, const char *name);

/*
 * Read a file; says on stderr what is wrong with it, and where.
 *
 * Return: false: it is no topology.
 */
bool topo_read(struct topology *topo, const char *path);

/* Write all as ibnetdiscover does, but for LIDs. Return: false: not all could be written. */
bool topo_write(const struct topology *topo, FILE *out);

#endif
