/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Reports why a verb is refused, because the caller only gets an errno. */
#ifndef SHCA_REFUSE_H
#define SHCA_REFUSE_H

#include <rdma/ib_verbs.h>

#include "dev.h"
#include "trace.h"

/**
 * shca_refuse() - report why a verb is refused, by trace event and debug line
 * @dev:	struct shca_dev *
 * @qpn:	number of the QP concerned; 0 if there is none yet
 * @err:	errno, negative
 * @why:	a sentence without a full stop, and without keys, addresses or numbers of
 *		other users
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
