/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The send side: from the ring to the requester, to the wire, completions and timer. */
#ifndef SHCA_SQ_H
#define SHCA_SQ_H

#include <linux/ktime.h>

#include "side.h"

/*
 * Fetch requests, transmit, complete; bounded, softirq does the rest. Moves the QP to the error
 * state if the requester failed. Context: process or softirq; takes sq.lock.
 */
void shca_sq_run(struct shca_qp *qp);

/*
 * The requester's memory was fetched, or cannot be had.
 * Context: process, no lock of a QP held; @qp may be dead.
 */
void shca_sq_resume(struct shca_qp *qp);

/*
 * Doorbell: a process has written requests, or wants those of a failed QP flushed.
 * Context: process; a reference to @qp held, which may be dead.
 */
void shca_sq_ring(struct shca_qp *qp);

/* Process @nr response packets. Context: softirq; takes sq.lock. */
void shca_sq_rx(struct shca_qp *qp, const struct shca_pkt *pkt,
		unsigned int nr);

/*
 * Give a response packet to the requester.
 * Context: softirq or bottom halves off, sq.lock held.
 * Return: the verdict; SHCA_RX_RETRY: give @pkt again later.
 */
enum shca_verdict shca_sq_accept(struct shca_qp *qp, const struct shca_pkt *pkt,
				 u64 now, struct shca_side_pending *pending);

/* Flush all posted requests; the side has failed. Context: may sleep. */
void shca_sq_flush_all(struct shca_qp *qp);

/* Set up locks, timer and continuation, before the QP can be found. */
void shca_sq_init(struct shca_qp *qp);

/* struct ib_device_ops; an empty list is the doorbell of a process */
int shca_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
		   const struct ib_send_wr **bad_wr);

#endif
