/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* One packet from its descriptor to the link. */
#ifndef SHCA_TX_H
#define SHCA_TX_H

#include "core/mem.h"

struct shca_qp;
struct shca_route;

/**
 * shca_tx() - build and transmit one packet of a QP
 * @route:	of the side that sends; its lock is held
 * @pkt:	from shca_req_next() or shca_resp_next()
 *
 * No memory, no route and a full queue below are counted and are loss, as on a
 * wire: only the protocol's retry limits may end a QP.
 * Context: softirq or bottom halves off.
 * Return: SHCA_MEM_OK, or why the payload cannot be had (nothing was sent).
 */
enum shca_mem_status shca_tx(struct shca_qp *qp, struct shca_route *route,
			     const struct shca_pkt *pkt);

#endif
