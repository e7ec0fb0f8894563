/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* How a QP goes to the error state. */
#ifndef SHCA_QP_ERROR_H
#define SHCA_QP_ERROR_H

#include "../queue/qp.h"

/*
 * A side has failed: move the QP to the error state. Softirq flushes it, in batches.
 * @fatal:	the queue itself failed, not a request: the whole QP fails, also an unreliable one
 * Context: softirq or process; no lock of the QP held.
 */
void shca_qp_enter_error(struct shca_qp *qp, bool fatal);

/* Release both locks, and then free the packets in qp->lost. */
void shca_qp_unlock(struct shca_qp *qp);

/* Move the QP to the error state, for any reason. Context: both locks held. */
void shca_qp_set_error_locked(struct shca_qp *qp);

#endif
