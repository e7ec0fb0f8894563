// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The answers of a responder (IBTA 9.7.5.1): ACKs, NAKs, responses of READs and atomics, and CNPs,
 * in the order of the requests. The caller holds the lock of the receive half.
 *
 * An answer that could not leave is owed again. If the memory of an accepted READ goes before its
 * response is built, the response becomes a NAK at that PSN.
 */
#include "credit.h"
#include "../opcode.h"
#include "answers.h"

static void resp_header(const struct shca_resp *resp, u8 opcode, u32 psn,
			struct shca_pkt *pkt)
{
	memset(pkt, 0, sizeof(*pkt));
	pkt->opcode = resp->attr.transport | opcode;
	pkt->mig = resp->attr.apm == SHCA_APM_MIGRATED;
	pkt->pkey = resp->attr.pkey;
	pkt->dqpn = resp->attr.dqpn;
	pkt->psn = psn;
	pkt->resv8a = resp->marks;
}

static u8 resp_read_opcode(const struct shca_rd *rd, u32 nr_psn)
{
	bool last = rd->send_idx + nr_psn == rd->send_end;

	if (rd->send_idx == rd->send_start)
		return last ? SHCA_OP_READ_RESP_ONLY : SHCA_OP_READ_RESP_FIRST;
	return last ? SHCA_OP_READ_RESP_LAST : SHCA_OP_READ_RESP_MIDDLE;
}

/* PSNs of the next packet of a response. */
static u32 resp_reach(const struct shca_resp *resp, const struct shca_rd *rd)
{
	u32 left = rd->send_end - rd->send_idx;

	if (resp->reach > 1)
		return min_t(u32, resp->reach, left);
	if (unlikely(resp->rate.on))
		left = min_t(u32, left, resp->rate.run + 1);
	if (resp->max_run > 1 && rd->send_idx != rd->send_start && left > 2)
		return min_t(u32, resp->max_run, left - 1);
	return 1;
}

static void resp_build_rd(struct shca_resp *resp, struct shca_rd *rd,
			  struct shca_pkt *pkt)
{
	u32 psn = shca_psn_add(rd->first_psn, rd->send_idx);
	u32 nr_psn = resp_reach(resp, rd);
	u32 mtu = resp->attr.mtu;
	u32 off;
	u8 op;

	rd->out_seq = resp->out_seq;
	op = rd->is_atomic ? SHCA_OP_ATOMIC_ACK : resp_read_opcode(rd, nr_psn);
	resp_header(resp, op, psn, pkt);
	pkt->span = nr_psn - 1;
	/* A middle packet has no AETH. */
	if (op != SHCA_OP_READ_RESP_MIDDLE)
		pkt->aeth.syndrome = SHCA_AETH_ACK | shca_resp_credit(resp);
	pkt->aeth.msn = rd->msn;
	if (rd->is_atomic) {
		pkt->atomic_ack = rd->value;
	} else {
		off = rd->send_idx * mtu;
		pkt->paylen = min_t(u32, rd->len - off, nr_psn * mtu);
		pkt->unit = mtu;
		pkt->rest = rd->len - off - pkt->paylen;
		pkt->pad = shca_hdr_pad(pkt->paylen);
		pkt->kind = pkt->paylen ? SHCA_PAY_REMOTE : SHCA_PAY_NONE;
		pkt->va = rd->va + off;
		pkt->xrc_srqn = rd->xrc_srqn;
		pkt->rkey = rd->rkey;
	}
	rd->send_idx += nr_psn;
	if (rd->send_idx == rd->send_end)
		rd->answered = true;
}

static void resp_build_ack(struct shca_resp *resp, struct shca_pkt *pkt)
{
	resp_header(resp, SHCA_OP_ACK, resp->ack.psn, pkt);
	pkt->aeth.syndrome = resp->ack.syndrome;
	pkt->aeth.msn = resp->ack.msn;
	if (resp->ack.owed == SHCA_ACK_ACK)
		pkt->aeth.syndrome = SHCA_AETH_ACK | shca_resp_credit(resp);
	else if ((resp->ack.syndrome & ~SHCA_AETH_VALUE) == SHCA_AETH_RNR)
		resp->stats.rnr_naks_sent++;
	else
		resp->stats.naks_sent++;
	resp_ack_leaves(resp);
}

/*
 * The static rate delays responses that may have data, and what is behind them. An ACK is no
 * longer than its request, and not delayed.
 */
