// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Packets that wait for memory which is not present, as those of the product do
 * (kernel/wire/page_wait.c, called by rq.c and sq.c).  One waits, and so does all
 * that comes behind it for that side.  The memory is reported later, and then they
 * go on in order.  Nobody else comes back to them.
 */
#include "sim.h"

/**
 * struct sim_parked - a packet that waits, with its bytes
 */
struct sim_parked {
	struct sim_parked *next;
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

static void park_add(struct sim_node *n, struct sim_park *park,
		     const struct shca_pkt *pkt)
{
	const struct sim_wire *wire = pkt->data;
	struct sim_parked *p;

	if (park->nr == park->max) {	/* lost, as on a wire */
		sim_log(n->w, "node %u: psn %06x finds no place to wait", n->idx,
			pkt->psn);
		park->was_full = true;
		/* Where one try is all, it was that one. */
		if (!n->peer->req_attr.retry_cnt)
			n->peer->extra_status |= 1u << SHCA_WC_RETRY_EXC_ERR;
		return;
	}
	p = calloc(1, sizeof(*p));
	p->wire = sim_wire_copy(wire, wire->len);
	p->pkt = *pkt;
	p->pkt.data = p->wire;
	if (park->nr++)
		park->last->next = p;
	else
		park->first = p;
	park->last = p;
}

static void park_drop(struct sim_park *park)
{
	struct sim_parked *p = park->first;

	park->first = p->next;
	park->nr--;
	free(p->wire);
	free(p);
}

/* ---- out of order ------------------------------------------------------------ */

/* shca_pkt_queue_add_ooo() */
static void hold_add(struct sim_node *n, struct sim_park *kept,
		     const struct shca_pkt *pkt)
{
	const struct sim_wire *wire = pkt->data;
	struct sim_parked **at = &kept->first, *p;

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

u32 sim_park_end(const struct sim_node *n)
{
	const struct sim_parked *p;
	u32 end = n->resp.epsn;

	for (p = n->kept[0].first; p; p = p->next)
		end = shca_psn_add(p->pkt.psn, p->pkt.span + 1);
	return end;
}

/* It was fed and has to wait: for memory that was asked for, or for an answer. */
static bool has_to_wait(struct sim_node *n, struct sim_park *park,
			enum shca_verdict rx, bool is_response)
{
	if (!shca_rx_is_later(rx))
		return false;
	park->behind = rx == SHCA_RX_BUSY;
	n->faults++;
	n->peer->faults++;
	if (n->asked && !park->fetching) {
		park->fetching = true;
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
	struct sim_park *held = &n->kept[is_response];
	struct sim_park *park = &n->park[is_response];
	bool is_ahead = is_out_of_order(rx, is_response);
	bool asks = shca_resp_is_asked(&n->resp, pkt, rx, is_ahead, held->nr,
				       held->nr && pkt == &held->first->pkt);
	u32 cause = shca_psn_add(pkt->psn, pkt->span);
	struct shca_pkt *next;
	u32 psn = pkt->psn, fed = 0;
	s32 ahead = 0;

	if (is_ahead && may_hold(n, pkt, is_response))
		hold_add(n, held, pkt);
	if (held->feeds)
		return;
	while (held->nr && !park->nr) {
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
			if (has_to_wait(n, park, rx, is_response)) {
				if (!is_response && !park->behind)
					shca_resp_not_yet(&n->resp, next->psn);
				park_add(n, park, next);
			}
		}
		park_drop(held);
	}
	if (held->nr)
		psn = held->first->pkt.psn;
	else if (!is_ahead)
		psn = *expected;
	if (park->nr)
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
static bool must_wait(struct sim_node *n, const struct sim_park *park,
		      struct shca_pkt *pkt)
{
	s32 behind;

	if (!sim_is_rc(n->w) ||
	    shca_psn_diff(pkt->psn, park->last->pkt.psn) > 0)
		return true;
	behind = shca_psn_diff(pkt->psn, park->first->pkt.psn);
	if (!behind)
		shca_resp_not_yet(&n->resp, pkt->psn);
	else if (behind < 0)
		sim_node_accept(n, pkt, false);
	return false;
}

/* shca_rq_take(), shca_sq_take() */
void sim_park_take(struct sim_node *n, struct shca_pkt *pkt, bool is_response)
{
	struct sim_park *park = &n->park[is_response];
	enum shca_verdict rx;

	if (!park->nr) {
		rx = sim_node_accept(n, pkt, is_response);
		if (!has_to_wait(n, park, rx, is_response)) {
			if (keeps(n, is_response) && rx != SHCA_RX_CNP)
				feed_held(n, pkt, rx, is_response);
			return;
		}
		if (!is_response && !park->behind) {
			/* A repeated one holds nothing, unless it cannot be told now. */
			sim_check(n->w, !sim_is_rc(n->w) ||
				  shca_psn_diff(pkt->psn, n->resp.epsn) >= 0 ||
				  n->resp.ack.owed != SHCA_ACK_NONE,
				  "node %u: repeated psn %06x holds what is behind it",
				  n->idx, pkt->psn);
			shca_resp_not_yet(&n->resp, pkt->psn);
		}
	} else if (!is_response && !must_wait(n, park, pkt)) {
		return;
	}
	park_add(n, park, pkt);
}

/* shca_rq_unpark(), shca_sq_resume() */
static void unpark(struct sim_node *n, bool is_response)
{
	struct sim_park *park = &n->park[is_response];
	enum shca_verdict rx;

	park->behind = false;
	n->kept[is_response].feeds = false;
	while (park->nr) {
		u32 psn = park->first->pkt.psn;

		sim_log(n->w, "node %u: psn %06x has waited", n->idx, psn);
		rx = sim_node_accept(n, &park->first->pkt, is_response);
		if (has_to_wait(n, park, rx, is_response)) {
			if (!is_response && !park->behind &&
			    !shca_resp_said_not_yet(&n->resp, psn))
				shca_resp_not_yet(&n->resp, psn);
			return;
		}
		if (is_out_of_order(rx, is_response) &&
		    may_hold(n, &park->first->pkt, is_response))
			hold_add(n, &n->kept[is_response], &park->first->pkt);
		park_drop(park);
	}
	if (n->kept[is_response].nr)
		feed_held(n, &n->kept[is_response].first->pkt,
			  SHCA_RX_DUPLICATE, is_response);
}

void sim_park_fetched(struct sim_node *n, bool is_response)
{
	n->park[is_response].fetching = false;
	unpark(n, is_response);
	sim_node_pump(n);
}

/* As shca_rq_continue(), and shca_sq_round() in its turn. */
void sim_park_fed(struct sim_node *n, bool is_response)
{
	/* (what waits for memory or an answer has an event of its own) */
	n->kept[is_response].feeds = false;
	if (!n->park[is_response].nr)
		unpark(n, is_response);
	sim_node_pump(n);
}

/* As shca_rq_finish(). Return: requests went on, and there may be answers. */
bool sim_park_answered(struct sim_node *n)
{
	if (!n->park[0].behind || !shca_resp_has_room(&n->resp))
		return false;
	unpark(n, false);
	return true;
}

void sim_park_purge(struct sim_node *n)
{
	u32 i;

	for (i = 0; i < 2; i++) {
		while (n->kept[i].nr)
			park_drop(&n->kept[i]);
		while (n->park[i].nr)
			park_drop(&n->park[i]);
		n->kept[i].feeds = false;
		n->park[i].fetching = false;
		n->park[i].behind = false;
		n->park[i].was_full = false;
		/* the product's; few, so that it is full now and then */
		n->park[i].max = n->w->f.strict || prng_chance(&n->w->rng, 500) ?
				 1024 : prng_range(&n->w->rng, 1, 64);
	}
}
