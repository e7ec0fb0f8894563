/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* ibv_advise_mr(): prefetch of on-demand memory. */
#ifndef SHCA_ADVICE_H
#define SHCA_ADVICE_H

#include <rdma/ib_verbs.h>

struct uverbs_attr_bundle;

/* Execute queued advice: see struct shca_pager. */
void shca_advise_work(struct work_struct *work);

/* operations in struct ib_device_ops */
int shca_advise_mr(struct ib_pd *ibpd, enum ib_uverbs_advise_mr_advice advice,
		   u32 flags, struct ib_sge *sg_list, u32 num_sge,
		   struct uverbs_attr_bundle *attrs);

#endif
