/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The receive side: packets to the responder, responses, receive requests, completions. */
#ifndef SHCA_RQ_H
#define SHCA_RQ_H

#include "side.h"

/**
 * shca_rq_rx() - request packets arrived
 * @qp:		QP that they are for
 * @pkt:	the first of them
 * @nr:		how many
 * @answer:	answer now; otherwise the caller calls again, with more packets or none
 *
 * One answer stands for them, if that is possible.
 * Context: softirq; takes rq.lock.
 */
void shca_rq_rx(struct shca_qp *qp, const struct shca_pkt *pkt,
		unsigned int nr, bool answer);

/*
 * shca_rq_accept() - give a request packet to the responder
 * shca_rq_refused() - the payload of a response packet cannot be had
 * shca_rq_finish() - the last of these calls in a critical section
 * shca_rq_report() - report pending events after that, without any lock of a QP
 *
 * Context: softirq or bottom halves off; the first three with rq.lock.
 * Return: the verdict; SHCA_RX_RETRY, SHCA_RX_BUSY: give @pkt again later.
 */
enum shca_verdict shca_rq_accept(struct shca_qp *qp, const struct shca_pkt *pkt,
				 u64 now, struct shca_side_pending *pending);
void shca_rq_refused(struct shca_qp *qp, const struct shca_pkt *pkt,
		     enum shca_mem_status status, struct shca_side_pending *pending);
void shca_rq_finish(struct shca_qp *qp, struct shca_side_pending *pending);
void shca_rq_report(struct shca_qp *qp, const struct shca_side_pending *pending);

/*
 * Continue after a delay, by packets: the queue below is full, or no fetch could be requested,
 * and no event follows. Context: softirq or bottom halves off, rq.lock held.
 */
void shca_rq_wait_below(struct shca_qp *qp);

/*
 * The send side resumes at @pkt, which could not leave. Nor could an acknowledgement that it
 * took for the batch (reply.h), so that is owed again, after a delay. If it took none, the last
 * acknowledgement is sent twice.
 * Context: sq.lock held, bottom halves off; takes rq.lock.
 * Return: whether @pkt itself is an acknowledgement, and the requester's packets left.
 */
bool shca_rq_unsend_ack(struct shca_qp *qp, const struct shca_pkt *pkt);

/*
 * Owe a gap report for requests before @psn, if the peer understands it; shca_side_ops.missing.
 * Context: softirq or bottom halves off, rq.lock held.
 */
void shca_rq_missing(struct shca_qp *qp, u32 psn, u32 cause, bool asks, u64 now);

/*
 * Post a receive completion.
 * Context: softirq or bottom halves off; rq.lock held.
 * Return: false: the CQ overflowed, and so the responder has failed.
 */
bool shca_rq_complete(struct shca_qp *qp, const struct shca_wc *wc);

/* Set up locks, timer and continuation, before the QP can be found. */
void shca_rq_init(struct shca_qp *qp);
/* Cancel timer and continuation of a dead QP. Context: may sleep. */
void shca_rq_stop(struct shca_qp *qp);

/*
 * Send owed ACKs before the QP is destroyed or reset, also for requests without AckReq, which
 * would otherwise seem lost.
 * Context: process; takes rq.lock.
 */
void shca_rq_flush_acks(struct shca_qp *qp);

/* Schedule the continuation: responses, or flushing. */
void shca_rq_kick(struct shca_qp *qp);

/* Flush all posted receive requests of a QP in the error state. Context: may sleep. */
void shca_rq_flush_all(struct shca_qp *qp);

/* struct ib_device_ops */
int shca_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
		   const struct ib_recv_wr **bad_wr);

#endif
