// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Transmission: headers by the core's codec, payload gathered from memory and
 * summed up while it is in the cache, lower headers by the link.  Called by
 * both sides of a QP under their lock; knows no IP.
 *
 * A batch has room for what follows.  It is opened by a packet whose message
 * continues, or by one of a list of small requests.  Packets of the same length
 * join it, and a shorter one closes it.  Large batches lie in page fragments, so
 * that they are neither copied nor need one long piece of memory.
 */
#include "tx.h"

#include <linux/ktime.h>
#include <linux/skbuff.h>

#include "../base/counters.h"
#include "../base/dev.h"
#include "../base/trace.h"
#include "../base/trace_payload.h"
#include "../core/headers.h"
#include "../core/opcode.h"
#include "../queue/qp.h"
#include "fault_points.h"
#include "payload.h"

/* Up to this many bytes an skb is linear; more are in pages. */
#define SHCA_LINEAR_BYTES	2048

void shca_tx_begin(struct shca_batch *batch, struct shca_mem_ctx *mem,
		   struct shca_route *route)
{
	batch->qp = mem->qp;
	batch->mem = mem;
	batch->route = route;
	batch->av = NULL;
	batch->skb = NULL;
	batch->handed = 0;
	batch->max_segs = 0;
	batch->mr = NULL;
	batch->run = NULL;
	batch->hit = NULL;
	batch->judged = false;
}

u64 shca_tx_busy_until(const struct shca_route *route, u64 now)
{
	u32 steps = route->busy / SHCA_BUSY_STEP;

	if (unlikely(route->busy >= SHCA_BUSY_MAX))
		return now + SHCA_STOPPED_NS;
	return now + (SHCA_BUSY_NS << min_t(u32, steps, SHCA_BUSY_DOUBLINGS));
}

enum shca_queue shca_tx_look(const struct shca_qp *qp, struct shca_route *route,
			     u64 now)
{
	bool again = now - route->looked_ns < 10 * SHCA_STOPPED_NS;
	bool was_stopped = again && route->stopped;
	u64 left = route->left;
	bool holds;

	route->looked_ns = now;
	holds = qp->link->holds(qp->dev, route, &route->left);
	route->stopped = holds && again && route->left == left;
	if (route->stopped)
		return SHCA_QUEUE_STOPPED;
	if (was_stopped)
		return SHCA_QUEUE_RESUMED;
	if (again && route->left != left)
		return SHCA_QUEUE_MOVES;
	return holds ? SHCA_QUEUE_HOLDS : SHCA_QUEUE_GOES;
}

/*
 * Once the queue of an agent of the kernel is full, its answers wait in a list of the
 * RDMA core. That has no end and is charged to nobody. So a peer that asks and takes no
 * answer, or few, must not make it wait. These are datagrams, which may be lost.
 */
static bool shca_tx_piles_up(const struct shca_qp *qp)
{
	if (qp->type != IB_QPT_GSI && qp->type != IB_QPT_SMI)
		return false;
	/* (others post meanwhile; a little more or less is as good) */
	return READ_ONCE(qp->index->sq_prod) - READ_ONCE(qp->status->sq_cons) >
	       qp->sq.max_wr / 2;
}

/* The queue below was full: does its sender wait? */
static noinline bool shca_tx_waits(struct shca_batch *batch)
{
	struct shca_route *route = batch->route;
	enum shca_queue queue;

	shca_count(batch->qp, TX_FULL);
	if (++route->busy < SHCA_BUSY_MAX - 1)
		return true;
	if (shca_tx_piles_up(batch->qp))
		return false;
	/* The first look is one wait before what it is for. */
	queue = shca_tx_look(batch->qp, route, ktime_get_ns());
	if (queue == SHCA_QUEUE_HOLDS || queue == SHCA_QUEUE_STOPPED)
		route->busy = min_t(u32, route->busy, SHCA_BUSY_MAX);
	else if (queue != SHCA_QUEUE_GOES && batch->qp->link->is_lossless)
		route->busy = SHCA_BUSY_MAX / 2;	/* others were faster */
	else if (route->busy == SHCA_BUSY_MAX)
		return false;
	else if (route->busy > SHCA_BUSY_MAX)
		route->busy = 0;	/* it was stopped, and goes on */
	return true;
}

