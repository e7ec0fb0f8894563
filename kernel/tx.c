// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Transmission of one packet: headers by the core's codec, payload gathered
 * from memory, the rest by the link.  Called by both sides of a QP under their
 * lock; knows no IP.
 */
#include "tx.h"

#include <linux/skbuff.h>

#include "core/headers.h"
#include "core/opcode.h"
#include "counters.h"
#include "dev.h"
#include "mem.h"
#include "qp.h"
#include "trace.h"

enum shca_mem_status shca_tx(struct shca_qp *qp, struct shca_route *route,
			     const struct shca_pkt *pkt)
{
	u32 hdr_len = shca_opcode_info(pkt->opcode)->hdr_len;
	u32 len = hdr_len + pkt->paylen + pkt->pad + SHCA_ICRC_BYTES;
	struct shca_dev *dev = qp->dev;
	const struct shca_av *av;
	enum shca_mem_status status;
	struct sk_buff *skb;
	u8 *data;

	skb = alloc_skb(qp->link->headroom + len, GFP_ATOMIC | __GFP_NOWARN);
	if (!skb) {
		shca_count(dev, TX_NO_MEM);
		return SHCA_MEM_OK;
	}
	skb_reserve(skb, qp->link->headroom);
	data = skb_put(skb, len);
	shca_hdr_build(pkt, data);
	status = shca_mem_gather(qp, pkt, data + hdr_len);
	if (status != SHCA_MEM_OK) {
		kfree_skb(skb);
		return status;
	}
	memset(data + hdr_len + pkt->paylen, 0, pkt->pad);

	trace_shca_tx(qp->qpn, pkt);
	shca_count(dev, TX_PKTS);
	shca_count_n(dev, TX_BYTES, len);
	/* UD: the address vector came with the request. */
	av = pkt->wr && pkt->wr->priv ? pkt->wr->priv : &qp->av;
	if (qp->link->xmit(dev, av, route, skb) == -EBUSY &&
	    ++route->busy < SHCA_BUSY_MAX)
		return SHCA_MEM_RETRY;
	route->busy = 0;
	return SHCA_MEM_OK;
}
