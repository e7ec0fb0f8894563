/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The receive side: from packets to the responder, responses to the wire,
 * receive requests and completions.
 */
#ifndef SHCA_RQ_H
#define SHCA_RQ_H

#include "qp.h"

/**
 * shca_rq_rx() - a request packet arrived
 *
 * Context: softirq; takes rq.lock.
 */
void shca_rq_rx(struct shca_qp *qp, const struct shca_pkt *pkt);

/** shca_rq_fetch() - the next receive request; struct shca_mem_ops.recv_get */
enum shca_recv_status shca_rq_fetch(void *ctx, struct shca_recv_wr *wr);

void shca_rq_init(struct shca_qp *qp);
/** shca_rq_stop() - no continuation any more; the QP is dead */
void shca_rq_stop(struct shca_qp *qp);

/** shca_rq_kick() - continue in softirq: responses, or flushing */
void shca_rq_kick(struct shca_qp *qp);

/* struct ib_device_ops */
int shca_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
		   const struct ib_recv_wr **bad_wr);

#endif
