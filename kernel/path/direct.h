/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The direct path between QPs of this machine, without packets: see direct.c. */
#ifndef SHCA_DIRECT_H
#define SHCA_DIRECT_H

#include "rq.h"
#include "side.h"

/* Why shca_direct_transmit() returned. */
enum shca_direct_end {
	SHCA_DIRECT_NO,		/* the rest goes as packets */
	SHCA_DIRECT_DONE,
	SHCA_DIRECT_MORE,	/* the budget is used up */
};

/*
 * Pending events of a peer, for after the locks are released.
 * @peer:	the QP, with a reference; NULL: there are none
 */
struct shca_direct_pending {
	struct shca_qp *peer;
	struct shca_side_pending rq;
};

/*
 * Execute requests of @qp at its peer, if the direct path leads there.
 * @pending:	for shca_direct_report()
 * Context: softirq or bottom halves off, sq.lock held; takes the peer's rq.lock.
 */
enum shca_direct_end shca_direct_transmit(struct shca_qp *qp,
					  struct shca_direct_pending *pending);

/* Report pending events. Context: no lock of a QP held. */
void shca_direct_report(const struct shca_direct_pending *pending);

#endif
