// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The fast path against packets: two pairs of a requester and a responder do the
 * same, one pair by packets.  All that outlives a message must then be equal.
 */
#include "fixture.h"

#include "../../kernel/core/requester/fast.h"

struct fast_row {
	u8 opcode;
	u32 len;
	u16 flags;
};

static const struct fast_row fast_rows[] = {
	{ SHCA_WR_SEND, 0, SHCA_SEND_SIGNALED },
	{ SHCA_WR_SEND, 8, SHCA_SEND_SIGNALED | SHCA_SEND_SOLICITED },
	{ SHCA_WR_SEND, FX_MTU, 0 },
	{ SHCA_WR_SEND_WITH_IMM, 3, SHCA_SEND_SIGNALED },
	{ SHCA_WR_RDMA_WRITE, 0, SHCA_SEND_SIGNALED },
	{ SHCA_WR_RDMA_WRITE, 8, SHCA_SEND_FENCE },
	{ SHCA_WR_RDMA_WRITE_WITH_IMM, FX_MTU, SHCA_SEND_SIGNALED |
					       SHCA_SEND_SOLICITED },
	{ SHCA_WR_RDMA_READ, 0, SHCA_SEND_SIGNALED },
	{ SHCA_WR_RDMA_READ, 8, SHCA_SEND_SIGNALED },
	{ SHCA_WR_RDMA_READ, FX_MTU, 0 },
};

static void fast_desc(const struct fast_row *row, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "opcode %u, %u bytes, flags %u",
		 row->opcode, row->len, row->flags);
}

KUNIT_ARRAY_PARAM(fast, fast_rows, fast_desc);

/* The responder of @fx is that of its own requester. */
static void start(struct fx *fx)
{
	struct shca_resp_attr attr;

	fx_resp_attr(&attr);
	attr.rq_psn = FX_SQ_PSN;
	fx_resp_start(fx, &attr);
}

static void by_packets(struct fx *fx)
{
	struct shca_pkt pkt;

	/* as on the direct path, where each asks */
	fx->req.psn.reach = 2;
	while (shca_req_next(&fx->req, fx->now, &pkt)) {
		shca_resp_rx(&fx->resp, &pkt, fx->now, &fx->out);
		while (shca_resp_next(&fx->resp, fx->now, &pkt))
			shca_req_rx(&fx->req, &pkt, fx->now);
	}
	fx->req.psn.reach = 1;
}

static bool by_fast_path(struct fx *fx)
{
	const struct shca_send_wr *wr;

	/* (what the caller's completion held before must not matter) */
	memset(&fx->out, 0, sizeof(fx->out));
	memset(&fx->out.wc, 0xa5, sizeof(fx->out.wc));
	if (!shca_fast_ready(&fx->req, &fx->resp))
		return false;
	wr = shca_fast_next(&fx->req, &fx->resp);
	if (!wr)
		return false;
	if (shca_fast_takes_recv(wr)) {
		if (!shca_fast_recv(&fx->resp))
			return false;
		fx->out.has_wc = true;
	}
	shca_fast_resp_done(&fx->resp, wr, &fx->out.wc);
	shca_fast_req_done(&fx->req, wr);
	return true;
}

/* Members that mean nothing at rest, or are about another round trip. */
static void forget_req(struct shca_req *req)
{
	req->ring.base = NULL;
	req->mem_ctx = NULL;
	req->rtt.ns = 0;
	req->rtt.start = 0;
	req->rtt.psn = 0;
	req->rtt.una = 0;
	req->ackreq.sent_ns = 0;
	req->ackreq.before = 0;
}

/*
 * The message that has ended, and records of READs: they serve requesters that repeat
 * a request, and here no answer is lost.
 */
static void forget_resp(struct shca_resp *resp)
{
	resp->mem_ctx = NULL;
	resp->reads.rd = NULL;
	resp->reads.tail -= resp->reads.head;
	resp->reads.send -= resp->reads.head;
	resp->reads.send -= resp->reads.tail;
	resp->reads.head = 0;
	resp->reads.tail = 0;
	resp->msg.va = 0;
	resp->msg.rkey = 0;
	resp->msg.left = 0;
	resp->msg.off = 0;
}

