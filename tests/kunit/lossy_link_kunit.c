// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The whole protocol over a lossy link in memory: two sides, both directions at
 * once, encoded packets.  A small cousin of tests/userspace/core/sim, which
 * also runs in the kernel, with its compiler, its word size and its checkers.
 */
#include "fixture.h"

#define MTU		256
#define OPS		40
#define SLOT		640
#define WIRE		(SHCA_HDR_MAX + MTU + SHCA_ICRC_BYTES)
#define QUEUE		512
#define MAX_ROUNDS	100000
#define STRIDE		256

struct lp_pkt {
	u32 to;
	u32 len;
	u8 buf[WIRE];
};

struct lp_side {
	struct lp *lp;
	struct shca_req req;
	struct shca_resp resp;
	struct shca_rd rd[8];
	u64 ring[16 * STRIDE / 8];
	u8 opcode[OPS];
	u32 len[OPS];
	u32 posted;
	u32 done;
	u32 recvs_wanted;
	u32 recvs_taken;
	u32 recvs_done;
	u32 recv_room;		/* how many may be taken yet */
	u64 counter;
	u32 atomics;
	u8 local[OPS * SLOT];	/* sources and READ targets, by op */
	u8 recv[OPS * SLOT];	/* by receive */
	u8 remote[OPS * SLOT];	/* WRITE targets and READ sources, by op */
};

struct lp {
	struct lp_side side[2];
	struct lp_pkt queue[QUEUE];
	u32 head;
	u32 tail;
	u64 now;
	u64 rng;
	u32 loss;
	u32 dup;
	u32 swap;
	bool overrun;
};

struct lp_row {
	u32 seed;
	u32 loss;	/* permille */
	u32 dup;
	u32 swap;
};

static const struct lp_row lp_rows[] = {
	{ 1, 0, 0, 0 }, { 2, 0, 0, 0 }, { 3, 0, 100, 0 }, { 4, 0, 0, 200 },
	{ 5, 10, 0, 0 }, { 6, 20, 20, 20 }, { 7, 50, 0, 0 }, { 8, 50, 50, 50 },
	{ 9, 100, 0, 0 }, { 10, 100, 100, 100 }, { 11, 20, 0, 100 },
	{ 12, 80, 10, 10 }, { 13, 30, 300, 30 }, { 14, 120, 0, 0 },
	{ 15, 5, 5, 5 }, { 16, 1, 1, 1 },
};

static void lp_desc(const struct lp_row *row, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE,
		 "seed %u loss %u dup %u swap %u", row->seed, row->loss,
		 row->dup, row->swap);
}

KUNIT_ARRAY_PARAM(lp, lp_rows, lp_desc);

static u32 lp_random(struct lp *lp, u32 below)
{
	lp->rng = lp->rng * 6364136223846793005ull + 1442695040888963407ull;
	return (u32)(lp->rng >> 33) % below;
}

static u8 lp_pattern(u32 side, u32 op, u32 i)
{
	return side * 101 + op * 17 + i * 7 + (i >> 8);
}

/* ---- memory ---------------------------------------------------------------- */

static enum shca_mem_status lp_remote_check(void *ctx, u32 rkey, u64 va,
					    u32 len, u32 access)
{
	return va + len <= OPS * SLOT ? SHCA_MEM_OK : SHCA_MEM_RANGE;
}

static enum shca_mem_status lp_remote_write(void *ctx, u32 rkey, u64 va,
					    const struct shca_pkt *pkt)
{
	struct lp_side *s = ctx;
	u8 *from = (u8 *)pkt->data + pkt->data_off;

	memcpy(s->remote + (size_t)va, from, pkt->paylen);
	return SHCA_MEM_OK;
}

static enum shca_mem_status lp_remote_atomic(void *ctx,
					     const struct shca_pkt *pkt,
					     u64 *orig)
{
	struct lp_side *s = ctx;

	*orig = s->counter;
	s->counter += pkt->atomic.swap_add;
	return SHCA_MEM_OK;
}

