// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// must compile on every kernel: otherwise the kernel's build tree is unusable
#include <linux/module.h>
#include <net/udp_tunnel.h>
#include <rdma/ib_umem.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_netlink.h>

struct shca_probe {
	struct ib_device ibdev;
};

struct shca_probe *probe(void);
struct shca_probe *probe(void)
{
	return ib_alloc_device(shca_probe, ibdev);
}

MODULE_LICENSE("Dual BSD/GPL");
