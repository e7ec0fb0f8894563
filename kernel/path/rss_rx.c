// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Receive side scaling. verbs/flow.c delivers frames of RAW_PACKET, rx.c datagrams of UD. The
 * QP checks its own attributes (state, Q_Key). The work queue does the rest, and only its lock
 * is taken, so CPUs that receive for different work queues do not contend.
 */
#include "rss_rx.h"

#include <linux/in.h>
#include <linux/string.h>

#include "../base/counters.h"
#include "../base/trace.h"
#include "../core/packet.h"
#include "../link/link.h"
#include "../queue/qp.h"
#include "rq.h"
#include "rx.h"

/* Both IPv6 addresses and both ports. */
#define SHCA_RSS_INPUT	(2 * 16 + 2 * 2)

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

static enum shca_verdict shca_rss_judge(struct shca_qp *qp,
					const struct shca_pkt *pkt)
{
	if (READ_ONCE(qp->state) != IB_QPS_RTR)
		return SHCA_RX_STATE;
	/* A packet that races with modify_qp may be checked against the old or the new key. */
	return pkt->deth.qkey == data_race(qp->rq.resp.attr.qkey) ?
	       SHCA_RX_OK : SHCA_RX_QKEY;
}

void shca_rss_rx(struct shca_qp *qp, const struct shca_pkt *pkt,
		 unsigned int nr)
{
	const struct shca_rx_skb *in = pkt->data;
	struct shca_rss_flow flow = {};
	enum shca_verdict verdict;
	struct shca_qp *to;

	/* The packets of a batch have the same hash. */
	qp->link->flow(in->skb, &flow);
	to = shca_rss_select(qp->rss, &flow);
	for (; nr; nr--, pkt++) {
		verdict = shca_rss_judge(qp, pkt);
		if (likely(verdict == SHCA_RX_OK)) {
			shca_rq_rx(to, pkt, 1, true);
			continue;
		}
		shca_count_rx(qp, verdict);
		if (verdict == SHCA_RX_QKEY && qp->link->bad_key)
			qp->link->bad_key(qp->dev, pkt, true);
		trace_shca_rx_verdict(qp->qpn, pkt, verdict);
	}
}