/* @addr of the one segment is a pointer to its buffer. */
static enum shca_mem_status lp_local_scatter(void *ctx,
					     const struct shca_sge *sge,
					     u32 nr, u32 off,
					     const struct shca_pkt *pkt)
{
	u8 *from = (u8 *)pkt->data + pkt->data_off;

	if (off + pkt->paylen > sge->length)
		return SHCA_MEM_RANGE;
	memcpy((u8 *)(unsigned long)sge->addr + off, from, pkt->paylen);
	return SHCA_MEM_OK;
}

static enum shca_mem_status lp_local_store(void *ctx,
					   const struct shca_sge *sge, u32 nr,
					   const void *buf, u32 len)
{
	memcpy((u8 *)(unsigned long)sge->addr, buf, len);
	return SHCA_MEM_OK;
}

static enum shca_recv_status lp_recv_get(void *ctx, struct shca_recv_wr *wr)
{
	struct lp_side *s = ctx;

	if (s->recvs_taken == s->recv_room)
		return SHCA_RECV_EMPTY;
	wr->wr_id = s->recvs_taken;
	wr->num_sge = 1;
	wr->length = SLOT;
	wr->sge[0].addr = (unsigned long)(s->recv + s->recvs_taken * SLOT);
	wr->sge[0].length = SLOT;
	s->recvs_taken++;
	return SHCA_RECV_OK;
}

static const struct shca_mem_ops lp_mem_ops = {
	.remote_check = lp_remote_check,
	.remote_write = lp_remote_write,
	.remote_atomic = lp_remote_atomic,
	.local_scatter = lp_local_scatter,
	.local_store = lp_local_store,
	.recv_get = lp_recv_get,
};

/* ---- link ------------------------------------------------------------------ */

static void lp_put(struct lp *lp, const struct lp_pkt *pkt)
{
	if (lp->tail - lp->head == QUEUE) {
		lp->overrun = true;
		return;
	}
	lp->queue[lp->tail++ % QUEUE] = *pkt;
}

static void lp_send(struct lp_side *s, const struct shca_pkt *pkt)
{
	u32 side = s == &s->lp->side[1], hdr;
	const struct shca_send_wr *wr = pkt->wr;
	struct lp *lp = s->lp;
	struct lp_pkt *out;
	u32 last;

	/* built in place, so that the stack stays small */
	out = &lp->queue[lp->tail % QUEUE];
	if (lp->tail - lp->head == QUEUE) {
		lp->overrun = true;
		return;
	}
	out->to = !side;
	hdr = shca_hdr_build(pkt, out->buf);
	if (pkt->kind == SHCA_PAY_WR)
		memcpy(out->buf + hdr, (u8 *)(unsigned long)wr->sge[0].addr +
		       pkt->off, pkt->paylen);
	else if (pkt->kind == SHCA_PAY_REMOTE)
		memcpy(out->buf + hdr, s->remote + (size_t)pkt->va, pkt->paylen);
	out->len = hdr + pkt->paylen + pkt->pad + SHCA_ICRC_BYTES;
	if (lp_random(lp, 1000) < lp->loss)
		return;
	lp->tail++;
	if (lp_random(lp, 1000) < lp->dup)
		lp_put(lp, out);
	last = lp->tail - 1;
	if (last != lp->head && lp_random(lp, 1000) < lp->swap)
		swap(lp->queue[last % QUEUE], lp->queue[(last - 1) % QUEUE]);
}

/* ---- sides ----------------------------------------------------------------- */

static void lp_pump(struct kunit *test, struct lp_side *s)
{
	struct shca_pkt pkt;
	struct shca_wc wc;

	while (shca_resp_next(&s->resp, s->lp->now, &pkt))
		lp_send(s, &pkt);
	while (shca_req_next(&s->req, s->lp->now, &pkt))
		lp_send(s, &pkt);
	while (shca_req_pop(&s->req, &wc)) {
		KUNIT_ASSERT_EQ(test, wc.status, SHCA_WC_SUCCESS);
		KUNIT_ASSERT_EQ(test, wc.wr_id, (u64)s->done);
		s->done++;
	}
}

