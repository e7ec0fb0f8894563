/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* A device is made anew, because what is fixed at registration is to change. */
#ifndef SHCA_RENEW_H
#define SHCA_RENEW_H

#include "../base/dev.h"

struct netlink_ext_ack;

/**
 * shca_renew() - put a device of another personality in the place of @dev
 * @dev:	registered; takes the caller's reference over. It is gone afterwards,
 *		unless an error before its end is returned
 *
 * Name, GUID, namespace, settings and rules of fault injection stay.
 * Context: process, without RTNL; the caller serialises.
 * Return: 0. EBUSY: in use, ENODEV: deleted meanwhile, ENOMEM, with an extack message; or
 * the error of a registration, after which there is no device.
 */
int shca_renew(struct shca_dev *dev, const struct shca_personality *personality,
	       struct netlink_ext_ack *extack);

/** shca_renew_take() - the end of @dev: its heir, if it has one, takes what stays */
void shca_renew_take(struct shca_dev *dev);

#endif
