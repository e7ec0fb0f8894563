/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Counters for the RDMA core: hw_counters of the port, and counters of QPs. */
#ifndef SHCA_HW_STATS_H
#define SHCA_HW_STATS_H

#include <linux/types.h>

#include "../base/compat.h"

struct ib_device;
struct ib_qp;
struct rdma_counter;
struct rdma_hw_stats;

/* operations in struct ib_device_ops */
int shca_modify_hw_stat(struct ib_device *ibdev, u32 port, unsigned int index,
			bool enable);
int shca_counter_bind_qp(struct rdma_counter *counter, struct ib_qp *ibqp,
			 u32 port);
int shca_counter_unbind_qp(struct ib_qp *ibqp, u32 port);
int shca_counter_dealloc(struct rdma_counter *counter);
#ifdef HAVE_SIZE_RDMA_COUNTER
void shca_counter_init(struct rdma_counter *counter);
#endif
struct rdma_hw_stats *shca_counter_alloc_stats(struct rdma_counter *counter);
int shca_counter_update_stats(struct rdma_counter *counter);
struct rdma_hw_stats *shca_alloc_hw_port_stats(struct ib_device *ibdev,
					       u32 port);
int shca_get_hw_stats(struct ib_device *ibdev, struct rdma_hw_stats *stats,
		      u32 port, int index);

#endif
