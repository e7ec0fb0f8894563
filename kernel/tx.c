// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Transmission: headers by the core's codec, payload gathered from memory and
 * summed up while it is in the cache, lower headers by the link.  Called by
 * both sides of a QP under their lock; knows no IP.
 *
 * A packet whose message continues, or one of a list of small requests, opens a
 * batch with room for what follows; packets of the same length join it, and a
 * shorter one closes it.  Large batches lie in page fragments, so that they are
 * neither copied nor need one long piece of memory.
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

/* Batches up to this many bytes are linear; larger ones are in pages. */
#define SHCA_LINEAR_BATCH	2048
/* Pages of one fragment: what the page allocator has at hand per CPU. */
#define SHCA_FRAG_ORDER		PAGE_ALLOC_COSTLY_ORDER
#define SHCA_FRAG_BYTES		(PAGE_SIZE << SHCA_FRAG_ORDER)

void shca_tx_begin(struct shca_batch *batch, struct shca_qp *qp,
		   struct shca_route *route)
{
	batch->qp = qp;
	batch->route = route;
	batch->skb = NULL;
	batch->handed = 0;
}

enum shca_mem_status shca_tx_end(struct shca_batch *batch,
				 const struct shca_pkt **failed)
{
	struct shca_qp *qp = batch->qp;
	struct sk_buff *skb = batch->skb;
	int err;

	if (!skb)
		return SHCA_MEM_OK;
	batch->skb = NULL;
	batch->handed++;
	shca_count_n(qp->dev, TX_PKTS, batch->segs);
	shca_count_n(qp->dev, TX_BYTES, skb->len);
	err = qp->link->xmit(qp->dev, batch->av, batch->route, skb,
			     batch->segs, batch->seg_len);
	if (err == -EBUSY && ++batch->route->busy < SHCA_BUSY_MAX) {
		*failed = &batch->first;
		return SHCA_MEM_RETRY;
	}
	batch->route->busy = 0;
	return SHCA_MEM_OK;
}

/* ---- memory --------------------------------------------------------------- */

/* One more page fragment, for at least @len bytes. */
static bool shca_batch_add_frag(struct shca_batch *batch, u32 len)
{
	u32 want = batch->max_bytes - batch->bytes;
	struct sk_buff *skb = batch->skb;
	int nr = skb_shinfo(skb)->nr_frags;
	struct page *page;
	unsigned int order;

	if (nr == MAX_SKB_FRAGS)
		return false;
	order = get_order(clamp_t(u32, want, len, SHCA_FRAG_BYTES));
	page = alloc_pages(GFP_ATOMIC | __GFP_NOWARN | __GFP_NORETRY |
			   __GFP_COMP, order);
	if (!page)
		return false;
	skb_fill_page_desc(skb, nr, page, 0, 0);
	skb->truesize += PAGE_SIZE << order;
	batch->tail = page_address(page);
	batch->room = PAGE_SIZE << order;
	return true;
}

/* @len bytes at the tail have been written and belong to the batch. */
static void shca_batch_commit(struct shca_batch *batch, u32 len)
{
	struct skb_shared_info *info = skb_shinfo(batch->skb);

	if (info->nr_frags) {
		skb_frag_size_add(&info->frags[info->nr_frags - 1], len);
		batch->skb->len += len;
		batch->skb->data_len += len;
	} else {
		skb_put(batch->skb, len);
	}
	batch->tail += len;
	batch->room -= len;
	batch->bytes += len;
	batch->segs++;
}

/* How many packets like this are likely to follow it at once. */
static u32 shca_batch_expect(const struct shca_qp *qp,
			     const struct shca_pkt *pkt)
{
	u32 hdr_len = shca_opcode_info(pkt->opcode)->hdr_len;
	const struct shca_req *req = &qp->sq.req;

	/* A first packet is longer than the next by an extension header. */
	if (pkt->rest)
		return hdr_len > SHCA_BTH_BYTES ? 1 :
		       1 + DIV_ROUND_UP(pkt->rest, pkt->paylen);
	/* Small requests that wait behind this one; a guess is enough. */
	if (pkt->kind == SHCA_PAY_WR && pkt->wr)
		return 1 + req->prod - req->nxt;
	return 1;
}

