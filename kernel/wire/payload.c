// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Bytes from packets into regions and back. Each access passes the access check (shca_mr_get())
 * anew and holds the region only while it copies. A region can be deregistered between any two
 * packets, and then the access fails.
 */
#include "payload.h"

#include <linux/skbuff.h>

#include "../base/compat.h"
#include "../base/trace_payload.h"
#include "../base/trace_steps.h"
#include "../core/headers.h"
#include "../core/opcode.h"
#include "../mem/delayed.h"
#include "../mem/mr.h"
#include "../mem/mw.h"
#include "../mem/place.h"
#include "../queue/cq.h"
#include "../queue/qp.h"
#include "../queue/srq.h"
#include "../queue/xrc.h"
#include "page_wait.h"

/*
 * Source of a copy: an skb's payload, a buffer, or pieces.
 * @stride: distance between the payloads of several packets, the first of them at
 *	@off; @unit bytes each, of which @left are still to be read
 */
struct shca_src {
	struct shca_rx_skb *rx;
	u32 off;
	u32 stride;
	u32 unit;
	u32 left;
	const u8 *buf;
	const struct shca_piece *piece;
};

/* GRO chains skbs whose data is not only in page fragments. */
static const u8 *shca_rx_flat_chained(const struct shca_rx_skb *rx,
				      u32 off, u32 len)
{
	const struct sk_buff *part;
	u32 end = rx->frag_off;

	skb_walk_frags(rx->skb, part) {
		if (off < end + part->len)
			return off + len <= end + skb_headlen(part) ?
				       part->data + off - end : NULL;
		end += part->len;
	}
	return NULL;
}

const u8 *shca_rx_flat(struct shca_rx_skb *rx, u32 off, u32 len)
{
	const struct skb_shared_info *info = skb_shinfo(rx->skb);
	u32 size = skb_headlen(rx->skb);
	const skb_frag_t *frag;
	struct page *page;

	if (off + len <= size)
		return rx->skb->data + off;
	if (off < rx->frag_off || !rx->frag_off) {
		rx->frag = 0;
		rx->frag_off = size;
		if (off < size)
			return NULL;
	}
	for (; rx->frag < info->nr_frags; rx->frag++, rx->frag_off += size) {
		frag = &info->frags[rx->frag];
		size = skb_frag_size(frag);
		if (off >= rx->frag_off + size)
			continue;
		page = skb_frag_page(frag);	/* NULL: memory of a device */
		if (off + len > rx->frag_off + size || !page)
			return NULL;
		return page_address(page) + skb_frag_off(frag) + off -
		       rx->frag_off;
	}
	return unlikely(skb_has_frag_list(rx->skb)) ?
		       shca_rx_flat_chained(rx, off, len) : NULL;
}

static struct shca_mr **shca_src_kept(const struct shca_src *src)
{
	return src->rx ? &src->rx->mr : NULL;
}

/* The packet may wait for ever, so it keeps no region: deregistration would wait for it. */
static void shca_src_waits(const struct shca_src *src)
{
	if (src->rx)
		shca_mem_forget(&src->rx->mr);
}

/* Read from byte @src->off of the current piece on. @dst: NULL: skip */
static void shca_src_read_pieces(struct shca_src *src, u8 *dst, u32 len)
{
	const struct shca_piece *piece;
	const u8 *p;
	u32 run;

	for (; len; len -= run) {
		while (src->off == src->piece->len) {
			src->piece++;
			src->off = 0;
		}
		piece = src->piece;
		run = min(len, piece->len - src->off);
		if (likely(dst)) {
			p = piece->mr ?
			    shca_mr_next(piece->mr, piece->va + src->off, &run) :
			    piece->buf + src->off;
			memcpy(dst, p, run);
			dst += run;
		}
		src->off += run;
	}
}

