// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Simulated memory and its access check, which looks at what a real one does.  It also
 * checks the calls of the core: no length of zero, nothing beyond the segments, no
 * WRITE outside of what was checked before.
 */
#include "../../../kernel/core/requester/fast.h"
#include "sim.h"

/* ---- regions ------------------------------------------------------------- */

void sim_region_init(struct sim_world *w, struct sim_region *r, u32 len,
		     u32 access)
{
	u32 i;

	r->key = (u32)prng_next(&w->rng);
	r->base = prng_next(&w->rng) & ~0xfull;
	/* now and then at the very end of the address space */
	if (prng_chance(&w->rng, 50))
		r->base = -(u64)((len + 15) & ~15u);
	if (r->base > -(u64)len)
		r->base = -(u64)((len + 15) & ~15u);
	r->len = len;
	r->used = 0;
	r->access = access;
	r->valid = true;
	r->alloc = malloc(len + 2 * SIM_GUARD);
	r->mem = r->alloc + SIM_GUARD;
	memset(r->alloc, 0xa5, SIM_GUARD);
	memset(r->mem + len, 0xa5, SIM_GUARD);
	for (i = 0; i < len; i++)
		r->mem[i] = sim_background(r, i);
}

void sim_region_free(struct sim_region *r)
{
	free(r->alloc);
	memset(r, 0, sizeof(*r));
}

/* A piece of the region, with a gap of background before it. */
u64 sim_region_take(struct sim_world *w, struct sim_region *r, u32 len,
		    u32 align)
{
	u32 off = r->used + prng_range(&w->rng, 1, 8);

	off = (off + align - 1) / align * align;
	sim_check(w, off + len < r->len, "sim: region of %u too small", r->len);
	r->used = off + len;
	return r->base + off;
}

u8 *sim_region_at(struct sim_world *w, struct sim_region *r, u64 va, u32 len)
{
	sim_check(w, va - r->base <= r->len && r->len - (va - r->base) >= len,
		  "sim: address outside of its region");
	return r->mem + (va - r->base);
}

static enum shca_mem_status region_check(const struct sim_region *r, u32 key,
					 u64 va, u32 len, u32 access)
{
	if (!r->valid || key != r->key)
		return SHCA_MEM_KEY;
	if ((r->access & access) != access)
		return SHCA_MEM_ACCESS;
	if (len > r->len || va - r->base > r->len - len)
		return SHCA_MEM_RANGE;
	return SHCA_MEM_OK;
}

/* A side that asks is told when the memory is there: sim_queue_take(). */
static bool comes_later(struct sim_node *n)
{
	if (!prng_chance(&n->w->rng, n->w->f.mem_retry))
		return false;
	n->asked = true;
	return true;
}

/* Deregistered: what this may end in is excused from now on. */
void sim_region_vanish(struct sim_node *n, struct sim_region *r)
{
	u32 mask = 1u << SHCA_WC_LOC_PROT_ERR | 1u << SHCA_WC_REM_ACCESS_ERR |
		   1u << SHCA_WC_REM_OP_ERR | 1u << SHCA_WC_RETRY_EXC_ERR |
		   1u << SHCA_WC_LOC_ACCESS_ERR;

	r->valid = false;
	n->extra_status |= mask;
	n->peer->extra_status |= mask;
}

/* At the worst of moments: just before the core uses it. */
static void may_vanish(struct sim_node *n, struct sim_region *r)
{
	if (r->valid && prng_chance(&n->w->rng, n->w->f.vanish))
		sim_region_vanish(n, r);
}

/* ---- segments ------------------------------------------------------------ */

static u32 sge_total(const struct shca_sge *sge, u32 nr)
{
	u32 i, total = 0;

	for (i = 0; i < nr; i++)
		total += sge[i].length;
	return total;
}

/* Where the segments of a receive request lie. */
static struct sim_region *recv_mem(struct sim_node *n)
{
	return sim_is_rc(n->w) ? &n->loc : &n->supply->mem;
}

