// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Messages with tags over a link that loses, copies and swaps packets, while buffers
 * with tags come, go and are waited for.  What each message must find is told by a
 * plain list, at the moment when its first packet is executed.
 */
#include "fixture.h"

#define MTU		256
#define MSGS		60
#define TAGS		7
#define SLOT		900
#define WIRE		(SHCA_HDR_MAX + MTU + SHCA_ICRC_BYTES)
#define QUEUE		256
#define STRIDE		256
#define MAX_ROUNDS	200000
/* bits of a tag that messages have and buffers may not look at */
#define ANY		0xff00ull

/*
 * A buffer with a tag, in the plain list while @posted.
 * @waits:	for the poster to have handled what was unexpected before
 */
struct tg_buf {
	u64 tag;
	u64 mask;
	u32 handle;
	bool posted;
	bool waits;
	u8 mem[SLOT];
};

/*
 * A message, and what it has found.
 * @buf:	number of the buffer with a tag, -1: none
 * @recv:	number of the receive, -1: none
 */
struct tg_msg {
	u64 tag;
	u32 len;
	u8 kind;
	int buf;
	int recv;
	bool got;
	u8 bytes[SLOT];
};

struct tg_pkt {
	bool to_resp;
	u32 len;
	u8 buf[WIRE];
};

struct tg {
	struct shca_req req;
	struct shca_resp resp;
	struct shca_rd rd[4];
	u64 ring[16 * STRIDE / 8];
	struct shca_tm tm;
	struct shca_tm_entry slots[TAGS];
	struct tg_msg msg[MSGS];
	struct tg_buf buf[2 * MSGS];
	u8 recv[MSGS][SLOT];
	struct tg_pkt queue[QUEUE];
	u32 head;
	u32 tail;
	u32 order[2 * MSGS];	/* the plain list: numbers of buffers */
	u32 nr_order;
	u32 nr_buf;
	u32 posted;
	u32 sent;
	u32 recvs;		/* posted */
	u32 taken;
	u32 completed;
	u32 unexpected;		/* by the plain list */
	u32 told;		/* completions of unexpected messages */
	u64 now;
	u64 rng;
	u32 loss;
	u32 dup;
	u32 swap;
	u32 absent;
	struct kunit *test;
};

struct tg_row {
	u32 seed;
	u32 loss;	/* permille */
	u32 dup;
	u32 swap;
	u32 absent;
};

static const struct tg_row tg_rows[] = {
	{ 1, 0, 0, 0, 0 }, { 2, 0, 0, 0, 0 }, { 3, 0, 100, 0, 0 },
	{ 4, 0, 0, 200, 0 }, { 5, 20, 0, 0, 0 }, { 6, 50, 50, 50, 0 },
	{ 7, 100, 0, 0, 0 }, { 8, 0, 0, 0, 300 }, { 9, 30, 30, 30, 100 },
	{ 10, 100, 100, 100, 30 }, { 11, 10, 300, 0, 10 },
	{ 12, 5, 5, 5, 5 },
};

static void tg_desc(const struct tg_row *row, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE,
		 "seed %u loss %u dup %u swap %u absent %u", row->seed,
		 row->loss, row->dup, row->swap, row->absent);
}

KUNIT_ARRAY_PARAM(tg, tg_rows, tg_desc);

static u32 tg_random(struct tg *tg, u32 below)
{
	tg->rng = tg->rng * 6364136223846793005ull + 1442695040888963407ull;
	return (u32)(tg->rng >> 33) % below;
}

static bool tg_chance(struct tg *tg, u32 permille)
{
	return tg_random(tg, 1000) < permille;
}

/* ---- the plain list ---------------------------------------------------------- */

static void tg_forget(struct tg *tg, u32 at)
{
	for (tg->nr_order--; at < tg->nr_order; at++)
		tg->order[at] = tg->order[at + 1];
}

/* The first buffer in the order of posting that fits and does not wait; -1: none. */
static int tg_find(struct tg *tg, u64 tag)
{
	const struct tg_buf *b;
	u32 i;

	for (i = 0; i < tg->nr_order; i++) {
		b = &tg->buf[tg->order[i]];
		if (!b->waits && (tag & b->mask) == b->tag)
			return i;
	}
	return -1;
}