static bool resp_build(struct shca_resp *resp, u64 now, struct shca_pkt *pkt)
{
	struct shca_rd *rd = NULL;

	if (resp->cnp_due) {
		resp->cnp_due = false;
		resp_header(resp, 0, 0, pkt);
		/* of no transport */
		pkt->opcode = resp->attr.cnp_ib ? SHCA_OPCODE_CNP_IB : SHCA_OPCODE_CNP;
		pkt->resv8a = 0;
		return true;
	}
	for (; resp->reads.send != resp->reads.tail; resp->reads.send++) {
		rd = resp_rd(resp, resp->reads.send);
		if (rd->send_idx < rd->send_end)
			break;
		rd = NULL;
	}
	/* In the order of the requests (IBTA 9.7.5.1.1). */
	if (resp->ack.owed != SHCA_ACK_NONE &&
	    (!rd || shca_psn_diff(rd->first_psn, resp->ack.psn) > 0)) {
		resp_build_ack(resp, pkt);
		return true;
	}
	if (!rd || (unlikely(resp->rate.on) && shca_rate_until(&resp->rate, now)))
		return false;
	resp_build_rd(resp, rd, pkt);
	return true;
}

bool shca_resp_next(struct shca_resp *resp, u64 now, struct shca_pkt *pkt)
{
	if (resp->state == SHCA_SIDE_RESET || !resp_build(resp, now, pkt))
		return false;
	pkt->out_seq = resp->out_seq++;
	if (unlikely(resp->rate.on))
		shca_rate_sent(&resp->rate, resp->attr.rate_kbps, pkt, now);
	resp->stats.tx_pkts += resp->reach > 1 ? 1 : pkt->span + 1;
	resp->stats.tx_bytes += pkt->paylen;
	return true;
}

/* Send a NAK in place of a packet of the response of @rd, and answer nothing after it. */
static void resp_nak_response(struct shca_resp *resp, const struct shca_rd *rd,
			      u32 psn, struct shca_resp_out *out)
{
	bool begun = psn != rd->first_psn;

	resp->reads.send = resp->reads.tail;
	resp_owe_nak(resp, psn, shca_psn_add(rd->msn, begun - 1),
		     SHCA_AETH_NAK | SHCA_NAK_ACCESS);
	resp->state = SHCA_SIDE_ERR;
	resp->stats.rx[SHCA_RX_ACCESS]++;
	out->events = SHCA_EV_ACCESS_ERR;
}

/* Packet @off has not left; it may be of an earlier part than the one being sent. */
static void resp_rd_unsend(struct shca_rd *rd, u32 off)
{
	rd->send_idx = off;
	if (off < rd->send_start || off >= rd->send_end) {
		rd->send_start = off;
		rd->send_end = rd->nr_psn;
	}
}

/*
 * Neither @pkt nor what was handed out after it has left: all of it is owed again, but for CNPs,
 * which later marks cause again. If @pkt is a CNP between packets of a response, the response is
 * sent again from its start.
 */
static void resp_unsend(struct shca_resp *resp, const struct shca_pkt *pkt)
{
	bool is_rd = !!(shca_opcode_info(pkt->opcode)->flags &
			(SHCA_OPF_READ | SHCA_OPF_ATOMIC));
	struct shca_rd *rd;
	u32 i, off;

	/* Only the newest record with this PSN: PSNs come again, after READs of 2^24 packets. */
	for (i = resp->reads.tail - 1; i + 1 != resp->reads.head; i--) {
		rd = resp_rd(resp, i);
		off = shca_psn_off(pkt->psn, rd->first_psn);
		if (is_rd && off < rd->nr_psn) {
			resp_rd_unsend(rd, off);
			is_rd = false;
		} else if (rd->send_idx != rd->send_start &&
			   rd->out_seq >= pkt->out_seq) {
			rd->send_idx = rd->send_start;
		} else {
			continue;
		}
		if (!rd->replay)
			rd->answered = false;
		if ((s32)(i - resp->reads.send) < 0)
			resp->reads.send = i;
	}
	if (resp->ack.owed == SHCA_ACK_NONE && resp->ack.seq >= pkt->out_seq)
		resp->ack.owed = resp->ack.sent;
}

void shca_resp_link_full(struct shca_resp *resp, const struct shca_pkt *pkt)
{
	if (resp->state != SHCA_SIDE_RESET)
		resp_unsend(resp, pkt);
}

void shca_resp_gather_failed(struct shca_resp *resp, const struct shca_pkt *pkt,
			     enum shca_mem_status status,
			     struct shca_resp_out *out)
{
	struct shca_rd *rd;
	u32 idx;

	memset(out, 0, sizeof(*out));
	if (resp->state == SHCA_SIDE_RESET)
		return;
	if (status == SHCA_MEM_RETRY) {
		resp_unsend(resp, pkt);
		return;
	}
	if (pkt->kind != SHCA_PAY_REMOTE ||
	    !resp_rd_find(resp, pkt->psn, &idx))
		return;
	rd = resp_rd(resp, idx);
	if (rd->replay)
		rd->send_idx = rd->send_end;	/* as in resp_dup_read() */
	else
		resp_nak_response(resp, rd, pkt->psn, out);
}