/* Read from several packets. @dst: NULL: skip */
static void shca_src_read_run(struct shca_src *src, u8 *dst, u32 len)
{
	u32 run, off;

	while (len) {
		if (!src->left) {
			src->off += src->stride;
			src->left = src->unit;
			src->buf = shca_rx_flat(src->rx, src->off, src->unit);
		}
		run = min(len, src->left);
		off = src->unit - src->left;
		if (likely(dst)) {
			if (likely(src->buf))
				memcpy(dst, src->buf + off, run);
			else
				skb_copy_bits(src->rx->skb, src->off + off, dst,
					      run);
			dst += run;
		}
		src->left -= run;
		len -= run;
	}
}

static void shca_src_read(struct shca_src *src, void *dst, u32 len)
{
	if (src->stride) {
		shca_src_read_run(src, dst, len);
	} else if (src->piece) {
		shca_src_read_pieces(src, dst, len);
	} else if (!src->buf) {
		/* Cannot fail: the length was checked against the skb. */
		skb_copy_bits(src->rx->skb, src->off, dst, len);
		src->off += len;
	} else {
		memcpy(dst, src->buf, len);
		src->buf += len;
	}
}

/* Skip the next @len bytes. */
static void shca_src_skip(struct shca_src *src, u32 len)
{
	if (src->stride)
		shca_src_read_run(src, NULL, len);
	else if (src->piece)
		shca_src_read_pieces(src, NULL, len);
	else if (src->buf)
		src->buf += len;
	else
		src->off += len;
}

static struct shca_src shca_src_pkt(const struct shca_pkt *pkt)
{
	const struct shca_pieces *pieces = pkt->data;
	struct shca_rx_skb *rx = pkt->data;

	if (pkt->kind != SHCA_PAY_NONE) {
		struct shca_src src = { .piece = pieces->piece };

		/* Skip a header of tag matching, which may end in any piece. */
		if (unlikely(pkt->data_off))
			shca_src_skip(&src, pkt->data_off);
		return src;
	}
	if (pkt->span)
		return (struct shca_src){
			.rx = rx,
			.off = pkt->data_off,
			.stride = pkt->stride,
			.unit = pkt->unit,
			.left = pkt->unit,
			.buf = shca_rx_flat(rx, pkt->data_off, pkt->unit),
		};
	return (struct shca_src){
		.rx = rx,
		.off = pkt->data_off,
		.buf = shca_rx_flat(rx, pkt->data_off, pkt->paylen),
	};
}

static void shca_payload(void *ctx, const struct shca_pkt *pkt, void *buf, u32 len)
{
	struct shca_src src = shca_src_pkt(pkt);

	shca_src_read(&src, buf, len);
}

void shca_payload_trace(u32 qpn, const struct shca_pkt *pkt, bool sent)
{
	/* A descriptor of the direct path has one payload. */
	u32 nr = pkt->stride ? pkt->span + 1 : 1, i, len;
	u8 buf[SHCA_TRACE_PAYLOAD];
	struct shca_pkt part;

	for (i = 0; i < nr; i++) {
		part = nr > 1 ? shca_pkt_part(pkt, i) : *pkt;
		len = min_t(u32, part.paylen, sizeof(buf));
		if (!len)
			continue;
		shca_payload(NULL, &part, buf, len);
		trace_shca_payload(qpn, &part, sent, buf, len);
	}
}

/* @read of shca_place() */
static inline void shca_src_give(void *src, void *dst, u32 len)
{
	shca_src_read(src, dst, len);
}

static void shca_mr_fill(const struct shca_mr *mr, u64 va, u32 len,
			 struct shca_src *src)
{
	u32 run;
	void *p;

	if (unlikely(mr->type == SHCA_MR_NULL)) {
		shca_src_skip(src, len);
		return;
	}
	for (; len; va += run, len -= run) {
		run = len;
		p = shca_mr_next(mr, va, &run);
		if (run == len)
			shca_place(p, run, shca_src_give, src);
		else
			shca_src_read(src, p, run);
	}
}

