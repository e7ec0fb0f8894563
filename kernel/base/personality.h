/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The personality of a device: its limits, what it is without, and its manners
 * (docs/personalities.md). It is constant while the device is registered.
 */
#ifndef SHCA_PERSONALITY_H
#define SHCA_PERSONALITY_H

#include <linux/jump_label.h>
#include <linux/types.h>
#include <rdma/ib_verbs.h>

#include "../../uapi/softhca-personality.h"

/**
 * struct shca_personality - a personality
 * @name:	letters, digits, '-', '_' and '.'
 * @lacks:	bits of enum shca_lack
 * @limit:	by enum shca_limit
 * @statuses:	which statuses have a vendor_err of their own; bits
 * @vendor_err:	by status
 */
struct shca_personality {
	char name[SHCA_PERSONALITY_NAME];
	u64 lacks;
	u64 limit[SHCA_LIMIT_NR];
	u32 statuses;
	u16 vendor_err[SHCA_PERSONALITY_STATUSES];
};

/* What every device begins with: nothing is restricted. */
extern const struct shca_personality shca_native;

/*
 * On while any device has manners: it places data late, shows completions in bursts, or has
 * vendor errors of its own. So the data path of others pays nothing.
 */
DECLARE_STATIC_KEY_FALSE(shca_manners_on);

/* A limit of @dev, by the last part of its name in enum shca_limit. */
#define shca_limit(dev, id)	((dev)->personality.limit[SHCA_LIMIT_##id])
/* Is @dev without it? By the last part of its name in enum shca_lack. */
#define shca_lacks(dev, id)	((dev)->personality.lacks >> SHCA_LACK_##id & 1)

/* Does the data path look at it? */
bool shca_personality_has_manners(const struct shca_personality *personality);

/* Make it consistent: what it is without has the limit 0, and the other way round. */
void shca_personality_normalize(struct shca_personality *personality);

/* Take out of the table what the device is without. */
void shca_personality_prune(const struct shca_personality *personality,
			    struct ib_device_ops *ops);

#endif
