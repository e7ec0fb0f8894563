/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Devices of other network namespaces that a device trusts (path host). Requests go directly
 * to a trusted device that trusts this one, too. Firewalls do not see them, so each
 * namespace's administrator must name the other's device.
 *
 * Trust names a device by its id, so a new device of the same name is not trusted.
 */
#ifndef SHCA_TRUST_H
#define SHCA_TRUST_H

#include <linux/rcupdate.h>
#include <linux/types.h>

#include "dev.h"

/* Maximum number of trusted devices per device. */
#define SHCA_TRUSTED_MAX	64

/**
 * struct shca_trust - trusted devices of one device; replaced as a whole
 * @rcu:	readers on the data path take no lock
 * @nr:		entries of @ids
 * @ids:	struct shca_dev.id of each
 */
struct shca_trust {
	struct rcu_head rcu;
	u32 nr;
	u64 ids[];
};

/* Context: RCU read side, or bottom halves off. */
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
