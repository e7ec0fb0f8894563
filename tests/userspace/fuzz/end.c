// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * One QP around the core, used as requester.h and responder.h tell their caller.
 * After every step it checks what must be true: the invariants of req_internal.h
 * and well formed packets.  Every request and every receive request completes once
 * and in order.
 */
#include "fuzz.h"
#include "../../../kernel/core/requester/req_internal.h"

/* ---- lifetime --------------------------------------------------------------- */

static void pick_attr(struct fuzz_end *end, struct fuzz_in *in)
{
	static const u8 transports[4] = {
		SHCA_TRANSPORT_RC, SHCA_TRANSPORT_XRC, SHCA_TRANSPORT_UC,
		SHCA_TRANSPORT_UD,
	};
	struct shca_req_attr *req = &end->req_attr;
	struct shca_resp_attr *resp = &end->resp_attr;
	u8 b = in_u8(in);

	req->transport = transports[b & 3];
	req->mtu = 256 << (b >> 2 & 7) % 5;
	b = in_u8(in);
	req->sq_psn = b & 1 ? 0xfffffd : b & 2 ? 0x7ffffe : 5;
	req->timeout_ns = b & 4 ? 0 : 1 << 20;
	req->dqpn = 7;
	req->sqpn = 6;
	req->pkey = 0xffff;
	req->qkey = 0x80000001;
	b = in_u8(in);
	req->retry_cnt = b & 7;
	req->rnr_retry = b >> 3 & 7;
	req->max_rd_atomic = in_u8(in) % 5;

	resp->transport = req->transport;
	resp->mtu = req->mtu;
	resp->rq_psn = req->sq_psn;
	resp->dqpn = 7;
	resp->pkey = 0xffff;
	resp->qkey = 1;
	b = in_u8(in);
	resp->access = b & 1 ? b : SHCA_ACCESS_REMOTE_WRITE |
		       SHCA_ACCESS_REMOTE_READ | SHCA_ACCESS_REMOTE_ATOMIC |
		       SHCA_ACCESS_FLUSH_GLOBAL;
	resp->cnp = b & 0x10;
	if (b & 0x20 && resp->transport == SHCA_TRANSPORT_RC)
		resp->recvs = SHCA_RECVS_TM;
	else if (b & 0x40 && resp->transport != SHCA_TRANSPORT_RC)
		resp->recvs = SHCA_RECVS_SRQ;
	resp->credits = b & 0x40 && resp->transport == SHCA_TRANSPORT_RC;
	resp->tells_short = b & 0x80;
	resp->min_rnr_timer = b >> 3;
	resp->max_dest_rd_atomic = in_u8(in) % 9;
}

void fuzz_end_init(struct fuzz_end *end, struct fuzz_in *in)
{
	u32 entries = 1u << in_u8(in) % 6, rds = 1u << in_u8(in) % 4;
	u32 stride = shca_req_stride(FUZZ_SGE);

	memset(end, 0, sizeof(*end));
	pick_attr(end, in);
	fuzz_memory_init(&end->memory, in);
	end->ring = malloc((size_t)entries * stride);
	memset(end->ring, 0xaa, (size_t)entries * stride);
	end->rd = malloc(rds * sizeof(*end->rd));
	memset(end->rd, 0xaa, rds * sizeof(*end->rd));
	end->now = 1000;
	shca_req_init(&end->req, end->ring, entries, stride, &fuzz_mem_ops,
		      &end->memory);
	shca_resp_init(&end->resp, end->rd, rds, &fuzz_mem_ops, &end->memory);
	end->req.cc.window = 1 + in_u8(in) % SHCA_CC_WINDOW;
}

void fuzz_end_start(struct fuzz_end *end)
{
	/* (by what the input has chosen already) */
	if (end->req.cc.window & 1)
		end->req_attr.peer = SHCA_PEER_OOO;
	if (end->req.cc.window & 2)
		end->resp_attr.peer = SHCA_PEER_OOO;
	shca_resp_start(&end->resp, &end->resp_attr);
	shca_req_start(&end->req, &end->req_attr);
}

