/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Memory windows. */
#ifndef SHCA_MW_H
#define SHCA_MW_H

#include <rdma/ib_verbs.h>

struct shca_accessor;
struct shca_mr;

/**
 * struct shca_mw - a window; the RDMA core frees it at once
 * @ibmw:	the RDMA core's part
 * @window:	outlives this struct, because packets may use it
 */
struct shca_mw {
	struct ib_mw ibmw;
	struct shca_mr *window;
};

/**
 * struct shca_mw_bind - arguments of BIND_MW
 * @key:	finds the window, and is its new key
 * @mr_key:	lkey of the region
 * @addr:	in the region
 * @length:	bytes from there on; 0 closes a window of type 1
 * @access:	enum ib_access_flags
 */
struct shca_mw_bind {
	u32 key;
	u32 mr_key;
	u64 addr;
	u64 length;
	u32 access;
};

/**
 * shca_mw_bind() - open a window
 * @who:	QP of the request
 * @bind:	arguments of the request
 *
 * Context: any.
 * Return: false if IBTA 10.6.7.2 forbids it; the window is then unchanged.
 */
bool shca_mw_bind(const struct shca_accessor *who,
		  const struct shca_mw_bind *bind);

/* operations in struct ib_device_ops */
int shca_alloc_mw(struct ib_mw *ibmw, struct ib_udata *udata);
int shca_dealloc_mw(struct ib_mw *ibmw);

#endif
