/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The queues that packets of a netdev wait in. */
#ifndef SHCA_LINK_QUEUES_H
#define SHCA_LINK_QUEUES_H

#include <linux/types.h>

struct net_device;

/*
 * Do those of @ndev, or of what it is stacked on (VLAN, bond), have packets?
 * @left:	how many have left them
 *
 * Context: any.
 */
bool shca_queues_hold(struct net_device *ndev, u64 *left);

#endif
