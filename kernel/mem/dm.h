/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Device memory (ibv_alloc_dm()). */
#ifndef SHCA_DM_H
#define SHCA_DM_H

#include <rdma/ib_verbs.h>
#include <rdma/uverbs_ioctl.h>

/* Uverbs methods by which a process maps device memory */
extern const struct uapi_definition shca_dm_defs[];

/* operations in struct ib_device_ops */
struct ib_dm *shca_alloc_dm(struct ib_device *ibdev, struct ib_ucontext *ibuc,
			    struct ib_dm_alloc_attr *attr,
			    struct uverbs_attr_bundle *attrs);
int shca_dealloc_dm(struct ib_dm *ibdm, struct uverbs_attr_bundle *attrs);
struct ib_mr *shca_reg_dm_mr(struct ib_pd *ibpd, struct ib_dm *ibdm,
			     struct ib_dm_mr_attr *attr,
			     struct uverbs_attr_bundle *attrs);

#endif
