/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* How a QP goes to the error state. */
#ifndef SHCA_QP_ERROR_H
#define SHCA_QP_ERROR_H

#include "../queue/qp.h"

/*
 * One side of the QP has failed: the QP goes to error. Flushing happens in softirq, in batches.
 * @fatal:	the send side did, and not by a request: the whole QP even if it
 *		is an unreliable one
 * Context: softirq or process; no lock of the QP held.
 */
void shca_qp_enter_error(struct shca_qp *qp, bool fatal);

/* Release both locks; what was lost meanwhile is freed without them. */
void shca_qp_unlock(struct shca_qp *qp);

/* The QP goes to error, for any reason; both locks held. */
void shca_qp_set_error_locked(struct shca_qp *qp);

#endif
