// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A node: the glue around one requester and one responder, as requester.h and
 * responder.h tell their caller to do it, and no more than that.
 */
#include "sim.h"

void sim_log_pkt(struct sim_node *n, const char *dir, const struct shca_pkt *pkt)
{
	const struct shca_opcode_info *info = shca_opcode_info(pkt->opcode);

	sim_log(n->w, "node %u %s %-28s psn %06x len %u syn %02x%s", n->idx, dir,
		info->name, pkt->psn, pkt->paylen,
		info->flags & SHCA_OPF_AETH ? pkt->aeth.syndrome : 0,
		pkt->ackreq ? " ackreq" : "");
}

static void pump_later(struct sim_node *n)
{
	if (n->pump_queued)
		return;
	n->pump_queued = true;
	sim_push(n->w, n->w->now + n->w->f.pump_ns, SIM_EV_PUMP, n->idx, 0,
		 NULL);
}

static void to_error(struct sim_node *n)
{
	struct shca_wc wc;
	u64 at;

	if (n->state != SIM_NODE_RUN)
		return;
	sim_log(n->w, "node %u to ERR", n->idx);
	n->state = SIM_NODE_ERR;
	n->is_sqe = false;
	if (n->req.state != SHCA_SIDE_ERR)	/* not by its own fault */
		n->extra_status |= 1u << SHCA_WC_WR_FLUSH_ERR;
	n->quiet = n->req.ring.una;
	n->peer->is_alone = sim_is_rc(n->w);
	if (sim_is_rc(n->w) &&
	    n->resp.state != SHCA_SIDE_ERR)	/* it told the peer nothing */
		n->peer->extra_status |= 1u << SHCA_WC_RETRY_EXC_ERR;
	shca_req_fail(&n->req);
	shca_resp_fail(&n->resp);
	if (!sim_is_rc(n->w))
		sim_unrel_flush(n);
	else if (shca_resp_flush(&n->resp, &wc))
		sim_model_recv_wc(n, &wc);
	/* The peer hears of it by other means, if not by its retry limit. */
	at = n->w->now + 1000000 + prng_next(&n->w->rng) % 500000000;
	sim_push(n->w, at, SIM_EV_ERROR, n->peer->idx, n->peer->qpn, NULL);
}

static void resp_event(struct sim_node *n, const struct shca_resp_out *out)
{
	if (out->has_wc)
		sim_model_recv_wc(n, &out->wc);
}

void sim_node_error(struct sim_node *n)
{
	to_error(n);
	sim_node_pump(n);
}

/*
 * The time that the peer asks for is a minimum (IBTA 9.7.5.2.8).  With a count of
 * retries the wait is just that; without one it grows, up to a second.
 */
static void note_rnr(struct sim_node *n, const struct shca_pkt *pkt, bool was)
{
	u64 asked = shca_rnr_ns(pkt->aeth.syndrome & SHCA_AETH_VALUE);
	u64 most = n->req_attr.rnr_retry == 7 ? max_t(u64, asked, SHCA_REQ_RNR_MOST_NS) :
						asked;
	u64 wait = n->req.recovery.deadline - n->w->now;

	bool moved = n->req.psn.una != n->last_una_psn;

	if (moved)
		n->rnrs = 0;
	if (!shca_req_rnr_waits(&n->req)) {
		n->quiet_until = 0;
		return;
	}
	if (was && !moved)
		return;
	n->rnrs++;
	n->w->stat_refusals++;
	sim_check(n->w, wait >= asked && wait <= most,
		  "node %u: waits %llu ns, asked for %llu", n->idx,
		  (unsigned long long)wait, (unsigned long long)asked);
	/* doubled after the eighth, from 10 us on */
	sim_check(n->w, n->rnrs < 26 || wait == most,
		  "node %u: refused %u times in a row, and waits %llu ns",
		  n->idx, n->rnrs, (unsigned long long)wait);
	n->quiet_until = n->w->now + asked;
}