/* ---- completions ---------------------------------------------------------------- */

static void recv_wc(struct fuzz_end *end, const struct shca_wc *wc)
{
	fuzz_check(wc->is_recv, "completion of another queue");
	if (wc->opcode == SHCA_WC_TM_RECV && wc->status == SHCA_WC_SUCCESS &&
	    !(wc->wc_flags & SHCA_WC_TM_MATCH))
		end->unexpected++;
	if (end->memory.tag_held) {
		fuzz_check(wc->wr_id == end->memory.tag_held, "receive %llx",
			   (unsigned long long)wc->wr_id);
		end->memory.tag_held = 0;
		end->received += wc->status == SHCA_WC_SUCCESS;
		return;
	}
	fuzz_check(end->memory.done != end->memory.taken,
		   "completes a receive request that it has not");
	fuzz_check(wc->wr_id == end->memory.done, "receive %llu, not %u",
		   (unsigned long long)wc->wr_id, end->memory.done);
	end->memory.done++;
	end->received += wc->status == SHCA_WC_SUCCESS;
}

static void pop_all(struct fuzz_end *end)
{
	struct shca_wc wc;

	while (shca_req_pop(&end->req, &wc)) {
		fuzz_check(end->popped < end->posted, "completes too much");
		while (wc.wr_id != end->popped) {
			fuzz_check(end->popped < end->posted &&
				   !end->signaled[end->popped] && !end->failed,
				   "%llu completes before %u",
				   (unsigned long long)wc.wr_id, end->popped);
			end->consumed += end->consumes[end->popped++];
		}
		fuzz_check(!end->failed || wc.status != SHCA_WC_SUCCESS,
			   "success after an error");
		fuzz_check(end->signaled[end->popped] ||
			   wc.status != SHCA_WC_SUCCESS,
			   "an unsignalled success shows");
		if (wc.status == SHCA_WC_SUCCESS)
			end->consumed += end->consumes[end->popped];
		else
			end->failed = true;
		end->popped++;
	}
}

/* ---- what must be true --------------------------------------------------------- */

static void check_requester(const struct shca_req *req)
{
	u32 span = shca_psn_off(req->psn.max, req->psn.una);
	const struct shca_send_wr *wr;
	u32 i, rds = 0, psns = 0, end;

	fuzz_check(req->ring.prod - req->ring.head <= req->ring.mask + 1, "ring overrun");
	fuzz_check(req->ring.una - req->ring.head <= req->ring.prod - req->ring.head, "una");
	fuzz_check(req->ring.nxt - req->ring.head <= req->ring.prod - req->ring.head, "nxt");
	if (req->state != SHCA_SIDE_READY)
		return;
	fuzz_check(req->ring.nxt - req->ring.una <= req->ring.prod - req->ring.una, "nxt before una");
	fuzz_check(shca_psn_off(req->psn.next, req->psn.una) <= span,
		   "psn %06x una %06x max %06x", req->psn.next, req->psn.una,
		   req->psn.max);
	fuzz_check(req->psn.nr_rd <= req->attr.max_rd_atomic, "%u READs",
		   req->psn.nr_rd);
	if (!req_is_rc(req))
		return;
	for (i = req->ring.una; i != req->ring.prod; i++) {
		wr = req_wr(req, i);
		if (!(wr->flags_core & SHCA_WRF_STARTED) || !req_is_rd(wr))
			continue;
		rds++;
		end = shca_psn_add(wr->first_psn, wr->nr_psn);
		psns += i == req->ring.una ? shca_psn_off(end, req->psn.una) :
					wr->nr_psn;
	}
	fuzz_check(rds == req->psn.nr_rd, "%u READs, counted %u", rds, req->psn.nr_rd);
	fuzz_check(psns == req->psn.nr_rd_psns, "%u PSNs of READs, counted %u", psns,
		   req->psn.nr_rd_psns);
}

