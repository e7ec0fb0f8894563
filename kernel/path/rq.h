/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The receive side: from packets to the responder, responses to the wire,
 * receive requests and completions.
 */
#ifndef SHCA_RQ_H
#define SHCA_RQ_H

#include "side.h"

/**
 * shca_rq_rx() - request packets arrived
 * @qp:		whom they are for
 * @pkt:	the first of them
 * @nr:		how many
 * @answer:	now; else the caller says so later, with more packets or none
 *
 * One answer stands for them, if that is possible.
 * Context: softirq; takes rq.lock.
 */
void shca_rq_rx(struct shca_qp *qp, const struct shca_pkt *pkt,
		unsigned int nr, bool answer);

/*
 * shca_rq_accept() - a request packet to the responder
 * shca_rq_refused() - a response packet of the responder's could not be had
 * shca_rq_finish() - the last of these calls in a hold of the lock
 * shca_rq_report() - after that, without any lock of a QP
 *
 * Context: softirq or bottom halves off; the first three with rq.lock.
 * Return: the verdict; SHCA_RX_RETRY: give @pkt again later.
 */
enum shca_verdict shca_rq_accept(struct shca_qp *qp, const struct shca_pkt *pkt,
				 u64 now, struct shca_side_pending *pending);
void shca_rq_refused(struct shca_qp *qp, const struct shca_pkt *pkt,
		     enum shca_mem_status status, struct shca_side_pending *pending);
void shca_rq_finish(struct shca_qp *qp, struct shca_side_pending *pending);
void shca_rq_report(struct shca_qp *qp, const struct shca_side_pending *pending);

/*
 * Continue in a moment, by packets. The queue below is full, or memory could not be asked for,
 * and nobody tells.
 * Context: softirq or bottom halves off, rq.lock held.
 */
void shca_rq_wait_below(struct shca_qp *qp);

/*
 * @pkt, where the send side resumes, could not leave. Nor could an acknowledgement that it took
 * after that (reply.h). It is owed again, in a moment; once too often, if there was none.
 * Context: sq.lock held, bottom halves off; takes rq.lock.
 * Return: whether @pkt itself is an acknowledgement, and the requester's packets left.
 */
bool shca_rq_unsend_ack(struct shca_qp *qp, const struct shca_pkt *pkt);

/*
 * Tell a peer that understands it: requests before @psn are missing. As shca_side_ops.missing.
 * Context: softirq or bottom halves off, rq.lock held.
 */
void shca_rq_missing(struct shca_qp *qp, u32 psn, u32 cause, bool asks, u64 now);

/*
 * A receive completion.
 * Context: softirq or bottom halves off; rq.lock held.
 * Return: false: the CQ overflowed, and so the responder has failed.
 */
bool shca_rq_complete(struct shca_qp *qp, const struct shca_wc *wc);

/* Set up locks, timer and continuation, before the QP is found. */
void shca_rq_init(struct shca_qp *qp);
/* There is no continuation any more; the QP is dead. */
void shca_rq_stop(struct shca_qp *qp);

/*
 * The owner is about to end or reset the QP. The last messages of a peer may not have asked for
 * an acknowledgement; it leaves now, or they would seem lost.
 * Context: process; takes rq.lock.
 */
void shca_rq_flush_acks(struct shca_qp *qp);

/* Continue in softirq: responses, or flushing. */
void shca_rq_kick(struct shca_qp *qp);

/* Flush what is posted, here and now; the QP is in error. Context: may sleep. */
void shca_rq_flush_all(struct shca_qp *qp);

/* struct ib_device_ops */
int shca_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
		   const struct ib_recv_wr **bad_wr);

#endif
