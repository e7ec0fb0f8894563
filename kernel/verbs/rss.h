/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Which hashes of receive side scaling a process may ask for. */
#ifndef SHCA_RSS_H
#define SHCA_RSS_H

#include <rdma/ib_verbs.h>

#include "../../uapi/softhca-abi.h"

struct shca_rss;

/* May there be such a QP with an indirection table? */
int shca_rss_check(const struct ib_qp_init_attr *init, bool is_user);

/*
 * Make it from what a process asks for.
 * @table:	NULL: @hash must be all zero
 * Return: to be freed by kfree(); NULL without @table; ERR_PTR: -EINVAL, -EOPNOTSUPP (function
 * or fields that are not known), -ENOMEM.
 */
struct shca_rss *shca_rss_make(const struct ib_rwq_ind_table *table,
			       const struct shca_rx_hash *hash);

#endif