/* PD by which requests of the peer reach memory. */
static struct ib_pd *shca_remote_pd(const struct shca_qp *qp)
{
	return qp->rq.xrc ? qp->rq.xrc->pd : qp->pd;
}

/* Access by @qp with keys of @pd. */
static struct shca_accessor shca_as(const struct shca_qp *qp, struct ib_pd *pd)
{
	return (struct shca_accessor){
		.dev = qp->dev,
		.pd = pd,
		.serial = qp->who.serial,
	};
}

/*
 * shca_mr_get_kept() for a side of a QP, which has memory fetched that is not present.
 * @span: bytes from @va on that the message is going to need
 */
static enum shca_mem_status shca_reach(struct shca_mem_ctx *mem, struct ib_pd *pd,
				       struct shca_mr **kept, u32 key,
				       u32 access, u64 va, u32 len, u64 span,
				       struct shca_mr **mr)
{
	struct shca_accessor who = shca_as(mem->qp, pd);
	enum shca_mem_status status;
	struct shca_odp_want want;

	status = shca_mr_get_kept(kept, &who, key, access, va, len, mr);
	if (likely(status != SHCA_MEM_RETRY))
		return status;
	want = (struct shca_odp_want){
		.who = who,
		.key = key,
		.access = access,
		.va = va,
		.len = len,
		.span = span,
	};
	return shca_page_wait(mem, &want);
}

/* A READ needs the first page of its response now. Each packet checks presence itself. */
static enum shca_mem_status shca_remote_check(void *ctx, u32 rkey, u64 va,
					      u32 len, u32 access)
{
	struct shca_mem_ctx *mem = ctx;
	struct ib_pd *pd = shca_remote_pd(mem->qp);
	struct shca_accessor who = shca_as(mem->qp, pd);
	enum shca_mem_status status;
	struct shca_mr *mr;
	bool changes;

	status = shca_mr_get(&who, rkey, access, va, len, false, &mr);
	if (status != SHCA_MEM_OK)
		return status;
	changes = mr->locked;
	shca_mr_put(mr);
	if (!changes || access != IB_ACCESS_REMOTE_READ)
		return SHCA_MEM_OK;
	status = shca_reach(mem, pd, NULL, rkey, access, va,
			    min_t(u32, len, PAGE_SIZE), len, &mr);
	if (status == SHCA_MEM_OK)
		shca_mr_put(mr);
	return status;
}

/* Return: how many of the first bytes have delayed placement. */
static u32 shca_src_delayed(struct shca_src *src, struct shca_delayed *delayed,
			    struct shca_mr *mr, u64 va, u32 len)
{
	u32 n = shca_delayed_hold(delayed, mr, va, len);

	if (n)
		shca_src_read(src, delayed->bytes, n);
	return n;
}

static enum shca_mem_status shca_remote_write(void *ctx, u32 rkey, u64 va,
					      const struct shca_pkt *pkt)
{
	struct shca_src src = shca_src_pkt(pkt);
	struct shca_mem_ctx *mem = ctx;
	enum shca_mem_status status;
	struct shca_mr *mr;
	u32 delayed = 0;

	status = shca_reach(mem, shca_remote_pd(mem->qp),
			    shca_src_kept(&src), rkey,
			    IB_ACCESS_REMOTE_WRITE, va, pkt->paylen,
			    mem->qp->rq.resp.msg.left, &mr);
	if (unlikely(status == SHCA_MEM_RETRY))
		shca_src_waits(&src);
	if (status != SHCA_MEM_OK)
		return status;
	if (static_branch_unlikely(&shca_manners_on) && mem->qp->rq.delayed)
		delayed = shca_src_delayed(&src, mem->qp->rq.delayed, mr, va,
					   pkt->paylen);
	shca_mr_fill(mr, va + delayed, pkt->paylen - delayed, &src);
	shca_mr_put_kept(shca_src_kept(&src), mr);
	trace_shca_place(mem->qp->qpn, pkt, true);
	return SHCA_MEM_OK;
}