enum shca_verdict sim_node_accept(struct sim_node *n, struct shca_pkt *pkt,
				  bool is_response)
{
	bool ready = n->resp.state == SHCA_SIDE_READY;
	u32 una = n->req.psn.una;
	struct shca_resp_out out;
	bool was = shca_req_rnr_waits(&n->req);
	enum shca_verdict rx;

	n->asked = false;
	if (is_response) {
		rx = shca_req_rx(&n->req, pkt, n->w->now);
		if (rx == SHCA_RX_OK)
			sim_model_bare_answer(n, pkt);
		if (rx == SHCA_RX_NAK_FATAL || rx == SHCA_RX_LOST_RESPONSE)
			sim_model_refusal(n, pkt);
		note_rnr(n, pkt, was);
		sim_packet_answered(n, pkt, rx, una, was);
		if (n->req.psn.una != n->last_una_psn)
			n->drops = 0;
		n->last_una_psn = n->req.psn.una;
	} else if (!sim_is_rc(n->w)) {
		rx = sim_unrel_rx(n, pkt);
	} else {
		rx = shca_resp_rx(&n->resp, pkt, n->w->now, &out);
		if (ready)
			sim_packet_executed(n, pkt, rx);
		resp_event(n, &out);
	}
	n->seen[!is_response].rx[rx]++;
	sim_log(n->w, "node %u rx verdict %d", n->idx, rx);
	sim_tape_verdict(n, pkt, rx);
	return rx;
}

void sim_node_rx(struct sim_node *n, struct shca_pkt *pkt, bool is_response)
{
	sim_queue_take(n, pkt, is_response);
	if (!is_response && prng_chance(&n->w->rng, n->w->f.together))
		pump_later(n);
	else
		sim_node_pump(n);
}

void sim_node_timer(struct sim_node *n)
{
	u64 before = n->req.stats.timeouts;
	u64 early = n->req.stats.early;
	bool waits = n->req.recovery.waits >= SHCA_WAIT_HOLD;

	/* The answer is here, and waits for memory (kernel/path/sq.c). */
	if (n->queue[1].nr)
		shca_req_answer_waits(&n->req, n->w->now + n->req.attr.timeout_ns);
	shca_req_timer(&n->req, n->w->now);
	sim_packet_timer(n, n->req.stats.timeouts != before ||
			 (waits && n->req.recovery.waits < SHCA_WAIT_HOLD),
			 n->req.stats.timeouts != before);
	if (!shca_req_rnr_waits(&n->req))
		n->quiet_until = 0;
	n->may_go_back |= n->req.stats.early != early ||
			  n->req.recovery.again_ns == n->w->now;
	n->is_probed |= n->req.stats.early != early;
	n->early += n->req.stats.early - early;
	n->faults += n->req.stats.timeouts - before;
	if (n->req.stats.timeouts != before)
		sim_tape_timeout(n);
	sim_node_pump(n);
}

/* A send queue in error, the rest alive (SQE): some time later, to RTS. */
static void to_sqe(struct sim_node *n)
{
	if (n->is_sqe)
		return;
	sim_log(n->w, "node %u to SQE", n->idx);
	n->is_sqe = true;
	sim_push(n->w, n->w->now + prng_next(&n->w->rng) % 500000,
		 SIM_EV_RESUME, n->idx, n->qpn, NULL);
}

void sim_node_resume(struct sim_node *n)
{
	if (n->state != SIM_NODE_RUN || !n->is_sqe)
		return;
	sim_check(n->w, n->nr_done == n->nr_posted,
		  "node %u: %u of %u flushed in SQE", n->idx, n->nr_done,
		  n->nr_posted);
	n->is_sqe = false;
	n->failed = false;
	sim_tape_ready(n, true);
	n->first_live = n->nr_posted;
	shca_req_resume(&n->req);
	sim_node_pump(n);
}

static u32 budget(const struct sim_node *n)
{
	return n->w->f.budget ? n->w->f.budget : 1000;
}

/*
 * Packets leave in batches, as they do where a link takes several at a time. A
 * batch that the link refuses is reported by its first packet.
 */