/*
 * The trace has one event for a run. It is told before any of it leaves, for
 * a receiver on this machine is quick. @built and @traced begin with the run.
 */
static void shca_tx_trace_run(struct shca_batch *batch)
{
	const struct shca_pkt *run = batch->run;
	struct shca_pkt pkt;

	if (batch->traced == batch->built)
		return;
	pkt = shca_pkt_part(run, batch->traced);
	pkt.span = batch->built - batch->traced - 1;
	pkt.paylen = (pkt.span + 1) * run->unit;
	pkt.ackreq = run->ackreq && batch->built > run->span;
	batch->traced = batch->built;
	trace_shca_tx(batch->qp->qpn, &pkt);
}

/* A packet has been built, with its payload at @data. */
static noinline void shca_tx_trace(struct shca_batch *batch,
				   const struct shca_pkt *pkt, const u8 *data)
{
	if (pkt->paylen && trace_shca_payload_enabled())
		trace_shca_payload(batch->qp->qpn, pkt, true, data,
				   pkt->paylen);
	if (batch->run)
		batch->built = shca_psn_diff(pkt->psn, batch->run->psn) + 1;
	else
		trace_shca_tx(batch->qp->qpn, pkt);
}

static noinline int shca_tx_inject(const struct shca_batch *batch,
				     struct sk_buff *skb)
{
	return shca_fault_xmit(batch->qp, batch->av, batch->route, skb,
			       shca_opcode_info(batch->first.opcode)->hdr_len,
			       batch->hit);
}

enum shca_mem_status shca_tx_end(struct shca_batch *batch,
				 const struct shca_pkt **failed)
{
	struct shca_qp *qp = batch->qp;
	struct sk_buff *skb = batch->skb;
	int err;

	shca_mem_forget(&batch->mr);
	if (!skb)
		return SHCA_MEM_OK;
	batch->skb = NULL;
	batch->handed++;
	if (trace_shca_tx_enabled() && batch->run)
		shca_tx_trace_run(batch);
	shca_count_n(qp, TX_PKTS, batch->segs);
	shca_count_n(qp, TX_BYTES, skb->len);
	if (shca_fault_is_any() && batch->hit)
		err = shca_tx_inject(batch, skb);
	else
		err = qp->link->xmit(qp->dev, batch->av, batch->route, skb,
				     batch->segs, batch->seg_len);
	if (unlikely(err == -EBUSY)) {
		if (shca_tx_waits(batch)) {
			*failed = &batch->first;
			return SHCA_MEM_RETRY;
		}
		shca_count_n(qp, TX_DROP, batch->segs);
		/* The rest of a pile goes at once. */
		if (shca_tx_piles_up(qp))
			return SHCA_MEM_OK;
	}
	batch->route->busy = 0;
	return SHCA_MEM_OK;
}

/* ---- memory --------------------------------------------------------------- */

/*
 * Payload lies in pieces of large pages, cut off one after the other.  Pages
 * whose packets have all been received are used again: a page from the allocator
 * costs more, a clearing in particular where init_on_alloc is set.
 */
#define SHCA_FRAG_BYTES		32768
#define SHCA_FRAG_PAGES		16

/**
 * struct shca_frags - memory for payload, per CPU; bottom halves off
 * @page:	with a reference each; NULL: none yet
 * @cur:	the one that is being cut up
 * @off:	where the rest of it begins
 * @size:	of it; 0: there is none
 */
struct shca_frags {
	struct page *page[SHCA_FRAG_PAGES];
	unsigned int cur;
	u32 off;
	u32 size;
};

static DEFINE_PER_CPU(struct shca_frags, shca_frags);

static struct page *shca_frag_alloc(u32 len, u32 *size)
{
	gfp_t gfp = GFP_ATOMIC | __GFP_NOWARN | __GFP_COMP;
	unsigned int order = get_order(SHCA_FRAG_BYTES);
	struct page *page;

	page = alloc_pages(gfp | __GFP_NORETRY, order);
	if (!page) {
		order = get_order(len);
		page = alloc_pages(gfp, order);
	}
	*size = PAGE_SIZE << order;
	return page;
}

