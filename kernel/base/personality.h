/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The personality of a device: its limits, what it is without, and its data-path behaviour
 * (docs/personalities.md). Constant while the device is registered.
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
 * @statuses:	bits of the statuses that have a vendor_err of their own
 * @vendor_err:	by status
 */
struct shca_personality {
	char name[SHCA_PERSONALITY_NAME];
	u64 lacks;
	u64 limit[SHCA_LIMIT_NR];
	u32 statuses;
	u16 vendor_err[SHCA_PERSONALITY_STATUSES];
};

/* The personality of a new device: no restriction. */
extern const struct shca_personality shca_native;

/* On while a device has delayed placement, bursts of completions, or vendor errors of its own. */
DECLARE_STATIC_KEY_FALSE(shca_manners_on);

/* A limit of @dev; @id is the last part of its name in enum shca_limit. */
#define shca_limit(dev, id)	((dev)->personality.limit[SHCA_LIMIT_##id])
/* Is @dev without it? @id is the last part of its name in enum shca_lack. */
#define shca_lacks(dev, id)	((dev)->personality.lacks >> SHCA_LACK_##id & 1)

/* Does the personality change the data path (shca_manners_on)? */
bool shca_personality_has_manners(const struct shca_personality *personality);

/* Make limits agree with what the device is without: 0 there, and the other way round. */
void shca_personality_normalize(struct shca_personality *personality);

/* Remove the operations that the device is without. */
void shca_personality_prune(const struct shca_personality *personality,
			    struct ib_device_ops *ops);

#endif
