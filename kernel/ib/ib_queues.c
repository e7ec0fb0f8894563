// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Flow control of an InfiniBand link. A packet that has credit leaves at once. Others wait in
 * the queue of their lane, and leave in the order of VL arbitration when the peer reports
 * room. ib/core/ib_credit.c has the counters.
 *
 * While any packet waits, all packets pass the queues, so none overtakes those of its lane,
 * and weights apply. One lock protects the counters. Each skb, which may be a batch, takes it
 * once on transmission and once on reception.
 *
 * A queue has SHCA_IB_QUEUE skbs at most. Then its senders wait, as for a full queue of a
 * network device (wire/tx.h), and their requests stay in their rings.
 *
 * If a peer gives no credit for HOQLife, the packets of that lane are dropped, and their QPs
 * send them again until they give up.
 */
#include "ib_queues.h"

#include <linux/cpumask.h>
#include <linux/if_ether.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/pkt_sched.h>
#include <linux/smp.h>

#include "../base/counters.h"
#include "ib_link.h"
#include "ib_path.h"

/* Interval of credit frames, besides those with a cause: while packets wait, and otherwise */
#define SHCA_IB_TELL		msecs_to_jiffies(4)
#define SHCA_IB_TELL_IDLE	msecs_to_jiffies(100)
/* Delay before a sender that waits asks for credits */
#define SHCA_IB_ASK_NS		(500 * NSEC_PER_USEC)
/*
 * Length of a sender's period, and the time until its last packets have arrived. The latter
 * grows where the machine is so slow that some come later: up to six of the eight past
 * periods that a receiver distinguishes.
 */
#define SHCA_IB_PERIOD		msecs_to_jiffies(40)
#define SHCA_IB_RECONCILE		(msecs_to_jiffies(20) + 1)
#define SHCA_IB_RECONCILE_MOST	(6 * SHCA_IB_PERIOD)
/*
 * A peer that sends hellos, but no frame of credits for so long, has a defect: a frame is due
 * every 100 ms. (The watchdog of IBTA 7.9 waits for 400,000 symbols, six periods of its
 * credits.)
 */
#define SHCA_IB_WATCHDOG_NS	(2 * NSEC_PER_SEC)
/* Budget: skbs that one CPU takes from the queues before other softirqs run */
#define SHCA_IB_DRAIN		64
/* HOQLife 0: the first packet of a lane waits for 4.096 us * 2^20, 4 s. */
#define SHCA_IB_HOQ_DEFAULT	20
/* HOQLife from here on is infinite. */
#define SHCA_IB_HOQ_INFINITE	20

/* An skb leaves on the CPU that it came from. On another one it could overtake earlier ones. */
struct shca_ib_wait {
	struct shca_ib_load load;
	int cpu;
};

static u32 shca_ib_charge(const struct shca_ib_load *load)
{
	return load->segs * SHCA_IB_CHARGE;
}

static struct shca_ib_wait *shca_ib_wait(const struct sk_buff *skb)
{
	BUILD_BUG_ON(sizeof(struct shca_ib_wait) > sizeof(skb->cb));
	return (struct shca_ib_wait *)skb->cb;
}

/* ---- frames of credits ------------------------------------------------------ */

/* If the last packets of the peer's last period have had their time, missing ones are lost. */
static void shca_ib_reconcile(struct shca_ib_flow *flow)
{
	lockdep_assert_held(&flow->lock);
	if (!shca_ib_credits_turning(&flow->credits) ||
	    time_before(jiffies, flow->turning + flow->drain))
		return;
	shca_ib_credits_reconcile(&flow->credits);
	/* doubled as soon as it is too short */
	flow->drain -= (flow->drain - SHCA_IB_RECONCILE) / 8;
}

/* Return: does the peer have to be asked, and not too often? */
static bool shca_ib_may_ask(const struct shca_ib_flow *flow)
{
	lockdep_assert_held(&flow->lock);
	return flow->waits &&
	       ktime_get_ns() - max(flow->asked, flow->heard) >= SHCA_IB_ASK_NS;
}

