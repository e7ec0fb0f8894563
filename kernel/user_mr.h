/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Memory regions of processes. */
#ifndef SHCA_USER_MR_H
#define SHCA_USER_MR_H

#include <rdma/ib_verbs.h>

/* struct ib_device_ops */
#ifdef HAVE_REG_USER_MR_DMAH
struct ib_mr *shca_reg_user_mr(struct ib_pd *ibpd, u64 start, u64 length,
			       u64 iova, int access, struct ib_dmah *dmah,
			       struct ib_udata *udata);
#else
struct ib_mr *shca_reg_user_mr(struct ib_pd *ibpd, u64 start, u64 length,
			       u64 iova, int access, struct ib_udata *udata);
#endif
struct ib_mr *shca_rereg_user_mr(struct ib_mr *ibmr, int flags, u64 start,
				 u64 length, u64 iova, int access,
				 struct ib_pd *pd, struct ib_udata *udata);

#endif
