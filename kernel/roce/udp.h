/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* RoCEv2 packets from the network stack */
#ifndef SHCA_UDP_H
#define SHCA_UDP_H

struct nf_hook_state;
struct sk_buff;
struct sock;

/* encap_rcv of the sockets; consumes @skb, softirq. */
int shca_udp_rcv(struct sock *sk, struct sk_buff *skb);

/*
 * Netfilter hook at LOCAL_IN: takes whole batches.
 * @priv:	the struct shca_net
 * Context: softirq, or a process that gives a verdict on a packet (NFQUEUE).
 * Return: NF_STOLEN; or NF_ACCEPT if it is no batch of RoCEv2, or UDP must decide.
 */
unsigned int shca_nf_rcv(void *priv, struct sk_buff *skb,
			 const struct nf_hook_state *state);

#endif
