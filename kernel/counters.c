// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Counters: summing them up and showing them as hw_counters of the port. */
#include "counters.h"

#include <rdma/ib_verbs.h>

#include "core/rc.h"
#include "dev.h"

static const struct rdma_stat_desc shca_counter_descs[] = {
#define X(id, string) [SHCA_CNT_##id] = { .name = string },
	SHCA_COUNTER_LIST(X)
#undef X
};

/* No default: a verdict without a counter is a compiler warning. */
static enum shca_counter shca_rx_counter(enum shca_rx verdict)
{
	switch (verdict) {
	case SHCA_RX_STATE:
		return SHCA_CNT_RX_STATE;
	case SHCA_RX_DUPLICATE:
		return SHCA_CNT_RX_DUPLICATE;
	case SHCA_RX_OUT_OF_SEQ:
		return SHCA_CNT_RX_OUT_OF_SEQ;
	case SHCA_RX_RNR:
		return SHCA_CNT_RX_RNR;
	case SHCA_RX_INVALID:
		return SHCA_CNT_RX_INVALID;
	case SHCA_RX_ACCESS:
		return SHCA_CNT_RX_ACCESS;
	case SHCA_RX_OPERATION:
		return SHCA_CNT_RX_OPERATION;
	case SHCA_RX_STALE_ACK:
		return SHCA_CNT_RX_STALE_ACK;
	case SHCA_RX_NAK_SEQ:
		return SHCA_CNT_RX_NAK_SEQ;
	case SHCA_RX_NAK_RNR:
		return SHCA_CNT_RX_NAK_RNR;
	case SHCA_RX_NAK_FATAL:
		return SHCA_CNT_RX_NAK_FATAL;
	case SHCA_RX_BAD_RESPONSE:
		return SHCA_CNT_RX_BAD_RESPONSE;
	case SHCA_RX_LOST_RESPONSE:
		return SHCA_CNT_RX_LOST_RESPONSE;
	case SHCA_RX_LOCAL_ERR:
		return SHCA_CNT_RX_LOCAL_ERR;
	case SHCA_RX_CNP:
		return SHCA_CNT_RX_CNP;
	case SHCA_RX_DROPPED:
		return SHCA_CNT_RX_DROPPED;
	case SHCA_RX_QKEY:
		return SHCA_CNT_RX_QKEY;
	case SHCA_RX_OK:
	case SHCA_RX_RETRY:
	case SHCA_RX_NR:
		break;
	}
	return SHCA_CNT_NR;
}

void shca_count_rx(const struct shca_dev *dev, unsigned int verdict)
{
	enum shca_counter id = shca_rx_counter(verdict);

	if (id != SHCA_CNT_NR)
		this_cpu_inc(dev->counters->v[id]);
}

u64 shca_counter_sum(const struct shca_dev *dev, enum shca_counter id)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(per_cpu_ptr(dev->counters, cpu)->v[id]);
	return sum;
}

struct rdma_hw_stats *shca_alloc_hw_port_stats(struct ib_device *ibdev,
					       u32 port)
{
	return rdma_alloc_hw_stats_struct(shca_counter_descs,
					  ARRAY_SIZE(shca_counter_descs),
					  RDMA_HW_STATS_DEFAULT_LIFESPAN);
}

int shca_get_hw_stats(struct ib_device *ibdev, struct rdma_hw_stats *stats,
		      u32 port, int index)
{
	struct shca_dev *dev = to_shca_dev(ibdev);
	int i;

	if (!port)
		return 0;
	for (i = 0; i < SHCA_CNT_NR; i++)
		stats->value[i] = shca_counter_sum(dev, i);
	return SHCA_CNT_NR;
}