/*
 * The word at @va; NULL: it is not aligned in memory, and may lie in two pages. The core's
 * check of @va says nothing where addresses count from the beginning of a region or window.
 */
static u64 *shca_mr_word(const struct shca_mr *mr, u64 va)
{
	u32 run = sizeof(u64);
	void *p = shca_mr_next(mr, va, &run);

	return IS_ALIGNED((uintptr_t)p, sizeof(u64)) ? p : NULL;
}

static enum shca_mem_status shca_remote_atomic(void *ctx,
					       const struct shca_pkt *pkt,
					       u64 *orig)
{
	bool cas = (pkt->opcode & 0x1f) == 0x13;
	struct shca_mem_ctx *mem = ctx;
	enum shca_mem_status status;
	struct shca_mr *mr;
	u64 *p;

	status = shca_reach(mem, shca_remote_pd(mem->qp), NULL,
			    pkt->atomic.rkey,
			    IB_ACCESS_REMOTE_ATOMIC, pkt->atomic.va, 8, 8, &mr);
	if (status != SHCA_MEM_OK)
		return status;
	p = shca_mr_word(mr, pkt->atomic.va);
	if (!p)
		status = SHCA_MEM_RANGE;
	else if (cas)
		*orig = cmpxchg64((u64 __force *)p, pkt->atomic.compare,
				  pkt->atomic.swap_add);
	else
		*orig = atomic64_fetch_add(pkt->atomic.swap_add,
					   (atomic64_t *)p);
	shca_mr_put(mr);
	return status;
}

static enum shca_mem_status
shca_remote_atomic_write(void *ctx, const struct shca_pkt *pkt)
{
	struct shca_src src = shca_src_pkt(pkt);
	struct shca_mem_ctx *mem = ctx;
	enum shca_mem_status status;
	struct shca_mr *mr;
	u64 *p;

	status = shca_reach(mem, shca_remote_pd(mem->qp), NULL,
			    pkt->reth.rkey, IB_ACCESS_REMOTE_WRITE,
			    pkt->reth.va, 8, 8, &mr);
	if (status != SHCA_MEM_OK)
		return status;
	p = shca_mr_word(mr, pkt->reth.va);
	if (p)	/* aligned: one store */
		shca_place(p, sizeof(*p), shca_src_give, &src);
	else
		status = SHCA_MEM_RANGE;
	shca_mr_put(mr);
	return status;
}

/*
 * The CPU places bytes message by message (shca_place()), so only a barrier is left to do.
 * Pages that are not present need none: earlier writes to them are done. No region has the
 * right to be persistent.
 */
static enum shca_mem_status shca_remote_flush(void *ctx,
					      const struct shca_pkt *pkt)
{
	u32 access = (pkt->feth.type & SHCA_FLUSH_GLOBAL ?
		      SHCA_ACCESS_FLUSH_GLOBAL : 0) |
		     (pkt->feth.type & SHCA_FLUSH_PERSISTENT ?
		      SHCA_ACCESS_FLUSH_PERSISTENT : 0);
	bool whole = pkt->feth.level == SHCA_FLUSH_LEVEL_MR;
	struct shca_qp *qp = ((struct shca_mem_ctx *)ctx)->qp;
	struct shca_accessor who = shca_as(qp, shca_remote_pd(qp));
	enum shca_mem_status status;
	struct shca_mr *mr;

	status = shca_mr_get(&who, pkt->reth.rkey, access,
			     whole ? shca_mr_start(qp->dev, pkt->reth.rkey) :
				     pkt->reth.va,
			     whole ? 0 : pkt->reth.len, false, &mr);
	if (status != SHCA_MEM_OK)
		return status;
	shca_mr_put(mr);
	/* Earlier data is visible before our answer is (litmus: flush). */
	smp_mb();
	return SHCA_MEM_OK;
}

