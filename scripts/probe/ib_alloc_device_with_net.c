// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// can a device be made in a network namespace?
#include <rdma/ib_verbs.h>

struct shca_probe {
	struct ib_device ibdev;
};

struct shca_probe *probe(struct net *net);
struct shca_probe *probe(struct net *net)
{
	return ib_alloc_device_with_net(shca_probe, ibdev, net);
}