/* ---- the poster --------------------------------------------------------------- */

static void tg_add(struct tg *tg)
{
	struct tg_buf *b = &tg->buf[tg->nr_buf];
	struct shca_tm_entry e;

	if (tg->nr_buf == ARRAY_SIZE(tg->buf))
		return;
	b->tag = tg_random(tg, 4);
	b->mask = tg_chance(tg, 700) ? ~ANY : 1;
	b->tag &= b->mask;
	memset(&e, 0, sizeof(e));
	e.tag = b->tag;
	e.mask = b->mask;
	e.wr_id = tg->nr_buf;
	e.sge.addr = (unsigned long)b->mem;
	e.sge.length = SLOT;
	KUNIT_ASSERT_EQ(tg->test, shca_tm_take(&tg->tm, &b->handle), tg->nr_order < TAGS);
	if (tg->nr_order == TAGS)
		return;
	shca_tm_post(&tg->tm, &e, b->handle);
	b->posted = true;
	b->waits = tg->unexpected != tg->tm.handled;
	tg->order[tg->nr_order++] = tg->nr_buf++;
}

/* Any of them that was ever there: it can be taken back if it is still. */
static void tg_del(struct tg *tg)
{
	struct tg_buf *b;
	u32 nr, i;

	if (!tg->nr_buf)
		return;
	nr = tg_random(tg, tg->nr_buf);
	b = &tg->buf[nr];
	KUNIT_ASSERT_EQ(tg->test, shca_tm_del(&tg->tm, b->handle), b->posted);
	if (!b->posted)
		return;
	b->posted = false;
	for (i = 0; tg->order[i] != nr; i++)
		;
	tg_forget(tg, i);
}

/* The poster has handled those of which it was told. */
static void tg_sync(struct tg *tg)
{
	u32 i;

	shca_tm_sync(&tg->tm, tg->told);
	KUNIT_ASSERT_EQ(tg->test, shca_tm_in_sync(&tg->tm),
			tg->told == tg->unexpected);
	if (tg->told != tg->unexpected)
		return;
	for (i = 0; i < tg->nr_order; i++)
		tg->buf[tg->order[i]].waits = false;
}

static void tg_poster(struct tg *tg)
{
	switch (tg_random(tg, 60)) {
	case 0: case 1: case 2:
		tg_add(tg);
		break;
	case 3:
		tg_del(tg);
		break;
	case 4: case 5:
		tg_sync(tg);
		break;
	case 6: case 7:
		if (tg->recvs < MSGS)
			tg->recvs++;
		break;
	}
}

/* ---- memory -------------------------------------------------------------------- */

static enum shca_mem_status tg_scatter(void *ctx, const struct shca_sge *sge,
				       u32 nr, u32 off,
				       const struct shca_pkt *pkt)
{
	struct tg *tg = ctx;

	if (tg_chance(tg, tg->absent))
		return SHCA_MEM_RETRY;
	if (off + pkt->paylen > sge->length)
		return SHCA_MEM_RANGE;
	memcpy((u8 *)(unsigned long)sge->addr + off,
	       (u8 *)pkt->data + pkt->data_off, pkt->paylen);
	return SHCA_MEM_OK;
}

static void tg_payload(void *ctx, const struct shca_pkt *pkt, void *buf,
		       u32 len)
{
	memcpy(buf, (u8 *)pkt->data + pkt->data_off, len);
}

/* A receive for the message that is executed now: all before it have one. */
static enum shca_recv_status tg_recv_get(void *ctx, struct shca_recv_wr *wr)
{
	struct tg *tg = ctx;
	struct tg_msg *m = &tg->msg[tg->completed];

	if (tg->taken == tg->recvs)
		return SHCA_RECV_EMPTY;
	KUNIT_EXPECT_FALSE(tg->test, m->got);
	m->got = true;
	m->recv = tg->taken;
	wr->wr_id = 1000 + tg->taken;
	wr->num_sge = 1;
	wr->length = SLOT;
	wr->sge[0].addr = (unsigned long)tg->recv[tg->taken++];
	wr->sge[0].length = SLOT;
	return SHCA_RECV_OK;
}

