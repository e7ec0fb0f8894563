// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// does ops.create_cq take an uverbs_attr_bundle (else: an ib_udata)?
#include <rdma/ib_verbs.h>

static int create_cq(struct ib_cq *cq, const struct ib_cq_init_attr *attr,
		     struct uverbs_attr_bundle *attrs)
{
	return 0;
}

const struct ib_device_ops probe = { .create_cq = create_cq };