/* Is the page ours alone, and one to be had without a reserve? */
static bool shca_frag_idle(struct page *page)
{
	return page && page_ref_count(page) == 1 && !page_is_pfmemalloc(page) &&
	       page_size(page) >= SHCA_FRAG_BYTES;
}

/* A page with room for @len bytes at @frags->off. */
static struct page *shca_frag_page(struct shca_frags *frags, u32 len)
{
	struct page **slot = &frags->page[frags->cur];

	if (likely(frags->off + len <= frags->size))
		return *slot;
	frags->cur = (frags->cur + 1) % SHCA_FRAG_PAGES;
	frags->off = 0;
	slot = &frags->page[frags->cur];
	if (shca_frag_idle(*slot)) {
		frags->size = page_size(*slot);
		return *slot;
	}
	if (*slot)
		put_page(*slot);
	*slot = shca_frag_alloc(len, &frags->size);
	if (!*slot)
		frags->size = 0;
	return *slot;
}

void shca_tx_exit(void)
{
	struct shca_frags *frags;
	int cpu, i;

	for_each_possible_cpu(cpu) {
		frags = per_cpu_ptr(&shca_frags, cpu);
		for (i = 0; i < SHCA_FRAG_PAGES; i++)
			if (frags->page[i])
				put_page(frags->page[i]);
	}
}

/* Packets of two batches do not share a cache line. */
static void shca_frag_align(void)
{
	struct shca_frags *frags = this_cpu_ptr(&shca_frags);

	frags->off = ALIGN(frags->off, SMP_CACHE_BYTES);
}

/* Memory for the next @len bytes of a batch that is not linear. */
static bool shca_batch_find_frag(struct shca_batch *batch, u32 len)
{
	struct shca_frags *frags = this_cpu_ptr(&shca_frags);
	struct skb_shared_info *info = skb_shinfo(batch->skb);
	struct page *page = shca_frag_page(frags, len);

	if (!page || (info->nr_frags == MAX_SKB_FRAGS &&
		      !skb_can_coalesce(batch->skb, info->nr_frags, page,
					frags->off)))
		return false;
	batch->tail = page_address(page) + frags->off;
	batch->room = len;
	return true;
}

/*
 * A page stays as long as any part of it is in use.  So a batch states the whole of
 * each page that it has a part of.  A limit on queued truesize (qdiscs, neighbours,
 * sockets) thus limits what the queue pins.
 *
 * A packet of its own states its part only.  So do the parts of a batch when it is
 * split, and what sockets send from their sk_page_frag().  If they stated more, a
 * receiver's buffer would be full too early.
 */
static void shca_batch_commit_frag(struct shca_batch *batch, u32 len)
{
	struct shca_frags *frags = this_cpu_ptr(&shca_frags);
	struct sk_buff *skb = batch->skb;
	struct page *page = frags->page[frags->cur];
	int nr = skb_shinfo(skb)->nr_frags;

	if (skb_can_coalesce(skb, nr, page, frags->off)) {
		skb_frag_size_add(&skb_shinfo(skb)->frags[nr - 1], len);
	} else {
		get_page(page);
		skb_fill_page_desc(skb, nr, page, frags->off, len);
		skb->truesize += batch->max_segs > 1 ?
				 page_size(page) : SKB_DATA_ALIGN(len);
	}
	frags->off += len;
	skb->len += len;
	skb->data_len += len;
}

/* @len bytes at the tail have been written and belong to the batch. */
static void shca_batch_commit(struct shca_batch *batch, u32 len)
{
	if (batch->linear) {
		skb_put(batch->skb, len);
		batch->tail += len;
		batch->room -= len;
	} else {
		shca_batch_commit_frag(batch, len);
		batch->room = 0;
	}
	batch->bytes += len;
	batch->segs++;
}

/* READs and atomics that may be on their way at once, beside those that are. */
static u32 shca_batch_rd_room(const struct shca_req *req)
{
	return req->attr.max_rd_atomic - min_t(u32, req->attr.max_rd_atomic,
					       req->psn.nr_rd);
}

