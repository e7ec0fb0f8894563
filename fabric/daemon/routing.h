/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Adaptive routing of a fabric with data. */
#ifndef SHCA_FABRIC_ROUTING_H
#define SHCA_FABRIC_ROUTING_H

#include "../topology/topology.h"

/*
 * Switch it on or off.
 * @mode:	off, flowlet or packet
 *
 * Return: NULL, or why not. Then it is off.
 */
const char *routing_set(struct topology *topo, const char *mode);

/* What it does now: off, flowlet, packet or refused. */
const char *routing_state(const struct topology *topo);

#endif
