/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Topologies by rule, in place of a file. */
#ifndef SHCA_FABRIC_SHAPE_H
#define SHCA_FABRIC_SHAPE_H

#include "topology.h"

enum shape {
	SHAPE_NONE,
	SHAPE_FAT_TREE,
	SHAPE_LEAF_SPINE,
	SHAPE_TORUS,
	SHAPE_MESH,
	SHAPE_RING,
	SHAPE_DRAGONFLY,
};

/*
 * Make a topology.
 * @size:	as the option of the shape has it: "8", "4x4x2"
 * @hosts:	at each switch that has hosts; 0: as many as is usual
 *
 * Says on stderr what is wrong.
 *
 * Return: false: the size is none.
 */
bool shape_make(struct topology *topo, enum shape shape, const char *size, u32 hosts);

#endif
