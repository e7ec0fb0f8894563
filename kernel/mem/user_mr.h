/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Memory regions of processes. */
#ifndef SHCA_USER_MR_H
#define SHCA_USER_MR_H

#include <rdma/ib_verbs.h>

#include "../base/compat.h"
#include "../core/mem_ops.h"

/* Rights of the access check. Other access flags are hints, or concern addresses. */
#define SHCA_MR_RIGHTS (IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | \
			IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC | \
			SHCA_ACCESS_FLUSH_GLOBAL | IB_ACCESS_MW_BIND)

/**
 * struct shca_mapped - memory that the kernel has mapped
 * @va:		kernel address
 * @length:	bytes
 * @iova:	start address for requests
 * @access:	enum ib_access_flags
 * @backing:	object that the mapping depends on
 * @release:	releases it; may sleep
 */
struct shca_mapped {
	void *va;
	u64 length;
	u64 iova;
	u32 access;
	void *backing;
	void (*release)(void *backing);
};

/*
 * Create a region of mapped memory. @mem->backing is released with the region, or at once on
 * failure.
 * Context: may sleep.
 * Return: the region, -ENOMEM or -ENOSPC.
 */
struct ib_mr *shca_mapped_mr(struct ib_pd *ibpd, const struct shca_mapped *mem);

/* operations in struct ib_device_ops */
struct ib_mr *shca_reg_user_mr(struct ib_pd *ibpd, u64 start, u64 length,
			       u64 iova, int access, struct ib_dmah *dmah,
			       struct ib_udata *udata);
struct ib_mr *shca_rereg_user_mr(struct ib_mr *ibmr, int flags, u64 start,
				 u64 length, u64 iova, int access,
				 struct ib_pd *pd, struct ib_udata *udata);

#endif