static void fast_changes_what_packets_change(struct kunit *test)
{
	const struct fast_row *row = test->param_value;
	struct fx *packets = test->priv, *quick;
	struct shca_wc none;
	int i;

	memset(&none, 0xa5, sizeof(none));
	fx_init(test);
	quick = test->priv;
	start(packets);
	start(quick);
	/* Communication is established by a packet. */
	fx_post(packets, SHCA_WR_SEND, 1);
	fx_post(quick, SHCA_WR_SEND, 1);
	KUNIT_EXPECT_FALSE(test, shca_fast_ready(&quick->req, &quick->resp));
	by_packets(packets);
	by_packets(quick);
	for (i = 0; i < 3; i++) {
		fx_post_flags(packets, row->opcode, row->len, row->flags);
		fx_post_flags(quick, row->opcode, row->len, row->flags);
		by_packets(packets);
		KUNIT_ASSERT_TRUE(test, by_fast_path(quick));
		KUNIT_EXPECT_EQ(test, quick->out.has_wc, packets->out.has_wc);
		/* (where nothing completes, nothing is written) */
		KUNIT_EXPECT_EQ(test, memcmp(&quick->out.wc,
					     packets->out.has_wc ? &packets->out.wc : &none,
					     sizeof(quick->out.wc)), 0);
		KUNIT_ASSERT_EQ(test, fx_pop(quick), fx_pop(packets));
		KUNIT_EXPECT_EQ(test, memcmp(&quick->wc, &packets->wc,
					     sizeof(quick->wc)), 0);
	}
	forget_req(&packets->req);
	forget_req(&quick->req);
	KUNIT_EXPECT_EQ(test, memcmp(&quick->req, &packets->req,
				     sizeof(quick->req)), 0);
	forget_resp(&packets->resp);
	forget_resp(&quick->resp);
	KUNIT_EXPECT_EQ(test, memcmp(&quick->resp, &packets->resp,
				     offsetof(struct shca_resp, wr)), 0);
}

static void fast_leaves_the_unusual_to_packets(struct kunit *test)
{
	struct fx *fx = test->priv;

	start(fx);
	/* The event of the first packet is a packet's. */
	fx_post(fx, SHCA_WR_SEND, 1);
	KUNIT_EXPECT_FALSE(test, shca_fast_ready(&fx->req, &fx->resp));
	by_packets(fx);
	KUNIT_EXPECT_TRUE(test, shca_fast_ready(&fx->req, &fx->resp));
	KUNIT_EXPECT_NULL(test, shca_fast_next(&fx->req, &fx->resp));

	fx_post(fx, SHCA_WR_SEND, FX_MTU + 1);
	KUNIT_EXPECT_NULL(test, shca_fast_next(&fx->req, &fx->resp));
	by_packets(fx);
	fx->resp.attr.access = 0;
	fx_post(fx, SHCA_WR_RDMA_READ, 1);
	KUNIT_EXPECT_NULL(test, shca_fast_next(&fx->req, &fx->resp));
	by_packets(fx);
	KUNIT_EXPECT_FALSE(test, shca_fast_ready(&fx->req, &fx->resp));
	KUNIT_ASSERT_TRUE(test, fx_pop(fx));
	KUNIT_ASSERT_TRUE(test, fx_pop(fx));
	KUNIT_ASSERT_TRUE(test, fx_pop(fx));
	KUNIT_EXPECT_EQ(test, fx->wc.status, SHCA_WC_REM_INV_REQ_ERR);
}

static void fast_waits_for_what_is_owed(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_pkt pkt;

	start(fx);
	fx_post(fx, SHCA_WR_SEND, 1);
	by_packets(fx);
	fx_post(fx, SHCA_WR_SEND, 1);
	KUNIT_ASSERT_TRUE(test, shca_req_next(&fx->req, fx->now, &pkt));
	/* sent, and not arrived */
	KUNIT_EXPECT_FALSE(test, shca_fast_ready(&fx->req, &fx->resp));
	shca_resp_rx(&fx->resp, &pkt, fx->now, &fx->out);
	/* arrived, and not answered */
	KUNIT_EXPECT_FALSE(test, shca_fast_ready(&fx->req, &fx->resp));
	KUNIT_ASSERT_TRUE(test, shca_resp_next(&fx->resp, fx->now, &pkt));
	shca_req_rx(&fx->req, &pkt, fx->now);
	KUNIT_EXPECT_TRUE(test, shca_fast_ready(&fx->req, &fx->resp));
	fx->req.draining = true;
	KUNIT_EXPECT_FALSE(test, shca_fast_ready(&fx->req, &fx->resp));
}

