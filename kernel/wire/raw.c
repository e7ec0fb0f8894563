// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The send queue of RAW_PACKET. Each request is a frame, which goes to the netdev as it is, or
 * to a QP of this device if a rule says so (verbs/flow.c). The requester of the core validates,
 * completes and flushes the requests: for it this is a transport without headers.
 */
#include "raw.h"

#include <linux/etherdevice.h>
#include <linux/if_vlan.h>
#include <linux/ktime.h>
#include <linux/netdevice.h>

#include "../base/counters.h"
#include "../base/dev.h"
#include "../base/trace.h"
#include "../queue/qp.h"
#include "payload.h"
#include "tx.h"

u32 shca_raw_max_len(const struct shca_dev *dev)
{
	return READ_ONCE(dev->ndev->mtu) + VLAN_ETH_HLEN;
}

/* The MTU does not count a VLAN tag. */
static bool shca_raw_fits(const struct net_device *ndev,
			  const struct sk_buff *skb)
{
	u32 hdr = eth_type_vlan(eth_hdr(skb)->h_proto) ? VLAN_ETH_HLEN :
							ETH_HLEN;

	return skb->len <= READ_ONCE(ndev->mtu) + hdr;
}

static void shca_raw_out(struct shca_qp *qp, struct sk_buff *skb)
{
	struct shca_dev *dev = qp->dev;
	int err;

	if (!shca_raw_fits(dev->ndev, skb)) {
		shca_count(qp, TX_DROP);
		kfree_skb(skb);
		return;
	}
	if (dev->flows.loop_frame(dev, skb))
		return;
	err = dev_queue_xmit(skb);
	if (unlikely(net_xmit_eval(err)))
		shca_count(qp, TX_DROP);
}

/* Return: SHCA_MEM_OK, also if the frame is lost; or why there is no payload. */
static enum shca_mem_status shca_raw_send(struct shca_qp *qp,
					  const struct shca_pkt *pkt)
{
	struct net_device *ndev = qp->dev->ndev;
	unsigned int room = LL_RESERVED_SPACE(ndev);
	struct shca_mr *kept = NULL;
	enum shca_mem_status status;
	struct sk_buff *skb;

	skb = alloc_skb(room + pkt->paylen + ndev->needed_tailroom,
			GFP_ATOMIC | __GFP_NOWARN);
	if (!skb) {
		shca_count(qp, TX_NO_MEM);
		return SHCA_MEM_OK;
	}
	skb_reserve(skb, room);
	status = shca_mem_gather(&qp->sq.side.mem, pkt,
				 skb_put(skb, pkt->paylen), &kept);
	shca_mem_forget(&kept);
	if (status != SHCA_MEM_OK) {
		kfree_skb(skb);
		return status;
	}
	skb_reset_mac_header(skb);
	skb_set_network_header(skb, ETH_HLEN);
	skb->dev = ndev;
	skb->protocol = eth_hdr(skb)->h_proto;
	if (!eth_proto_is_802_3(skb->protocol))
		skb->protocol = htons(ETH_P_802_2);
	shca_count(qp, TX_PKTS);
	shca_count_n(qp, TX_BYTES, skb->len);
	trace_shca_tx(qp->qpn, pkt);
	shca_raw_out(qp, skb);
	return SHCA_MEM_OK;
}

/* Let the next frame leave when this one's time is over, by the rate limit. */
static void shca_raw_set_pacing(struct shca_sq *sq, u32 len, u64 now)
{
	u64 from;

	if (!sq->rate_kbps)
		return;
	from = max(sq->rate_ns, now - SHCA_RATE_BURST_NS);
	sq->rate_ns = from + div_u64(len * 8 * 1000000ull, sq->rate_kbps);
	if (sq->rate_ns > now)
		shca_req_rate(&sq->req, sq->rate_ns);
}

bool shca_raw_transmit(struct shca_qp *qp)
{
	unsigned int budget = SHCA_TX_SKBS;
	struct shca_sq *sq = &qp->sq;
	enum shca_mem_status status;
	u64 now = ktime_get_ns();
	struct shca_pkt pkt;

	lockdep_assert_held(&sq->lock);
	while (budget && shca_req_next(&sq->req, now, &pkt)) {
		budget--;
		status = shca_raw_send(qp, &pkt);
		if (likely(status == SHCA_MEM_OK)) {
			shca_raw_set_pacing(sq, pkt.paylen, now);
			continue;
		}
		shca_req_gather_failed(&sq->req, &pkt, status);
		if (status != SHCA_MEM_RETRY)
			continue;
		/* Memory is the only reason to wait: shca_sq_resume() follows. */
		shca_sq_pause(sq);
		break;
	}
	return !budget;
}
