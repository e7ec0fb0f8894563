/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Batches of packets of an InfiniBand link: one GSO packet for the kernel, with the
 * headers of the first. Where such a packet must be split, ib_batch.c does that.
 */
#ifndef SHCA_LINK_IB_BATCH_H
#define SHCA_LINK_IB_BATCH_H

#include <linux/netdevice.h>
#include <linux/skbuff.h>

/* Does a netdev carry batches as they are? Any context. */
bool shca_ib_batch_passes(const struct net_device *ndev);

/*
 * Declare @skb a batch.
 * @segs:	its packets
 * @seg_len:	bytes of each from BTH to ICRC; the last may be shorter
 *
 * Packets of a batch have no VCRC. It is made where a batch is split, as a checksum is
 * for other protocols.
 *
 * Context: any.
 */
void shca_ib_batch_make(struct sk_buff *skb, unsigned int segs, u32 seg_len);

/* Bytes of a batch's packets from BTH to ICRC; 0 if @skb is no batch. Any context. */
u32 shca_ib_batch_unit(const struct sk_buff *skb);

/* Split batches from now on; may sleep. */
void shca_ib_batch_init(void);
/* One that must be split from now on is lost; may sleep. */
void shca_ib_batch_exit(void);

#endif