/* A duplicate comes from the wire, where its sender has not seen the answer. */
static void fast_waits_for_the_answer_to_a_duplicate(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_pkt pkt, request;

	start(fx);
	fx->resp.attr.cnp = true;
	fx_post(fx, SHCA_WR_SEND, 1);
	KUNIT_ASSERT_TRUE(test, shca_req_next(&fx->req, fx->now, &request));
	shca_resp_rx(&fx->resp, &request, fx->now, &fx->out);
	KUNIT_ASSERT_TRUE(test, shca_resp_next(&fx->resp, fx->now, &pkt));
	shca_req_rx(&fx->req, &pkt, fx->now);
	KUNIT_EXPECT_TRUE(test, shca_fast_ready(&fx->req, &fx->resp));
	KUNIT_EXPECT_EQ(test,
			shca_resp_rx(&fx->resp, &request, fx->now, &fx->out),
			SHCA_RX_DUPLICATE);
	KUNIT_EXPECT_FALSE(test, shca_fast_ready(&fx->req, &fx->resp));
	KUNIT_ASSERT_TRUE(test, shca_resp_next(&fx->resp, fx->now, &pkt));
	KUNIT_EXPECT_EQ(test, pkt.opcode, SHCA_OP_ACK);
	KUNIT_EXPECT_TRUE(test, shca_fast_ready(&fx->req, &fx->resp));

	request.ackreq = false;
	request.path.ecn_ce = true;
	shca_resp_rx(&fx->resp, &request, fx->now, &fx->out);
	KUNIT_EXPECT_FALSE(test, shca_fast_ready(&fx->req, &fx->resp));
	KUNIT_ASSERT_TRUE(test, shca_resp_next(&fx->resp, fx->now, &pkt));
	KUNIT_EXPECT_EQ(test, pkt.opcode, SHCA_OPCODE_CNP);
	KUNIT_EXPECT_TRUE(test, shca_fast_ready(&fx->req, &fx->resp));
}

/* What went back may have arrived, and then it is a duplicate. */
static void fast_is_not_for_what_is_sent_again(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_pkt pkt;

	start(fx);
	fx_post(fx, SHCA_WR_SEND, 1);
	by_packets(fx);
	fx_post(fx, SHCA_WR_SEND, 1);
	KUNIT_ASSERT_TRUE(test, shca_req_next(&fx->req, fx->now, &pkt));
	fx_timeout(fx);
	KUNIT_EXPECT_EQ(test, fx->req.psn.next, fx->req.psn.una);
	KUNIT_EXPECT_FALSE(test, shca_fast_ready(&fx->req, &fx->resp));
	by_packets(fx);
	KUNIT_EXPECT_TRUE(test, shca_fast_ready(&fx->req, &fx->resp));
}

/* A receive request that was taken ahead is not lost, whatever becomes of it. */
static void fast_receive_taken_ahead_is_used(struct kunit *test)
{
	struct fx *fx = test->priv;

	start(fx);
	fx_post(fx, SHCA_WR_SEND, 1);
	by_packets(fx);
	KUNIT_ASSERT_TRUE(test, shca_fast_recv(&fx->resp));
	KUNIT_ASSERT_TRUE(test, shca_fast_recv(&fx->resp));
	KUNIT_EXPECT_EQ(test, fx->nr_recv, 2u);
	fx_post(fx, SHCA_WR_SEND, 1);
	by_packets(fx);
	KUNIT_EXPECT_EQ(test, fx->nr_recv, 2u);
	KUNIT_ASSERT_TRUE(test, fx->out.has_wc);
	KUNIT_EXPECT_EQ(test, fx->out.wc.wr_id, 1001ull);
}

/* What takes no receive request leaves it to the next message. */
static void fast_receive_taken_ahead_outlives_a_write(struct kunit *test)
{
	struct fx *fx = test->priv;

	start(fx);
	fx_post(fx, SHCA_WR_SEND, 1);
	by_packets(fx);
	KUNIT_ASSERT_TRUE(test, shca_fast_recv(&fx->resp));
	fx_post(fx, SHCA_WR_RDMA_WRITE, 1);
	KUNIT_ASSERT_TRUE(test, by_fast_path(fx));
	fx_post(fx, SHCA_WR_SEND, 1);
	KUNIT_ASSERT_TRUE(test, by_fast_path(fx));
	KUNIT_EXPECT_EQ(test, fx->nr_recv, 2u);
	KUNIT_EXPECT_EQ(test, fx->out.wc.wr_id, 1001ull);
}