static void shca_ib_fill_frame(struct shca_ib_flow *flow,
			       struct shca_ib_credit_frame *frame)
{
	struct shca_ib_credits *credits = &flow->credits;

	shca_ib_reconcile(flow);
	if (time_after_eq(jiffies, flow->turned + SHCA_IB_PERIOD)) {
		shca_ib_credits_turn(credits);
		flow->turned = jiffies;
	}
	shca_ib_credits_tell(credits, frame);
	/* Not in each frame: two ends that wait would answer each other endlessly. */
	if (shca_ib_may_ask(flow)) {
		frame->ask = true;
		flow->asked = ktime_get_ns();
	}
}

/* A lost frame of credits is repeated. Context: softirq or bottom halves off. */
static void shca_ib_flow_tell(struct shca_ib_link *link)
{
	u32 room = SHCA_IB_SHIM_BYTES + SHCA_IB_CREDIT_BYTES;
	struct net_device *ndev = link->dev->ndev;
	struct shca_ib_flow *flow = &link->flow;
	struct shca_ib_credit_frame frame;
	struct shca_ib_view view;
	struct sk_buff *skb;

	shca_ib_look(link, &view);
	if (!view.up)
		return;
	skb = alloc_skb(LL_RESERVED_SPACE(ndev) + room + ndev->needed_tailroom,
			GFP_ATOMIC | __GFP_NOWARN);
	if (!skb)
		return;
	spin_lock(&flow->lock);
	if (!flow->credits.on) {
		spin_unlock(&flow->lock);
		kfree_skb(skb);
		return;
	}
	shca_ib_fill_frame(flow, &frame);
	spin_unlock(&flow->lock);
	frame.session = link->session;
	skb_reserve(skb, LL_RESERVED_SPACE(ndev));
	skb_reset_network_header(skb);
	shca_ib_credit_build(&frame, &shca_ib_vcrc_tables, skb_put(skb, room));
	skb->dev = ndev;
	skb->protocol = htons(SHCA_IB_ETHERTYPE);
	skb->priority = TC_PRIO_CONTROL;
	if (dev_hard_header(skb, ndev, SHCA_IB_ETHERTYPE, view.peer_mac, NULL,
			    skb->len) < 0) {
		kfree_skb(skb);
		return;
	}
	dev_queue_xmit(skb);
}

/* ---- queues ----------------------------------------------------------------- */

/* Return: the period of the packets, which they carry. */
static u8 shca_ib_take(struct shca_ib_flow *flow, struct sk_buff *skb,
		       const struct shca_ib_load *load)
{
	u8 period = flow->credits.period;

	lockdep_assert_held(&flow->lock);
	shca_ib_credits_take(&flow->credits, load->lane, shca_ib_charge(load));
	/* The VCRC does not cover it; the headers are linear and not shared. */
	shca_ib_shim_set_period(skb_network_header(skb), period);
	return period;
}

static void shca_ib_flow_wake(struct shca_ib_flow *flow, unsigned long delay)
{
	struct shca_ib_link *link = container_of(flow, struct shca_ib_link, flow);

	mod_delayed_work(link->wq, &flow->work, delay);
}

/* Return: false: no room. */
static bool shca_ib_enqueue(struct shca_ib_flow *flow, struct sk_buff *skb,
			    const struct shca_ib_load *load)
{
	struct shca_ib_queue *queue = &flow->queue[load->lane];
	u64 now = ktime_get_ns();

	lockdep_assert_held(&flow->lock);
	/* If the link went down just now, there is no credit either. */
	if (!flow->credits.on || skb_queue_len(&queue->skbs) >= SHCA_IB_QUEUE ||
	    queue->blocks + load->blocks > SHCA_IB_QUEUE_BLOCKS)
		return false;
	*shca_ib_wait(skb) = (struct shca_ib_wait){
		.load = *load,
		.cpu = smp_processor_id(),
	};
	if (skb_queue_empty(&queue->skbs))
		queue->since = now;
	if (!flow->waits++)
		flow->since = now;
	if (!flow->hurries)
		shca_ib_flow_wake(flow, SHCA_IB_TELL);
	flow->hurries = true;
	queue->blocks += load->blocks;
	__skb_queue_tail(&queue->skbs, skb);
	return true;
}

