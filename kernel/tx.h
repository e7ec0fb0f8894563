/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* One packet from its descriptor to the link. */
#ifndef SHCA_TX_H
#define SHCA_TX_H

#include "core/mem.h"

struct shca_qp;
struct shca_route;

/* How long to wait for a full queue, and how often before it is loss. */
#define SHCA_BUSY_NS	50000
#define SHCA_BUSY_MAX	400

/**
 * shca_tx() - build and transmit one packet of a QP
 * @route:	of the side that sends; its lock is held
 * @pkt:	from shca_req_next() or shca_resp_next()
 *
 * No memory, no route, and a queue below that stays full are counted and are
 * loss, as on a wire: only the protocol's retry limits may end a QP.  While the
 * queue is full for a moment (a burst of READ responses into a backlog) the
 * caller is asked to wait SHCA_BUSY_NS and try the same packet again.
 * Context: softirq or bottom halves off.
 * Return: SHCA_MEM_OK; SHCA_MEM_RETRY: try again later; or why the payload
 * cannot be had.  Nothing was sent unless OK.
 */
enum shca_mem_status shca_tx(struct shca_qp *qp, struct shca_route *route,
			     const struct shca_pkt *pkt);

#endif
