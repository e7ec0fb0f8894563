/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* From the network stack to the queues: RoCEv2 over UDP. */
#ifndef SHCA_UDP_H
#define SHCA_UDP_H

struct nf_hook_state;
struct sk_buff;
struct sock;

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

#endif
