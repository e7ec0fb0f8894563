// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The fixture of the protocol suites; see fixture.h. */
#include "fixture.h"

/* ---- memory --------------------------------------------------------------- */

static enum shca_mem_status fx_remote_check(void *ctx, u32 rkey, u64 va,
					    u32 len, u32 access)
{
	struct fx *fx = ctx;

	fx->nr_check++;
	fx->last_rkey = rkey;
	fx->last_va = va;
	fx->last_len = len;
	fx->last_access = access;
	return fx->check;
}

static enum shca_mem_status fx_remote_write(void *ctx, u32 rkey, u64 va,
					    const struct shca_pkt *pkt)
{
	struct fx *fx = ctx;

	fx->nr_write++;
	fx->last_rkey = rkey;
	fx->last_va = va;
	fx->last_len = pkt->paylen;
	return fx->write;
}

static enum shca_mem_status fx_remote_atomic(void *ctx,
					     const struct shca_pkt *pkt,
					     u64 *orig)
{
	struct fx *fx = ctx;

	fx->nr_atomic++;
	if (fx->atomic == SHCA_MEM_OK)
		*orig = fx->atomic_value++;
	return fx->atomic;
}

static enum shca_mem_status fx_atomic_write(void *ctx,
					    const struct shca_pkt *pkt)
{
	struct fx *fx = ctx;

	fx->nr_atomic_write++;
	return fx->bare;
}

static enum shca_mem_status fx_flush(void *ctx, const struct shca_pkt *pkt)
{
	struct fx *fx = ctx;

	fx->nr_flush++;
	return fx->bare;
}

static enum shca_mem_status fx_local_scatter(void *ctx,
					     const struct shca_sge *sge,
					     u32 nr, u32 off,
					     const struct shca_pkt *pkt)
{
	struct fx *fx = ctx;

	fx->nr_scatter++;
	fx->last_off = off;
	fx->last_data_off = pkt->data_off;
	fx->last_len = pkt->paylen;
	return fx->scatter;
}

static enum shca_mem_status fx_local_store(void *ctx,
					   const struct shca_sge *sge, u32 nr,
					   const void *buf, u32 len)
{
	struct fx *fx = ctx;

	fx->nr_store++;
	fx->last_len = len;
	memcpy(&fx->last_stored, buf, sizeof(fx->last_stored));
	return fx->store;
}

static enum shca_recv_status fx_recv_get(void *ctx, struct shca_recv_wr *wr)
{
	struct fx *fx = ctx;

	if (!fx->recvs)
		return SHCA_RECV_EMPTY;
	if (fx->recv == SHCA_RECV_BROKEN)
		return SHCA_RECV_BROKEN;
	fx->recvs--;
	wr->wr_id = 1000 + fx->nr_recv++;
	wr->num_sge = 1;
	wr->length = fx->recv_len;
	wr->sge[0].length = fx->recv_len;
	return fx->recv;
}

static u32 fx_recv_count(void *ctx)
{
	return ((struct fx *)ctx)->recvs;
}

static enum shca_recv_status fx_tm_get(void *ctx, const struct shca_tm_msg *msg,
				       struct shca_recv_wr *wr, bool *matched)
{
	enum shca_recv_status status;
	struct fx *fx = ctx;
	u16 slot;

	slot = shca_tm_match(&fx->tm, msg->tmh.tag);
	*matched = slot != SHCA_TM_NIL;
	if (!*matched) {
		status = fx_recv_get(ctx, wr);
		if (status == SHCA_RECV_OK)
			fx->tm.unexpected++;
		return status;
	}
	wr->wr_id = fx->tags[slot].wr_id;
	wr->num_sge = 1;
	wr->sge[0] = fx->tags[slot].sge;
	wr->length = wr->sge[0].length;
	shca_tm_free(&fx->tm, slot);
	return SHCA_RECV_OK;
}

static void fx_tm_undo(void *ctx)
{
	struct fx *fx = ctx;

	shca_tm_undo(&fx->tm);
}

static void fx_payload(void *ctx, const struct shca_pkt *pkt, void *buf,
		       u32 len)
{
	struct fx *fx = ctx;

	memcpy(buf, fx->payload, len);
}

static enum shca_mem_status fx_grh_store(void *ctx, const struct shca_sge *sge,
					 u32 nr, const struct shca_pkt *pkt)
{
	struct fx *fx = ctx;

	fx->nr_grh++;
	return fx->store;
}

static bool fx_xrc_select(void *ctx, u32 srqn)
{
	struct fx *fx = ctx;

	fx->nr_select++;
	fx->last_srqn = srqn;
	if (fx->srq_gone)
		return false;
	return srqn == FX_SRQN || srqn == FX_SRQN + 1;
}

static bool fx_invalidate(void *ctx, u32 rkey)
{
	struct fx *fx = ctx;

	fx->nr_inv++;
	fx->last_rkey = rkey;
	return fx->inv_ok;
}

