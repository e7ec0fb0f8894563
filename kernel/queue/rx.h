/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* From the network stack to the sides of a QP. */
#ifndef SHCA_RX_H
#define SHCA_RX_H

#include "../link/link.h"

struct nf_hook_state;
struct shca_mr;
struct shca_qp;
struct sock;

/**
 * struct shca_rx_skb - an skb that is being received; struct shca_pkt.data
 * @seed:	of its packets' ICRCs; kept by the link
 * @mr:		a region that one packet of it has reached, and the next one
 *		probably will; kept by mem.c
 * @frag: @frag_off: where the last packet was found
 */
struct shca_rx_skb {
	struct sk_buff *skb;
	struct shca_seed seed;
	struct shca_mr *mr;
	int frag;
	u32 frag_off;
};

/**
 * shca_rx_flat() - @len bytes at @off, if they are in one piece of memory
 *
 * Cheap if called with rising offsets.
 * Return: NULL: they are not; use skb_copy_bits() and its like.
 */
const u8 *shca_rx_flat(struct shca_rx_skb *rx, u32 off, u32 len);

/** shca_udp_rcv() - encap_rcv of the sockets; consumes @skb, softirq */
int shca_udp_rcv(struct sock *sk, struct sk_buff *skb);

/**
 * shca_nf_rcv() - netfilter hook at LOCAL_IN: takes whole batches
 * @priv:	the struct shca_net
 *
 * Context: softirq, or a process that gives a verdict on a packet (NFQUEUE).
 * Return: NF_STOLEN, or NF_ACCEPT for what is not a batch of RoCEv2, or one that is
 * for UDP to judge.
 */
unsigned int shca_nf_rcv(void *priv, struct sk_buff *skb,
			 const struct nf_hook_state *state);

/**
 * shca_rx_steered() - the rest of the way of an skb that has changed CPUs
 * @qp:		of its first packet
 * @seg_len:	see shca_steer()
 *
 * Context: softirq; consumes @skb.
 */
void shca_rx_steered(struct shca_qp *qp, struct sk_buff *skb, u32 seg_len);

#endif
