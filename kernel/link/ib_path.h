/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The data path of an InfiniBand link (ib_path.c). */
#ifndef SHCA_LINK_IB_PATH_H
#define SHCA_LINK_IB_PATH_H

#include <linux/skbuff.h>

#include "link.h"

extern const struct shca_link_ops shca_ib_ops;

/** shca_ib_init() - compute the tables of the VCRC */
void shca_ib_init(void);

/** shca_ib_vcrc_skb() - state of the VCRC over @len bytes at @off of @skb */
u16 shca_ib_vcrc_skb(struct sk_buff *skb, unsigned int off, unsigned int len);

#endif