#define BATCH	8

struct batch {
	u32 nr;
	u32 max;
	struct shca_pkt pkt[BATCH];
	u8 payload[BATCH][SIM_PAY_MAX];
};

static void batch_begin(struct sim_node *n, struct batch *b)
{
	b->nr = 0;
	b->max = prng_range(&n->w->rng, 1, BATCH);
}

/* Does the batch begin with repeated packets and end with new ones? */
static bool batch_is_mixed(const struct batch *b)
{
	return b->nr && b->pkt[0].again && !b->pkt[b->nr - 1].again;
}

/* What is half repeated is rare, so it is refused the more often. */
static bool batch_refused(struct sim_world *w, const struct batch *b)
{
	bool mixed = batch_is_mixed(b);
	u32 busy = w->f.link_busy;

	if (!b->nr || !prng_chance(&w->rng, mixed ? min_t(u32, 5 * busy, 500) :
						    busy))
		return false;
	w->stat_refused++;
	w->stat_mixed += mixed;
	return true;
}

/* Hand the batch to the link. Returns false if it is to be asked for again. */
static bool batch_end(struct sim_node *n, struct batch *b)
{
	u32 i;

	if (batch_refused(n->w, b))
		return false;
	for (i = 0; i < b->nr; i++) {
		sim_log_pkt(n, "tx", &b->pkt[i]);
		sim_model_tx(n, &b->pkt[i]);
		sim_link_tx(n, &b->pkt[i], b->payload[i]);
	}
	batch_begin(n, b);
	return true;
}

static void resp_failed(struct sim_node *n, const struct shca_pkt *pkt,
			enum shca_mem_status status)
{
	struct shca_resp_out out;

	shca_resp_gather_failed(&n->resp, pkt, status, &out);
	/* a request that was accepted is refused after all */
	n->seen[1].rx[SHCA_RX_ACCESS] += out.events == SHCA_EV_ACCESS_ERR;
	resp_event(n, &out);
}

static void req_failed(struct sim_node *n, const struct shca_pkt *pkt,
		       enum shca_mem_status status)
{
	u32 i;

	shca_req_gather_failed(&n->req, pkt, status);
	n->may_go_back = true;
	if (status == SHCA_MEM_RETRY)
		return;
	i = pkt->wr->wr_id;
	/* An earlier one that cannot be sent again hides those behind it. */
	n->ops[i].failed = true;
	while (++i < n->nr_ops)
		n->ops[i].failed = false;
}

static void side_failed(struct sim_node *n, bool is_req,
			const struct shca_pkt *pkt, enum shca_mem_status status)
{
	n->gave_back = true;
	if (is_req)
		req_failed(n, pkt, status);
	else
		resp_failed(n, pkt, status);
}

/* A queue below takes nothing of a batch that begins with @pkt. */
static void side_full(struct sim_node *n, bool is_req, const struct shca_pkt *pkt)
{
	n->gave_back = true;
	if (!is_req) {
		shca_resp_link_full(&n->resp, pkt);
		return;
	}
	shca_req_link_full(&n->req, pkt, 0);
	n->may_go_back = true;
}

/*
 * The glue has the memory of @pkt fetched, and does not ask for it again before it is
 * there.  Until then nothing leaves at its PSN, and everything else does.
 */
static void hold(struct sim_node *n, const struct shca_pkt *pkt)
{
	shca_req_pause(&n->req);
	n->is_held = true;
	n->held_psn = pkt->psn;
	sim_push(n->w, n->w->now + prng_range(&n->w->rng, 1, 3000000),
		 SIM_EV_FETCHED, n->idx, n->qpn, NULL);
}

void sim_node_fetched(struct sim_node *n)
{
	n->is_held = false;
	shca_req_release(&n->req);
	sim_node_pump(n);
}

/* Build one packet. Return: OK; RETRY: the link or memory is busy, or an error. */
static enum shca_mem_status pump_one(struct sim_node *n, bool is_req,
				     struct batch *b, const struct shca_pkt *pkt)
{
	enum shca_mem_status status;

