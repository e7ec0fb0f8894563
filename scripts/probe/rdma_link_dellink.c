// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// do rdma_link_ops have dellink?
#include <rdma/rdma_netlink.h>

static int dellink(struct ib_device *dev)
{
	return 0;
}

const struct rdma_link_ops probe = { .dellink = dellink };
