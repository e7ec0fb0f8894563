/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Memory regions made of dma-bufs. */
#ifndef SHCA_DMABUF_H
#define SHCA_DMABUF_H

#include <rdma/ib_verbs.h>

#include "../base/compat.h"

/* operations in struct ib_device_ops */
struct ib_mr *shca_reg_user_mr_dmabuf(struct ib_pd *ibpd, u64 offset,
				      u64 length, u64 iova, int fd, int access,
				      struct ib_dmah *dmah,
				      struct uverbs_attr_bundle *attrs);

#endif