static void check_responder(const struct fuzz_end *end)
{
	const struct shca_resp *resp = &end->resp;
	u32 held = end->memory.taken - end->memory.done + !!end->memory.tag_held;

	fuzz_check(resp->reads.tail - resp->reads.head <= resp->reads.mask + 1,
		   "records overrun");
	fuzz_check(resp->reads.tail - resp->reads.send <=
		   resp->reads.tail - resp->reads.head, "reads.send");
	fuzz_check(held == (resp->recv == SHCA_RECV_OK), "%u receive requests held", held);
}

void fuzz_end_step(struct fuzz_end *end)
{
	struct shca_wc wc;

	pop_all(end);
	if (end->req.state == SHCA_SIDE_ERR && req_is_rc(&end->req))
		shca_resp_fail(&end->resp);
	if (end->resp.state == SHCA_SIDE_ERR &&
	    end->req.state == SHCA_SIDE_READY) {
		shca_req_fail(&end->req);
		pop_all(end);
	}
	if (shca_resp_flush(&end->resp, &wc))
		recv_wc(end, &wc);
	check_requester(&end->req);
	check_responder(end);
}

void fuzz_end_fail(struct fuzz_end *end)
{
	shca_req_fail(&end->req);
	shca_resp_fail(&end->resp);
	fuzz_end_step(end);
	fuzz_check(end->req.ring.head == end->req.ring.prod, "requests are left");
	for (; end->popped < end->posted; end->popped++)
		fuzz_check(!end->signaled[end->popped],
			   "%u of %u did not complete", end->popped,
			   end->posted);
	fuzz_check(end->memory.done == end->memory.taken && !end->memory.tag_held,
		   "a receive was lost");
	fuzz_check(end->unexpected == end->memory.tm.unexpected,
		   "%u unexpected messages, counted %u", end->unexpected,
		   end->memory.tm.unexpected);
}

void fuzz_end_exit(struct fuzz_end *end)
{
	fuzz_end_fail(end);
	fuzz_memory_exit(&end->memory);
	free(end->ring);
	free(end->rd);
}

/* ---- posting ---------------------------------------------------------------------- */

/* Return: false: no room. */
bool fuzz_end_post(struct fuzz_end *end, struct fuzz_in *in)
{
	struct shca_send_wr *wr = shca_req_slot(&end->req);
	u8 b;

	if (!wr || end->posted == FUZZ_WRS)
		return false;
	memset(wr, 0, sizeof(*wr));
	wr->wr_id = end->posted;
	b = in_u8(in);
	wr->opcode = b >= 0xf0 ? in_u8(in) : b % 9;
	b = in_u8(in);
	wr->flags = b >= 0xf0 ? in_u16(in) : b & 15;
	wr->imm = in_u8(in);
	wr->num_sge = fuzz_memory_sges(&end->memory, in, wr->sge, &wr->length);
	if (wr->flags & SHCA_SEND_INLINE) {
		wr->num_sge = 0;
		wr->inline_data = end->inline_data;
		wr->length = in_u8(in);
	}
	wr->rdma.remote_addr = end->memory.rem_base + in_u16(in) % (FUZZ_MEM + 9);
	wr->rdma.rkey = in_near(in, end->memory.rkey);
	b = in_u8(in);
	if (wr->opcode == SHCA_WR_FLUSH)
		wr->flush.type = wr->imm;
	if (end->req_attr.transport == SHCA_TRANSPORT_UD) {
		wr->ud.remote_qpn = 7;
		wr->ud.remote_qkey = b & 1 ? 1 : 0x80000000;
	}
	if (in_u8(in) == 0xff)
		wr->preset = SHCA_WC_LOC_QP_OP_ERR;
	end->signaled[end->posted] = wr->flags & SHCA_SEND_SIGNALED;
	end->consumes[end->posted++] = wr->opcode == SHCA_WR_SEND ||
		wr->opcode == SHCA_WR_SEND_WITH_IMM ||
		wr->opcode == SHCA_WR_SEND_WITH_INV ||
		wr->opcode == SHCA_WR_RDMA_WRITE_WITH_IMM;
	shca_req_post(&end->req);
	return true;
}

