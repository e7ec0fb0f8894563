// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Packets that wait for memory which is not present, as those of the product do
 * (kernel/wire/page_wait.c, called by rq.c and sq.c).  One waits, and so does all
 * that comes behind it for that side.  The memory is reported later, and then they
 * go on in order.  Nobody else comes back to them.
 */
#include "sim.h"

/**
 * struct sim_queued - a packet that waits, with its bytes
 */
struct sim_queued {
	struct sim_queued *next;
	struct sim_wire *wire;
	struct shca_pkt pkt;
};

/*
 * The time to read a page.  Now and then the disk is so slow that a peer could
 * think that nobody is there.
 */
static u64 fetch_time(struct sim_node *n)
{
	struct prng *rng = &n->w->rng;

	if (prng_chance(rng, 900) || !n->peer->req_attr.timeout_ns)
		return prng_range(rng, 1, n->w->f.pump_ns);
	return prng_next(rng) % (2 * n->peer->req_attr.timeout_ns);
}

static void queue_add(struct sim_node *n, struct sim_queue *queue,
		     const struct shca_pkt *pkt)
{
	const struct sim_wire *wire = pkt->data;
	struct sim_queued *p;

	if (queue->nr == queue->max) {	/* lost, as on a wire */
		sim_log(n->w, "node %u: psn %06x finds no place to wait", n->idx,
			pkt->psn);
		queue->was_full = true;
		/* Where one try is all, it was that one. */
		if (!n->peer->req_attr.retry_cnt)
			n->peer->extra_status |= 1u << SHCA_WC_RETRY_EXC_ERR;
		return;
	}
	p = calloc(1, sizeof(*p));
	p->wire = sim_wire_copy(wire, wire->len);
	p->pkt = *pkt;
	p->pkt.data = p->wire;
	if (queue->nr++)
		queue->last->next = p;
	else
		queue->first = p;
	queue->last = p;
}

static void queue_drop(struct sim_queue *queue)
{
	struct sim_queued *p = queue->first;

	queue->first = p->next;
	queue->nr--;
	free(p->wire);
	free(p);
}

/* ---- out of order ------------------------------------------------------------ */

/* shca_pkt_queue_add_ooo() */
static void ooo_add(struct sim_node *n, struct sim_queue *kept,
		     const struct shca_pkt *pkt)
{
	const struct sim_wire *wire = pkt->data;
	struct sim_queued **at = &kept->first, *p;

	while (*at && shca_psn_diff((*at)->pkt.psn, pkt->psn) < 0)
		at = &(*at)->next;
	if (*at && (*at)->pkt.psn == pkt->psn)
		return;
	p = calloc(1, sizeof(*p));
	p->wire = sim_wire_copy(wire, wire->len);
	p->pkt = *pkt;
	p->pkt.data = p->wire;
	p->next = *at;
	*at = p;
	kept->nr++;
	n->w->stat_held++;
}

u32 sim_queue_end(const struct sim_node *n)
{
	const struct sim_queued *p;
	u32 end = n->resp.epsn;

	for (p = n->kept[0].first; p; p = p->next)
		end = shca_psn_add(p->pkt.psn, p->pkt.span + 1);
	return end;
}

/* It was fed and has to wait: for memory that was asked for, or for an answer. */
static bool has_to_wait(struct sim_node *n, struct sim_queue *queue,
			enum shca_verdict rx, bool is_response)
{
	if (!shca_rx_is_later(rx))
		return false;
	queue->behind = rx == SHCA_RX_BUSY;
	n->faults++;
	n->peer->faults++;
	if (n->asked && !queue->fetching) {
		queue->fetching = true;
		sim_push(n->w, n->w->now + fetch_time(n),
			 is_response ? SIM_EV_FETCHED_SQ : SIM_EV_FETCHED_RQ,
			 n->idx, n->qpn, NULL);
	}
	return true;
}

static bool is_out_of_order(enum shca_verdict rx, bool is_response)
{
	return rx == (is_response ? SHCA_RX_LOST_RESPONSE : SHCA_RX_OUT_OF_SEQ);
}

static bool may_hold(const struct sim_node *n, const struct shca_pkt *pkt,
		     bool is_response)
{
	return is_response ? shca_req_may_queue(&n->req, pkt) :
			     shca_resp_may_queue(&n->resp, pkt);
}

/* Does this side of @n keep what is out of order? */
static bool keeps(const struct sim_node *n, bool is_response)
{
	return is_response ? n->w->f.keeps : n->w->f.holds;
}

/* Has the turn ended?  Then an event feeds the rest, and what comes until then joins it. */
static bool turn_ends(struct sim_node *n, u32 *fed, bool is_response)
{
	struct sim_world *w = n->w;

	if (!w->f.turn || (*fed)++ < w->f.turn)
		return false;
	n->kept[is_response].feeds = true;
	w->stat_turns++;
	sim_push(w, w->now + prng_range(&w->rng, 1, w->f.pump_ns),
		 is_response ? SIM_EV_FED_SQ : SIM_EV_FED_RQ, n->idx, n->qpn, NULL);
	return true;
}

/* As shca_side_queue_ooo(): @pkt was fed, and this became of it. */
static void feed_held(struct sim_node *n, const struct shca_pkt *pkt,
		      enum shca_verdict rx, bool is_response)
{
	const u32 *expected = is_response ? &n->req.psn.una : &n->resp.epsn;
	struct sim_queue *held = &n->kept[is_response];
	struct sim_queue *queue = &n->queue[is_response];
	bool is_ahead = is_out_of_order(rx, is_response);
	bool asks = shca_resp_is_asked(&n->resp, pkt, rx, is_ahead, held->nr,
				       held->nr && pkt == &held->first->pkt);
	u32 cause = shca_psn_add(pkt->psn, pkt->span);
	struct shca_pkt *next;
	u32 psn = pkt->psn, fed = 0;
	s32 ahead = 0;