	b->pkt[b->nr] = *pkt;
	if (is_req)
		sim_model_pull(n, pkt);
	status = sim_gather(n, pkt, b->payload[b->nr]);
	if (status != SHCA_MEM_OK) {
		side_failed(n, is_req, pkt, status);
		if (status == SHCA_MEM_RETRY && is_req && pkt->wr &&
		    !n->is_held && prng_chance(&n->w->rng, 500))
			hold(n, pkt);
		return status;
	}
	if (++b->nr < b->max || batch_end(n, b))
		return SHCA_MEM_OK;
	/* (reported by the caller) */
	return SHCA_MEM_RETRY;
}

/* The next packet, or those of a run. */
static enum shca_mem_status pump_next(struct sim_node *n, bool is_req,
				      struct batch *b, bool *more)
{
	enum shca_mem_status status = SHCA_MEM_OK;
	struct shca_pkt pkt, part;
	u32 i;

	n->req.psn.max_run = n->w->reach > 1 ? 0 : prng_below(&n->w->rng, 40);
	n->resp.max_run = n->req.psn.max_run;
	/* (it is asked first, as in kernel/queue) */
	*more = is_req ? shca_req_may_send(&n->req) &&
			 shca_req_next(&n->req, n->w->now, &pkt) :
			 shca_resp_next(&n->resp, n->w->now, &pkt);
	if (!*more)
		return status;
	if (n->w->reach > 1 || !pkt.span)
		return pump_one(n, is_req, b, &pkt);
	for (i = 0; i <= pkt.span && status == SHCA_MEM_OK; i++) {
		part = shca_pkt_part(&pkt, i);
		status = pump_one(n, is_req, b, &part);
	}
	/* Refused; who resumes there comes to the rest of the run again. */
	if (b->nr == b->max && i <= pkt.span) {
		side_full(n, is_req, &b->pkt[0]);
		batch_begin(n, b);
	}
	return status;
}

/* Requests or responses, within the budget; false: gave up for now. */
static bool pump_side(struct sim_node *n, bool is_req)
{
	enum shca_mem_status status = SHCA_MEM_OK;
	struct batch b;
	bool more;
	u32 i;

	batch_begin(n, &b);
	for (i = 0; i < budget(n) && status != SHCA_MEM_RETRY; i++) {
		status = pump_next(n, is_req, &b, &more);
		if (!more)
			break;
	}
	if (b.nr && !batch_end(n, &b)) {
		side_full(n, is_req, &b.pkt[0]);
		return false;
	}
	return !more;
}

static void arm_timer(struct sim_node *n)
{
	u64 answer = shca_resp_deadline(&n->resp);
	u64 at = shca_req_deadline(&n->req);

	if (answer && (!at || answer < at))
		at = answer;
	sim_check(n->w, !at || at > n->w->now || n->pump_queued ||
		  n->timer_at == n->w->now,
		  "node %u: deadline stays in the past", n->idx);
	if (!at || (n->timer_at && n->timer_at <= at))
		return;
	n->timer_at = at;
	sim_push(n->w, max_t(u64, at, n->w->now), SIM_EV_TIMER, n->idx, 0,
		 NULL);
}

/* A QP may turn from the wire to its neighbour and back at any time. */
static void change_reach(struct sim_node *n)
{
	struct sim_world *w = n->w;

	if (w->reach == 1 || !prng_chance(&w->rng, 100))
		return;
	n->req.psn.reach = prng_range(&w->rng, 1, w->reach);
	n->resp.reach = prng_range(&w->rng, 1, w->reach);
}

