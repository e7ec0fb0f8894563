// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* hw_counters of the port, and sets of counters for QPs that are bound to one of the RDMA core */
#include "hw_stats.h"

#include <linux/slab.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_counter.h>

#include "../base/counters.h"
#include "../base/dev.h"
#include "../queue/qp.h"
#include "../verbs/qp_verbs.h"

static const struct rdma_stat_desc shca_counter_descs[] = {
#define X(id, string) [SHCA_CNT_##id] = { .name = string },
	SHCA_COUNTER_LIST(X)
#undef X
#define X(id, string) \
	[SHCA_CNT_##id] = { .name = string, .flags = IB_STAT_FLAG_OPTIONAL },
	SHCA_OPTIONAL_LIST(X)
#undef X
};

/* The RDMA core serialises calls, and calls only to change. */
int shca_modify_hw_stat(struct ib_device *ibdev, u32 port, unsigned int index,
			bool enable)
{
	struct shca_dev *dev = to_shca_dev(ibdev);

	if (index < SHCA_CNT_OPTIONAL || index >= SHCA_CNT_NR)
		return -EINVAL;
	if (enable) {
		set_bit(index - SHCA_CNT_OPTIONAL, &dev->stats.optional);
		static_branch_inc(&shca_optional_counters);
	} else {
		clear_bit(index - SHCA_CNT_OPTIONAL, &dev->stats.optional);
		static_branch_dec(&shca_optional_counters);
	}
	return 0;
}

static struct rdma_hw_stats *shca_alloc_stats(void)
{
	struct rdma_hw_stats *stats;
	unsigned int i;

	stats = rdma_alloc_hw_stats_struct(shca_counter_descs,
					   ARRAY_SIZE(shca_counter_descs),
					   RDMA_HW_STATS_DEFAULT_LIFESPAN);
	if (!stats)
		return NULL;
	for (i = SHCA_CNT_OPTIONAL; i < SHCA_CNT_NR; i++)
		set_bit(i, stats->is_disabled);
	return stats;
}

struct rdma_hw_stats *shca_alloc_hw_port_stats(struct ib_device *ibdev,
					       u32 port)
{
	return shca_alloc_stats();
}

int shca_get_hw_stats(struct ib_device *ibdev, struct rdma_hw_stats *stats,
		      u32 port, int index)
{
	struct shca_dev *dev = to_shca_dev(ibdev);
	int i;

	if (!port)
		return 0;
	/* The RDMA core adds those of bound counters: see rdma_counter.h. */
	for (i = 0; i < SHCA_CNT_NR; i++)
		stats->value[i] = shca_counter_sum(dev->counters, i);
	return SHCA_CNT_NR;
}

/* ---- counters bound to QPs --------------------------------------------------- */

#ifdef HAVE_SIZE_RDMA_COUNTER
/* The RDMA core calls this unchecked if a driver sets size_rdma_counter. Nothing to initialise. */
void shca_counter_init(struct rdma_counter *counter)
{
}
#endif

struct rdma_hw_stats *shca_counter_alloc_stats(struct rdma_counter *counter)
{
	return shca_alloc_stats();
}

int shca_counter_update_stats(struct rdma_counter *counter)
{
	struct shca_bound *bound;
	int i;

	/* The set exists while the RDMA core has the counter. */
	bound = xa_load(&to_shca_dev(counter->device)->stats.bound, counter->id);
	if (!bound)
		return -EINVAL;
	for (i = 0; i < SHCA_CNT_NR; i++)
		counter->stats->value[i] = shca_counter_sum(bound->counters, i);
	return 0;
}

static struct shca_bound *shca_bound_alloc(struct shca_dev *dev, u32 *id)
{
	struct shca_bound *bound = kzalloc(sizeof(*bound), GFP_KERNEL);

	if (!bound)
		return NULL;
	bound->counters = alloc_percpu(struct shca_counters);
	if (!bound->counters)
		goto err_free;
	if (xa_alloc(&dev->stats.bound, id, bound, xa_limit_31b, GFP_KERNEL))
		goto err_percpu;
	return bound;

err_percpu:
	free_percpu(bound->counters);
err_free:
	kfree(bound);
	return NULL;
}

/* The first bind creates the set, under the counter's number. */
int shca_counter_bind_qp(struct rdma_counter *counter, struct ib_qp *ibqp,
			 u32 port)
{
	struct shca_dev *dev = to_shca_dev(ibqp->device);
	struct shca_qp *qp = shca_qp_get(ibqp);
	struct shca_bound *bound;

	/* The RDMA core found the QP by its number; it may be being destroyed. */
	if (!qp)
		return -EINVAL;
	if (counter->id)
		bound = xa_load(&dev->stats.bound, counter->id);
	else
		bound = shca_bound_alloc(dev, &counter->id);
	if (bound) {
		WRITE_ONCE(qp->counters, bound->counters);
		ibqp->counter = counter;
	}
	shca_qp_put(qp);
	return bound ? 0 : -ENOMEM;
}

int shca_counter_unbind_qp(struct ib_qp *ibqp, u32 port)
{
	struct shca_qp *qp = shca_qp_get(ibqp);

	/* A QP that is being destroyed counts until its end, in this set. */
	if (!qp)
		return -EINVAL;
	WRITE_ONCE(qp->counters, qp->dev->counters);
	ibqp->counter = NULL;
	shca_qp_put(qp);
	return 0;
}

static void shca_bound_free(struct rcu_head *rcu)
{
	struct shca_bound *bound = container_of(rcu, struct shca_bound, rcu);

	free_percpu(bound->counters);
	kfree(bound);
}

/* The counts stay in the device's total. The RDMA core has a history of its own. */
int shca_counter_dealloc(struct rdma_counter *counter)
{
	struct shca_dev *dev = to_shca_dev(counter->device);
	struct shca_bound *bound;
	int i;

	if (!counter->id)
		return 0;
	xa_lock(&dev->stats.bound);
	bound = __xa_erase(&dev->stats.bound, counter->id);
	for (i = 0; bound && i < SHCA_CNT_NR; i++)
		dev->stats.retired[i] += shca_counter_sum(bound->counters, i);
	xa_unlock(&dev->stats.bound);
	if (bound)
		call_rcu(&bound->rcu, shca_bound_free);
	return 0;
}
