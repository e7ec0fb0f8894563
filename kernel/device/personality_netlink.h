/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Personalities over netlink, and in attributes and features */
#ifndef SHCA_DEVICE_PERSONALITY_H
#define SHCA_DEVICE_PERSONALITY_H

#include "../base/dev.h"

struct genl_info;

/* Remove from the attributes what the device is without. */
void shca_personality_query(const struct shca_dev *dev,
			    struct ib_device_attr *attr);

/* Adapt SHCA_FEATURE_* of a context on this device. */
void shca_personality_features(const struct shca_dev *dev, u64 *features);

/* Add SHCA_A_PERSONALITY. Return: 0 or -EMSGSIZE. */
int shca_personality_fill(struct sk_buff *msg, const struct shca_dev *dev);

/*
 * SHCA_A_PERSONALITY of a request: the personality of the next device of the sender's network
 * namespace.
 * Return: 0; -EINVAL, -ENOMEM, -ERANGE, with an extack message.
 */
int shca_personality_set(struct genl_info *info);

#endif
