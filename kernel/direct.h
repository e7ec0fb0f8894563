/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The direct path: requests of one QP to another of this machine, without
 * packets.  See direct.c.
 */
#ifndef SHCA_DIRECT_H
#define SHCA_DIRECT_H

#include "rq.h"

/**
 * shca_direct_peer() - the QP that requests of @qp may go to directly now
 *
 * Context: softirq or bottom halves off, sq.lock held.
 * Return: a reference, for shca_qp_put() when sq.lock is released; NULL: the
 * wire is the way.
 */
struct shca_qp *shca_direct_peer(struct shca_qp *qp);

/**
 * shca_direct_transmit() - execute requests of @qp at @peer
 * @news:	collects what shca_rq_report() must be told about @peer
 *
 * Context: softirq or bottom halves off, sq.lock held; takes the peer's rq.lock.
 * Return: whether the budget ended it.
 */
bool shca_direct_transmit(struct shca_qp *qp, struct shca_qp *peer,
			  struct shca_rq_news *news);

#endif