/* How many packets like this are likely to follow it at once. */
static u32 shca_batch_expect(const struct shca_qp *qp,
			     const struct shca_pkt *pkt)
{
	const struct shca_opcode_info *info = shca_opcode_info(pkt->opcode);
	const struct shca_resp *resp = &qp->rq.resp;
	const struct shca_req *req = &qp->sq.req;
	bool is_rd = info->flags & (SHCA_OPF_READ | SHCA_OPF_ATOMIC);
	u32 waiting;

	/* A first packet is longer than the next by an extension header. */
	if (pkt->rest)
		return info->hdr_len > SHCA_BTH_BYTES ? 1 :
		       1 + DIV_ROUND_UP(pkt->rest, pkt->paylen);
	/* Small requests that wait behind this one; a guess is enough. */
	if (pkt->wr) {
		waiting = req->ring.prod - req->ring.nxt;
		if (is_rd)
			waiting = min(waiting, shca_batch_rd_room(req));
		return 1 + waiting + !!READ_ONCE(qp->reply.due);
	}
	/* Responses, of which this is one; the other side's, under its lock. */
	if (is_rd)
		return max(1u, resp->reads.tail - resp->reads.send);
	return 1;
}

/* What comes next goes to @av. */
static void shca_batch_aim(struct shca_batch *batch, const struct shca_av *av)
{
	if (batch->av != av)
		batch->seed.len = 0;
	batch->av = av;
}

/*
 * Packets to QP0 and to a group leave alone. A port has rules for them, and looks at the
 * first packet of a batch (shca_ib_may_send(), shca_ib_admit()).
 */
static bool shca_batch_may_have(const struct shca_pkt *pkt)
{
	return pkt->dqpn - 1 < SHCA_QPN_MULTICAST - 1;
}

/* Open a batch with a packet of @len bytes. */
static bool shca_batch_open(struct shca_batch *batch,
			    const struct shca_pkt *pkt, u32 len)
{
	struct shca_qp *qp = batch->qp;
	u32 expect = shca_batch_expect(qp, pkt);

	/* A fault may be injected into each of them. */
	if (shca_fault_is_on(qp->dev, BIT(SHCA_FAULT_TX)) ||
	    unlikely(!shca_batch_may_have(pkt)))
		expect = 1;
	batch->max_bytes = len;
	batch->max_segs = 1;
	if (expect > 1) {
		batch->max_bytes = U16_MAX;
		batch->max_segs = qp->link->max_batch(qp->dev, batch->av,
						      batch->route,
						      &batch->max_bytes);
		batch->max_segs = clamp(batch->max_segs, 1u, expect);
		/* An administrator has made the limit of the netdev that small. */
		if (unlikely(batch->max_bytes < len))
			batch->max_segs = 1;
		batch->max_bytes = min(batch->max_bytes,
				       batch->max_segs * len);
	}
	if (batch->max_segs == 1)
		batch->max_bytes = len;
	batch->linear = batch->max_bytes <= SHCA_LINEAR_BYTES ||
			(qp->link->tailroom && batch->max_segs == 1);
	batch->room = batch->linear ? batch->max_bytes : 0;
	if (!batch->linear)
		shca_frag_align();
	batch->skb = alloc_skb(qp->link->headroom + batch->room +
			       qp->link->tailroom, GFP_ATOMIC | __GFP_NOWARN);
	if (!batch->skb)
		return false;
	skb_reserve(batch->skb, qp->link->headroom);
	batch->first = *pkt;
	batch->segs = 0;
	batch->seg_len = len;
	batch->bytes = 0;
	batch->tail = batch->skb->data;
	return true;
}

/* May @pkt, of @len bytes to @av, join? */
static bool shca_batch_fits(const struct shca_batch *batch,
			    const struct shca_pkt *pkt,
			    const struct shca_av *av, u32 len)
{
	return batch->av->tag == av->tag && len <= batch->seg_len &&
	       shca_batch_may_have(pkt) && batch->segs < batch->max_segs &&
	       batch->bytes + len <= batch->max_bytes;
}

/* ---- one packet ------------------------------------------------------------ */

