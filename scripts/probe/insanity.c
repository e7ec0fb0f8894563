// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// must not compile anywhere: otherwise the compiler does not refuse wrong ops
#include <rdma/ib_verbs.h>

static void create_cq(struct ib_udata *udata)
{
}

const struct ib_device_ops probe = { .create_cq = create_cq };
