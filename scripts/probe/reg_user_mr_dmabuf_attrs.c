// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// does ops.reg_user_mr_dmabuf take the command's attributes, and no ib_dmah?
#include <rdma/ib_verbs.h>

static struct ib_mr *reg_user_mr_dmabuf(struct ib_pd *pd, u64 offset,
					u64 length, u64 virt_addr, int fd,
					int access,
					struct uverbs_attr_bundle *attrs)
{
	return NULL;
}

const struct ib_device_ops probe = {
	.reg_user_mr_dmabuf = reg_user_mr_dmabuf,
};
