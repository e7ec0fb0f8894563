/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Received packets of a side of a QP that wait: for memory, or for packets before them.
 */
#ifndef SHCA_PKT_QUEUE_H
#define SHCA_PKT_QUEUE_H

#include "../queue/qp.h"

/*
 * Append a received packet; all behind it have to wait, too.
 * @mem:	of its side
 * Context: the side's lock held.
 * Return: false: too many are queued, or there is no memory: the packet is lost.
 */
bool shca_pkt_queue_add(struct shca_mem_ctx *mem, struct shca_pkt_queue *queue,
		   const struct shca_pkt *pkt);
/*
 * Keep a received packet that is out of order.
 * @backlog:	of such packets only, ordered by PSN
 * Context: the side's lock held.
 * Return: as shca_pkt_queue_add(); true also if it is kept already.
 */
bool shca_pkt_queue_add_ooo(struct shca_mem_ctx *mem, struct shca_pkt_queue *queue,
		    const struct shca_pkt *pkt);
/* The oldest queued packet; NULL: none is queued. */
const struct shca_pkt *shca_pkt_queue_first(struct shca_pkt_queue *queue);
/* The newest queued packet; at least one is queued. */
const struct shca_pkt *shca_pkt_queue_last(const struct shca_pkt_queue *queue);
/* Drop the oldest queued packet. */
void shca_pkt_queue_drop(struct shca_pkt_queue *queue);
/* Move all queued packets to @lost; the side's lock held. */
void shca_pkt_queue_take(struct shca_pkt_queue *queue, struct list_head *lost);
/* Free them: there may be thousands, so without a lock. */
void shca_pkt_queue_free(struct list_head *lost);

#endif
