// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The other ways of a packet.  One is several middle packets of a message, received
 * as one (shca_resp_takes_run()).  The other is the fast path of a message between
 * two QPs that are held at the same time (fast.h).  Both must come to the same as
 * packets do, so the model is told what packets would have told it.
 */
#include "../../../kernel/core/requester/fast.h"
#include "sim.h"

/* What lies between the payloads of packets that are put together. */
#define RUN_GAP		12

/* ---- runs ------------------------------------------------------------------- */

static bool may_follow(const struct sim_wire *first, const struct sim_wire *next,
		       u32 nr)
{
	u32 psn = (first->buf[9] << 16 | first->buf[10] << 8 | first->buf[11]);
	bool ackreq;

	return next->op == first->op && next->from == first->from &&
	       next->from_qpn == first->from_qpn && next->len == first->len &&
	       next->ecn_ce == first->ecn_ce && next->is_sound &&
	       !next->span && next->part == (first->op ? first->part + nr : 0) &&
	       shca_bth_follows(next->buf, first->buf, shca_psn_add(psn, nr),
				&ackreq);
}

static bool is_middle(const struct sim_wire *wire)
{
	u8 op = wire->buf[0] & ~SHCA_TRANSPORT_MASK;

	return wire->is_sound && !wire->span &&
	       (op == SHCA_OP_SEND_MIDDLE || op == SHCA_OP_WRITE_MIDDLE ||
		op == SHCA_OP_READ_RESP_MIDDLE);
}

/*
 * Joins the packet that has arrived at @n with the next ones in line, if they
 * continue it.  The result is one packet with a payload for each; the payloads lie
 * apart.
 */
struct sim_wire *sim_run_join(struct sim_node *n, struct sim_wire *first)
{
	struct sim_wire *next, *run;
	u32 nr, hdr, unit, most;

	if (!n->w->f.runs || n->w->reach > 1 || !is_middle(first) ||
	    !prng_chance(&n->w->rng, n->w->f.runs))
		return first;
	hdr = shca_opcode_info(first->buf[0])->hdr_len;
	unit = first->len - hdr - SHCA_ICRC_BYTES;
	most = prng_range(&n->w->rng, 2, SIM_RUN_MAX);
	run = sim_wire_copy(first, hdr + SIM_RUN_MAX * (unit + RUN_GAP));
	for (nr = 1; nr < most; nr++) {
		next = sim_peek_packet(n);
		if (!next || !may_follow(first, next, nr))
			break;
		memset(run->buf + hdr + nr * (unit + RUN_GAP) - RUN_GAP, 0xee,
		       RUN_GAP);
		memcpy(run->buf + hdr + nr * (unit + RUN_GAP), next->buf + hdr,
		       unit);
		run->buf[8] |= next->buf[8];
		run->ids[nr] = next->ids[0];
		next = sim_pull_packet(n);
		/* AckReq ends a run */
		most = next->buf[8] & 0x80 ? nr : most;
		free(next);
	}
	if (nr == 1) {
		free(run);
		return first;
	}
	run->run = nr;
	run->unit = unit;
	run->stride = unit + RUN_GAP;
	n->w->stat_runs++;
	free(first);
	return run;
}

/* A packet that was parsed from a run stands for all of it. */
void sim_run_parsed(const struct sim_wire *wire, struct shca_pkt *pkt)
{
	pkt->span = wire->run - 1;
	pkt->unit = wire->unit;
	pkt->stride = wire->stride;
	pkt->paylen = wire->run * wire->unit;
	pkt->pad = 0;
}

/* As one if the side takes it so, else its parts. */
void sim_run_rx(struct sim_node *n, struct shca_pkt *pkt, bool is_response)
{
	struct sim_wire *wire = pkt->data;
	u32 part = wire->part, i;
	struct shca_pkt one;

	if (is_response ? shca_req_takes_run(&n->req, pkt) :
			  shca_resp_takes_run(&n->resp, pkt)) {
		wire->span = pkt->span;
		sim_node_rx(n, pkt, is_response);
		return;
	}
	for (i = 0; i <= pkt->span; i++) {
		one = shca_pkt_part(pkt, i);
		wire->part = wire->op ? part + i : 0;
		sim_node_rx(n, &one, is_response);
	}
}

/* ---- the fast path ------------------------------------------------------------ */

/* One message; false: the usual way, as if nothing had been tried. */
static bool fast_one(struct sim_node *n, const struct shca_send_wr *wr)
{
	struct sim_node *p = n->peer;
	struct shca_wc wc;

	if (!sim_fast_move(n, wr))
		return false;
	sim_model_fast(n, wr);
	shca_fast_resp_done(&p->resp, wr, &wc);
	if (shca_fast_takes_recv(wr)) {
		sim_check(n->w, wc.is_recv, "node %u: a receive is not told",
			  p->idx);
		sim_model_recv_wc(p, &wc);
	}
	shca_fast_req_done(&n->req, wr);
	sim_packet_fast(n, wr);
	n->w->stat_fast++;
	return true;
}

void sim_fast_path(struct sim_node *n)
{
	const struct shca_send_wr *wr;
	struct sim_world *w = n->w;

	if (!w->f.fast || w->f.hostile || n->state != SIM_NODE_RUN ||
	    n->peer->state != SIM_NODE_RUN || !prng_chance(&w->rng, w->f.fast))
		return;
	if (!shca_fast_ready(&n->req, &n->peer->resp))
		return;
	while ((wr = shca_fast_next(&n->req, &n->peer->resp)))
		if (!fast_one(n, wr))
			break;
}