/* ---- packets ------------------------------------------------------------------------- */

/* As the glue sorts them. */
void fuzz_end_rx(struct fuzz_end *end, const struct fuzz_wire *wire)
{
	enum shca_verdict rx;
	struct shca_pkt pkt = { .path = { .port = 1, .grh_present = true } };
	struct shca_resp_out out;
	enum shca_parse parse;
	u32 flags;

	parse = shca_hdr_parse(&pkt, wire->buf, min_t(u32, wire->len,
						      SHCA_HDR_MAX), wire->len);
	if (parse != SHCA_PARSE_OK && parse != SHCA_PARSE_OPCODE)
		return;
	if (pkt.opcode != SHCA_OPCODE_CNP &&
	    (pkt.opcode & SHCA_TRANSPORT_MASK) != end->req_attr.transport)
		return;
	pkt.path.ecn_ce = wire->ce;
	pkt.data = (void *)wire;
	flags = shca_opcode_info(pkt.opcode)->flags;
	if (flags & SHCA_OPF_RESPONSE) {
		shca_req_rx(&end->req, &pkt, end->now);
	} else {
		rx = shca_resp_rx(&end->resp, &pkt, end->now, &out);
		if (rx == SHCA_RX_RETRY)
			shca_resp_not_yet(&end->resp, pkt.psn);
		/* nothing is kept, whatever the peer is told */
		if (rx == SHCA_RX_OUT_OF_SEQ &&
		    shca_resp_may_queue(&end->resp, &pkt))
			shca_resp_gap(&end->resp, pkt.psn, pkt.psn,
				      pkt.ackreq);
		if (out.has_wc)
			recv_wc(end, &out.wc);
	}
	fuzz_end_step(end);
}

static void check_sent(const struct fuzz_end *end, const struct shca_pkt *pkt)
{
	u32 flags = shca_opcode_info(pkt->opcode)->flags;

	fuzz_check(flags, "opcode %02x is sent", pkt->opcode);
	fuzz_check(pkt->paylen <= end->req_attr.mtu || pkt->kind ==
		   SHCA_PAY_NONE, "payload of %u", pkt->paylen);
	fuzz_check(pkt->pad == (-pkt->paylen & 3), "pad %u of %u", pkt->pad,
		   pkt->paylen);
	fuzz_check(flags & SHCA_OPF_PAYLOAD || !pkt->paylen, "payload");
	fuzz_check(pkt->psn <= SHCA_PSN_MASK, "psn");
}

bool fuzz_end_tx(struct fuzz_end *end, bool is_req, struct fuzz_wire *wire)
{
	static u8 buf[FUZZ_WIRE_MAX];
	enum shca_mem_status status;
	struct shca_resp_out out;
	struct shca_pkt pkt;
	u32 head;

	if (is_req ? !shca_req_next(&end->req, end->now, &pkt) :
		     !shca_resp_next(&end->resp, end->now, &pkt))
		return false;
	check_sent(end, &pkt);
	head = shca_hdr_build(&pkt, buf);
	status = fuzz_memory_gather(&end->memory, &pkt, buf + head);
	wire->len = 0;
	wire->ce = false;
	if (status == SHCA_MEM_OK) {
		wire->len = head + pkt.paylen + pkt.pad + SHCA_ICRC_BYTES;
		memset(buf + head + pkt.paylen, 0, pkt.pad + SHCA_ICRC_BYTES);
		wire->buf = malloc(wire->len);
		memcpy(wire->buf, buf, wire->len);
	} else if (is_req) {
		shca_req_gather_failed(&end->req, &pkt, status);
	} else {
		shca_resp_gather_failed(&end->resp, &pkt, status, &out);
		if (out.has_wc)
			recv_wc(end, &out.wc);
	}
	fuzz_end_step(end);
	return true;
}