static enum shca_wc_status fx_local_op(void *ctx,
				       const struct shca_send_wr *wr)
{
	struct fx *fx = ctx;

	fx->nr_local++;
	return fx->local;
}

static const struct shca_mem_ops fx_mem_ops = {
	.remote_check = fx_remote_check,
	.remote_write = fx_remote_write,
	.remote_atomic = fx_remote_atomic,
	.remote_atomic_write = fx_atomic_write,
	.remote_flush = fx_flush,
	.local_scatter = fx_local_scatter,
	.local_store = fx_local_store,
	.grh_store = fx_grh_store,
	.recv_get = fx_recv_get,
	.recv_count = fx_recv_count,
	.tm_get = fx_tm_get,
	.tm_undo = fx_tm_undo,
	.payload = fx_payload,
	.xrc_select = fx_xrc_select,
	.invalidate = fx_invalidate,
	.local_op = fx_local_op,
};

int fx_init(struct kunit *test)
{
	struct fx *fx = kunit_kzalloc(test, sizeof(*fx), GFP_KERNEL);
	struct shca_resp_attr resp_attr;
	struct shca_req_attr req_attr;

	if (!fx)
		return -1;
	test->priv = fx;
	fx->now = 1000;
	fx->recvs = 100;
	fx->recv_len = 1 << 20;
	fx->inv_ok = true;
	shca_req_init(&fx->req, fx->ring, FX_ENTRIES, FX_STRIDE, &fx_mem_ops,
		      fx);
	shca_resp_init(&fx->resp, fx->rd, FX_RDS, &fx_mem_ops, fx);
	shca_tm_init(&fx->tm, fx->tags, FX_TAGS);
	fx_req_attr(&req_attr);
	fx_resp_attr(&resp_attr);
	fx_req_start(fx, &req_attr);
	fx_resp_start(fx, &resp_attr);
	return 0;
}

/* ---- requester ------------------------------------------------------------ */

void fx_req_attr(struct shca_req_attr *attr)
{
	memset(attr, 0, sizeof(*attr));
	attr->mtu = FX_MTU;
	attr->sq_psn = FX_SQ_PSN;
	attr->dqpn = 0x77;
	attr->pkey = 0xffff;
	attr->timeout_ns = FX_TIMEOUT;
	attr->retry_cnt = 3;
	attr->rnr_retry = 3;
	attr->max_rd_atomic = 4;
	attr->peer = SHCA_PEER_FLUSHES_ACKS;
	attr->ecn = true;
}

void fx_req_start(struct fx *fx, const struct shca_req_attr *attr)
{
	shca_req_reset(&fx->req);
	shca_req_start(&fx->req, attr);
	/* as in the midst of a life: see req_start_of_life() for its beginning */
	fx->req.ackreq.heard = true;
}

struct shca_send_wr *fx_post_flags(struct fx *fx, u8 opcode, u32 len,
				   u16 flags)
{
	struct shca_send_wr *wr = shca_req_slot(&fx->req);

	if (!wr)
		return NULL;
	memset(wr, 0, FX_STRIDE);
	wr->wr_id = fx->req.ring.prod;
	wr->opcode = opcode;
	wr->num_sge = 1;
	wr->flags = flags;
	wr->imm = 0xaabbccdd;
	wr->length = len;
	wr->rdma.rkey = 0x1234;	/* and of all that begin like it */
	wr->rdma.remote_addr = 0x10000;
	wr->sge[0].length = len;
	shca_req_post(&fx->req);
	return wr;
}

struct shca_send_wr *fx_post(struct fx *fx, u8 opcode, u32 len)
{
	return fx_post_flags(fx, opcode, len, SHCA_SEND_SIGNALED);
}

bool fx_next(struct fx *fx)
{
	/* (kernel/queue asks it first) */
	bool may = shca_req_may_send(&fx->req);

	return shca_req_next(&fx->req, fx->now, &fx->pkt) && may;
}

u32 fx_drain(struct fx *fx)
{
	u32 nr = 0;

	while (nr < 100000 && fx_next(fx))
		nr++;
	return nr;
}

bool fx_pop(struct fx *fx)
{
	return shca_req_pop(&fx->req, &fx->wc);
}

enum shca_verdict fx_ack(struct fx *fx, u32 psn, u8 syndrome)
{
	struct shca_pkt pkt;

	memset(&pkt, 0, sizeof(pkt));
	pkt.opcode = SHCA_OP_ACK;
	pkt.psn = psn & SHCA_PSN_MASK;
	pkt.aeth.syndrome = syndrome;
	/* a number of messages, or the cause of the answer: none that is outstanding */
	pkt.aeth.msn = (psn - 1) & SHCA_PSN_MASK;
	return shca_req_rx(&fx->req, &pkt, fx->now);
}

