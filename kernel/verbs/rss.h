/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Receive side scaling: check and set-up of a process's hash */
#ifndef SHCA_RSS_H
#define SHCA_RSS_H

#include <rdma/ib_verbs.h>

#include "../../uapi/softhca-abi.h"

struct shca_rss;

/* May a process have this QP with an indirection table? Return: 0 or errno. */
int shca_rss_check(const struct ib_qp_init_attr *init, bool is_user);

/*
 * Set up the hash of a process.
 * @table:	NULL: @hash must be all zero
 * Return: free it by kfree(); NULL without @table; ERR_PTR: -EINVAL, -EOPNOTSUPP (unknown
 * function or fields), -ENOMEM.
 */
struct shca_rss *shca_rss_make(const struct ib_rwq_ind_table *table,
			       const struct shca_rx_hash *hash);

#endif
