/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Receives the frames of InfiniBand links. */
#ifndef SHCA_NET_IB_H
#define SHCA_NET_IB_H

struct net_device;
struct packet_type;
struct sk_buff;

/* Packet handler of the netdev of an InfiniBand port; softirq. */
int shca_ib_rcv(struct sk_buff *skb, struct net_device *ndev,
		struct packet_type *ptype, struct net_device *orig);

#endif
