/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The performance management agent: standard counters of the port. */
#ifndef SHCA_PMA_H
#define SHCA_PMA_H

#include <linux/types.h>

struct ib_device;
struct ib_grh;
struct ib_mad;
struct ib_wc;
struct shca_dev;

/* After the port is created. No effect on a RoCE device. */
void shca_pma_init(struct shca_dev *dev);
/* Stop sampling, when no MAD can start it any more. May sleep. */
void shca_pma_exit(struct shca_dev *dev);

/* operations in struct ib_device_ops */
int shca_process_mad(struct ib_device *ibdev, int flags, u32 port,
		     const struct ib_wc *wc, const struct ib_grh *grh,
		     const struct ib_mad *in, struct ib_mad *out,
		     size_t *out_size, u16 *out_pkey_index);

#endif
