// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "queues.h"

#include <linux/netdevice.h>
#include <net/sch_generic.h>

/*
 * The queues of some netdevs.
 * @holds:	a queue has packets, or is stopped
 * @left:	packets that have left them
 */
struct shca_queues {
	bool holds;
	u64 left;
};

/* Not dev_get_stats(): locks of drivers are for process context. */
static u64 shca_qdisc_left(const struct Qdisc *qdisc)
{
	u64 nr = u64_stats_read(&qdisc->bstats.packets);
	const struct gnet_stats_basic_sync *stats;
	int cpu;

	if (!qdisc_is_percpu_stats(qdisc))
		return nr;
	for_each_possible_cpu(cpu) {
		stats = per_cpu_ptr(qdisc->cpu_bstats, cpu);
		nr += u64_stats_read(&stats->packets);
	}
	return nr;
}

static int shca_look_at_queues(struct net_device *ndev,
			       struct netdev_nested_priv *priv)
{
	struct shca_queues *queues = priv->data;
	const struct netdev_queue *txq;
	const struct Qdisc *qdisc;
	unsigned int i;

	for (i = 0; i < READ_ONCE(ndev->real_num_tx_queues); i++) {
		txq = netdev_get_tx_queue(ndev, i);
		qdisc = rcu_dereference(txq->qdisc);
		if (netif_xmit_frozen_or_stopped(txq))
			queues->holds = true;
		if (!qdisc)
			continue;
		queues->holds |= qdisc_qlen_sum(qdisc) > 0;
		queues->left += shca_qdisc_left(qdisc);
	}
	return 0;
}

bool shca_queues_hold(struct net_device *ndev, u64 *left)
{
	struct shca_queues queues = {};
	struct netdev_nested_priv priv = { .data = &queues };

	rcu_read_lock();
	shca_look_at_queues(ndev, &priv);
	netdev_walk_all_lower_dev_rcu(ndev, shca_look_at_queues, &priv);
	rcu_read_unlock();
	*left = queues.left;
	return queues.holds;
}