static enum shca_recv_status tg_tm_get(void *ctx, const struct shca_tm_msg *msg,
				       struct shca_recv_wr *wr, bool *matched)
{
	struct tg *tg = ctx;
	struct tg_msg *m = &tg->msg[tg->completed];
	enum shca_recv_status status;
	int at = tg_find(tg, m->tag);
	u16 slot;

	KUNIT_EXPECT_EQ(tg->test, m->kind, SHCA_TMH_EAGER);
	KUNIT_EXPECT_EQ(tg->test, msg->tmh.tag, m->tag);
	KUNIT_EXPECT_EQ(tg->test, msg->tmh.app_ctx, tg->completed);
	slot = shca_tm_match(&tg->tm, msg->tmh.tag);
	*matched = slot != SHCA_TM_NIL;
	KUNIT_EXPECT_EQ(tg->test, *matched, at >= 0);
	if (!*matched || at < 0) {
		status = tg_recv_get(ctx, wr);
		if (status == SHCA_RECV_OK) {
			tg->unexpected++;
			tg->tm.unexpected++;
		}
		return status;
	}
	KUNIT_EXPECT_FALSE(tg->test, m->got);
	KUNIT_EXPECT_EQ(tg->test, tg->slots[slot].wr_id,
			(u64)tg->order[at]);
	m->got = true;
	m->buf = tg->order[at];
	tg->buf[m->buf].posted = false;
	tg_forget(tg, at);
	wr->wr_id = tg->slots[slot].wr_id;
	wr->num_sge = 1;
	wr->sge[0] = tg->slots[slot].sge;
	wr->length = wr->sge[0].length;
	shca_tm_free(&tg->tm, slot);
	return SHCA_RECV_OK;
}

static void tg_undo(void *ctx)
{
	struct tg *tg = ctx;

	/* (no message breaks off here) */
	KUNIT_EXPECT_TRUE(tg->test, false);
}

static const struct shca_mem_ops tg_mem_ops = {
	.local_scatter = tg_scatter,
	.recv_get = tg_recv_get,
	.tm_get = tg_tm_get,
	.tm_undo = tg_undo,
	.payload = tg_payload,
};

/* ---- the link --------------------------------------------------------------------- */

static void tg_send(struct tg *tg, const struct shca_pkt *pkt, bool to_resp)
{
	struct tg_pkt *out = &tg->queue[tg->tail % QUEUE];
	u32 hdr, last;

	if (tg->tail - tg->head == QUEUE || tg_chance(tg, tg->loss))
		return;
	out->to_resp = to_resp;
	hdr = shca_hdr_build(pkt, out->buf);
	if (pkt->kind == SHCA_PAY_WR)
		memcpy(out->buf + hdr,
		       (u8 *)(unsigned long)pkt->wr->sge[0].addr + pkt->off,
		       pkt->paylen);
	out->len = hdr + pkt->paylen + pkt->pad + SHCA_ICRC_BYTES;
	last = tg->tail++;
	if (last != tg->head && tg_chance(tg, tg->swap))
		swap(tg->queue[last % QUEUE], tg->queue[(last - 1) % QUEUE]);
	if (tg->tail - tg->head < QUEUE && tg_chance(tg, tg->dup))
		tg->queue[tg->tail++ % QUEUE] = tg->queue[last % QUEUE];
}

/* ---- completions --------------------------------------------------------------------- */

static void tg_check_bytes(struct tg *tg, const u8 *p, const u8 *want, u32 len)
{
	u32 i;

	if (len)
		KUNIT_EXPECT_MEMEQ(tg->test, p, want, len);
	for (i = len; i < SLOT; i++)
		KUNIT_ASSERT_EQ(tg->test, p[i], 0);
}

