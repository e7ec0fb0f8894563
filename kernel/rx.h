/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* From the network stack to the sides of a QP. */
#ifndef SHCA_RX_H
#define SHCA_RX_H

#include <linux/types.h>

struct nf_hook_state;
struct shca_qp;
struct sk_buff;
struct sock;

/** shca_udp_rcv() - encap_rcv of the sockets; consumes @skb, softirq */
int shca_udp_rcv(struct sock *sk, struct sk_buff *skb);

/**
 * shca_nf_rcv() - netfilter hook at LOCAL_IN: takes whole batches
 * @priv:	the struct shca_net
 *
 * Return: NF_STOLEN, or NF_ACCEPT for what is not a batch of RoCEv2.
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