static void fast_bad_receive_is_told_by_packets(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_wc wc;

	start(fx);
	fx_post(fx, SHCA_WR_SEND, 1);
	by_packets(fx);
	fx->recv = SHCA_RECV_BAD;
	KUNIT_EXPECT_FALSE(test, shca_fast_recv(&fx->resp));
	KUNIT_EXPECT_FALSE(test, shca_fast_recv(&fx->resp));
	KUNIT_EXPECT_EQ(test, fx->nr_recv, 2u);
	fx_post(fx, SHCA_WR_SEND, 1);
	by_packets(fx);
	KUNIT_EXPECT_EQ(test, fx->nr_recv, 2u);
	KUNIT_ASSERT_TRUE(test, fx->out.has_wc);
	KUNIT_EXPECT_EQ(test, fx->out.wc.status, SHCA_WC_LOC_QP_OP_ERR);
	KUNIT_EXPECT_EQ(test, fx->out.wc.wr_id, 1001ull);
	/* and once is enough */
	KUNIT_EXPECT_FALSE(test, shca_resp_flush(&fx->resp, &wc));
}

static void fast_bad_receive_is_flushed(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_wc wc;

	start(fx);
	fx->recv = SHCA_RECV_BAD;
	KUNIT_EXPECT_FALSE(test, shca_fast_recv(&fx->resp));
	shca_resp_fail(&fx->resp);
	KUNIT_ASSERT_TRUE(test, shca_resp_flush(&fx->resp, &wc));
	KUNIT_EXPECT_EQ(test, wc.wr_id, 1000ull);
	KUNIT_EXPECT_EQ(test, wc.status, SHCA_WC_WR_FLUSH_ERR);
	KUNIT_EXPECT_FALSE(test, shca_resp_flush(&fx->resp, &wc));
}

/* ---- each thing that is in the way ---------------------------------------------- */

struct rest_row {
	const char *name;
	size_t at;	/* in the fixture: a bit of it is other than at rest */
};

#define REQ(field)	{ "req." #field, offsetof(struct fx, req.field) }
#define RESP(field)	{ "resp." #field, offsetof(struct fx, resp.field) }

static const struct rest_row rest_rows[] = {
	REQ(state), REQ(attr.transport), REQ(ring.una), REQ(ring.nxt),
	REQ(ring.pkt_idx), REQ(psn.next), REQ(psn.una), REQ(psn.max),
	REQ(recovery.waits), REQ(draining), REQ(fail.valid), REQ(gate.until),
	RESP(state), RESP(comm_est), RESP(attr.transport), RESP(msg.op),
	RESP(attr.recvs), RESP(stands), RESP(ack.owed),
	RESP(cnp_due), RESP(reads.send), RESP(reads.tail), RESP(epsn),
};

static void rest_desc(const struct rest_row *row, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", row->name);
}

KUNIT_ARRAY_PARAM(rest, rest_rows, rest_desc);

static void fast_is_only_for_who_is_at_rest(struct kunit *test)
{
	const struct rest_row *row = test->param_value;
	struct fx *fx = test->priv;

	start(fx);
	fx_post(fx, SHCA_WR_SEND, 1);
	by_packets(fx);
	KUNIT_ASSERT_TRUE(test, shca_fast_ready(&fx->req, &fx->resp));
	((u8 *)fx)[row->at] ^= 1;
	KUNIT_EXPECT_FALSE(test, shca_fast_ready(&fx->req, &fx->resp));
	((u8 *)fx)[row->at] ^= 1;
	KUNIT_EXPECT_TRUE(test, shca_fast_ready(&fx->req, &fx->resp));
}

struct may_row {
	u8 opcode;
	u32 len;
	u32 access;	/* that the responder gives */
	u16 rd_atomic;
	bool may;
};

#define W	SHCA_ACCESS_REMOTE_WRITE
#define R	SHCA_ACCESS_REMOTE_READ

