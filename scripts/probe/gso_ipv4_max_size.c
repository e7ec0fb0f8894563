// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// has a netdev a limit of its own for IPv4 GSO packets (since BIG TCP, 6.3)?
#include <linux/netdevice.h>

unsigned int probe(const struct net_device *ndev);
unsigned int probe(const struct net_device *ndev)
{
	return READ_ONCE(ndev->gso_ipv4_max_size);
}
