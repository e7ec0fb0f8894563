/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Why a verb is refused, for those who get no more than an errno. */
#ifndef SHCA_REFUSE_H
#define SHCA_REFUSE_H

#include <rdma/ib_verbs.h>

#include "dev.h"
#include "trace.h"

/**
 * shca_refuse() - tell why a verb is refused: a trace event and a debug line
 * @dev:	struct shca_dev *
 * @qpn:	of the QP that it is about; 0: there is none yet
 * @err:	errno, negative
 * @why:	a sentence without a full stop; no key, address or number of others
 *
 * The debug line (dynamic debug: module softhca +p) is rate-limited.
 * Context: process.
 * Return: @err.
 */
#define shca_refuse(dev, qpn, err, why)					\
({									\
	const char *__why = (why);					\
	int __err = (err);						\
	trace_shca_refused(qpn, __err, __why);				\
	ibdev_dbg_ratelimited(&(dev)->ibdev, "QP %#x: %s (errno %d)\n",	\
			      qpn, __why, -__err);			\
	__err;								\
})

#endif
