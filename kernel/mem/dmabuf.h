/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Memory regions made of dma-bufs. */
#ifndef SHCA_DMABUF_H
#define SHCA_DMABUF_H

#include <rdma/ib_verbs.h>

/* operations in struct ib_device_ops; the last arguments differ between kernels */
#ifdef HAVE_REG_USER_MR_DMAH
struct ib_mr *shca_reg_user_mr_dmabuf(struct ib_pd *ibpd, u64 offset,
				      u64 length, u64 iova, int fd, int access,
				      struct ib_dmah *dmah,
				      struct uverbs_attr_bundle *attrs);
#elif defined(HAVE_REG_USER_MR_DMABUF_ATTRS)
struct ib_mr *shca_reg_user_mr_dmabuf(struct ib_pd *ibpd, u64 offset,
				      u64 length, u64 iova, int fd, int access,
				      struct uverbs_attr_bundle *attrs);
#else
struct ib_mr *shca_reg_user_mr_dmabuf(struct ib_pd *ibpd, u64 offset,
				      u64 length, u64 iova, int fd, int access,
				      struct ib_udata *udata);
#endif

#endif