static const struct may_row may_rows[] = {
	{ SHCA_WR_SEND, FX_MTU, 0, 0, true },
	{ SHCA_WR_SEND, FX_MTU + 1, W | R, 4, false },
	{ SHCA_WR_SEND_WITH_IMM, 8, 0, 0, true },
	{ SHCA_WR_SEND_WITH_INV, 8, W | R, 4, false },
	{ SHCA_WR_RDMA_WRITE, FX_MTU, W, 0, true },
	{ SHCA_WR_RDMA_WRITE, 8, R, 4, false },
	{ SHCA_WR_RDMA_WRITE_WITH_IMM, 8, W, 0, true },
	{ SHCA_WR_RDMA_WRITE_WITH_IMM, 8, R, 4, false },
	{ SHCA_WR_RDMA_READ, FX_MTU, R, 1, true },
	{ SHCA_WR_RDMA_READ, FX_MTU + 1, R, 1, false },
	{ SHCA_WR_RDMA_READ, 8, W, 4, false },
	{ SHCA_WR_RDMA_READ, 8, R, 0, false },
	{ SHCA_WR_ATOMIC_CMP_AND_SWP, 8, ~0u, 4, false },
	{ SHCA_WR_ATOMIC_FETCH_AND_ADD, 8, ~0u, 4, false },
	{ SHCA_WR_ATOMIC_WRITE, 8, ~0u, 4, false },
	{ SHCA_WR_LOCAL_INV, 0, ~0u, 4, false },
	{ SHCA_WR_REG_MR, 0, ~0u, 4, false },
	{ SHCA_WR_BIND_MW, 0, ~0u, 4, false },
	{ 99, 8, ~0u, 4, false },
};

static void may_desc(const struct may_row *row, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "opcode %u, %u bytes, %x, %u",
		 row->opcode, row->len, row->access, row->rd_atomic);
}

KUNIT_ARRAY_PARAM(may, may_rows, may_desc);

/* One PSN, of an operation that the responder permits; whose it is must be known. */
static void fast_next_is_what_the_responder_permits(struct kunit *test)
{
	const struct may_row *row = test->param_value;
	struct fx *fx = test->priv;
	struct shca_send_wr *wr;

	start(fx);
	fx->resp.attr.access = row->access;
	fx->resp.attr.max_dest_rd_atomic = row->rd_atomic;
	KUNIT_EXPECT_NULL(test, shca_fast_next(&fx->req, &fx->resp));
	wr = fx_post(fx, row->opcode, row->len);
	KUNIT_EXPECT_TRUE(test, shca_fast_next(&fx->req, &fx->resp) ==
				(row->may ? wr : NULL));
	wr->own = fx;	/* the adapter's */
	KUNIT_EXPECT_NULL(test, shca_fast_next(&fx->req, &fx->resp));
	wr->own = NULL;
	wr->preset = SHCA_WC_LOC_LEN_ERR;
	KUNIT_EXPECT_NULL(test, shca_fast_next(&fx->req, &fx->resp));
	wr->preset = SHCA_WC_SUCCESS;
	/* two path MTUs: the smaller one counts */
	fx->resp.attr.mtu = row->len - 1;
	if (row->len)
		KUNIT_EXPECT_NULL(test, shca_fast_next(&fx->req, &fx->resp));
	fx->resp.attr.mtu = 4096;
	KUNIT_EXPECT_TRUE(test, shca_fast_next(&fx->req, &fx->resp) ==
				(row->may ? wr : NULL));
}

/* As after a packet: the peer has been heard, nothing is unasked, and an ACK went. */
static void fast_leaves_what_an_exchange_leaves(struct kunit *test)
{
	struct fx *fx = test->priv;

	start(fx);
	fx_post(fx, SHCA_WR_SEND, 1);
	by_packets(fx);
	fx->req.ackreq.heard = false;
	fx->req.ackreq.nr_since = 3;
	fx->resp.ack.sent = SHCA_ACK_NONE;
	fx_post(fx, SHCA_WR_SEND, 1);
	KUNIT_ASSERT_TRUE(test, by_fast_path(fx));
	KUNIT_EXPECT_TRUE(test, fx->req.ackreq.heard);
	KUNIT_EXPECT_EQ(test, fx->req.ackreq.nr_since, 0u);
	KUNIT_EXPECT_EQ(test, fx->resp.ack.sent, SHCA_ACK_ACK);
}

/* A queue that the process has broken: no receive now, and none ever. */
static void fast_broken_receive_queue_is_told_by_packets(struct kunit *test)
{
	struct fx *fx = test->priv;

	start(fx);
	fx_post(fx, SHCA_WR_SEND, 1);
	by_packets(fx);
	fx->recv = SHCA_RECV_BROKEN;
	KUNIT_EXPECT_FALSE(test, shca_fast_recv(&fx->resp));
	fx->recv = SHCA_RECV_OK;
	KUNIT_EXPECT_FALSE(test, shca_fast_recv(&fx->resp));
	fx_post(fx, SHCA_WR_SEND, 1);
	by_packets(fx);
	KUNIT_EXPECT_FALSE(test, fx->out.has_wc);
	KUNIT_EXPECT_EQ(test, fx->out.events, SHCA_EV_FATAL);
	KUNIT_EXPECT_EQ(test, fx->resp.state, SHCA_SIDE_ERR);
}

