/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Memory that is not there when a packet needs it: a side of a QP has it fetched,
 * and goes on when it is.
 */
#ifndef SHCA_PAGE_WAIT_H
#define SHCA_PAGE_WAIT_H

#include "../mem/odp.h"
#include "payload.h"
#include "qp.h"

/** shca_mem_ctx_init() - @resume: context process, no lock; the QP may be dead */
void shca_mem_ctx_init(struct shca_mem_ctx *mem, struct shca_qp *qp,
		    void (*resume)(struct shca_qp *qp));
/**
 * shca_mem_ctx_stop() - the side is not told any more, and asks for nothing; may sleep;
 * the QP is dead
 *
 * Does not wait for what is being fetched.
 */
void shca_mem_ctx_stop(struct shca_mem_ctx *mem);

/**
 * shca_page_wait() - memory is not present: have it fetched
 *
 * Context: the side's lock held.
 * Return: SHCA_MEM_RETRY: not yet, and resume() comes; or why it cannot be had.
 */
enum shca_mem_status shca_page_wait(struct shca_mem_ctx *mem,
				   const struct shca_odp_want *want);

/**
 * shca_park_add() - park a received packet; all behind it have to wait, too
 *
 * @mem:	of its side
 *
 * Context: the side's lock held.
 * Return: false: too many are parked, or there is no memory: the packet is lost.
 */
bool shca_park_add(struct shca_mem_ctx *mem, struct shca_park *park,
		   const struct shca_pkt *pkt);
/**
 * shca_park_hold() - keep a received packet that is out of order
 * @park:	of such packets only, ordered by PSN
 *
 * Context: the side's lock held.
 * Return: as shca_park_add(); true also if it is kept already.
 */
bool shca_park_hold(struct shca_mem_ctx *mem, struct shca_park *park,
		    const struct shca_pkt *pkt);
/** shca_park_first() - the oldest parked packet; NULL: none is parked */
const struct shca_pkt *shca_park_first(struct shca_park *park);
/** shca_park_last() - the newest parked packet; at least one is parked */
const struct shca_pkt *shca_park_last(const struct shca_park *park);
/** shca_park_drop() - drop the oldest parked packet */
void shca_park_drop(struct shca_park *park);
/** shca_park_purge() - drop all parked packets: they are lost */
void shca_park_purge(struct shca_park *park);

#endif