static void tg_complete(struct tg *tg, const struct shca_wc *wc)
{
	const struct tg_msg *m = &tg->msg[tg->completed++];
	struct kunit *test = tg->test;

	KUNIT_ASSERT_TRUE(test, tg->completed <= MSGS);
	KUNIT_ASSERT_TRUE(test, m->got);
	KUNIT_EXPECT_EQ(test, wc->status, SHCA_WC_SUCCESS);
	if (m->buf >= 0) {
		KUNIT_EXPECT_EQ(test, wc->opcode, SHCA_WC_TM_RECV);
		KUNIT_EXPECT_EQ(test, wc->wc_flags,
				SHCA_WC_TM_MATCH | SHCA_WC_TM_DATA_VALID);
		KUNIT_EXPECT_EQ(test, wc->wr_id, (u64)m->buf);
		KUNIT_EXPECT_EQ(test, wc->byte_len, m->len - SHCA_TMH_BYTES);
		KUNIT_EXPECT_EQ(test, wc->tm_tag, m->tag);
		KUNIT_EXPECT_EQ(test, wc->tm_priv, tg->completed - 1);
		tg_check_bytes(tg, tg->buf[m->buf].mem,
			       m->bytes + SHCA_TMH_BYTES,
			       m->len - SHCA_TMH_BYTES);
		return;
	}
	KUNIT_EXPECT_EQ(test, wc->opcode, m->kind == SHCA_TMH_EAGER ?
			SHCA_WC_TM_RECV : SHCA_WC_TM_NO_TAG);
	KUNIT_EXPECT_EQ(test, wc->wc_flags, 0u);
	KUNIT_EXPECT_EQ(test, wc->wr_id, 1000ull + m->recv);
	KUNIT_EXPECT_EQ(test, wc->byte_len, m->len);
	tg_check_bytes(tg, tg->recv[m->recv], m->bytes, m->len);
	tg->told += m->kind == SHCA_TMH_EAGER;
}

/* ---- both ends ------------------------------------------------------------------------- */

static void tg_receive(struct tg *tg, struct tg_pkt *in)
{
	struct shca_resp_out out;
	struct shca_pkt pkt;

	memset(&pkt, 0, sizeof(pkt));
	KUNIT_ASSERT_EQ(tg->test, shca_hdr_parse(&pkt, in->buf, in->len,
						 in->len), SHCA_PARSE_OK);
	pkt.data = in->buf;
	if (!in->to_resp) {
		shca_req_rx(&tg->req, &pkt, tg->now);
		return;
	}
	/* what is to come again is lost: its sender repeats it */
	shca_resp_rx(&tg->resp, &pkt, tg->now, &out);
	if (out.has_wc)
		tg_complete(tg, &out.wc);
}

static void tg_post(struct tg *tg)
{
	struct shca_send_wr *wr = shca_req_slot(&tg->req);
	struct tg_msg *m = &tg->msg[tg->posted];

	if (tg->posted == MSGS || !wr)
		return;
	memset(wr, 0, STRIDE);
	wr->wr_id = tg->posted++;
	wr->opcode = SHCA_WR_SEND;
	wr->flags = SHCA_SEND_SIGNALED;
	wr->length = m->len;
	wr->num_sge = 1;
	wr->sge[0].addr = (unsigned long)m->bytes;
	wr->sge[0].length = m->len;
	shca_req_post(&tg->req);
}

static void tg_pump(struct tg *tg)
{
	struct shca_pkt pkt;
	struct shca_wc wc;

	while (shca_resp_next(&tg->resp, tg->now, &pkt))
		tg_send(tg, &pkt, false);
	while (shca_req_next(&tg->req, tg->now, &pkt))
		tg_send(tg, &pkt, true);
	while (shca_req_pop(&tg->req, &wc)) {
		KUNIT_ASSERT_EQ(tg->test, wc.status, SHCA_WC_SUCCESS);
		KUNIT_ASSERT_EQ(tg->test, wc.wr_id, (u64)tg->sent);
		tg->sent++;
	}
}