/* None yet is no reason to look for none later. */
static void fast_without_a_receive_is_tried_again(struct kunit *test)
{
	struct fx *fx = test->priv;

	start(fx);
	fx->recvs = 0;
	KUNIT_EXPECT_FALSE(test, shca_fast_recv(&fx->resp));
	fx->recvs = 1;
	KUNIT_EXPECT_TRUE(test, shca_fast_recv(&fx->resp));
}

/* ---- datagrams ------------------------------------------------------------------ */

#define DG_QKEY		0x2244u
#define DG_PRIVILEGED	0x80000001u

static void dg_start(struct fx *fx)
{
	struct shca_resp_attr resp;
	struct shca_req_attr req;

	fx_req_attr(&req);
	req.transport = SHCA_TRANSPORT_UD;
	req.sqpn = 0x99;
	req.qkey = DG_QKEY;
	fx_req_start(fx, &req);
	fx_resp_attr(&resp);
	resp.transport = SHCA_TRANSPORT_UD;
	resp.qkey = DG_QKEY;
	fx_resp_start(fx, &resp);
}

static struct shca_send_wr *dg_post(struct fx *fx, u8 opcode, u32 len, u16 flags,
				    u32 qkey)
{
	struct shca_send_wr *wr = fx_post_flags(fx, opcode, len, flags);

	wr->ud.remote_qpn = 0x77;
	wr->ud.remote_qkey = qkey;
	return wr;
}

static const struct shca_path_info dg_path = {
	.port = 1, .sl = 10, .vlan = 5, .grh_present = true,
};

static void dg_by_packets(struct fx *fx)
{
	struct shca_pkt pkt;

	while (shca_req_next(&fx->req, fx->now, &pkt)) {
		pkt.path = dg_path;
		shca_resp_rx(&fx->resp, &pkt, fx->now, &fx->out);
	}
}

static bool dg_by_fast_path(struct fx *fx)
{
	const struct shca_send_wr *wr = shca_fast_datagram(&fx->req);

	memset(&fx->out, 0, sizeof(fx->out));
	memset(&fx->out.wc, 0xa5, sizeof(fx->out.wc));
	if (!wr || !shca_fast_takes_datagram(&fx->req, &fx->resp, wr) ||
	    !shca_fast_recv(&fx->resp))
		return false;
	fx->out.has_wc = true;
	shca_fast_datagram_done(&fx->req, &fx->resp, wr, &dg_path, &fx->out.wc);
	return true;
}

static const struct fast_row dg_rows[] = {
	{ SHCA_WR_SEND, 0, SHCA_SEND_SIGNALED },
	{ SHCA_WR_SEND, 8, 0 },
	{ SHCA_WR_SEND, FX_MTU, SHCA_SEND_SIGNALED | SHCA_SEND_SOLICITED },
	{ SHCA_WR_SEND_WITH_IMM, 3, SHCA_SEND_SIGNALED },
};

KUNIT_ARRAY_PARAM(dg, dg_rows, fast_desc);

static void fast_datagram_changes_what_packets_change(struct kunit *test)
{
	const struct fast_row *row = test->param_value;
	struct fx *packets = test->priv, *quick;
	int i;

	fx_init(test);
	quick = test->priv;
	dg_start(packets);
	dg_start(quick);
	for (i = 0; i < 3; i++) {
		/* (the last one has the sender's own Q_Key) */
		u32 qkey = i == 2 ? DG_PRIVILEGED : DG_QKEY;

		dg_post(packets, row->opcode, row->len, row->flags, qkey);
		dg_post(quick, row->opcode, row->len, row->flags, qkey);
		dg_by_packets(packets);
		KUNIT_ASSERT_TRUE(test, dg_by_fast_path(quick));
		KUNIT_ASSERT_TRUE(test, packets->out.has_wc);
		KUNIT_EXPECT_EQ(test, memcmp(&quick->out.wc, &packets->out.wc,
					     sizeof(quick->out.wc)), 0);
		KUNIT_ASSERT_EQ(test, fx_pop(quick), fx_pop(packets));
		KUNIT_EXPECT_EQ(test, memcmp(&quick->wc, &packets->wc,
					     sizeof(quick->wc)), 0);
	}
	forget_req(&packets->req);
	forget_req(&quick->req);
	KUNIT_EXPECT_EQ(test, memcmp(&quick->req, &packets->req,
				     sizeof(quick->req)), 0);
	forget_resp(&packets->resp);
	forget_resp(&quick->resp);
	KUNIT_EXPECT_EQ(test, memcmp(&quick->resp, &packets->resp,
				     offsetof(struct shca_resp, wr)), 0);
}

