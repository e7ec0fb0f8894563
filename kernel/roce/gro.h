/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Generic receive offload: joins RoCEv2 packets that arrive one by one to batches. */
#ifndef SHCA_GRO_H
#define SHCA_GRO_H

#include <linux/types.h>

struct list_head;
struct sk_buff;
struct sock;
struct udphdr;

/**
 * shca_gro_receive() - gro_receive of the sockets: joins packets of one flow
 * @sk:		the socket on port 4791
 * @head:	packets that the netdev's NAPI holds for GRO
 * @skb:	a packet, its UDP header pulled
 *
 * Packets are joined if GSO would split the result into the same packets: lower headers must
 * be alike, IPv4 identifiers consecutive or equal, and lengths equal but the last one. BTHs
 * may differ, because reception parses each packet of a batch.
 *
 * Context: NAPI, softirq.
 * Return: the packet to be flushed, or NULL.
 */
struct sk_buff *shca_gro_receive(struct sock *sk, struct list_head *head,
				 struct sk_buff *skb);

/*
 * Give a GSO packet the partial checksum that __udp_gso_segment() completes. @udp has the length
 * already, and is behind an IP header without options.
 */
void shca_gso_partial(struct sk_buff *skb, struct udphdr *udp, bool ipv4);

/*
 * gro_complete of the sockets: make a GSO packet.
 * @nhoff:	offset of the BTH from skb->data
 * Context: NAPI, softirq. Return: 0.
 */
int shca_gro_complete(struct sock *sk, struct sk_buff *skb, int nhoff);

#endif
