/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Memory windows. */
#ifndef SHCA_MW_H
#define SHCA_MW_H

#include <rdma/ib_verbs.h>

struct shca_accessor;
struct shca_mr;

/**
 * struct shca_mw - a window; the RDMA core frees it at once
 * @window:	ours, which packets may be looking at
 */
struct shca_mw {
	struct ib_mw ibmw;
	struct shca_mr *window;
};

/**
 * struct shca_mw_bind - BIND_MW
 * @key:	finds the window, and is its new key
 * @mr_key:	the region
 * @addr: @length: of it; 0: type 1: the window is closed
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
 *
 * Context: any.
 * Return: false: IBTA 10.6.7.2 does not allow it; the window stays as it was.
 */
bool shca_mw_bind(const struct shca_accessor *who,
		  const struct shca_mw_bind *bind);

/* struct ib_device_ops */
int shca_alloc_mw(struct ib_mw *ibmw, struct ib_udata *udata);
int shca_dealloc_mw(struct ib_mw *ibmw);

#endif