/*
 * Move @len bytes between @buf and byte @off of the segments; nothing is moved
 * unless all of it may be.
 */
static enum shca_mem_status sge_move(struct sim_node *n,
				     struct sim_region *r,
				     const struct shca_sge *sge, u32 nr,
				     u32 off, u8 *buf, u32 len, bool is_store)
{
	u32 access = is_store ? SHCA_ACCESS_LOCAL_WRITE : 0;
	enum shca_mem_status status;
	u32 i, pass, at, todo, part;
	u8 *p, *mem;

	sim_check(n->w, len && off + len <= sge_total(sge, nr),
		  "core: segments overrun: off %u len %u of %u", off, len,
		  sge_total(sge, nr));
	for (pass = 0; pass < 2; pass++) {
		p = buf;
		at = off;
		todo = len;
		for (i = 0; i < nr && todo; i++) {
			if (at >= sge[i].length) {
				at -= sge[i].length;
				continue;
			}
			part = min_t(u32, sge[i].length - at, todo);
			status = region_check(r, sge[i].lkey, sge[i].addr + at,
					      part, access);
			if (status != SHCA_MEM_OK)
				return status;
			mem = r->mem + (sge[i].addr + at - r->base);
			if (pass && is_store)
				memcpy(mem, p, part);
			else if (pass)
				memcpy(p, mem, part);
			p += part;
			todo -= part;
			at = 0;
		}
	}
	return SHCA_MEM_OK;
}

enum shca_mem_status sim_gather(struct sim_node *n, const struct shca_pkt *pkt,
				u8 *to)
{
	const struct shca_send_wr *wr = pkt->wr;
	enum shca_mem_status status;

	/* also what has no payload may find the link busy */
	if (comes_later(n))
		return SHCA_MEM_RETRY;
	if (pkt->kind == SHCA_PAY_NONE)
		return SHCA_MEM_OK;
	may_vanish(n, pkt->kind == SHCA_PAY_REMOTE ? &n->rem : &n->loc);
	if (pkt->kind == SHCA_PAY_REMOTE) {
		status = region_check(&n->rem, pkt->rkey, pkt->va, pkt->paylen,
				      SHCA_ACCESS_REMOTE_READ);
		if (status == SHCA_MEM_OK)
			memcpy(to, n->rem.mem + (pkt->va - n->rem.base),
			       pkt->paylen);
		return status;
	}
	if (wr->inline_data) {
		memcpy(to, (u8 *)wr->inline_data + pkt->off, pkt->paylen);
		return SHCA_MEM_OK;
	}
	return sge_move(n, &n->loc, wr->sge, wr->num_sge, pkt->off, to,
			pkt->paylen, false);
}

/* ---- the access check ------------------------------------------------------------ */

static u8 *payload(struct sim_node *n, const struct shca_pkt *pkt)
{
	struct sim_wire *wire = pkt->data;
	u32 i;

	if (pkt->stride) {	/* of a run: they lie apart */
		for (i = 0; i <= pkt->span; i++)
			memcpy(n->w->scratch + i * pkt->unit, wire->buf +
			       pkt->data_off + i * pkt->stride, pkt->unit);
		return n->w->scratch;
	}
	sim_check(n->w, pkt->data_off + pkt->paylen <= wire->len,
		  "core: payload beyond the packet");
	return wire->buf + pkt->data_off;
}

static enum shca_mem_status door_remote_check(void *ctx, u32 rkey, u64 va,
					      u32 len, u32 access)
{
	struct sim_node *n = ctx;
	enum shca_mem_status status;

	sim_check(n->w, len, "core: remote_check of nothing");
	if (comes_later(n))
		return n->access = SHCA_MEM_RETRY;
	status = region_check(&n->rem, rkey, va, len, access);
	n->access = status;
	if (status == SHCA_MEM_OK && access == SHCA_ACCESS_REMOTE_WRITE) {
		n->check_rkey = rkey;
		n->check_va = va;
		n->check_len = len;
	}
	return status;
}

