/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Batches of InfiniBand packets: GSO packets with the headers of the first packet */
#ifndef SHCA_LINK_IB_BATCH_H
#define SHCA_LINK_IB_BATCH_H

#include <linux/netdevice.h>
#include <linux/skbuff.h>

/* Does a netdev pass batches on unsplit? Any context. */
bool shca_ib_batch_passes(const struct net_device *ndev);

/*
 * Make @skb a batch.
 * @segs:	its packets
 * @seg_len:	bytes of each from BTH to ICRC; the last may be shorter
 *
 * Packets of a batch have no VCRC. A split adds it, as it adds a checksum for other
 * protocols.
 * Context: any.
 */
void shca_ib_batch_make(struct sk_buff *skb, unsigned int segs, u32 seg_len);

/* Bytes of a batch's packets from BTH to ICRC; 0: no batch. Any context. */
u32 shca_ib_batch_unit(const struct sk_buff *skb);

/* Register the segmentation of batches; may sleep. */
void shca_ib_batch_init(void);
/* Unregister it: batches that must be split are lost. May sleep. */
void shca_ib_batch_exit(void);

#endif
