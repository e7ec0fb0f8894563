/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Aggregation nodes: channel adapters at the last port of each switch, which reduce what they
 * receive (reduce.h). They are end nodes for the subnet manager, and for packets: nothing but the
 * tree of a job is taken from the tables of switches. It is the one by which packets go from the
 * members' switches to the aggregation node that rank 0 has asked.
 */
#ifndef SHCA_FABRIC_AGGREGATOR_H
#define SHCA_FABRIC_AGGREGATOR_H

#include "../reduce/reduce.h"
#include "fabric.h"

/**
 * struct fab_aggregator - an aggregation node
 * @port:	its port
 * @next:	next one with something to send
 * @is_waiting:	it is in that list
 */
struct fab_aggregator {
	struct fab_port *port;
	struct fab_aggregator *next;
	bool is_waiting;
};

/**
 * struct fab_aggregators - all aggregation nodes of a fabric
 * @reduce:	their jobs
 * @all:	by number, as many as @reduce has nodes
 * @head:	those with something to send
 * @tail:	last one; valid with a @head
 * @psn:	PSN of the next packet
 */
struct fab_aggregators {
	struct fab_reduce reduce;
	struct fab_aggregator *all;
	struct fab_aggregator *head;
	struct fab_aggregator *tail;
	u32 psn;
};

/**
 * fab_aggregator_init() - a node is an aggregation node
 * @aggregators: zeros but for @all, and in @reduce what is the caller's and none of lid(), leaf() and
 *		up(): see reduce.h. nodes_nr counts those that this was called for
 * @node:	a channel adapter of one port, joined with the switch
 */
void fab_aggregator_init(struct fab_aggregators *aggregators, struct fab_node *node);

#endif