enum shca_verdict fx_read_resp(struct fx *fx, u8 opcode, u32 psn, u32 len)
{
	struct shca_pkt pkt;

	memset(&pkt, 0, sizeof(pkt));
	pkt.opcode = opcode;
	pkt.psn = psn & SHCA_PSN_MASK;
	pkt.aeth.syndrome = SHCA_AETH_ACK | SHCA_AETH_CREDIT_NONE;
	pkt.paylen = len;
	pkt.pad = shca_hdr_pad(len);
	return shca_req_rx(&fx->req, &pkt, fx->now);
}

enum shca_verdict fx_atomic_ack(struct fx *fx, u32 psn, u64 value)
{
	struct shca_pkt pkt;

	memset(&pkt, 0, sizeof(pkt));
	pkt.opcode = SHCA_OP_ATOMIC_ACK;
	pkt.psn = psn & SHCA_PSN_MASK;
	pkt.aeth.syndrome = SHCA_AETH_ACK | SHCA_AETH_CREDIT_NONE;
	pkt.atomic_ack = value;
	return shca_req_rx(&fx->req, &pkt, fx->now);
}

void fx_timeout(struct fx *fx)
{
	u64 at = shca_req_deadline(&fx->req);

	if (at > fx->now)
		fx->now = at;
	shca_req_timer(&fx->req, fx->now);
}

/* ---- responder ------------------------------------------------------------ */

void fx_resp_attr(struct shca_resp_attr *attr)
{
	memset(attr, 0, sizeof(*attr));
	attr->mtu = FX_MTU;
	attr->rq_psn = FX_RQ_PSN;
	attr->dqpn = 0x88;
	attr->pkey = 0xffff;
	attr->access = SHCA_ACCESS_REMOTE_WRITE | SHCA_ACCESS_REMOTE_READ |
		       SHCA_ACCESS_REMOTE_ATOMIC | SHCA_ACCESS_FLUSH_GLOBAL;
	attr->min_rnr_timer = 12;
	attr->max_dest_rd_atomic = 4;
}

void fx_resp_start(struct fx *fx, const struct shca_resp_attr *attr)
{
	shca_resp_reset(&fx->resp);
	shca_resp_start(&fx->resp, attr);
}

void fx_request(struct shca_pkt *pkt, u8 opcode, u32 psn, u32 len)
{
	u32 flags = shca_opcode_info(opcode)->flags;

	memset(pkt, 0, sizeof(*pkt));
	pkt->opcode = opcode;
	pkt->psn = psn & SHCA_PSN_MASK;
	pkt->dqpn = 0x99;
	pkt->pkey = 0xffff;
	pkt->mig = true;
	pkt->reth.va = 0x20000;
	pkt->reth.rkey = 0x4321;
	pkt->reth.len = len;
	pkt->feth.type = SHCA_FLUSH_GLOBAL;
	pkt->atomic.va = 0x20000;
	pkt->atomic.rkey = 0x4321;
	pkt->imm = 0x01020304;
	pkt->xrc_srqn = FX_SRQN;
	pkt->inv_rkey = 0x5555;
	if (flags & SHCA_OPF_PAYLOAD) {
		pkt->paylen = len;
		pkt->pad = shca_hdr_pad(len);
	}
}

enum shca_verdict fx_rx(struct fx *fx, const struct shca_pkt *pkt)
{
	return shca_resp_rx(&fx->resp, pkt, fx->now, &fx->out);
}

enum shca_verdict fx_rx_op(struct fx *fx, u8 opcode, u32 psn, u32 len)
{
	struct shca_pkt pkt;

	fx_request(&pkt, opcode, psn, len);
	return fx_rx(fx, &pkt);
}

enum shca_verdict fx_rx_asking(struct fx *fx, u8 opcode, u32 psn, u32 len)
{
	struct shca_pkt pkt;

	fx_request(&pkt, opcode, psn, len);
	pkt.ackreq = true;
	return fx_rx(fx, &pkt);
}

bool fx_answer(struct fx *fx)
{
	return shca_resp_next(&fx->resp, fx->now, &fx->pkt);
}

void fx_expect_silence(struct kunit *test)
{
	KUNIT_EXPECT_FALSE(test, fx_answer(test->priv));
}

void fx_expect_ack(struct kunit *test, u32 psn, u8 syndrome)
{
	struct fx *fx = test->priv;

	KUNIT_ASSERT_TRUE(test, fx_answer(fx));
	KUNIT_EXPECT_EQ(test, fx->pkt.opcode & ~SHCA_TRANSPORT_MASK,
			SHCA_OP_ACK);
	KUNIT_EXPECT_EQ(test, fx->pkt.psn, psn);
	KUNIT_EXPECT_EQ(test, fx->pkt.pkey, 0xffff);
	KUNIT_EXPECT_EQ(test, fx->pkt.aeth.syndrome, syndrome);
	fx_expect_silence(test);
}
