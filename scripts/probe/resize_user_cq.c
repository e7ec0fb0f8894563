// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// is ops.resize_cq called resize_user_cq?
#include <rdma/ib_verbs.h>

static int resize_user_cq(struct ib_cq *cq, unsigned int cqe,
			  struct ib_udata *udata)
{
	return 0;
}

const struct ib_device_ops probe = { .resize_user_cq = resize_user_cq };
