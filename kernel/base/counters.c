// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Counters: verdicts to counters, and sums. */
#include "counters.h"

#include <linux/xarray.h>

#include "../core/opcode.h"
#include "../core/transport.h"
#include "dev.h"

/* On if any device counts optional counters; shca_dev_stats.optional says which. */
DEFINE_STATIC_KEY_FALSE(shca_optional_counters);

/* Counter of a verdict, and 1; 0: it has none. */
#define C(verdict) [SHCA_RX_##verdict] = SHCA_CNT_RX_##verdict + 1
static const u8 shca_rx_counters[SHCA_RX_NR] = {
	C(STATE), C(DUPLICATE), C(OUT_OF_SEQ), C(RNR), C(INVALID), C(ACCESS), C(OPERATION),
	C(STALE_ACK), C(NAK_SEQ), C(NAK_RNR), C(NAK_FATAL), C(BAD_RESPONSE), C(LOST_RESPONSE),
	C(LOCAL_ERR), C(CNP), C(DROPPED), C(QKEY),
};
#undef C
static_assert(SHCA_RX_NR == 20, "a new verdict: has it a counter?");

void __shca_count_rx(struct shca_counters __percpu *counters,
		     unsigned int verdict)
{
	u8 counter = shca_rx_counters[verdict];

	if (counter)
		this_cpu_inc(counters->v[counter - 1]);
}

/* ---- optional counters ------------------------------------------------------ */

static void shca_count_optional(const struct shca_dev *dev,
				struct shca_counters __percpu *counters,
				enum shca_counter id)
{
	if (test_bit(id - SHCA_CNT_OPTIONAL, &dev->stats.optional))
		this_cpu_inc(counters->v[id]);
}

void __shca_count_ce(const struct shca_dev *dev,
		     struct shca_counters __percpu *counters)
{
	this_cpu_inc(counters->v[SHCA_CNT_RX_ECN_MARKED]);
	shca_count_optional(dev, counters, SHCA_CNT_RX_CE);
}

void __shca_count_request(const struct shca_dev *dev,
			  struct shca_counters __percpu *counters, u8 opcode)
{
	u32 flags = shca_opcode_info(opcode)->flags;

	/* A message is counted once, on its first packet. */
	if (!(flags & SHCA_OPF_START))
		return;
	if (flags & SHCA_OPF_WRITE)
		shca_count_optional(dev, counters, SHCA_CNT_RX_WRITES);
	else if (flags & SHCA_OPF_READ)
		shca_count_optional(dev, counters, SHCA_CNT_RX_READS);
	else if (flags & SHCA_OPF_ATOMIC)
		shca_count_optional(dev, counters, SHCA_CNT_RX_ATOMICS);
}

/* ---- reading ---------------------------------------------------------------- */

u64 shca_counter_sum(const struct shca_counters __percpu *counters,
		     enum shca_counter id)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(per_cpu_ptr(counters, cpu)->v[id]);
	return sum;
}

u64 shca_counter_total(struct shca_dev *dev, enum shca_counter id)
{
	struct shca_bound *bound;
	unsigned long number;
	u64 sum;

	xa_lock(&dev->stats.bound);
	sum = shca_counter_sum(dev->counters, id) + dev->stats.retired[id];
	xa_for_each(&dev->stats.bound, number, bound)
		sum += shca_counter_sum(bound->counters, id);
	xa_unlock(&dev->stats.bound);
	return sum;
}

/* ---- lifetime ------------------------------------------------------------------ */

int shca_counters_init(struct shca_dev *dev)
{
	dev->counters = alloc_percpu(struct shca_counters);
	return dev->counters ? 0 : -ENOMEM;
}

void shca_counters_exit(struct shca_dev *dev)
{
	int i;

	for (i = SHCA_CNT_OPTIONAL; i < SHCA_CNT_NR; i++)
		if (test_and_clear_bit(i - SHCA_CNT_OPTIONAL, &dev->stats.optional))
			static_branch_dec(&shca_optional_counters);
	free_percpu(dev->counters);
}