	if (is_ahead && may_hold(n, pkt, is_response))
		ooo_add(n, held, pkt);
	if (held->feeds)
		return;
	while (held->nr && !queue->nr) {
		next = &held->first->pkt;
		ahead = shca_psn_diff(next->psn, *expected);
		if (ahead > 0)
			break;
		if (turn_ends(n, &fed, is_response))
			return;
		if (!ahead) {
			sim_log(n->w, "node %u: psn %06x was held", n->idx,
				next->psn);
			rx = sim_node_accept(n, next, is_response);
			if (has_to_wait(n, queue, rx, is_response)) {
				if (!is_response && !queue->behind)
					shca_resp_not_yet(&n->resp, next->psn);
				queue_add(n, queue, next);
			}
		}
		queue_drop(held);
	}
	if (held->nr)
		psn = held->first->pkt.psn;
	else if (!is_ahead)
		psn = *expected;
	if (queue->nr)
		return;
	if (!is_response) {
		/* shca_rq_missing() */
		if (n->resp.attr.peer & SHCA_PEER_OOO)
			shca_resp_gap(&n->resp, psn, cause, asks);
		return;
	}
	shca_req_gap(&n->req, psn, cause, n->w->now);
	n->may_go_back |= n->req.psn.next != n->req.psn.max;
}

/* shca_rq_must_wait() */
static bool must_wait(struct sim_node *n, const struct sim_queue *queue,
		      struct shca_pkt *pkt)
{
	s32 behind;

	if (!sim_is_rc(n->w) ||
	    shca_psn_diff(pkt->psn, queue->last->pkt.psn) > 0)
		return true;
	behind = shca_psn_diff(pkt->psn, queue->first->pkt.psn);
	if (!behind)
		shca_resp_not_yet(&n->resp, pkt->psn);
	else if (behind < 0)
		sim_node_accept(n, pkt, false);
	return false;
}

/* shca_rq_take(), shca_sq_take() */
void sim_queue_take(struct sim_node *n, struct shca_pkt *pkt, bool is_response)
{
	struct sim_queue *queue = &n->queue[is_response];
	enum shca_verdict rx;

	if (!queue->nr) {
		rx = sim_node_accept(n, pkt, is_response);
		if (!has_to_wait(n, queue, rx, is_response)) {
			if (keeps(n, is_response) && rx != SHCA_RX_CNP)
				feed_held(n, pkt, rx, is_response);
			return;
		}
		if (!is_response && !queue->behind) {
			/* A repeated one holds nothing, unless it cannot be told now. */
			sim_check(n->w, !sim_is_rc(n->w) ||
				  shca_psn_diff(pkt->psn, n->resp.epsn) >= 0 ||
				  n->resp.ack.owed != SHCA_ACK_NONE,
				  "node %u: repeated psn %06x holds what is behind it",
				  n->idx, pkt->psn);
			shca_resp_not_yet(&n->resp, pkt->psn);
		}
	} else if (!is_response && !must_wait(n, queue, pkt)) {
		return;
	}
	queue_add(n, queue, pkt);
}

/* shca_rq_unpark(), shca_sq_resume() */
static void unpark(struct sim_node *n, bool is_response)
{
	struct sim_queue *queue = &n->queue[is_response];
	enum shca_verdict rx;

	queue->behind = false;
	n->kept[is_response].feeds = false;
	while (queue->nr) {
		u32 psn = queue->first->pkt.psn;

		sim_log(n->w, "node %u: psn %06x has waited", n->idx, psn);
		rx = sim_node_accept(n, &queue->first->pkt, is_response);
		if (has_to_wait(n, queue, rx, is_response)) {
			if (!is_response && !queue->behind &&
			    !shca_resp_said_not_yet(&n->resp, psn))
				shca_resp_not_yet(&n->resp, psn);
			return;
		}
		if (is_out_of_order(rx, is_response) &&
		    may_hold(n, &queue->first->pkt, is_response))
			ooo_add(n, &n->kept[is_response], &queue->first->pkt);
		queue_drop(queue);
	}
	if (n->kept[is_response].nr)
		feed_held(n, &n->kept[is_response].first->pkt,
			  SHCA_RX_DUPLICATE, is_response);
}

void sim_queue_fetched(struct sim_node *n, bool is_response)
{
	n->queue[is_response].fetching = false;
	unpark(n, is_response);
	sim_node_pump(n);
}

/* As shca_rq_continue(), and shca_sq_round() in its turn. */
void sim_queue_fed(struct sim_node *n, bool is_response)
{
	/* (what waits for memory or an answer has an event of its own) */
	n->kept[is_response].feeds = false;
	if (!n->queue[is_response].nr)
		unpark(n, is_response);
	sim_node_pump(n);
}

/* As shca_rq_finish(). Return: requests went on, and there may be answers. */
bool sim_queue_answered(struct sim_node *n)
{
	if (!n->queue[0].behind || !shca_resp_has_room(&n->resp))
		return false;
	unpark(n, false);
	return true;
}

void sim_queue_purge(struct sim_node *n)
{
	u32 i;

	for (i = 0; i < 2; i++) {
		while (n->kept[i].nr)
			queue_drop(&n->kept[i]);
		while (n->queue[i].nr)
			queue_drop(&n->queue[i]);
		n->kept[i].feeds = false;
		n->queue[i].fetching = false;
		n->queue[i].behind = false;
		n->queue[i].was_full = false;
		/* the product's; few, so that it is full now and then */
		n->queue[i].max = n->w->f.strict || prng_chance(&n->w->rng, 500) ?
				 1024 : prng_range(&n->w->rng, 1, 64);
	}
}
