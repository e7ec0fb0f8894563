// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Reception: check lengths, decode, find the QP, check that the packet is from
 * its peer and intact, hand it to the requester or the responder.  In softirq;
 * nothing sleeps, nothing is logged per packet: each refusal has a counter.
 */
#include "rx.h"

#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/skbuff.h>
#include <linux/udp.h>
#include <net/inet_ecn.h>
#include <net/sock.h>

#include "core/headers.h"
#include "core/opcode.h"
#include "counters.h"
#include "dev.h"
#include "net.h"
#include "qp.h"
#include "rq.h"
#include "sq.h"
#include "trace.h"

#define SHCA_PKEY_DEFAULT	0xffff
#define SHCA_PKEY_BASE		0x7fff

/* IBTA 10.9.3: same partition, and at least one side a full member. */
static bool shca_pkey_match(u16 a, u16 b)
{
	return (a & SHCA_PKEY_BASE) == (b & SHCA_PKEY_BASE) &&
	       ((a | b) & ~SHCA_PKEY_BASE);
}

/*
 * A packet is accepted only with the plain header that the ICRC is defined
 * over: no IPv4 options, no IPv6 extension headers.
 */
static bool shca_plain_ip(const struct sk_buff *skb)
{
	int l3 = skb_transport_offset(skb) - skb_network_offset(skb);

	if (skb->protocol == htons(ETH_P_IP))
		return l3 == sizeof(struct iphdr);
	return l3 == sizeof(struct ipv6hdr);
}

static bool shca_is_ce(const struct sk_buff *skb)
{
	if (skb->protocol == htons(ETH_P_IP))
		return INET_ECN_is_ce(ip_hdr(skb)->tos);
	return INET_ECN_is_ce(ipv6_get_dsfield(ipv6_hdr(skb)));
}

/*
 * From the peer of a connected QP, or to an address of the device.  The address
 * vector is written under both side locks before the QP can receive; a packet
 * that races with modify may be judged by the old one, as if it came earlier.
 */
static bool shca_path_ok(const struct shca_qp *qp, const struct sk_buff *skb,
			 u16 *vlan)
{
	if (qp->type == IB_QPT_GSI)
		return true;	/* it was found by the address */
	if (qp->type == IB_QPT_UD)
		return qp->link->serves(qp->dev, skb, vlan);
	return qp->link->check(&qp->av, skb);
}

static void shca_rx_deliver(struct shca_qp *qp, struct sk_buff *skb,
			    struct shca_pkt *pkt)
{
	const struct shca_opcode_info *info = shca_opcode_info(pkt->opcode);
	struct shca_dev *dev = qp->dev;

	if (!shca_path_ok(qp, skb, &pkt->path.vlan)) {
		shca_count(dev, RX_PATH);
		return;
	}
	if (pkt->opcode != SHCA_OPCODE_CNP &&
	    (pkt->opcode & SHCA_TRANSPORT_MASK) != shca_qp_transport(qp->type)) {
		shca_count(dev, RX_TRANSPORT);
		return;
	}
	if (!qp->link->icrc_ok(skb)) {
		shca_count(dev, RX_ICRC);
		return;
	}
	if (!shca_pkey_match(pkt->pkey, SHCA_PKEY_DEFAULT)) {
		shca_count(dev, RX_PKEY);
		return;
	}
	shca_count(dev, RX_PKTS);
	shca_count_n(dev, RX_BYTES, skb->len);
	trace_shca_rx(qp->qpn, pkt);
	if ((info->flags & SHCA_OPF_RESPONSE) || pkt->opcode == SHCA_OPCODE_CNP)
		shca_sq_rx(qp, pkt);
	else
		shca_rq_rx(qp, pkt);	/* reserved opcodes too: they draw a NAK */
}

int shca_udp_rcv(struct sock *sk, struct sk_buff *skb)
{
	struct shca_net *snet = rcu_dereference_sk_user_data(sk);
	struct shca_pkt pkt = { .path = { .port = 1, .grh_present = true } };
	enum shca_parse parse;
	struct shca_qp *qp;
	u32 hdr;

	if (!snet || !shca_plain_ip(skb) ||
	    skb->len < sizeof(struct udphdr) + SHCA_BTH_BYTES + SHCA_ICRC_BYTES)
		goto drop;
	hdr = min_t(u32, skb->len, sizeof(struct udphdr) + SHCA_HDR_MAX);
	if (!pskb_may_pull(skb, hdr))
		goto drop;
	__skb_pull(skb, sizeof(struct udphdr));
	hdr -= sizeof(struct udphdr);
	parse = shca_hdr_parse(&pkt, skb->data, hdr, skb->len);
	qp = pkt.dqpn == 1 ? shca_net_find_gsi(snet, skb, &pkt.path.vlan) :
			     shca_net_find_qp(snet, pkt.dqpn);
	if (!qp)
		goto drop;	/* no device to count it at */
	if (likely(parse == SHCA_PARSE_OK || parse == SHCA_PARSE_OPCODE)) {
		pkt.path.ecn_ce = shca_is_ce(skb);
		pkt.data = skb;
		shca_rx_deliver(qp, skb, &pkt);
	} else if (parse == SHCA_PARSE_SHORT) {
		shca_count(qp->dev, RX_SHORT);
	} else {
		shca_count(qp->dev, RX_HEADER);
	}
	shca_qp_put(qp);
	consume_skb(skb);
	return 0;

drop:
	kfree_skb(skb);
	return 0;
}