/* Count the time until now as waiting. */
static void shca_ib_account_wait(struct shca_ib_flow *flow, u64 now)
{
	lockdep_assert_held(&flow->lock);
	flow->waited += now - flow->since;
	flow->since = now;
}

/*
 * Return: the lane whose turn it is in @arb, which advances; or SHCA_IB_NO_LANE.
 *
 * A lane is chosen by its own credit, not by the room of the window, which all share.
 * Otherwise single packets of two lanes could fill it forever, and a batch of a third one
 * would starve. A batch that was made for a larger window has no turn.
 */
static u8 shca_ib_choose(struct shca_ib_flow *flow, struct shca_ib_arb *arb)
{
	u32 blocks[SHCA_IB_LANES] = {}, packet[SHCA_IB_LANES] = {}, i;
	const struct shca_ib_load *load;
	struct sk_buff *skb;

	lockdep_assert_held(&flow->lock);
	for (i = 0; i < SHCA_IB_LANES; i++) {
		skb = skb_peek(&flow->queue[i].skbs);
		if (!skb)
			continue;
		load = &shca_ib_wait(skb)->load;
		if (shca_ib_charge(load) > flow->credits.window ||
		    shca_ib_charge(load) > shca_ib_credits_of_lane(&flow->credits, i))
			continue;
		blocks[i] = load->blocks;
		packet[i] = load->packet;
	}
	return shca_ib_arb_next(arb, &flow->lanes, blocks, packet);
}

/* Return: was the skb left to another CPU, from which it must leave? */
static bool shca_ib_hand_over(struct shca_ib_flow *flow, struct sk_buff *skb)
{
	int cpu = shca_ib_wait(skb)->cpu;

	lockdep_assert_held(&flow->lock);
	if (!SHCA_BH_ON_CPU || cpu == smp_processor_id() || !cpu_online(cpu) ||
	    !flow->credits.on)
		return false;
	shca_bh_schedule_on(cpu, &per_cpu_ptr(flow->turns, cpu)->bh);
	return true;
}

/*
 * Return: the skb whose turn it is, accounted for; or NULL.
 *
 * The turn is taken only when the skb leaves: when the window has room for it, and on its own
 * CPU. Until then a lane of higher priority may take its turn first.
 */
static struct sk_buff *shca_ib_dequeue(struct shca_ib_flow *flow)
{
	struct shca_ib_arb arb = flow->arb;
	const struct shca_ib_load *load;
	struct shca_ib_queue *queue;
	struct sk_buff *skb;
	u8 lane;
	u64 now;

	lockdep_assert_held(&flow->lock);
	lane = shca_ib_choose(flow, &arb);
	if (lane == SHCA_IB_NO_LANE)
		return NULL;
	queue = &flow->queue[lane];
	skb = skb_peek(&queue->skbs);
	load = &shca_ib_wait(skb)->load;
	if (shca_ib_charge(load) > shca_ib_credits_room(&flow->credits, lane) ||
	    shca_ib_hand_over(flow, skb))
		return NULL;
	__skb_unlink(skb, &queue->skbs);
	flow->arb = arb;
	shca_ib_take(flow, skb, load);
	now = ktime_get_ns();
	shca_ib_account_wait(flow, now);
	queue->since = now;
	queue->blocks -= load->blocks;
	queue->left++;
	flow->waits--;
	return skb;
}

