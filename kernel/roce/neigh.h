/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef SHCA_NEIGH_H
#define SHCA_NEIGH_H

#include <linux/jiffies.h>

#include "../base/dev.h"
#include "../link/link.h"

/* Time after the link came up in which entries are restored */
#define SHCA_NEIGH_TIME	(2 * HZ)

/* Slow path of shca_neigh_keep(); same context. */
void shca_neigh_restore(const struct shca_av *av, struct dst_entry *dst);

/* Before @dst is used for the peer of a connected QP. Context: softirq or bottom halves off. */
static inline void shca_neigh_keep(const struct shca_dev *dev,
				   const struct shca_av *av,
				   struct dst_entry *dst)
{
	unsigned long up_at = READ_ONCE(dev->port.up_at);

	if (unlikely(up_at && time_before(jiffies, up_at + SHCA_NEIGH_TIME)))
		shca_neigh_restore(av, dst);
}

#endif