static enum shca_mem_status door_remote_write(void *ctx, u32 rkey, u64 va,
					      const struct shca_pkt *pkt)
{
	struct sim_node *n = ctx;
	enum shca_mem_status status;

	sim_check(n->w, pkt->paylen, "core: remote_write of nothing");
	sim_check(n->w, rkey == n->check_rkey && pkt->paylen <= n->check_len &&
		  va - n->check_va <= n->check_len - pkt->paylen,
		  "core: WRITE outside of what was checked");
	if (comes_later(n))
		return n->access = SHCA_MEM_RETRY;
	may_vanish(n, &n->rem);
	status = region_check(&n->rem, rkey, va, pkt->paylen,
			      SHCA_ACCESS_REMOTE_WRITE);
	n->access = status;
	if (status == SHCA_MEM_OK)
		memcpy(n->rem.mem + (va - n->rem.base), payload(n, pkt),
		       pkt->paylen);
	return status;
}

static enum shca_mem_status door_remote_atomic(void *ctx,
					       const struct shca_pkt *pkt,
					       u64 *orig)
{
	struct sim_node *n = ctx;
	enum shca_mem_status status;
	__le64 *at, stored;
	u64 v;

	sim_check(n->w, !(pkt->atomic.va & 7), "core: misaligned atomic");
	if (comes_later(n))
		return SHCA_MEM_RETRY;
	status = region_check(&n->rem, pkt->atomic.rkey, pkt->atomic.va, 8,
			      SHCA_ACCESS_REMOTE_ATOMIC);
	if (status != SHCA_MEM_OK)
		return status;
	/*
	 * Little-endian on every machine: a forged request may be for other bytes than the
	 * counter, and the answer's bytes are part of the digest.
	 */
	at = (__le64 *)(n->rem.mem + (pkt->atomic.va - n->rem.base));
	memcpy(&stored, at, sizeof(stored));
	v = le64toh(stored);
	*orig = v;
	sim_model_atomic(n, pkt, v);
	if ((pkt->opcode & ~SHCA_TRANSPORT_MASK) == SHCA_OP_FETCH_ADD)
		v += pkt->atomic.swap_add;
	else if (v == pkt->atomic.compare)
		v = pkt->atomic.swap_add;
	stored = htole64(v);
	memcpy(at, &stored, sizeof(stored));
	return SHCA_MEM_OK;
}

static enum shca_mem_status
door_atomic_write(void *ctx, const struct shca_pkt *pkt)
{
	struct sim_node *n = ctx;
	enum shca_mem_status status;

	sim_check(n->w, !(pkt->reth.va & 7) && pkt->paylen == 8,
		  "core: misaligned ATOMIC WRITE");
	if (comes_later(n))
		return SHCA_MEM_RETRY;
	may_vanish(n, &n->rem);
	status = region_check(&n->rem, pkt->reth.rkey, pkt->reth.va, 8,
			      SHCA_ACCESS_REMOTE_WRITE);
	if (status == SHCA_MEM_OK)
		memcpy(n->rem.mem + (pkt->reth.va - n->rem.base),
		       payload(n, pkt), 8);
	return status;
}

static enum shca_mem_status door_flush(void *ctx, const struct shca_pkt *pkt)
{
	u32 access = (pkt->feth.type & SHCA_FLUSH_GLOBAL ?
		      SHCA_ACCESS_FLUSH_GLOBAL : 0) |
		     (pkt->feth.type & SHCA_FLUSH_PERSISTENT ?
		      SHCA_ACCESS_FLUSH_PERSISTENT : 0);
	bool mr = pkt->feth.level == SHCA_FLUSH_LEVEL_MR;
	struct sim_node *n = ctx;
	enum shca_mem_status status;

	sim_check(n->w, access, "core: FLUSH of no type");
	if (comes_later(n))
		return SHCA_MEM_RETRY;
	may_vanish(n, &n->rem);
	status = region_check(&n->rem, pkt->reth.rkey,
			      mr ? n->rem.base : pkt->reth.va,
			      mr ? 0 : pkt->reth.len, access);
	if (status == SHCA_MEM_OK)
		sim_model_flush(n, pkt);
	return status;
}

