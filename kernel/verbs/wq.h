/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Work queues and indirection tables of verbs (ibv_create_wq, ibv_create_rwq_ind_table) */
#ifndef SHCA_WQ_H
#define SHCA_WQ_H

#include <rdma/ib_verbs.h>

/* The RDMA core has its work queues. */
struct shca_rwq_table {
	struct ib_rwq_ind_table ibtbl;
};

/* struct ib_device_ops */
struct ib_wq *shca_create_wq(struct ib_pd *pd, struct ib_wq_init_attr *init,
			     struct ib_udata *udata);
int shca_modify_wq(struct ib_wq *ibwq, struct ib_wq_attr *attr, u32 mask,
		   struct ib_udata *udata);
int shca_destroy_wq(struct ib_wq *ibwq, struct ib_udata *udata);
int shca_create_rwq_ind_table(struct ib_rwq_ind_table *ibtbl,
			      struct ib_rwq_ind_table_init_attr *init,
			      struct ib_udata *udata);
int shca_destroy_rwq_ind_table(struct ib_rwq_ind_table *ibtbl);

#endif
