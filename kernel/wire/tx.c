// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Transmission: the core's codec builds headers, payload is gathered from memory and summed up
 * while it is in the cache, the link adds lower headers. Both sides of a QP call this under
 * their lock; it knows no IP.
 *
 * A batch has room for packets that follow. It is opened by a packet whose message continues,
 * or by one of a list of small requests. Packets of the same length join it, and a shorter one
 * closes it. Large batches lie in page fragments, so they need neither a copy nor much
 * contiguous memory.
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

/* Larger skbs are not linear. */
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
 * Is the send queue of QP0 or QP1 half full? When it is full, answers of the kernel's agent
 * wait in a list of the RDMA core, which has no bound and is charged to nobody. So a peer that
 * asks, and takes few answers, must not make it wait: datagrams may be lost.
 */
static bool shca_tx_piles_up(const struct shca_qp *qp)
{
	if (qp->type != IB_QPT_GSI && qp->type != IB_QPT_SMI)
		return false;
	/* A hint, as others post meanwhile. */
	return READ_ONCE(qp->index->sq_prod) - READ_ONCE(qp->status->sq_cons) >
	       qp->sq.max_wr / 2;
}

/* The queue below was full. Return: whether the sender waits for it. */
static bool shca_tx_waits(struct shca_batch *batch)
{
	struct shca_route *route = batch->route;
	enum shca_queue queue;

	shca_count(batch->qp, TX_FULL);
	if (++route->busy < SHCA_BUSY_MAX - 1)
		return true;
	if (shca_tx_piles_up(batch->qp))
		return false;
	/* A look shows progress since the previous one, so the first is one wait earlier. */
	queue = shca_tx_look(batch->qp, route, ktime_get_ns());
	if (queue == SHCA_QUEUE_HOLDS || queue == SHCA_QUEUE_STOPPED)
		route->busy = min_t(u32, route->busy, SHCA_BUSY_MAX);
	else if (queue != SHCA_QUEUE_GOES && batch->qp->link->is_lossless)
		route->busy = SHCA_BUSY_MAX / 2;	/* others got the room */
	else if (route->busy == SHCA_BUSY_MAX)
		return false;
	else if (route->busy > SHCA_BUSY_MAX)
		route->busy = 0;	/* it was stopped */
	return true;
}

/* One trace event for a run, before any of it leaves: a receiver on this machine is quick. */
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

/* Trace a packet that was built, with its payload at @data. */
static void shca_tx_trace(struct shca_batch *batch,
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

static int shca_tx_inject(const struct shca_batch *batch,
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
	unsigned int bytes;
	int err;

	shca_mem_forget(&batch->mr);
	if (!skb)
		return SHCA_MEM_OK;
	batch->skb = NULL;
	batch->handed++;
	if (trace_shca_tx_enabled() && batch->run)
		shca_tx_trace_run(batch);
	bytes = skb->len;
	if (shca_fault_is_any() && batch->hit)
		err = shca_tx_inject(batch, skb);
	else
		err = qp->link->xmit(qp->dev, batch->av, batch->route, skb,
				     batch->segs, batch->seg_len);
	/* They come again, and count then. */
	if (unlikely(err == -EBUSY) && shca_tx_waits(batch)) {
		*failed = &batch->first;
		return SHCA_MEM_RETRY;
	}
	shca_count_n(qp, TX_PKTS, batch->segs);
	shca_count_n(qp, TX_BYTES, bytes);
	if (unlikely(err == -EBUSY)) {
		shca_count_n(qp, TX_DROP, batch->segs);
		/* Drop the rest at once, too. */
		if (shca_tx_piles_up(qp))
			return SHCA_MEM_OK;
	}
	batch->route->busy = 0;
	return SHCA_MEM_OK;
}

/* ---- memory --------------------------------------------------------------- */

/*
 * Payload lies in parts of large pages, cut off one after the other. A page whose packets have
 * all been received is used again, as a page from the allocator costs more: with init_on_alloc
 * it is cleared.
 */
#define SHCA_FRAG_BYTES		32768
#define SHCA_FRAG_PAGES		16

/**
 * struct shca_frags - memory for payload, per CPU; bottom halves off
 * @lock:	of the others; on PREEMPT_RT bottom halves that are off protect nothing per CPU
 * @page:	with a reference each; NULL: none yet
 * @cur:	page that is being cut up
 * @off:	its first unused byte
 * @size:	its size; 0: there is none
 */
struct shca_frags {
	local_lock_t lock;
	struct page *page[SHCA_FRAG_PAGES];
	unsigned int cur;
	u32 off;
	u32 size;
};

static DEFINE_PER_CPU(struct shca_frags, shca_frags) = {
	.lock = INIT_LOCAL_LOCK(lock),
};

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

/* Has the page no other reference, and is it not from memory reserves? */
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

/*
 * Append @len bytes to a batch that is not linear; the packet is written at the tail. So the skb
 * holds the page meanwhile, and no lock is held then.
 *
 * A page stays as long as any part of it is in use, so a batch is charged whole pages. A limit
 * on queued truesize (qdiscs, neighbours, sockets) thus limits what the queue pins. A packet of
 * its own is charged its part, as are the parts of a batch that is split, and what sockets send
 * from their sk_page_frag(). With more, a receiver's buffer would be full too early.
 */
static bool shca_batch_add_frag(struct shca_batch *batch, u32 len)
{
	struct sk_buff *skb = batch->skb;
	int nr = skb_shinfo(skb)->nr_frags;
	struct shca_frags *frags;
	struct page *page;
	bool joins;

	/* On PREEMPT_RT, another task of this CPU may come in between. */
	local_lock_nested_bh(&shca_frags.lock);
	frags = this_cpu_ptr(&shca_frags);
	/* Two batches share no cache line. */
	if (!batch->segs)
		frags->off = ALIGN(frags->off, SMP_CACHE_BYTES);
	page = shca_frag_page(frags, len);
	joins = page && skb_can_coalesce(skb, nr, page, frags->off);
	if (!page || (nr == MAX_SKB_FRAGS && !joins)) {
		local_unlock_nested_bh(&shca_frags.lock);
		return false;
	}
	batch->tail = page_address(page) + frags->off;
	if (joins) {
		skb_frag_size_add(&skb_shinfo(skb)->frags[nr - 1], len);
	} else {
		get_page(page);
		skb_fill_page_desc(skb, nr, page, frags->off, len);
		skb->truesize += batch->max_segs > 1 ?
				 page_size(page) : SKB_DATA_ALIGN(len);
	}
	frags->off += len;
	local_unlock_nested_bh(&shca_frags.lock);
	skb->len += len;
	skb->data_len += len;
	return true;
}

/* The packet of @len bytes at the tail is complete. */
static void shca_batch_commit(struct shca_batch *batch, u32 len)
{
	if (batch->linear) {
		skb_put(batch->skb, len);
		batch->tail += len;
		batch->room -= len;
	}
	batch->bytes += len;
	batch->segs++;
}

/* READs and atomics that may become outstanding. */
static u32 shca_batch_rd_room(const struct shca_req *req)
{
	return req->attr.max_rd_atomic - min_t(u32, req->attr.max_rd_atomic,
					       req->psn.nr_rd);
}

/* Return: how many such packets, with this one, are likely to leave at once. */
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
	/* This request and small ones behind it; a guess is enough. */
	if (pkt->wr) {
		waiting = req->ring.prod - req->ring.nxt;
		if (is_rd)
			waiting = min(waiting, shca_batch_rd_room(req));
		return 1 + waiting + !!READ_ONCE(qp->reply.due);
	}
	/* This READ or atomic response and those behind it; rq.lock is held. */
	if (is_rd)
		return max(1u, resp->reads.tail - resp->reads.send);
	return 1;
}

