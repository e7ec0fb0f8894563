// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// is the effective speed of a port an operation of its own?
#include <rdma/ib_verbs.h>

static int query(struct ib_device *device, u32 port, u64 *speed)
{
	return 0;
}

const struct ib_device_ops probe = { .query_port_speed = query };