/*
 * Transmit all that has credit, and ask the peer for more if others wait. Bottom halves off.
 *
 * Credit comes, skbs join, and @draining ends, all under the lock. So either the draining CPU
 * sees the change, or it has ended, and the CPU that made the change drains.
 */
static void shca_ib_drain(struct shca_ib_link *link)
{
	struct shca_ib_flow *flow = &link->flow;
	u32 budget = SHCA_IB_DRAIN, segs;
	struct shca_ib_view view;
	struct sk_buff *skb;
	bool ask;

	shca_ib_look(link, &view);
	spin_lock(&flow->lock);
	if (!flow->waits || flow->draining) {
		spin_unlock(&flow->lock);
		return;
	}
	flow->draining = true;
	while (budget && flow->waits && (skb = shca_ib_dequeue(flow))) {
		spin_unlock(&flow->lock);
		budget--;
		segs = shca_ib_wait(skb)->load.segs;
		/* Counted as sent: it is lost if the device refuses it now. */
		if (shca_ib_leave(link->dev, &view, skb, segs) == -EBUSY)
			shca_count_n(link->dev, TX_DROP, segs);
		spin_lock(&flow->lock);
	}
	flow->draining = false;
	if (!budget && flow->waits && flow->credits.on)
		shca_bh_schedule(&this_cpu_ptr(flow->turns)->bh);
	ask = shca_ib_may_ask(flow);
	spin_unlock(&flow->lock);
	if (ask)
		shca_ib_flow_tell(link);
}

SHCA_BH_HANDLER(shca_ib_flow_continue)
{
	shca_ib_drain(container_of(bh, struct shca_ib_turn, bh)->link);
}

/* Return: number of packets that were dropped. */
static u32 shca_ib_discard(struct shca_ib_flow *flow, u32 lane)
{
	struct shca_ib_queue *queue = &flow->queue[lane];
	struct sk_buff *skb;
	u32 nr = 0;

	lockdep_assert_held(&flow->lock);
	while ((skb = __skb_dequeue(&queue->skbs))) {
		nr += shca_ib_wait(skb)->load.segs;
		flow->waits--;
		kfree_skb(skb);
	}
	queue->blocks = 0;
	return nr;
}

/* The device refused packets: give their credit back. */
static void shca_ib_refused(struct shca_ib_flow *flow,
			    const struct shca_ib_load *load, u8 period)
{
	spin_lock(&flow->lock);
	/* In a later period, the peer detects the loss. */
	if (flow->credits.period == period)
		shca_ib_credits_back(&flow->credits, load->lane,
				     shca_ib_charge(load));
	spin_unlock(&flow->lock);
}

int shca_ib_flow_xmit(struct shca_ib_link *link, const struct shca_ib_view *view,
		      struct sk_buff *skb, const struct shca_ib_load *load)
{
	struct shca_ib_flow *flow = &link->flow;
	bool passes, waits = false;
	u8 period = 0;
	int err;

	spin_lock(&flow->lock);
	passes = !flow->waits && !flow->draining &&
		 shca_ib_credits_room(&flow->credits, load->lane) >= shca_ib_charge(load);
	if (likely(passes))
		period = shca_ib_take(flow, skb, load);
	else
		waits = shca_ib_enqueue(flow, skb, load);
	spin_unlock(&flow->lock);
	if (likely(passes)) {
		err = shca_ib_leave(link->dev, view, skb, load->segs);
		if (unlikely(err == -EBUSY))
			shca_ib_refused(flow, load, period);
		return err;
	}
	if (!waits) {
		kfree_skb(skb);
		return -EBUSY;
	}
	shca_count_n(link->dev, TX_CREDIT, load->segs);
	shca_ib_drain(link);
	return 0;
}

bool shca_ib_flow_holds(struct shca_ib_link *link, u8 lane, u64 *left)
{
	struct shca_ib_flow *flow = &link->flow;
	bool holds;

	spin_lock(&flow->lock);
	*left = flow->queue[lane].left;
	holds = !skb_queue_empty(&flow->queue[lane].skbs);
	spin_unlock(&flow->lock);
	return holds;
}