/* The operation whose request holds @sge; NULL: a receive request's. */
static struct sim_op *op_of_sge(struct sim_node *n, const struct shca_sge *sge)
{
	const u8 *p = (const u8 *)sge - offsetof(struct shca_send_wr, sge);
	const u8 *ring = n->req_ring;

	if (p < ring || p >= ring + (size_t)n->req_entries * n->req.ring.stride)
		return NULL;
	return &n->ops[((const struct shca_send_wr *)p)->wr_id];
}

static enum shca_mem_status door_local_scatter(void *ctx,
					       const struct shca_sge *sge,
					       u32 nr, u32 off,
					       const struct shca_pkt *pkt)
{
	struct sim_node *n = ctx;
	struct sim_op *op = op_of_sge(n, sge);
	enum shca_mem_status status;
	struct sim_region *r;

	if (comes_later(n))
		return n->access = SHCA_MEM_RETRY;
	r = op ? &n->loc : recv_mem(n);
	may_vanish(n, r);
	status = sge_move(n, r, sge, nr, off, payload(n, pkt), pkt->paylen,
			  true);
	n->access = status;
	if (status == SHCA_MEM_OK && op)
		op->placed += pkt->paylen;
	return status;
}

/* Where the far end of a message lies; NULL: not there, or without that right. */
static u8 *fast_far(struct sim_node *n, const struct shca_send_wr *wr,
		     u32 access)
{
	struct sim_region *r = &n->peer->rem;

	if (region_check(r, wr->rdma.rkey, wr->rdma.remote_addr, wr->length,
			 access) != SHCA_MEM_OK)
		return NULL;
	return r->mem + (wr->rdma.remote_addr - r->base);
}

/* To the receive that is taken for it. */
static bool fast_receive(struct sim_node *p, u8 *buf, u32 len)
{
	if (!shca_fast_recv(&p->resp) || p->resp.wr.length < len)
		return false;
	return !len || sge_move(p, &p->loc, p->resp.wr.sge, p->resp.wr.num_sge,
				0, buf, len, true) == SHCA_MEM_OK;
}

/* The payload of a short message, end to end; false: nothing was moved. */
bool sim_fast_move(struct sim_node *n, const struct shca_send_wr *wr)
{
	bool is_read = wr->opcode == SHCA_WR_RDMA_READ;
	bool takes = !is_read && wr->opcode != SHCA_WR_RDMA_WRITE;
	u32 len = wr->length;
	u8 buf[4096], *far;

	if (comes_later(n))
		return false;
	if (len && is_read) {
		far = fast_far(n, wr, SHCA_ACCESS_REMOTE_READ);
		if (far)
			memcpy(buf, far, len);
		return far && sge_move(n, &n->loc, wr->sge, wr->num_sge, 0,
				       buf, len, true) == SHCA_MEM_OK;
	}
	if (wr->inline_data)
		memcpy(buf, wr->inline_data, len);
	else if (len && sge_move(n, &n->loc, wr->sge, wr->num_sge, 0, buf, len,
				 false) != SHCA_MEM_OK)
		return false;
	if (wr->opcode == SHCA_WR_SEND || wr->opcode == SHCA_WR_SEND_WITH_IMM)
		return fast_receive(n->peer, buf, len);
	far = fast_far(n, wr, SHCA_ACCESS_REMOTE_WRITE);
	if ((len && !far) || (takes && !shca_fast_recv(&n->peer->resp)))
		return false;
	if (len)
		memcpy(far, buf, len);
	return true;
}