static void lp_receive(struct kunit *test, struct lp *lp, struct lp_pkt *in)
{
	struct lp_side *s = &lp->side[in->to];
	struct shca_resp_out out;
	struct shca_pkt pkt;

	memset(&pkt, 0, sizeof(pkt));
	KUNIT_ASSERT_EQ(test, shca_hdr_parse(&pkt, in->buf, in->len, in->len),
			SHCA_PARSE_OK);
	pkt.data = in->buf;
	if (shca_opcode_info(pkt.opcode)->flags & SHCA_OPF_RESPONSE) {
		shca_req_rx(&s->req, &pkt, lp->now);
		return;
	}
	shca_resp_rx(&s->resp, &pkt, lp->now, &out);
	if (out.has_wc) {
		KUNIT_ASSERT_EQ(test, out.wc.status, SHCA_WC_SUCCESS);
		KUNIT_ASSERT_EQ(test, out.wc.wr_id, (u64)s->recvs_done);
		s->recvs_done++;
	}
}

static void lp_post(struct lp_side *s)
{
	struct shca_send_wr *wr;
	u32 i;

	while (s->posted < OPS) {
		wr = shca_req_slot(&s->req);
		if (!wr)
			return;
		i = s->posted++;
		memset(wr, 0, STRIDE);
		wr->wr_id = i;
		wr->opcode = s->opcode[i];
		wr->flags = SHCA_SEND_SIGNALED;
		wr->length = s->len[i];
		wr->num_sge = 1;
		wr->sge[0].addr = (unsigned long)(s->local + i * SLOT);
		wr->sge[0].length = s->len[i];
		if (wr->opcode == SHCA_WR_ATOMIC_FETCH_AND_ADD)
			wr->atomic.compare_add = 1;
		else
			wr->rdma.remote_addr = i * SLOT;
		shca_req_post(&s->req);
	}
}

static void lp_plan(struct lp *lp, u32 side)
{
	static const u8 opcodes[] = {
		SHCA_WR_SEND, SHCA_WR_SEND_WITH_IMM, SHCA_WR_RDMA_WRITE,
		SHCA_WR_RDMA_WRITE_WITH_IMM, SHCA_WR_RDMA_READ,
		SHCA_WR_ATOMIC_FETCH_AND_ADD,
	};
	struct lp_side *s = &lp->side[side], *peer = &lp->side[!side];
	u32 i, k;

	for (i = 0; i < OPS; i++) {
		s->opcode[i] = opcodes[lp_random(lp, ARRAY_SIZE(opcodes))];
		s->len[i] = lp_random(lp, SLOT + 1);
		if (s->opcode[i] == SHCA_WR_ATOMIC_FETCH_AND_ADD)
			s->len[i] = 8;
		for (k = 0; k < s->len[i]; k++) {
			if (s->opcode[i] == SHCA_WR_RDMA_READ)
				peer->remote[i * SLOT + k] =
					lp_pattern(side, i, k);
			else
				s->local[i * SLOT + k] = lp_pattern(side, i, k);
		}
		if (s->opcode[i] != SHCA_WR_RDMA_WRITE &&
		    s->opcode[i] != SHCA_WR_RDMA_READ &&
		    s->opcode[i] != SHCA_WR_ATOMIC_FETCH_AND_ADD)
			peer->recvs_wanted++;
	}
}

static void lp_start(struct lp *lp, u32 side)
{
	struct lp_side *s = &lp->side[side];
	struct shca_resp_attr resp_attr;
	struct shca_req_attr req_attr;

	s->lp = lp;
	shca_req_init(&s->req, s->ring, 16, STRIDE, &lp_mem_ops, s);
	shca_resp_init(&s->resp, s->rd, 8, &lp_mem_ops, s);
	fx_req_attr(&req_attr);
	req_attr.mtu = MTU;
	req_attr.sq_psn = 0xfffff0 + side;
	req_attr.retry_cnt = 7;
	req_attr.rnr_retry = 7;
	fx_resp_attr(&resp_attr);
	resp_attr.mtu = MTU;
	resp_attr.rq_psn = 0xfffff0 + !side;
	shca_req_start(&s->req, &req_attr);
	shca_resp_start(&s->resp, &resp_attr);
}

/* ---- checks ---------------------------------------------------------------- */