void sim_node_pump(struct sim_node *n)
{
	bool resp_done, req_done;
	struct shca_wc wc;
	u32 head;

	if (n->state == SIM_NODE_IDLE)
		return;
	change_reach(n);
	do {
		resp_done = pump_side(n, false);
	} while (sim_queue_answered(n));
	do {	/* what completes may be what others wait for */
		head = n->req.ring.head;
		sim_fast_path(n);
		req_done = pump_side(n, true);
		while (shca_req_pop(&n->req, &wc))
			sim_model_send_wc(n, &wc);
	} while (req_done && n->req.ring.head != head);
	if (n->resp.state == SHCA_SIDE_ERR ||
	    (n->req.state == SHCA_SIDE_ERR && sim_is_rc(n->w)))
		to_error(n);
	else if (n->req.state == SHCA_SIDE_ERR && n->state == SIM_NODE_RUN)
		to_sqe(n);
	while (shca_req_pop(&n->req, &wc))
		sim_model_send_wc(n, &wc);
	sim_model_retired(n);
	if (!resp_done || !req_done)
		pump_later(n);
	arm_timer(n);
}

/* ---- posting -------------------------------------------------------------- */

/* What the operation has beside its data. */
static void fill_wr_remote(struct sim_node *n, const struct sim_op *op,
			   struct shca_send_wr *wr)
{
	u32 bad = op->fault == SIM_BAD_RKEY ? 0x100 : 0;

	memset(&wr->atomic, 0, sizeof(wr->atomic));
	if (sim_is_ud(n->w)) {
		wr->ud.remote_qpn = op->target ? op->target->qpn : 0;
		wr->ud.remote_qkey = op->qkey;
		return;
	}
	/* All that reach the peer's memory begin alike. */
	wr->rdma.rkey = n->peer->rem.key ^ bad;
	wr->rdma.remote_addr = op->rem_va;
	if (op->opcode == SHCA_WR_FLUSH) {
		wr->flush.type = op->imm & 0xff;
		wr->flush.level = op->imm >> 8;
		wr->flush.length = op->swap;
	} else if (op->opcode == SHCA_WR_ATOMIC_CMP_AND_SWP ||
		   op->opcode == SHCA_WR_ATOMIC_FETCH_AND_ADD) {
		wr->atomic.compare_add = op->compare_add;
		wr->atomic.swap = op->swap;
	}
}

static void fill_wr(struct sim_node *n, const struct sim_op *op,
		    struct shca_send_wr *wr)
{
	wr->wr_id = op - n->ops;
	wr->opcode = op->opcode;
	wr->flags = op->flags;
	wr->imm = op->imm;
	wr->length = op->len;
	wr->rate_kbps = sim_is_ud(n->w) ? sim_rate(n->w, n->idx + wr->wr_id) : 0;
	if (sim_is_xrc(n->w))
		wr->xrc_srqn = sim_srqn(n->w, op);
	fill_wr_remote(n, op, wr);
	wr->inline_data = op->inline_data;
	wr->priv = NULL;
	wr->own = NULL;
	wr->preset = SHCA_WC_SUCCESS;
	wr->num_sge = op->inline_data ? 0 : op->nr_sge;
	memcpy(wr->sge, op->sge, wr->num_sge * sizeof(op->sge[0]));
	if (op->fault == SIM_BAD_WR && op->id & 1)
		wr->flags |= 1u << 9;
	else if (op->fault == SIM_BAD_WR)
		wr->opcode = 99;
}

/* As many as the dice say and the ring takes; false: none, or none is left. */
bool sim_node_post(struct sim_node *n)
{
	u32 first = n->nr_posted, nr = prng_range(&n->w->rng, 1, 12);
	struct shca_send_wr *wr;
	u32 used;

	if (n->state == SIM_NODE_IDLE)
		return false;
	while (nr-- && n->nr_posted < n->nr_ops) {
		wr = shca_req_slot(&n->req);
		used = n->req.ring.prod - n->req.ring.head;
		sim_check(n->w, !wr == (used == n->req_entries),
			  "node %u: slot %p with %u of %u used", n->idx,
			  (void *)wr, used, n->req_entries);
		if (!wr)
			break;
		fill_wr(n, &n->ops[n->nr_posted], wr);
		sim_tape_post(n, wr);
		n->ops[n->nr_posted++].posted = true;
		shca_req_post(&n->req);
	}
	sim_node_pump(n);
	return n->nr_posted > first && n->nr_posted < n->nr_ops;
}
