// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Reception: check lengths, decode, find the QP, check that the packet is from
 * its peer and intact, hand it to the requester or the responder.  In softirq;
 * nothing sleeps, nothing is logged per packet: each refusal has a counter.
 *
 * Packets come one by one through the UDP socket.  Batches of a sender on this
 * machine (GSO packets that were never split) would be split by UDP before they
 * reach a socket like ours, so they are taken by a netfilter hook that is the
 * last at LOCAL_IN: the firewall has had its say, and the socket owns the port.
 */
#include "rx.h"

#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/netfilter.h>
#include <linux/skbuff.h>
#include <linux/udp.h>
#include <net/inet_ecn.h>
#if IS_ENABLED(CONFIG_NF_CONNTRACK)
#include <net/netfilter/nf_conntrack.h>
#endif
#include <net/sock.h>
#include <rdma/ib_verbs.h>

#include "core/headers.h"
#include "core/opcode.h"
#include "counters.h"
#include "dev.h"
#include "net.h"
#include "qp.h"
#include "rq.h"
#include "sq.h"
#include "trace.h"

/**
 * struct shca_rx_seg - one packet of an skb
 * @idx:	its number in a batch
 * @off:	of its BTH, from skb->data
 * @len:	from BTH to ICRC
 */
struct shca_rx_seg {
	unsigned int idx;
	u32 off;
	u32 len;
};

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
	/* Half an old vector, half a new one is that of no peer: a lost packet. */
	return data_race(qp->link->check(&qp->av, skb));
}

/* Not for the transport: a packet that its QP refuses, and why. */
static void shca_rx_refuse(struct shca_qp *qp, const struct shca_pkt *pkt,
			   enum shca_counter id)
{
	this_cpu_inc(qp->dev->counters->v[id]);
	trace_shca_rx_refused(qp->qpn, pkt, id);
}

static void shca_rx_deliver(struct shca_qp *qp, struct sk_buff *skb,
			    const struct shca_rx_seg *seg, struct shca_pkt *pkt)
{
	const struct shca_opcode_info *info = shca_opcode_info(pkt->opcode);
	struct shca_dev *dev = qp->dev;

	if (!shca_path_ok(qp, skb, &pkt->path.vlan)) {
		shca_rx_refuse(qp, pkt, SHCA_CNT_RX_PATH);
		return;
	}
	if (pkt->opcode != SHCA_OPCODE_CNP &&
	    (pkt->opcode & SHCA_TRANSPORT_MASK) != shca_qp_transport(qp->type)) {
		shca_rx_refuse(qp, pkt, SHCA_CNT_RX_TRANSPORT);
		return;
	}
	if (!qp->link->icrc_ok(skb, seg->idx, seg->off, seg->len)) {
		shca_rx_refuse(qp, pkt, SHCA_CNT_RX_ICRC);
		return;
	}
	if (!shca_pkey_match(pkt->pkey, SHCA_PKEY_DEFAULT)) {
		shca_rx_refuse(qp, pkt, SHCA_CNT_RX_PKEY);
		return;
	}
	shca_count(dev, RX_PKTS);
	shca_count_n(dev, RX_BYTES, seg->len);
	trace_shca_rx(qp->qpn, pkt);
	if ((info->flags & SHCA_OPF_RESPONSE) || pkt->opcode == SHCA_OPCODE_CNP)
		shca_sq_rx(qp, pkt);
	else
		shca_rq_rx(qp, pkt);	/* reserved opcodes too: they draw a NAK */
}

/*
 * A packet that no QP takes is counted at the device to whose address it came,
 * which is that of the QP1 there.
 */
static void shca_count_stray(struct shca_net *snet, const struct sk_buff *skb,
			     enum shca_counter id)
{
	struct shca_qp *qp;
	u16 vlan;

	qp = shca_net_find_gsi(snet, skb, &vlan);
	if (!qp)
		return;
	this_cpu_inc(qp->dev->counters->v[id]);
	shca_qp_put(qp);
}

/*
 * One packet.  @last is the QP of the packet before, with a reference, or NULL;
 * packets of a batch are for one QP as a rule.
 *
 * Return: the QP of this one, for the next call or to be put.
 */
static struct shca_qp *shca_rx_one(struct shca_net *snet, struct sk_buff *skb,
				   const struct shca_rx_seg *seg,
				   struct shca_qp *last)
{
	struct shca_pkt pkt = { .path = { .port = 1, .grh_present = true } };
	u32 avail = min_t(u32, seg->len, SHCA_HDR_MAX);
	u8 buf[SHCA_HDR_MAX];
	enum shca_parse parse;
	struct shca_qp *qp = last;
	const u8 *hdr;

