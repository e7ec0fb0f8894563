/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Last errors of QPs, for `softhca explain`: of each side, and in the device's history of the
 * last QPs that were destroyed after an error. Only error paths write them.
 */
#ifndef SHCA_LAST_ERROR_H
#define SHCA_LAST_ERROR_H

#include "../base/counters.h"
#include "../core/transport.h"
#include "qp.h"

struct shca_wc;

/* A side completes @wc with an error that is not a flush; its lock is held. */
void shca_last_error_wc(struct shca_side *side, const struct shca_wc *wc, u32 psn);

/*
 * A side did not accept @pkt; its lock is held.
 * @vendor_err:	SHCA_VERR_*: the check that failed
 */
void shca_last_error_packet(struct shca_side *side, const struct shca_pkt *pkt,
			    enum shca_verdict verdict, u16 vendor_err);

/*
 * A queue has failed without a completion; the side's lock is held.
 * @what:	SHCA_ERROR_RING or SHCA_ERROR_CQ
 */
void shca_last_error_queue(struct shca_side *side, u8 what);

/* @pkt is refused before it reaches a side. Context: softirq. */
void shca_last_error_dropped(struct shca_qp *qp, const struct shca_pkt *pkt,
			     enum shca_counter id);

/* Forget the errors, as the QP begins anew; both locks are held. */
void shca_last_error_clear(struct shca_qp *qp);

/* Save the errors of a QP that is being destroyed. Context: process, no lock. */
void shca_last_error_bury(struct shca_qp *qp);

/* Allocate the history of a new device. Return: 0 or -ENOMEM. */
int shca_history_init(struct shca_dev *dev);

/**
 * shca_last_error_walk() - call @fn for each QP of a device, then for those in its history
 * @dev:	the device
 * @from:	how many to pass over
 * @uid:	only QPs of this user; INVALID_UID: all
 * @fn:		returns 0, or an error that ends the walk; must not sleep (RCU read side)
 * @arg:	of @fn
 *
 * Context: process.
 * Return: 0, or the error of @fn.
 */
int shca_last_error_walk(struct shca_dev *dev, long from, kuid_t uid,
			 int (*fn)(const struct shca_dump_fate *errors, void *arg),
			 void *arg);

#endif
