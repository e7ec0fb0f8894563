/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The transmit queues of a netdev */
#ifndef SHCA_LINK_QUEUES_H
#define SHCA_LINK_QUEUES_H

#include <linux/types.h>

struct net_device;

/* Do @ndev and netdevs below it have queued packets? @left: those that have left. Any context. */
bool shca_queues_hold(struct net_device *ndev, u64 *left);

#endif
