/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef SHCA_LINK_IB_PATH_H
#define SHCA_LINK_IB_PATH_H

#include <linux/skbuff.h>

#include "../link/link.h"
#include "core/ib_wire.h"

struct shca_ib_view;

extern const struct shca_link_ops shca_ib_ops;

/* Read-only after shca_ib_init() */
extern struct shca_ib_vcrc shca_ib_vcrc_tables;

/*
 * Transmit a packet or a batch of @segs packets; consumes @skb, which has all headers but
 * Ethernet's.
 * Context: softirq or bottom halves off.
 * Return: as xmit of struct shca_link_ops. All losses but -EBUSY are counted.
 */
int shca_ib_leave(struct shca_dev *dev, const struct shca_ib_view *view,
		  struct sk_buff *skb, unsigned int segs);

/* Compute the tables of the VCRC. */
void shca_ib_init(void);

/* VCRC state over @len bytes at @off of @skb */
u16 shca_ib_vcrc_skb(struct sk_buff *skb, unsigned int off, unsigned int len);

#endif