	hdr = skb_header_pointer(skb, seg->off, avail, buf);
	if (!hdr || seg->len < SHCA_BTH_BYTES + SHCA_ICRC_BYTES) {
		shca_count_stray(snet, skb, SHCA_CNT_RX_SHORT);
		return last;
	}
	parse = shca_hdr_parse(&pkt, hdr, avail, seg->len);
	if (!last || last->qpn != pkt.dqpn || pkt.dqpn == 1) {
		if (last)
			shca_qp_put(last);
		qp = pkt.dqpn == 1 ?
		     shca_net_find_gsi(snet, skb, &pkt.path.vlan) :
		     shca_net_find_qp(snet, pkt.dqpn);
		if (!qp) {
			shca_count_stray(snet, skb, SHCA_CNT_RX_NO_QP);
			return NULL;
		}
	}
	if (likely(parse == SHCA_PARSE_OK || parse == SHCA_PARSE_OPCODE)) {
		pkt.path.ecn_ce = shca_is_ce(skb);
		pkt.data = skb;
		pkt.data_off += seg->off;
		shca_rx_deliver(qp, skb, seg, &pkt);
	} else if (parse == SHCA_PARSE_SHORT) {
		shca_count(qp->dev, RX_SHORT);
	} else {
		shca_count(qp->dev, RX_HEADER);
	}
	return qp;
}

/* @skb->data is at the UDP header; not freed here. */
static void shca_rx_packets(struct shca_net *snet, struct sk_buff *skb,
			    u32 seg_len)
{
	struct shca_rx_seg seg = {};
	struct shca_qp *qp = NULL;

	__skb_pull(skb, sizeof(struct udphdr));
	do {	/* at least once, to count one that is empty */
		seg.len = min(seg_len, skb->len - seg.off);
		qp = shca_rx_one(snet, skb, &seg, qp);
		seg.off += seg_len;
		seg.idx++;
	} while (seg.off < skb->len);
	if (qp)
		shca_qp_put(qp);
}

int shca_udp_rcv(struct sock *sk, struct sk_buff *skb)
{
	struct shca_net *snet = rcu_dereference_sk_user_data(sk);

	if (!snet || !pskb_may_pull(skb, sizeof(struct udphdr))) {
		kfree_skb(skb);
		return 0;
	}
	if (!shca_plain_ip(skb)) {
		shca_count_stray(snet, skb, SHCA_CNT_RX_HEADER);
		kfree_skb(skb);
		return 0;
	}
	shca_rx_packets(snet, skb, skb->len);
	consume_skb(skb);
	return 0;
}

/*
 * The first packet of a connection that is being tracked has to come to the end
 * of the hooks, where it is confirmed; else each batch would be the first one,
 * for ever.  Conntrack confirms at our own priority, and which of two hooks of
 * the same is called first depends on which was registered last.
 */
static bool shca_is_unconfirmed(const struct sk_buff *skb)
{
#if IS_ENABLED(CONFIG_NF_CONNTRACK)
	enum ip_conntrack_info info;
	struct nf_conn *ct = nf_ct_get(skb, &info);

	return ct && !nf_ct_is_confirmed(ct);
#else
	return false;
#endif
}

unsigned int shca_nf_rcv(void *priv, struct sk_buff *skb,
			 const struct nf_hook_state *state)
{
	u32 seg_len = skb_shinfo(skb)->gso_size;
	struct shca_net *snet = priv;
	const struct udphdr *udp;
	struct udphdr buf;

	if (!skb_is_gso(skb) ||
	    !(skb_shinfo(skb)->gso_type & SKB_GSO_UDP_L4) ||
	    skb_shinfo(skb)->gso_type & SKB_GSO_FRAGLIST || !seg_len ||
	    !skb_csum_unnecessary(skb) || !shca_plain_ip(skb) ||
	    shca_is_unconfirmed(skb))
		return NF_ACCEPT;
	udp = skb_header_pointer(skb, skb_transport_offset(skb), sizeof(buf),
				 &buf);
	if (!udp || udp->dest != htons(ROCE_V2_UDP_DPORT) ||
	    !pskb_may_pull(skb, skb_transport_offset(skb) + sizeof(*udp)))
		return NF_ACCEPT;
	__skb_pull(skb, skb_transport_offset(skb));
	/* Its maker chose the length: do not look at each of 64k bytes. */
	if (seg_len < SHCA_BTH_BYTES + SHCA_ICRC_BYTES)
		shca_count_stray(snet, skb, SHCA_CNT_RX_SHORT);
	else
		shca_rx_packets(snet, skb, seg_len);
	consume_skb(skb);
	return NF_STOLEN;
}
