// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Receive side scaling.  Frames of RAW_PACKET come from net/flow.c, datagrams of UD
 * from rx.c.  The QP checks its own attributes (state, Q_Key).  The work queue does
 * the rest, and only its lock is taken.  So CPUs that receive for different work
 * queues do not contend.
 */
#include "rss.h"

#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/skbuff.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/udp.h>

#include "../base/compat.h"
#include "../base/counters.h"
#include "../base/dev.h"
#include "../base/trace.h"
#include "../core/ib_wire.h"
#include "../core/packet.h"
#include "../link/ib_path.h"
#include "qp.h"
#include "rq.h"
#include "rx.h"

#define SHCA_RSS_IPV4	(SHCA_RX_HASH_SRC_IPV4 | SHCA_RX_HASH_DST_IPV4)
#define SHCA_RSS_IPV6	(SHCA_RX_HASH_SRC_IPV6 | SHCA_RX_HASH_DST_IPV6)
#define SHCA_RSS_TCP	(SHCA_RX_HASH_SRC_PORT_TCP | SHCA_RX_HASH_DST_PORT_TCP)
#define SHCA_RSS_UDP	(SHCA_RX_HASH_SRC_PORT_UDP | SHCA_RX_HASH_DST_PORT_UDP)

/* Both addresses of IPv6 and both ports. */
#define SHCA_RSS_INPUT	(2 * 16 + 2 * 2)

/* ---- creation ---------------------------------------------------------------- */

int shca_rss_check(const struct ib_qp_init_attr *init, bool is_user)
{
	if (!is_user)	/* no kernel consumer has work queues */
		return -EOPNOTSUPP;
	if (init->qp_type != IB_QPT_RAW_PACKET && init->qp_type != IB_QPT_UD)
		return -EOPNOTSUPP;
	if (init->recv_cq || init->srq || init->cap.max_recv_wr)
		return -EINVAL;
	/* It receives, and that is all (as on ConnectX). */
	if (init->send_cq || init->cap.max_send_wr)
		return -EOPNOTSUPP;
	return 0;
}

/*
 * As strict as ConnectX, so that what works here works there: a packet has one
 * kind of addresses and one of ports.
 */
static int shca_rss_check_hash(const struct ib_rwq_ind_table *table,
			       const struct shca_rx_hash *hash)
{
	u64 fields = hash->fields;

	if (memchr_inv(hash->reserved, 0, sizeof(hash->reserved)))
		return -EINVAL;
	if (hash->function != SHCA_RX_HASH_TOEPLITZ)
		return -EOPNOTSUPP;
	if (hash->key_len != SHCA_RX_HASH_KEY_LEN)
		return -EINVAL;
	if (fields & ~(u64)(SHCA_RSS_IPV4 | SHCA_RSS_IPV6 | SHCA_RSS_TCP |
			    SHCA_RSS_UDP))
		return -EOPNOTSUPP;
	if ((fields & SHCA_RSS_IPV4 && fields & SHCA_RSS_IPV6) ||
	    (fields & SHCA_RSS_TCP && fields & SHCA_RSS_UDP))
		return -EINVAL;
	/* Hashing nothing is fine where there is nothing to choose. */
	if (!fields && table->log_ind_tbl_size)
		return -EINVAL;
	return 0;
}

struct shca_rss *shca_rss_make(const struct ib_rwq_ind_table *table,
			       const struct shca_rx_hash *hash)
{
	struct shca_rss *rss;
	int err;

	if (!table)
		return memchr_inv(hash, 0, sizeof(*hash)) ? ERR_PTR(-EINVAL) :
							    NULL;
	err = shca_rss_check_hash(table, hash);
	if (err)
		return ERR_PTR(err);
	rss = kzalloc(sizeof(*rss), GFP_KERNEL_ACCOUNT);
	if (!rss)
		return ERR_PTR(-ENOMEM);
	rss->table = table->ind_tbl;
	rss->mask = (1u << table->log_ind_tbl_size) - 1;
	rss->fields = hash->fields;
	memcpy(rss->key, hash->key, sizeof(rss->key));
	return rss;
}

/* ---- hashing ------------------------------------------------------------------- */

/* A window of 32 bits slides along the key, one bit with each bit of @input. */
static u32 shca_toeplitz(const u8 *key, const u8 *input, unsigned int len)
{
	u32 window = (u32)key[0] << 24 | key[1] << 16 | key[2] << 8 | key[3];
	u32 hash = 0;
	int bit;

	BUILD_BUG_ON(SHCA_RSS_INPUT + sizeof(window) > SHCA_RX_HASH_KEY_LEN);
	for (key += sizeof(window); len; len--, input++, key++) {
		for (bit = 7; bit >= 0; bit--) {
			if (*input >> bit & 1)
				hash ^= window;
			window = window << 1 | (*key >> bit & 1);
		}
	}
	return hash;
}