/* PD of a send request's lkeys: that of the receive request, if tag matching has made it. */
static struct ib_pd *shca_sq_pd(const struct shca_qp *qp, const struct shca_send_wr *wr)
{
	return unlikely(wr->own) ? shca_rq_pd(qp) : qp->pd;
}

/* Bytes of a receive buffer that a long message is expected to fill. */
#define SHCA_RECV_SPAN	65536u

/* Copy @len bytes of @src to byte @off of a segment list, whose keys are of @pd. */
static enum shca_mem_status shca_scatter(struct shca_mem_ctx *mem,
					 struct ib_pd *pd,
					 const struct shca_sge *sge, u32 nr,
					 u32 off, u32 len, struct shca_src *src)
{
	enum shca_mem_status status;
	struct shca_mr *mr;
	u32 n;

	for (; nr && len; nr--, sge++) {
		if (off >= sge->length) {
			off -= sge->length;
			continue;
		}
		n = min(sge->length - off, len);
		status = shca_reach(mem, pd, shca_src_kept(src), sge->lkey,
				    IB_ACCESS_LOCAL_WRITE, sge->addr + off, n,
				    min(sge->length - off, SHCA_RECV_SPAN),
				    &mr);
		if (unlikely(status == SHCA_MEM_RETRY))
			shca_src_waits(src);
		if (status != SHCA_MEM_OK)
			return status;
		shca_mr_fill(mr, sge->addr + off, n, src);
		shca_mr_put_kept(shca_src_kept(src), mr);
		off = 0;
		len -= n;
	}
	return len ? SHCA_MEM_RANGE : SHCA_MEM_OK;
}

/* As shca_scatter(); with @begins, the first bytes are placed at the completion in @cq. */
static enum shca_mem_status
shca_scatter_delayed(struct shca_mem_ctx *mem, struct shca_cq *cq, struct ib_pd *pd,
		     const struct shca_sge *sge, u32 nr, u32 off, u32 len, bool begins,
		     struct shca_src *src)
{
	enum shca_mem_status status;
	u8 bytes[SHCA_DELAYED_BYTES];
	struct shca_mr *mr;
	u32 n = 0;

	/* The later of two messages to one buffer must be placed last. */
	if (begins)
		shca_cq_keep_order(cq, sge, nr);
	for (; nr && off >= sge->length; nr--, sge++)
		off -= sge->length;
	if (nr && begins)
		n = shca_delayed_bytes(min(len, sge->length - off));
	if (n) {
		status = shca_reach(mem, pd, shca_src_kept(src), sge->lkey,
				    IB_ACCESS_LOCAL_WRITE, sge->addr + off, n,
				    n, &mr);
		if (unlikely(status == SHCA_MEM_RETRY))
			shca_src_waits(src);
		if (status != SHCA_MEM_OK)
			return status;
		/* Only memory of a process, as in shca_delayed_hold(). */
		if (mr->type == SHCA_MR_USER) {
			shca_src_read(src, bytes, n);
			shca_cq_keep(cq, mr, sge->addr + off, bytes, n);
			off += n;
			len -= n;
		}
		shca_mr_put_kept(shca_src_kept(src), mr);
	}
	return shca_scatter(mem, pd, sge, nr, off, len, src);
}

/*
 * CQ where the first bytes of a message wait for its completion; NULL: they are not delayed. A
 * rendezvous completes elsewhere, and XRC in the CQ of an SRQ, which may change with the
 * message.
 */
static struct shca_cq *shca_delayed_cq_of(const struct shca_qp *qp, bool answer,
					  const struct shca_sge *sge)
{
	struct shca_cq *cq = answer ? qp->sq.cq : qp->rq.cq;

	if (answer && container_of(sge, const struct shca_send_wr, sge[0])->own)
		return NULL;
	return cq && cq->delayed ? cq : NULL;
}

/* Is byte @off of the buffer the first one of a message? */
static bool shca_begins(const struct shca_qp *qp, u32 off)
{
	return off == (shca_qp_transport(qp->type) == SHCA_TRANSPORT_UD ?
		       SHCA_GRH_BYTES : 0);
}

