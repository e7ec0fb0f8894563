/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Batches of packets of an InfiniBand link: one GSO packet for the kernel, with the
 * headers of the first. Where such a packet must be split, ib_batch.c does that.
 */
#ifndef SHCA_LINK_IB_BATCH_H
#define SHCA_LINK_IB_BATCH_H

#include <linux/netdevice.h>
#include <linux/skbuff.h>

/**
 * shca_ib_batch_passes() - does a netdev carry batches as they are?
 *
 * Context: any.
 */
bool shca_ib_batch_passes(const struct net_device *ndev);

/**
 * shca_ib_batch_make() - declare @skb a batch
 * @segs:	its packets
 * @seg_len:	bytes of each from BTH to ICRC; the last may be shorter
 *
 * Packets of a batch have no VCRC. It is made where a batch is split, as a checksum is
 * for other protocols.
 *
 * Context: any.
 */
void shca_ib_batch_make(struct sk_buff *skb, unsigned int segs, u32 seg_len);

/**
 * shca_ib_batch_unit() - bytes of a batch's packets from BTH to ICRC
 *
 * Context: any. Return: 0 if @skb is no batch.
 */
u32 shca_ib_batch_unit(const struct sk_buff *skb);

/** shca_ib_batch_init() - split batches from now on; may sleep */
void shca_ib_batch_init(void);
/** shca_ib_batch_exit() - one that must be split from now on is lost; may sleep */
void shca_ib_batch_exit(void);

#endif
