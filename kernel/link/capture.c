// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Captures, which are to see packets one by one: see capture.h. */
#include "capture.h"

#include <linux/netdevice.h>

#include "../base/compat.h"

static int shca_nit_walk(struct net_device *ndev,
			 struct netdev_nested_priv *priv)
{
	return dev_nit_active(ndev);
}

bool shca_is_captured_above(struct net_device *ndev)
{
	struct netdev_nested_priv priv = {};

	return dev_nit_active(ndev) ||
	       (!list_empty(&ndev->adj_list.upper) &&
		netdev_walk_all_upper_dev_rcu(ndev, shca_nit_walk, &priv));
}

/*
 * Is there a capture on @ndev? Of a pair (veth, netkit), also on the other end, which may be in
 * another namespace, and on the netdevs above that.
 */
static int shca_captured_walk(struct net_device *ndev,
			      struct netdev_nested_priv *priv)
{
	const struct net_device_ops *ops = ndev->netdev_ops;
	struct net_device *peer;

	if (dev_nit_active(ndev))
		return true;
	if (!ops->ndo_get_peer_dev)
		return false;
	peer = ops->ndo_get_peer_dev(ndev);
	return peer && shca_is_captured_above(peer);
}

bool shca_is_captured(struct net_device *ndev)
{
	struct netdev_nested_priv priv = {};
	bool captured;

	/* For peers of pairs and for lists of netdevs. */
	rcu_read_lock();
	captured = shca_captured_walk(ndev, &priv) ||
		   (!list_empty(&ndev->adj_list.lower) &&
		    netdev_walk_all_lower_dev_rcu(ndev, shca_captured_walk,
						  &priv));
	rcu_read_unlock();
	return captured;
}