static void tg_plan(struct tg *tg)
{
	struct shca_tmh tmh;
	struct tg_msg *m;
	u32 i, k;

	for (i = 0; i < MSGS; i++) {
		m = &tg->msg[i];
		m->buf = -1;
		m->recv = -1;
		m->kind = tg_chance(tg, 850) ? SHCA_TMH_EAGER :
					       SHCA_TMH_NO_TAG;
		m->tag = tg_random(tg, 4) | (u64)tg_random(tg, 256) << 8;
		m->len = SHCA_TMH_BYTES +
			 tg_random(tg, SLOT - SHCA_TMH_BYTES + 1);
		for (k = 0; k < m->len; k++)
			m->bytes[k] = i * 17 + k * 7 + (k >> 8) + 1;
		tmh = (struct shca_tmh){ .tag = m->tag, .app_ctx = i,
					 .opcode = m->kind };
		shca_tmh_build(&tmh, m->bytes);
	}
}

static struct tg *tg_begin(struct kunit *test, const struct tg_row *row)
{
	struct tg *tg = kunit_kzalloc(test, sizeof(*tg), GFP_KERNEL);
	struct shca_resp_attr resp_attr;
	struct shca_req_attr req_attr;

	if (!tg)
		return NULL;
	tg->test = test;
	tg->rng = row->seed;
	tg->loss = row->loss;
	tg->dup = row->dup;
	tg->swap = row->swap;
	tg->absent = row->absent;
	tg->now = 1;
	shca_tm_init(&tg->tm, tg->slots, TAGS);
	shca_req_init(&tg->req, tg->ring, 16, STRIDE, &tg_mem_ops, tg);
	shca_resp_init(&tg->resp, tg->rd, 4, &tg_mem_ops, tg);
	fx_req_attr(&req_attr);
	req_attr.sq_psn = 0xfffff0;
	req_attr.retry_cnt = 7;
	req_attr.rnr_retry = 7;
	fx_resp_attr(&resp_attr);
	resp_attr.rq_psn = 0xfffff0;
	resp_attr.recvs = SHCA_RECVS_TM;
	shca_req_start(&tg->req, &req_attr);
	shca_resp_start(&tg->resp, &resp_attr);
	tg_plan(tg);
	return tg;
}

static void tags_with_faults_match_as_a_plain_list(struct kunit *test)
{
	struct tg *tg = tg_begin(test, test->param_value);
	u32 rounds = 0, i;
	u64 at;

	KUNIT_ASSERT_NOT_NULL(test, tg);
	while (tg->sent < MSGS) {
		KUNIT_ASSERT_TRUE(test, rounds++ < MAX_ROUNDS);
		tg_poster(tg);
		if (!tg_random(tg, 8))
			tg_post(tg);
		tg_pump(tg);
		tg->now += 1000;
		if (tg->head != tg->tail) {
			tg_receive(tg, &tg->queue[tg->head++ % QUEUE]);
			continue;
		}
		at = shca_req_deadline(&tg->req);
		if (at && !tg_random(tg, 4)) {
			tg->now = max_t(u64, tg->now, at);
			shca_req_timer(&tg->req, tg->now);
		}
	}
	KUNIT_EXPECT_EQ(test, tg->completed, MSGS);
	KUNIT_EXPECT_EQ(test, tg->tm.unexpected, tg->unexpected);
	KUNIT_EXPECT_EQ(test, tg->told, tg->unexpected);
	/* what nobody got is as it was, and still there */
	for (i = 0; i < tg->nr_order; i++) {
		tg_check_bytes(tg, tg->buf[tg->order[i]].mem, NULL, 0);
		KUNIT_EXPECT_TRUE(test, shca_tm_del(&tg->tm,
				  tg->buf[tg->order[i]].handle));
	}
	KUNIT_EXPECT_EQ(test, tg->tm.first, SHCA_TM_NIL);
	/* (the run was one of both kinds) */
	KUNIT_EXPECT_GT(test, tg->unexpected, 0u);
	KUNIT_EXPECT_LT(test, tg->unexpected, MSGS / 2u);
}

static struct kunit_case tag_matching_link_cases[] = {
	KUNIT_CASE_PARAM(tags_with_faults_match_as_a_plain_list, tg_gen_params),
	{}
};

static struct kunit_suite tag_matching_link_suite = {
	.name = "softhca_tag_matching_link",
	.test_cases = tag_matching_link_cases,
};

kunit_test_suites(&tag_matching_link_suite);