static void lp_check_bytes(struct kunit *test, const u8 *p, u32 side, u32 op,
			   u32 len)
{
	u32 i;

	for (i = 0; i < len; i++)
		KUNIT_ASSERT_EQ(test, p[i], lp_pattern(side, op, i));
	for (; i < SLOT; i++)
		KUNIT_ASSERT_EQ(test, p[i], 0);
}

static void lp_check(struct kunit *test, struct lp *lp, u32 side)
{
	struct lp_side *s = &lp->side[side], *peer = &lp->side[!side];
	u32 i, recv = 0, adds = 0;
	u64 before;

	for (i = 0; i < OPS; i++) {
		switch (s->opcode[i]) {
		case SHCA_WR_SEND:
		case SHCA_WR_SEND_WITH_IMM:
			lp_check_bytes(test, peer->recv + recv++ * SLOT, side,
				       i, s->len[i]);
			break;
		case SHCA_WR_RDMA_WRITE_WITH_IMM:
			recv++;
			fallthrough;
		case SHCA_WR_RDMA_WRITE:
			lp_check_bytes(test, peer->remote + i * SLOT, side, i,
				       s->len[i]);
			break;
		case SHCA_WR_RDMA_READ:
			lp_check_bytes(test, s->local + i * SLOT, side, i,
				       s->len[i]);
			break;
		default:
			memcpy(&before, s->local + i * SLOT, sizeof(before));
			KUNIT_EXPECT_EQ(test, before, (u64)adds);
			adds++;
		}
	}
	KUNIT_EXPECT_EQ(test, peer->counter, (u64)adds);
	KUNIT_EXPECT_EQ(test, peer->recvs_done, recv);
}

/* Nothing is in flight: the next thing that happens is a timer. */
static bool lp_sleep(struct lp *lp)
{
	u64 a = shca_req_deadline(&lp->side[0].req);
	u64 b = shca_req_deadline(&lp->side[1].req);

	if (!a && !b)
		return false;
	lp->now = !a || (b && b < a) ? b : a;
	shca_req_timer(&lp->side[0].req, lp->now);
	shca_req_timer(&lp->side[1].req, lp->now);
	return true;
}

static void loop_with_faults_delivers_everything(struct kunit *test)
{
	const struct lp_row *row = test->param_value;
	struct lp *lp = kunit_kzalloc(test, sizeof(*lp), GFP_KERNEL);
	u32 i, rounds = 0;

	KUNIT_ASSERT_NOT_NULL(test, lp);
	lp->rng = row->seed;
	lp->loss = row->loss;
	lp->dup = row->dup;
	lp->swap = row->swap;
	lp->now = 1;
	lp_plan(lp, 0);
	lp_plan(lp, 1);
	lp_start(lp, 0);
	lp_start(lp, 1);
	while (lp->side[0].done < OPS || lp->side[1].done < OPS) {
		KUNIT_ASSERT_TRUE(test, rounds++ < MAX_ROUNDS);
		for (i = 0; i < 2; i++) {
			lp_post(&lp->side[i]);
			/* receives come late, one by one */
			if (lp->side[i].recv_room < lp->side[i].recvs_wanted &&
			    !lp_random(lp, 20))
				lp->side[i].recv_room++;
			lp_pump(test, &lp->side[i]);
		}
		lp->now += 1000;
		if (lp->head != lp->tail)
			lp_receive(test, lp, &lp->queue[lp->head++ % QUEUE]);
		else if (!lp_sleep(lp))
			KUNIT_ASSERT_TRUE(test, lp->side[0].done == OPS &&
					  lp->side[1].done == OPS);
	}
	KUNIT_EXPECT_FALSE(test, lp->overrun);
	lp_check(test, lp, 0);
	lp_check(test, lp, 1);
}

static struct kunit_case lossy_link_cases[] = {
	KUNIT_CASE_PARAM(loop_with_faults_delivers_everything, lp_gen_params),
	{}
};

static struct kunit_suite lossy_link_suite = {
	.name = "softhca_lossy_link",
	.test_cases = lossy_link_cases,
};

kunit_test_suites(&lossy_link_suite);
