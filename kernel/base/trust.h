/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Devices of other network namespaces that a device trusts (path host): requests
 * may go directly to those of them that trust it, too.  Neither firewall sees them,
 * so the administrators of both namespaces have to name the other's device.
 *
 * A device is trusted, and not its name: one that is made anew under that name is
 * another.
 */
#ifndef SHCA_TRUST_H
#define SHCA_TRUST_H

#include <linux/rcupdate.h>
#include <linux/types.h>

#include "dev.h"

/* Devices that one may name. */
#define SHCA_LIM_TRUSTED	64

/**
 * struct shca_trust - what a device has for this; replaced as a whole
 * @rcu:	requests look at it without a lock
 * @nr: @ids:	struct shca_dev.id of each
 */
struct shca_trust {
	struct rcu_head rcu;
	u32 nr;
	u64 ids[];
};

/**
 * shca_trusts() - does @dev trust @other?
 *
 * Context: RCU read side, or bottom halves off.
 */
static inline bool shca_trusts(const struct shca_dev *dev,
			       const struct shca_dev *other)
{
	const struct shca_trust *trust;
	u32 i;

	trust = rcu_dereference_check(dev->trust, rcu_read_lock_bh_held());
	for (i = 0; trust && i < trust->nr; i++)
		if (trust->ids[i] == other->id)
			return true;
	return false;
}

#endif