/* Its payload has been placed: it has been sent, whatever comes next. */
static void fast_datagram_succeeds_though_its_side_fails(struct kunit *test)
{
	struct fx *fx = test->priv;

	dg_start(fx);
	dg_post(fx, SHCA_WR_SEND, 8, SHCA_SEND_SIGNALED, DG_QKEY);
	dg_post(fx, SHCA_WR_SEND, 8, SHCA_SEND_SIGNALED, DG_QKEY);
	KUNIT_ASSERT_TRUE(test, dg_by_fast_path(fx));
	KUNIT_EXPECT_EQ(test, fx->req.psn.una, fx->req.psn.next);
	shca_req_fail(&fx->req);
	KUNIT_ASSERT_TRUE(test, fx_pop(fx));
	KUNIT_EXPECT_EQ(test, fx->wc.status, SHCA_WC_SUCCESS);
	KUNIT_ASSERT_TRUE(test, fx_pop(fx));
	KUNIT_EXPECT_EQ(test, fx->wc.status, SHCA_WC_WR_FLUSH_ERR);
}

/* Each slot of the ring has a datagram that was sent long ago. */
static void fast_datagram_is_none_that_was_sent(struct kunit *test)
{
	struct fx *fx = test->priv;
	u32 i;

	dg_start(fx);
	for (i = 0; i < FX_ENTRIES; i++) {
		dg_post(fx, SHCA_WR_SEND, 8, SHCA_SEND_SIGNALED, DG_QKEY);
		KUNIT_ASSERT_TRUE(test, dg_by_fast_path(fx));
		KUNIT_ASSERT_TRUE(test, fx_pop(fx));
	}
	KUNIT_EXPECT_NULL(test, shca_fast_datagram(&fx->req));
}

static void fast_datagram_without_grh_says_so(struct kunit *test)
{
	static const struct shca_path_info path = { .port = 1 };
	const struct shca_send_wr *wr;
	struct fx *fx = test->priv;

	dg_start(fx);
	wr = dg_post(fx, SHCA_WR_SEND, 8, 0, DG_QKEY);
	KUNIT_ASSERT_TRUE(test, shca_fast_recv(&fx->resp));
	shca_fast_datagram_done(&fx->req, &fx->resp, wr, &path, &fx->wc);
	KUNIT_EXPECT_EQ(test, fx->wc.wc_flags, 0u);
}

static const struct rest_row dg_rest_rows[] = {
	REQ(state), REQ(attr.transport), REQ(psn.max), REQ(draining),
	REQ(fail.valid), REQ(gate.until), RESP(state), RESP(attr.transport),
	RESP(attr.qkey),
};

KUNIT_ARRAY_PARAM(dg_rest, dg_rest_rows, rest_desc);

static bool dg_may(struct fx *fx)
{
	const struct shca_send_wr *wr = shca_fast_datagram(&fx->req);

	return wr && shca_fast_takes_datagram(&fx->req, &fx->resp, wr);
}

static void fast_datagram_is_only_for_who_is_ready(struct kunit *test)
{
	const struct rest_row *row = test->param_value;
	struct fx *fx = test->priv;

	dg_start(fx);
	KUNIT_EXPECT_FALSE(test, dg_may(fx));
	dg_post(fx, SHCA_WR_SEND, 8, 0, DG_QKEY);
	KUNIT_ASSERT_TRUE(test, dg_may(fx));
	((u8 *)fx)[row->at] ^= 1;
	KUNIT_EXPECT_FALSE(test, dg_may(fx));
	((u8 *)fx)[row->at] ^= 1;
	KUNIT_EXPECT_TRUE(test, dg_may(fx));
}

static void fast_datagram_leaves_the_unusual_to_packets(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct shca_send_wr *wr;

	dg_start(fx);
	wr = dg_post(fx, SHCA_WR_SEND, 8, 0, DG_QKEY + 1);
	KUNIT_EXPECT_TRUE(test, shca_fast_datagram(&fx->req) == wr);
	KUNIT_EXPECT_FALSE(test, dg_may(fx));
	wr->ud.remote_qkey = DG_QKEY;
	KUNIT_EXPECT_TRUE(test, dg_may(fx));
	wr->own = fx;
	KUNIT_EXPECT_FALSE(test, dg_may(fx));
	wr->own = NULL;
	wr->preset = SHCA_WC_LOC_LEN_ERR;
	KUNIT_EXPECT_FALSE(test, dg_may(fx));
	wr->preset = SHCA_WC_SUCCESS;
	wr->opcode = SHCA_WR_LOCAL_INV;
	KUNIT_EXPECT_FALSE(test, dg_may(fx));
	wr->opcode = SHCA_WR_SEND;
	/* its memory is being fetched */
	shca_req_pause(&fx->req);
	KUNIT_EXPECT_FALSE(test, dg_may(fx));
	shca_req_release(&fx->req);
	KUNIT_EXPECT_TRUE(test, dg_may(fx));
}

