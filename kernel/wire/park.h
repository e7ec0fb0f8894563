/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Received packets of a side of a QP that wait: for memory, or for packets before them.
 */
#ifndef SHCA_PARK_H
#define SHCA_PARK_H

#include "../queue/qp.h"

/*
 * Park a received packet; all behind it have to wait, too.
 * @mem:	of its side
 * Context: the side's lock held.
 * Return: false: too many are parked, or there is no memory: the packet is lost.
 */
bool shca_park_add(struct shca_mem_ctx *mem, struct shca_park *park,
		   const struct shca_pkt *pkt);
/*
 * Keep a received packet that is out of order.
 * @park:	of such packets only, ordered by PSN
 * Context: the side's lock held.
 * Return: as shca_park_add(); true also if it is kept already.
 */
bool shca_park_hold(struct shca_mem_ctx *mem, struct shca_park *park,
		    const struct shca_pkt *pkt);
/* The oldest parked packet; NULL: none is parked. */
const struct shca_pkt *shca_park_first(struct shca_park *park);
/* The newest parked packet; at least one is parked. */
const struct shca_pkt *shca_park_last(const struct shca_park *park);
/* Drop the oldest parked packet. */
void shca_park_drop(struct shca_park *park);
/* Move all parked packets to @lost; the side's lock held. */
void shca_park_take(struct shca_park *park, struct list_head *lost);
/* Free them: there may be thousands, so without a lock. */
void shca_park_free(struct list_head *lost);

#endif