static enum shca_mem_status shca_local_scatter(void *ctx,
					       const struct shca_sge *sge,
					       u32 nr, u32 off,
					       const struct shca_pkt *pkt)
{
	bool answer = shca_opcode_info(pkt->opcode)->flags & SHCA_OPF_RESPONSE;
	struct shca_src src = shca_src_pkt(pkt);
	struct shca_mem_ctx *mem = ctx;
	struct shca_qp *qp = mem->qp;
	struct ib_pd *pd = shca_rq_pd(qp);
	enum shca_mem_status status;

	if (answer)
		pd = shca_sq_pd(qp, container_of(sge, struct shca_send_wr,
						 sge[0]));
	if (static_branch_unlikely(&shca_manners_on) &&
	    shca_delayed_cq_of(qp, answer, sge))
		status = shca_scatter_delayed(mem, shca_delayed_cq_of(qp, answer, sge),
					      pd, sge, nr, off, pkt->paylen,
					      shca_begins(qp, off), &src);
	else
		status = shca_scatter(mem, pd, sge, nr, off, pkt->paylen, &src);
	if (status == SHCA_MEM_OK)
		trace_shca_place(qp->qpn, pkt, false);
	return status;
}

static enum shca_mem_status shca_local_store(void *ctx,
					     const struct shca_sge *sge, u32 nr,
					     const void *buf, u32 len)
{
	struct shca_src src = { .buf = buf };
	struct shca_mem_ctx *mem = ctx;

	if (static_branch_unlikely(&shca_manners_on) && mem->qp->sq.cq->delayed)
		return shca_scatter_delayed(mem, mem->qp->sq.cq, mem->qp->pd, sge,
					    nr, 0, len, true, &src);
	return shca_scatter(mem, mem->qp->pd, sge, nr, 0, len, &src);
}

static enum shca_mem_status shca_grh_store(void *ctx,
					   const struct shca_sge *sge, u32 nr,
					   const struct shca_pkt *pkt)
{
	u32 hdr_len = shca_opcode_info(pkt->opcode)->hdr_len;
	const struct shca_rx_skb *rx = pkt->data;
	struct shca_mem_ctx *mem = ctx;
	u32 len = hdr_len + pkt->paylen + pkt->pad + SHCA_ICRC_BYTES;
	u8 grh[SHCA_GRH_BYTES];
	struct shca_src src = { .buf = grh };

	/* The GRH may lie where an earlier message has yet to be placed. */
	if (static_branch_unlikely(&shca_manners_on) && mem->qp->rq.cq &&
	    mem->qp->rq.cq->delayed)
		shca_cq_keep_order(mem->qp->rq.cq, sge, nr);
	if (pkt->wr)	/* the direct path: no lower headers */
		mem->qp->link->grh_sent(pkt->wr->priv, len, grh);
	else
		mem->qp->link->grh(rx->skb, pkt->data_off - hdr_len, len, grh);
	return shca_scatter(mem, shca_rq_pd(mem->qp), sge, nr, 0,
			    sizeof(grh), &src);
}

static bool shca_invalidate(void *ctx, u32 rkey)
{
	struct shca_qp *qp = ((struct shca_mem_ctx *)ctx)->qp;
	struct shca_accessor who = shca_as(qp, shca_remote_pd(qp));

	/* Release the placed payload: invalidating its own region would wait for it. */
	if (qp->rq.held)
		shca_mem_release(qp->rq.held);
	return shca_mr_invalidate(&who, rkey);
}

