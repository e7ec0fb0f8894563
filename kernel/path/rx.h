/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Received packets, from the link to the sides of a QP. */
#ifndef SHCA_RX_H
#define SHCA_RX_H

#include "../base/counters.h"
#include "../link/link.h"

struct shca_net;
struct sk_buff;

/**
 * shca_rx() - receive @skb
 * @link:	link that it came by
 * @snet:	where it arrived
 * @skb:	one packet or a batch, @skb->data at the first BTH, all lower headers
 *		in the linear part before it; consumed
 * @seg_len:	length of each packet, from BTH to ICRC; the last may be shorter
 *
 * Context: softirq or bottom halves off.
 */
void shca_rx(const struct shca_link_ops *link, struct shca_net *snet,
	     struct sk_buff *skb, u32 seg_len);

/*
 * Count a packet that no QP takes at the device of its destination address: that of the QP1
 * there. A packet to a group has no such device, and other members on this host may take it.
 * Context: softirq or bottom halves off.
 */
void shca_rx_stray(const struct shca_link_ops *link, struct shca_net *snet,
		   const struct sk_buff *skb, enum shca_counter id);

#endif
