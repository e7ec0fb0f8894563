// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// must compile on every kernel: otherwise the kernel's build tree is unusable
#include <linux/module.h>
#include <net/udp_tunnel.h>
#include <rdma/ib_umem.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_netlink.h>

struct ib_device *probe(void);
struct ib_device *probe(void)
{
	return _ib_alloc_device(sizeof(struct ib_device));
}

MODULE_LICENSE("Dual BSD/GPL");