static enum shca_wc_status shca_local_op(void *ctx,
					 const struct shca_send_wr *wr)
{
	struct shca_qp *qp = ((struct shca_mem_ctx *)ctx)->qp;
	bool ok = false;

	if (wr->opcode == SHCA_WR_LOCAL_INV)
		ok = shca_mr_invalidate(&qp->who, wr->inv_rkey);
	else if (wr->opcode == SHCA_WR_REG_MR)
		ok = shca_mr_register(&qp->who, wr->reg.key, wr->reg.new_key,
				      wr->reg.access);
	else if (wr->opcode == SHCA_WR_BIND_MW)
		ok = shca_mw_bind(&qp->who, &(struct shca_mw_bind){
			.key = wr->bind.key,
			.mr_key = wr->bind.mr_lkey,
			.addr = wr->bind.addr,
			.length = wr->bind.length,
			.access = wr->bind.access,
		});
	/* "Memory management operation error", as IBTA 11.6.2 calls it. */
	return ok ? SHCA_WC_SUCCESS : SHCA_WC_MW_BIND_ERR;
}

const struct shca_mem_ops shca_mem_ops = {
	.remote_check = shca_remote_check,
	.remote_write = shca_remote_write,
	.remote_atomic = shca_remote_atomic,
	.remote_atomic_write = shca_remote_atomic_write,
	.remote_flush = shca_remote_flush,
	.local_scatter = shca_local_scatter,
	.local_store = shca_local_store,
	.grh_store = shca_grh_store,
	.recv_get = shca_rq_fetch,
	.recv_count = shca_rq_count,
	.tm_get = shca_tm_get,
	.tm_undo = shca_tm_broke_off,
	.payload = shca_payload,
	.xrc_select = shca_rq_xrc_select,
	.invalidate = shca_invalidate,
	.local_op = shca_local_op,
};

static enum shca_mem_status shca_hold_one(struct shca_mem_ctx *mem,
					  struct ib_pd *pd, u32 key, u32 access,
					  u64 va, u32 len, u64 span,
					  struct shca_pieces *pieces)
{
	struct shca_piece *piece = &pieces->piece[pieces->nr];
	enum shca_mem_status status;

	status = shca_reach(mem, pd, pieces->kept, key, access, va, len, span,
			    &piece->mr);
	if (status != SHCA_MEM_OK)
		return status;
	piece->va = va;
	piece->len = len;
	pieces->nr++;
	return SHCA_MEM_OK;
}

static enum shca_mem_status shca_hold_sges(struct shca_mem_ctx *mem,
					   const struct shca_send_wr *wr,
					   u32 off, u32 len,
					   struct shca_pieces *pieces)
{
	const struct shca_sge *sge = wr->sge;
	enum shca_mem_status status;
	u32 nr = wr->num_sge;
	u32 n;

	for (; nr && len; nr--, sge++) {
		if (off >= sge->length) {
			off -= sge->length;
			continue;
		}
		n = min(sge->length - off, len);
		status = shca_hold_one(mem, mem->qp->pd, sge->lkey,
				       SHCA_MR_LOCAL_READ, sge->addr + off, n,
				       sge->length - off,
				       pieces);
		if (status != SHCA_MEM_OK)
			return status;
		off = 0;
		len -= n;
	}
	return len ? SHCA_MEM_RANGE : SHCA_MEM_OK;
}

/* A READ response has the rights of its request. */
static enum shca_mem_status shca_hold_remote(struct shca_mem_ctx *mem,
					     const struct shca_pkt *pkt,
					     struct shca_pieces *pieces)
{
	struct shca_xrc_target *target = NULL;
	enum shca_mem_status status;
	struct shca_qp *qp = mem->qp;
	struct ib_pd *pd = qp->pd;

	if (qp->type == IB_QPT_XRC_TGT) {
		target = shca_xrc_find(qp->dev, qp->xrcd, pkt->xrc_srqn);
		if (!target)
			return SHCA_MEM_KEY;
		pd = target->pd;
	}
	status = shca_hold_one(mem, pd, pkt->rkey, IB_ACCESS_REMOTE_READ,
			       pkt->va, pkt->paylen,
			       (u64)pkt->paylen + pkt->rest, pieces);
	if (target)
		shca_xrc_put(target);
	return status;
}

