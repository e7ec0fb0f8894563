/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* An aggregation node at each switch, and memory for their jobs. */
#ifndef SHCA_FABRIC_AGGREGATION_H
#define SHCA_FABRIC_AGGREGATION_H

#include "../topology/topology.h"

/*
 * Add the nodes. Each switch was made with @topo->aggregates, and so has a port more.
 *
 * Return: false, with a message on stderr: a cable is at that port, or there is no memory.
 */
bool aggregation_add(struct topology *topo);

/* They reduce from now on. The fabric has its data path. Return: false, with a message. */
bool aggregation_start(struct topology *topo);

#endif