static u8 *shca_rss_put(u8 *p, bool wanted, const void *field, unsigned int len)
{
	if (!wanted)
		return p;
	memcpy(p, field, len);
	return p + len;
}

struct shca_qp *shca_rss_select(const struct shca_rss *rss,
				const struct shca_rss_flow *flow)
{
	u32 src_addr, dst_addr, src_port = 0, dst_port = 0;
	u8 input[SHCA_RSS_INPUT], *p = input;
	u32 entry;

	src_addr = flow->addr_len == 4 ? SHCA_RX_HASH_SRC_IPV4 :
					 SHCA_RX_HASH_SRC_IPV6;
	dst_addr = flow->addr_len == 4 ? SHCA_RX_HASH_DST_IPV4 :
					 SHCA_RX_HASH_DST_IPV6;
	if (flow->proto == IPPROTO_TCP) {
		src_port = SHCA_RX_HASH_SRC_PORT_TCP;
		dst_port = SHCA_RX_HASH_DST_PORT_TCP;
	} else if (flow->proto == IPPROTO_UDP) {
		src_port = SHCA_RX_HASH_SRC_PORT_UDP;
		dst_port = SHCA_RX_HASH_DST_PORT_UDP;
	}
	p = shca_rss_put(p, rss->fields & src_addr, flow->src, flow->addr_len);
	p = shca_rss_put(p, rss->fields & dst_addr, flow->dst, flow->addr_len);
	p = shca_rss_put(p, rss->fields & src_port, &flow->src_port,
			 sizeof(flow->src_port));
	p = shca_rss_put(p, rss->fields & dst_port, &flow->dst_port,
			 sizeof(flow->dst_port));
	entry = shca_toeplitz(rss->key, input, p - input) & rss->mask;
	return to_shca_wq(rss->table[entry])->qp;
}

/* ---- datagrams ------------------------------------------------------------------- */

/*
 * An InfiniBand packet has no ports. GIDs are IPv6 addresses; without a GRH, nothing is
 * left to tell flows by.
 */
static struct shca_qp *shca_rss_of_ib(const struct shca_rss *rss,
				      const struct sk_buff *skb)
{
	const u8 *lrh = skb_network_header(skb);
	struct shca_rss_flow flow = {
		.src = lrh + SHCA_IB_LRH_BYTES + 8,
		.dst = lrh + SHCA_IB_LRH_BYTES + 24,
	};
	struct shca_path_info path;

	shca_ib_ops.path(skb, &path);
	if (path.grh_present)
		flow.addr_len = sizeof(struct in6_addr);
	return shca_rss_select(rss, &flow);
}

/* The packets of a batch have the same hash. */
static struct shca_qp *shca_rss_of_skb(const struct shca_rss *rss,
				       const struct shca_link_ops *link,
				       const struct sk_buff *skb)
{
	const struct udphdr *udp = udp_hdr(skb);
	struct shca_rss_flow flow = {
		.proto = IPPROTO_UDP,
		.src_port = udp->source,
		.dst_port = udp->dest,
	};

	if (unlikely(shca_link_is_ib(link)))
		return shca_rss_of_ib(rss, skb);
	if (skb->protocol == htons(ETH_P_IP)) {
		flow.addr_len = sizeof(struct in_addr);
		flow.src = &ip_hdr(skb)->saddr;
		flow.dst = &ip_hdr(skb)->daddr;
	} else {
		flow.addr_len = sizeof(struct in6_addr);
		flow.src = &ipv6_hdr(skb)->saddr;
		flow.dst = &ipv6_hdr(skb)->daddr;
	}
	return shca_rss_select(rss, &flow);
}

/*
 * A packet that races with a change of state or Q_Key may be judged by what was
 * before, as if it had come earlier.
 */
static enum shca_verdict shca_rss_judge(struct shca_qp *qp,
					const struct shca_pkt *pkt)
{
	if (READ_ONCE(qp->state) != IB_QPS_RTR)
		return SHCA_RX_STATE;
	/* A packet that races with modify_qp may be checked against either key. */
	return pkt->deth.qkey == data_race(qp->rq.resp.attr.qkey) ?
	       SHCA_RX_OK : SHCA_RX_QKEY;
}

void shca_rss_rx(struct shca_qp *qp, const struct shca_pkt *pkt,
		 unsigned int nr)
{
	const struct shca_rx_skb *in = pkt->data;
	struct shca_qp *to = shca_rss_of_skb(qp->rss, qp->link, in->skb);
	enum shca_verdict verdict;

	for (; nr; nr--, pkt++) {
		verdict = shca_rss_judge(qp, pkt);
		if (likely(verdict == SHCA_RX_OK)) {
			shca_rq_rx(to, pkt, 1, true);
			continue;
		}
		shca_count_rx(qp, verdict);
		if (verdict == SHCA_RX_QKEY)
			qp->link->bad_key(qp->dev, pkt, true);
		trace_shca_rx_verdict(qp->qpn, pkt, verdict);
	}
}
