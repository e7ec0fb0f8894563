/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Asynchronous events of a QP. */
#ifndef SHCA_QP_EVENT_H
#define SHCA_QP_EVENT_H

#include "qp.h"

/* Initialise, before the first event. */
void shca_qp_events_init(struct shca_qp *qp, bool is_user);

/*
 * Raise an asynchronous event on a QP. A kernel consumer's handler runs later, in softirq:
 * never within its own call of a verb, nor of a peer's on the direct path (core_locking.rst).
 * Context: any; no lock of the QP held; the caller keeps the QP from going.
 */
void shca_qp_event(struct shca_qp *qp, enum ib_event_type event);

#endif