/* ---- arrival ---------------------------------------------------------------- */

void shca_ib_flow_arrived(struct shca_ib_link *link, u8 lane, u8 period,
			  u32 segs)
{
	struct shca_ib_flow *flow = &link->flow;
	bool pending;

	spin_lock(&flow->lock);
	/* Later ones may follow: wait longer. */
	if (unlikely(!shca_ib_credits_arrived(&flow->credits, period, lane,
					      segs * SHCA_IB_CHARGE)))
		flow->drain = min_t(unsigned long, 2 * flow->drain,
				    SHCA_IB_RECONCILE_MOST);
	pending = shca_ib_credits_pending(&flow->credits);
	spin_unlock(&flow->lock);
	if (unlikely(pending))
		shca_ib_flow_tell(link);
}

bool shca_ib_flow_keep(struct shca_ib_link *link, u8 lane)
{
	struct shca_ib_flow *flow = &link->flow;
	bool ok;

	spin_lock(&flow->lock);
	ok = shca_ib_credits_keep(&flow->credits, lane, SHCA_IB_CHARGE);
	spin_unlock(&flow->lock);
	if (unlikely(!ok)) {
		shca_count(link->dev, RX_OVERRUN);
		shca_ib_overrun(link);
	}
	return ok;
}

void shca_ib_flow_free(struct shca_ib_link *link, u8 lane)
{
	struct shca_ib_flow *flow = &link->flow;
	bool pending;

	local_bh_disable();
	spin_lock(&flow->lock);
	shca_ib_credits_free(&flow->credits, lane, SHCA_IB_CHARGE);
	pending = shca_ib_credits_pending(&flow->credits);
	spin_unlock(&flow->lock);
	if (pending)
		shca_ib_flow_tell(link);
	local_bh_enable();
}

void shca_ib_flow_hear(struct shca_ib_link *link,
		       const struct shca_ib_credit_frame *frame)
{
	struct shca_ib_flow *flow = &link->flow;
	bool tell = false, ok = true, turning;

	spin_lock(&flow->lock);
	if (flow->credits.on) {
		/* The peer waits for the first frame. */
		tell = !flow->credits.heard || frame->init || frame->ask;
		shca_ib_reconcile(flow);
		turning = shca_ib_credits_turning(&flow->credits);
		ok = shca_ib_credits_hear(&flow->credits, frame);
		flow->heard = ktime_get_ns();
		flow->silent = false;
		if (!turning)
			flow->turning = jiffies;
		if (shca_ib_credits_pending(&flow->credits))
			tell = true;
	}
	spin_unlock(&flow->lock);
	if (!ok)
		shca_count(link->dev, RX_CREDIT);
	if (tell)
		shca_ib_flow_tell(link);
	shca_ib_drain(link);
}

/* ---- time ------------------------------------------------------------------- */

static u64 shca_ib_hoq_ns(const struct shca_ib_link *link)
{
	/* A subnet manager may change it concurrently. */
	u8 life = data_race(link->sma.hoq_life);

	if (life >= SHCA_IB_HOQ_INFINITE)
		return U64_MAX;
	return 4096ull << (life ?: SHCA_IB_HOQ_DEFAULT);
}