/* Open a batch with a packet of @len bytes. */
static bool shca_batch_open(struct shca_batch *batch,
			    const struct shca_pkt *pkt, u32 len)
{
	struct shca_qp *qp = batch->qp;
	u32 expect = shca_batch_expect(qp, pkt), linear;

	batch->max_bytes = len;
	batch->max_segs = 1;
	if (expect > 1) {
		batch->max_bytes = U16_MAX;
		batch->max_segs = qp->link->max_batch(qp->dev, batch->av,
						      batch->route,
						      &batch->max_bytes);
		batch->max_segs = clamp(batch->max_segs, 1u, expect);
		batch->max_bytes = min(batch->max_bytes,
				       batch->max_segs * len);
	}
	linear = batch->max_segs == 1 ? len :
		 batch->max_bytes <= SHCA_LINEAR_BATCH ? batch->max_bytes : 0;
	batch->skb = alloc_skb(qp->link->headroom + linear,
			       GFP_ATOMIC | __GFP_NOWARN);
	if (!batch->skb)
		return false;
	skb_reserve(batch->skb, qp->link->headroom);
	batch->first = *pkt;
	batch->segs = 0;
	batch->seg_len = len;
	batch->bytes = 0;
	batch->tail = batch->skb->data;
	batch->room = linear;
	return true;
}

/* May a packet of @len bytes to @av join? */
static bool shca_batch_fits(const struct shca_batch *batch,
			    const struct shca_av *av, u32 len)
{
	return batch->av->tag == av->tag && len <= batch->seg_len &&
	       batch->segs < batch->max_segs &&
	       batch->bytes + len <= batch->max_bytes;
}

/* ---- one packet ------------------------------------------------------------ */

/* Room for @len bytes at the tail of an open batch, opening one if need be. */
static bool shca_batch_room(struct shca_batch *batch,
			    const struct shca_pkt *pkt, u32 len)
{
	if (!batch->skb && !shca_batch_open(batch, pkt, len))
		return false;
	if (batch->room >= len)
		return true;
	/* Linear data cannot grow; fragments can follow fragments. */
	if (batch->segs && !skb_is_nonlinear(batch->skb))
		return false;
	return shca_batch_add_frag(batch, len);
}

static enum shca_mem_status shca_build(struct shca_batch *batch,
				       const struct shca_pkt *pkt, u32 hdr_len,
				       u32 len)
{
	struct shca_qp *qp = batch->qp;
	enum shca_mem_status status;
	u8 *bth = batch->tail;
	__le32 icrc;

	shca_hdr_build(pkt, bth);
	status = shca_mem_gather(qp, pkt, bth + hdr_len);
	if (status != SHCA_MEM_OK)
		return status;
	memset(bth + hdr_len + pkt->paylen, 0, pkt->pad);
	icrc = qp->link->icrc(batch->av, batch->segs, bth,
			      len - SHCA_ICRC_BYTES);
	memcpy(bth + len - SHCA_ICRC_BYTES, &icrc, sizeof(icrc));
	shca_batch_commit(batch, len);
	trace_shca_tx(qp->qpn, pkt);
	return SHCA_MEM_OK;
}

enum shca_mem_status shca_tx_add(struct shca_batch *batch,
				 const struct shca_pkt *pkt,
				 const struct shca_pkt **failed)
{
	u32 hdr_len = shca_opcode_info(pkt->opcode)->hdr_len;
	u32 len = hdr_len + pkt->paylen + pkt->pad + SHCA_ICRC_BYTES;
	struct shca_qp *qp = batch->qp;
	enum shca_mem_status status;
	const struct shca_av *av;

	/* UD: the address vector came with the request. */
	av = pkt->wr && pkt->wr->priv ? pkt->wr->priv : &qp->av;
	if (batch->skb && !shca_batch_fits(batch, av, len)) {
		status = shca_tx_end(batch, failed);
		if (status != SHCA_MEM_OK)
			return status;
	}
	if (!batch->skb)
		batch->av = av;
	if (!shca_batch_room(batch, pkt, len)) {
		/* What is in the batch leaves; this packet is lost, if it finds
		 * no room on its own either.
		 */
		if (batch->skb && batch->segs) {
			status = shca_tx_end(batch, failed);
			if (status != SHCA_MEM_OK)
				return status;
			batch->av = av;
		}
		if (!shca_batch_room(batch, pkt, len)) {
			kfree_skb(batch->skb);
			batch->skb = NULL;
			shca_count(qp->dev, TX_NO_MEM);
			return SHCA_MEM_OK;
		}
	}
	status = shca_build(batch, pkt, hdr_len, len);
	if (unlikely(status != SHCA_MEM_OK)) {
		*failed = pkt;
		if (!batch->segs) {
			kfree_skb(batch->skb);
			batch->skb = NULL;
		}
		return status;
	}
	if (len < batch->seg_len || batch->segs == batch->max_segs)
		return shca_tx_end(batch, failed);
	return SHCA_MEM_OK;
}