static enum shca_mem_status door_local_store(void *ctx,
					     const struct shca_sge *sge, u32 nr,
					     const void *buf, u32 len)
{
	struct sim_node *n = ctx;
	struct sim_op *op = op_of_sge(n, sge);
	enum shca_mem_status status;
	u8 copy[8];

	sim_check(n->w, len == sizeof(copy), "core: local_store of %u", len);
	if (comes_later(n))
		return SHCA_MEM_RETRY;
	memcpy(copy, buf, len);
	status = sge_move(n, &n->loc, sge, nr, 0, copy, len, true);
	if (status == SHCA_MEM_OK && op)
		op->placed += len;
	return status;
}

static enum shca_mem_status door_grh_store(void *ctx,
					   const struct shca_sge *sge, u32 nr,
					   const struct shca_pkt *pkt)
{
	struct sim_node *n = ctx;
	u8 grh[SHCA_GRH_BYTES];
	u32 i;

	if (comes_later(n))
		return n->access = SHCA_MEM_RETRY;
	may_vanish(n, recv_mem(n));
	for (i = 0; i < sizeof(grh); i++)
		grh[i] = sim_grh_byte(pkt->data, i);
	return n->access = sge_move(n, recv_mem(n), sge, nr, 0, grh, sizeof(grh),
				  true);
}

static enum shca_recv_status supply_get(struct sim_node *n,
					struct shca_recv_wr *wr)
{
	struct sim_supply *s = n->supply;
	const struct sim_recv *recv;

	sim_check(n->w, n->held < 0, "core: takes a second receive request");
	if (s->taken == s->posted)
		return SHCA_RECV_EMPTY;
	n->held = s->taken++;
	recv = &s->recv[n->held];
	wr->wr_id = n->held;
	if (recv->fault == SIM_RECV_MALFORMED)
		return SHCA_RECV_BAD;
	wr->num_sge = recv->nr_sge;
	wr->length = recv->len;
	memcpy(wr->sge, recv->sge, sizeof(recv->sge));
	return SHCA_RECV_OK;
}

static enum shca_recv_status door_recv_get(void *ctx, struct shca_recv_wr *wr)
{
	struct sim_node *n = ctx;
	const struct sim_op *op;

	if (!sim_is_rc(n->w))
		return supply_get(n, wr);
	if (n->recv_taken == n->recv_posted)
		return SHCA_RECV_EMPTY;
	op = &n->peer->ops[n->peer->recv_of[n->recv_taken]];
	sim_check(n->w, n->w->f.hostile || !sim_is_xrc(n->w) ||
		  n->srqn == sim_srqn(n->w, op),
		  "core: takes a receive request of another SRQ");
	wr->wr_id = n->recv_taken++;
	if (op->fault == SIM_RECV_MALFORMED)
		return SHCA_RECV_BAD;
	wr->num_sge = op->nr_recv_sge;
	wr->length = sge_total(op->recv_sge, op->nr_recv_sge);
	memcpy(wr->sge, op->recv_sge, sizeof(op->recv_sge));
	return SHCA_RECV_OK;
}

static u32 door_recv_count(void *ctx)
{
	struct sim_node *n = ctx;

	return n->recv_posted - n->recv_taken;
}

static bool door_xrc_select(void *ctx, u32 srqn)
{
	struct sim_node *n = ctx;

	n->srqn = srqn;
	return srqn - SIM_SRQN < SIM_SRQS;
}

static bool door_invalidate(void *ctx, u32 rkey)
{
	return sim_model_invalidate(ctx, rkey);
}

static enum shca_wc_status door_local_op(void *ctx,
					 const struct shca_send_wr *wr)
{
	return sim_model_local(ctx, wr);
}

const struct shca_mem_ops sim_mem_ops = {
	.remote_check = door_remote_check,
	.remote_write = door_remote_write,
	.remote_atomic = door_remote_atomic,
	.remote_atomic_write = door_atomic_write,
	.remote_flush = door_flush,
	.local_scatter = door_local_scatter,
	.local_store = door_local_store,
	.grh_store = door_grh_store,
	.recv_get = door_recv_get,
	.recv_count = door_recv_count,
	.xrc_select = door_xrc_select,
	.invalidate = door_invalidate,
	.local_op = door_local_op,
};
