/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Memory for packets with data: without it, a fabric passes datagrams of management only. */
#ifndef SHCA_FABRIC_BUFFERS_H
#define SHCA_FABRIC_BUFFERS_H

#include "../core/data.h"
#include "../topology/topology.h"

/*
 * Give the ports of all switches buffers.
 * @edges:	for so many real ports
 * @rate:	bytes a second that each cable carries; 0: as many as come
 *
 * Return: false, with a message on stderr.
 */
bool buffers_open(struct topology *topo, u32 edges, u64 rate);

/* Nothing uses them any longer. Without any, nothing happens. */
void buffers_close(struct topology *topo);

#endif
