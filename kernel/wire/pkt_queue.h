/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Received packets of a side that wait: its backlog, and its out-of-order queue. */
#ifndef SHCA_PKT_QUEUE_H
#define SHCA_PKT_QUEUE_H

#include "../queue/qp.h"

/*
 * Append a packet to the backlog.
 * @mem:	of its side
 * Context: the side's lock held.
 * Return: false: the queue is full, or there is no memory: the packet is lost.
 */
bool shca_pkt_queue_add(struct shca_mem_ctx *mem, struct shca_pkt_queue *queue,
			const struct shca_pkt *pkt);
/*
 * Put a packet into the out-of-order queue. Context: the side's lock held.
 * Return: as shca_pkt_queue_add(); true also if the packet is queued already.
 */
bool shca_pkt_queue_add_ooo(struct shca_mem_ctx *mem, struct shca_pkt_queue *queue,
			    const struct shca_pkt *pkt);
/* The first queued packet; NULL: none is queued. */
const struct shca_pkt *shca_pkt_queue_first(struct shca_pkt_queue *queue);
/* The last queued packet; at least one is queued. */
const struct shca_pkt *shca_pkt_queue_last(const struct shca_pkt_queue *queue);
/* Free the first queued packet. */
void shca_pkt_queue_drop(struct shca_pkt_queue *queue);
/* Move all queued packets to @lost; the side's lock held. */
void shca_pkt_queue_take(struct shca_pkt_queue *queue, struct list_head *lost);
/* Free packets. There may be thousands, so call it without a lock. */
void shca_pkt_queue_free(struct list_head *lost);

#endif
