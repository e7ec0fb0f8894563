/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The direct path of datagrams.  See datagram.c. */
#ifndef SHCA_DATAGRAM_H
#define SHCA_DATAGRAM_H

#include "direct.h"

/*
 * Deliver datagrams of @qp to QPs of this namespace, up to the first one that needs a packet.
 * @pending:	pending events, for shca_direct_report()
 * Context: softirq or bottom halves off, sq.lock held; takes the peer's rq.lock.
 */
enum shca_direct_end shca_datagram_transmit(struct shca_qp *qp,
					    struct shca_direct_pending *pending);

#endif