static void shca_ib_flow_work(struct work_struct *work)
{
	struct shca_ib_flow *flow = container_of(to_delayed_work(work),
						 struct shca_ib_flow, work);
	struct shca_ib_link *link = container_of(flow, struct shca_ib_link, flow);
	bool silent, begins;
	u32 lost = 0, i;
	u64 now;

	local_bh_disable();
	shca_ib_drain(link);
	spin_lock(&flow->lock);
	now = ktime_get_ns();
	for (i = 0; i < SHCA_IB_LANES; i++)
		if (!skb_queue_empty(&flow->queue[i].skbs) &&
		    now - flow->queue[i].since > shca_ib_hoq_ns(link))
			lost += shca_ib_discard(flow, i);
	shca_count_n(link->dev, TX_DROP, lost);
	silent = flow->credits.on && !flow->silent && now - flow->heard > SHCA_IB_WATCHDOG_NS;
	flow->silent |= silent;
	/* A peer that announced credits and sends none is not waited for. */
	begins = !flow->credits.heard && !flow->silent;
	flow->hurries = flow->waits || begins;
	if (flow->credits.on)
		shca_ib_flow_wake(flow, flow->hurries ? SHCA_IB_TELL :
							SHCA_IB_TELL_IDLE);
	spin_unlock(&flow->lock);
	shca_ib_flow_tell(link);
	/* Without flow->lock, which nests in the port's lock. */
	if (silent)
		shca_ib_watchdog(link);
	/* Another lane has its turn now. */
	if (lost)
		shca_ib_drain(link);
	local_bh_enable();
}

u64 shca_ib_flow_waited(struct shca_ib_flow *flow)
{
	u64 waited;

	spin_lock_bh(&flow->lock);
	if (flow->waits)
		shca_ib_account_wait(flow, ktime_get_ns());
	waited = flow->waited;
	spin_unlock_bh(&flow->lock);
	return waited;
}

/* ---- life ------------------------------------------------------------------- */

int shca_ib_flow_init(struct shca_ib_link *link)
{
	struct shca_ib_flow *flow = &link->flow;
	u32 grant[SHCA_IB_LANES], i;
	struct shca_ib_turn *turn;
	int cpu;

	flow->turns = alloc_percpu(struct shca_ib_turn);
	if (!flow->turns)
		return -ENOMEM;
	flow->drain = SHCA_IB_RECONCILE;
	for_each_possible_cpu(cpu) {
		turn = per_cpu_ptr(flow->turns, cpu);
		turn->link = link;
		shca_bh_init(&turn->bh, shca_ib_flow_continue);
	}
	spin_lock_init(&flow->lock);
	INIT_DELAYED_WORK(&flow->work, shca_ib_flow_work);
	flow->turned = jiffies;
	for (i = 0; i < SHCA_IB_LANES; i++) {
		__skb_queue_head_init(&flow->queue[i].skbs);
		grant[i] = SHCA_IB_GRANT;
	}
	shca_ib_credits_size(&flow->credits, SHCA_IB_WINDOW, grant);
	return 0;
}

void shca_ib_flow_set(struct shca_ib_flow *flow, const struct shca_ib_sma *sma)
{
	spin_lock(&flow->lock);
	flow->lanes = sma->lanes;
	shca_ib_arb_init(&flow->arb, &flow->lanes);
	spin_unlock(&flow->lock);
}

void shca_ib_flow_reset(struct shca_ib_link *link, bool on)
{
	struct shca_ib_flow *flow = &link->flow;
	u32 lost = 0, i;

	spin_lock(&flow->lock);
	for (i = 0; i < SHCA_IB_LANES; i++)
		lost += shca_ib_discard(flow, i);
	shca_count_n(link->dev, TX_DROP, lost);
	shca_ib_credits_reset(&flow->credits, on);
	flow->heard = ktime_get_ns();
	flow->silent = false;
	flow->hurries = on;
	/* When off, the work finds that out. */
	if (on)
		shca_ib_flow_wake(flow, 0);
	spin_unlock(&flow->lock);
}

void shca_ib_flow_stop(struct shca_ib_link *link)
{
	int cpu;

	spin_lock_bh(&link->lock);
	shca_ib_flow_reset(link, false);
	spin_unlock_bh(&link->lock);
	cancel_delayed_work_sync(&link->flow.work);
	for_each_possible_cpu(cpu)
		shca_bh_cancel(&per_cpu_ptr(link->flow.turns, cpu)->bh);
}