/* Room for @len bytes at the tail of an open batch, opening one if need be. */
static bool shca_batch_room(struct shca_batch *batch,
			    const struct shca_pkt *pkt, u32 len)
{
	if (!batch->skb && !shca_batch_open(batch, pkt, len))
		return false;
	if (batch->linear)
		return batch->room >= len;
	return shca_batch_find_frag(batch, len);
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
	status = shca_mem_gather(batch->mem, pkt, bth + hdr_len,
				 &batch->mr);
	if (status != SHCA_MEM_OK)
		return status;
	memset(bth + hdr_len + pkt->paylen, 0, pkt->pad);
	icrc = qp->link->icrc(batch->av, &batch->seed, batch->segs, bth,
			      len - SHCA_ICRC_BYTES);
	memcpy(bth + len - SHCA_ICRC_BYTES, &icrc, sizeof(icrc));
	shca_batch_commit(batch, len);
	if (trace_shca_tx_enabled())
		shca_tx_trace(batch, pkt, bth + hdr_len);
	return SHCA_MEM_OK;
}

/*
 * Where rules look at each packet (fault.h). It goes through shca_tx_one() again, which
 * has the only copy of what is done for all packets.
 */
static enum shca_mem_status
shca_tx_ask_faults(struct shca_batch *batch, const struct shca_pkt *pkt,
		const struct shca_pkt **failed)
{
	struct shca_qp *qp = batch->qp;
	enum shca_mem_status status;
	struct shca_fault_hit hit;
	bool passes = true;

	/* What was built before the rule was made leaves first. */
	status = shca_tx_end(batch, failed);
	if (status != SHCA_MEM_OK)
		return status;
	if (shca_fault_packet(qp, SHCA_FAULT_TX, pkt, &hit)) {
		batch->hit = &hit;
		passes = shca_fault_passes(&hit);
	}
	batch->judged = true;
	status = shca_tx_one(batch, pkt, failed);
	if (status == SHCA_MEM_OK)
		status = shca_tx_end(batch, failed);
	batch->judged = false;
	batch->hit = NULL;
	if (passes)
		shca_fault_passed(qp->dev, qp->qpn, shca_fault_leave);
	return status;
}

enum shca_mem_status shca_tx_one(struct shca_batch *batch,
				 const struct shca_pkt *pkt,
				 const struct shca_pkt **failed)
{
	u32 hdr_len = shca_opcode_info(pkt->opcode)->hdr_len;
	u32 len = hdr_len + pkt->paylen + pkt->pad + SHCA_ICRC_BYTES;
	struct shca_qp *qp = batch->qp;
	enum shca_mem_status status;
	const struct shca_av *av;

	if (shca_fault_is_on(qp->dev, BIT(SHCA_FAULT_TX)) && !batch->judged)
		return shca_tx_ask_faults(batch, pkt, failed);
	/* UD: the address vector came with the request. */
	av = pkt->wr && pkt->wr->priv ? pkt->wr->priv : &qp->av;
	if (batch->skb && !shca_batch_fits(batch, pkt, av, len)) {
		status = shca_tx_end(batch, failed);
		if (status != SHCA_MEM_OK)
			return status;
	}
	if (!batch->skb)
		shca_batch_aim(batch, av);
	if (!shca_batch_room(batch, pkt, len)) {
		/* What is in the batch leaves; this packet is lost, if it finds
		 * no room on its own either.
		 */
		if (batch->skb && batch->segs) {
			status = shca_tx_end(batch, failed);
			if (status != SHCA_MEM_OK)
				return status;
			shca_batch_aim(batch, av);
		}
		if (!shca_batch_room(batch, pkt, len)) {
			kfree_skb(batch->skb);
			batch->skb = NULL;
			shca_count(qp, TX_NO_MEM);
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

enum shca_mem_status shca_tx_run(struct shca_batch *batch,
				 const struct shca_pkt *pkt,
				 const struct shca_pkt **failed)
{
	struct shca_pkt *part = &batch->part;
	enum shca_mem_status status;
	u32 left = pkt->span;

	*part = shca_pkt_part(pkt, 0);
	batch->run = pkt;
	batch->built = 0;
	batch->traced = 0;
	while (left--) {
		status = shca_tx_one(batch, part, failed);
		if (unlikely(status != SHCA_MEM_OK))
			goto end;
		part->psn = shca_psn_add(part->psn, 1);
		part->off += pkt->unit;
		part->va += pkt->unit;
		part->rest -= pkt->unit;
	}
	part->ackreq = pkt->ackreq;
	status = shca_tx_one(batch, part, failed);
end:
	if (trace_shca_tx_enabled())
		shca_tx_trace_run(batch);
	batch->run = NULL;
	return status;
}