/* A receive request that was taken ahead serves a datagram that comes as a packet. */
static void fast_datagram_receive_taken_ahead_is_used(struct kunit *test)
{
	static const struct {
		enum shca_recv_status recv;
		u32 recvs;
		bool has_wc;
		u8 status;
		u32 events;
	} rows[] = {
		{ SHCA_RECV_OK, 1, true, SHCA_WC_SUCCESS, 0 },
		{ SHCA_RECV_BAD, 1, true, SHCA_WC_LOC_QP_OP_ERR, 0 },
		{ SHCA_RECV_BROKEN, 1, false, 0, SHCA_EV_FATAL },
		{ SHCA_RECV_OK, 0, false, 0, 0 },
	};
	struct fx *fx = test->priv;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		dg_start(fx);
		/* (a broken queue stays so, and one that is tried again says so again) */
		fx->resp.recv = SHCA_RECV_EMPTY;
		fx->recv = rows[i].recv;
		fx->recvs = rows[i].recvs;
		fx->nr_recv = 0;
		KUNIT_EXPECT_EQ(test, shca_fast_recv(&fx->resp),
				rows[i].recv == SHCA_RECV_OK && rows[i].recvs);
		fx->recv = SHCA_RECV_OK;
		fx->recvs = 0;
		dg_post(fx, SHCA_WR_SEND, 8, 0, DG_QKEY);
		dg_by_packets(fx);
		KUNIT_ASSERT_EQ(test, fx->out.has_wc, rows[i].has_wc);
		KUNIT_EXPECT_EQ(test, fx->out.events, rows[i].events);
		if (!rows[i].has_wc)
			continue;
		KUNIT_EXPECT_EQ(test, fx->out.wc.status, rows[i].status);
		KUNIT_EXPECT_EQ(test, fx->out.wc.wr_id, 1000ull);
	}
}

static struct kunit_case fast_path_cases[] = {
	KUNIT_CASE_PARAM(fast_datagram_changes_what_packets_change, dg_gen_params),
	KUNIT_CASE_PARAM(fast_datagram_is_only_for_who_is_ready,
			 dg_rest_gen_params),
	KUNIT_CASE(fast_datagram_succeeds_though_its_side_fails),
	KUNIT_CASE(fast_datagram_is_none_that_was_sent),
	KUNIT_CASE(fast_datagram_without_grh_says_so),
	KUNIT_CASE(fast_datagram_leaves_the_unusual_to_packets),
	KUNIT_CASE(fast_datagram_receive_taken_ahead_is_used),
	KUNIT_CASE_PARAM(fast_is_only_for_who_is_at_rest, rest_gen_params),
	KUNIT_CASE_PARAM(fast_next_is_what_the_responder_permits,
			 may_gen_params),
	KUNIT_CASE(fast_leaves_what_an_exchange_leaves),
	KUNIT_CASE(fast_broken_receive_queue_is_told_by_packets),
	KUNIT_CASE(fast_without_a_receive_is_tried_again),
	KUNIT_CASE_PARAM(fast_changes_what_packets_change, fast_gen_params),
	KUNIT_CASE(fast_leaves_the_unusual_to_packets),
	KUNIT_CASE(fast_waits_for_what_is_owed),
	KUNIT_CASE(fast_waits_for_the_answer_to_a_duplicate),
	KUNIT_CASE(fast_is_not_for_what_is_sent_again),
	KUNIT_CASE(fast_receive_taken_ahead_is_used),
	KUNIT_CASE(fast_receive_taken_ahead_outlives_a_write),
	KUNIT_CASE(fast_bad_receive_is_told_by_packets),
	KUNIT_CASE(fast_bad_receive_is_flushed),
	{}
};

static struct kunit_suite fast_path_suite = {
	.name = "softhca_fast_path",
	.init = fx_init,
	.test_cases = fast_path_cases,
};

kunit_test_suites(&fast_path_suite);
