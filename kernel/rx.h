/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* From the UDP socket to the sides of a QP. */
#ifndef SHCA_RX_H
#define SHCA_RX_H

struct sk_buff;
struct sock;

/** shca_udp_rcv() - encap_rcv of the sockets; consumes @skb, softirq */
int shca_udp_rcv(struct sock *sk, struct sk_buff *skb);

#endif