/* Set the destination of the next packets. */
static void shca_batch_aim(struct shca_batch *batch, const struct shca_av *av)
{
	if (batch->av != av)
		batch->seed.len = 0;
	batch->av = av;
}

/*
 * Packets to QP0 and to groups build no batches, as an InfiniBand port checks the first packet
 * only (shca_ib_may_send(), shca_ib_admit()).
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

	/* Rules about packets ask for single ones. */
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
		/* There is no room for a second one. */
		if (batch->max_bytes < 2 * len)
			batch->max_segs = 1;
		batch->max_bytes = min(batch->max_bytes,
				       batch->max_segs * len);
	}
	if (batch->max_segs == 1)
		batch->max_bytes = len;
	batch->linear = batch->max_bytes <= SHCA_LINEAR_BYTES ||
			(qp->link->tailroom && batch->max_segs == 1);
	batch->room = batch->linear ? batch->max_bytes : 0;
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

/* May @pkt, of @len bytes to @av, join the batch? */
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
	return shca_batch_add_frag(batch, len);
}

/* Its side of the QP needs none, and has seen that the peer's needs none, either. */
static bool shca_tx_has_no_icrc(const struct shca_qp *qp, const struct shca_pkt *pkt)
{
	u32 peer;

	if (likely(!shca_is_marked_no_icrc(pkt)))
		return false;
	if (shca_opcode_info(pkt->opcode)->flags & SHCA_OPF_RESPONSE)
		peer = qp->rq.resp.attr.peer;
	else
		peer = qp->sq.req.attr.peer;
	return peer & SHCA_PEER_NO_ICRC;
}

static enum shca_mem_status shca_build(struct shca_batch *batch,
				       const struct shca_pkt *pkt, u32 hdr_len,
				       u32 len)
{
	struct shca_qp *qp = batch->qp;
	enum shca_mem_status status;
	u8 *bth = batch->tail;
	__le32 icrc = 0;

	shca_hdr_build(pkt, bth);
	status = shca_mem_gather(batch->mem, pkt, bth + hdr_len,
				 &batch->mr);
	if (status != SHCA_MEM_OK) {
		/* (shca_batch_add_frag()) */
		if (!batch->linear)
			pskb_trim(batch->skb, batch->skb->len - len);
		return status;
	}
	memset(bth + hdr_len + pkt->paylen, 0, pkt->pad);
	if (!shca_tx_has_no_icrc(qp, pkt))
		icrc = qp->link->icrc(batch->av, &batch->seed, batch->segs, bth,
				      len - SHCA_ICRC_BYTES);
	memcpy(bth + len - SHCA_ICRC_BYTES, &icrc, sizeof(icrc));
	shca_batch_commit(batch, len);
	if (trace_shca_tx_enabled())
		shca_tx_trace(batch, pkt, bth + hdr_len);
	return SHCA_MEM_OK;
}

/* Ask the rules about a packet, and send it by shca_tx_one() as a batch of its own. */
static enum shca_mem_status
shca_tx_ask_faults(struct shca_batch *batch, const struct shca_pkt *pkt,
		   const struct shca_pkt **failed)
{
	struct shca_qp *qp = batch->qp;
	enum shca_mem_status status;
	struct shca_fault_hit hit;
	bool passes = true;

	/* Packets that were built before the rule was made leave first. */
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
		/* Send the batch first. A packet is lost if it finds no room on its own either. */
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