enum shca_mem_status shca_mem_hold(struct shca_mem_ctx *mem,
				   const struct shca_pkt *pkt,
				   struct shca_pieces *pieces)
{
	enum shca_mem_status status = SHCA_MEM_OK;

	pieces->nr = 0;
	switch (pkt->kind) {
	case SHCA_PAY_NONE:
		return SHCA_MEM_OK;
	case SHCA_PAY_WR:
		if (!pkt->wr->inline_data) {
			status = shca_hold_sges(mem, pkt->wr, pkt->off,
						pkt->paylen, pieces);
			break;
		}
		/* In the ring: a process that rewrites it sends what it wrote. */
		pieces->piece[0] = (struct shca_piece){
			.buf = pkt->wr->inline_data + pkt->off,
			.len = pkt->paylen,
		};
		break;
	case SHCA_PAY_REMOTE:
		status = shca_hold_remote(mem, pkt, pieces);
		break;
	}
	if (status != SHCA_MEM_OK)
		shca_mem_release(pieces);
	return status;
}

void shca_mem_release(struct shca_pieces *pieces)
{
	u32 i;

	for (i = 0; i < pieces->nr; i++)
		shca_mr_put_kept(pieces->kept, pieces->piece[i].mr);
	pieces->nr = 0;
}

/* Most requests have one segment, and need no pieces. */
static enum shca_mem_status shca_gather_sge(struct shca_mem_ctx *mem,
					    const struct shca_pkt *pkt, u8 *dst,
					    struct shca_mr **kept)
{
	const struct shca_sge *sge = pkt->wr->sge;
	u32 len = pkt->paylen, run;
	enum shca_mem_status status;
	u64 va = sge->addr + pkt->off;
	struct shca_mr *mr;
	const void *src;

	/* The request is as long as its segment. */
	status = shca_reach(mem, mem->qp->pd, kept, sge->lkey,
			    SHCA_MR_LOCAL_READ, va, len, sge->length - pkt->off,
			    &mr);
	if (status != SHCA_MEM_OK)
		return status;
	for (; len; va += run, dst += run, len -= run) {
		run = len;
		src = shca_mr_next(mr, va, &run);	/* changes run */
		memcpy(dst, src, run);
	}
	shca_mr_put_kept(kept, mr);
	return SHCA_MEM_OK;
}

/* A fenced request may send what READs have brought. */
static void shca_delayed_fence(const struct shca_mem_ctx *mem,
			       const struct shca_pkt *pkt)
{
	if (pkt->kind == SHCA_PAY_WR && pkt->wr->flags & SHCA_SEND_FENCE)
		shca_cq_place(mem->qp->sq.cq);
}

enum shca_mem_status shca_mem_gather(struct shca_mem_ctx *mem,
				     const struct shca_pkt *pkt, u8 *dst,
				     struct shca_mr **kept)
{
	struct shca_pieces pieces __uninitialized;
	struct shca_src src = { .piece = pieces.piece };
	enum shca_mem_status status;

	if (pkt->kind == SHCA_PAY_NONE)
		return SHCA_MEM_OK;
	/* Only devices without delayed placement take the direct path, which gathers elsewhere. */
	if (static_branch_unlikely(&shca_manners_on))
		shca_delayed_fence(mem, pkt);
	if (pkt->kind == SHCA_PAY_WR && !pkt->wr->inline_data &&
	    pkt->wr->num_sge == 1)
		return shca_gather_sge(mem, pkt, dst, kept);
	pieces.kept = kept;
	status = shca_mem_hold(mem, pkt, &pieces);
	if (status != SHCA_MEM_OK)
		return status;
	shca_src_read(&src, dst, pkt->paylen);
	shca_mem_release(&pieces);
	return SHCA_MEM_OK;
}

void shca_mem_forget(struct shca_mr **kept)
{
	if (*kept)
		shca_mr_put(*kept);
	*kept = NULL;
}
