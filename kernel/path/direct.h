/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The direct path: requests of one QP to another of this machine, without
 * packets.  See direct.c.
 */
#ifndef SHCA_DIRECT_H
#define SHCA_DIRECT_H

#include "rq.h"
#include "side.h"

/* Why shca_direct_transmit() returned. */
enum shca_direct_end {
	SHCA_DIRECT_NO,		/* the wire is the way of what is left */
	SHCA_DIRECT_DONE,
	SHCA_DIRECT_MORE,	/* the budget ended it */
};

/*
 * What the outside must be told once locks are released.
 * @peer:	whose events these are, with a reference; NULL: there are none
 */
struct shca_direct_pending {
	struct shca_qp *peer;
	struct shca_side_pending rq;
};

/*
 * Execute requests of @qp at its peer, if it is here.
 * @pending:	collected, for shca_direct_report()
 * Context: softirq or bottom halves off, sq.lock held; takes the peer's rq.lock.
 */
enum shca_direct_end shca_direct_transmit(struct shca_qp *qp,
					  struct shca_direct_pending *pending);

/* Tell what was collected; without any lock of a QP. */
void shca_direct_report(const struct shca_direct_pending *pending);

#endif
