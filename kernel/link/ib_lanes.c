// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Flow control of an InfiniBand link. A packet that has credit leaves at once. Others wait
 * in the queue of their lane, and leave in the order of VL arbitration when the peer
 * says that there is room. The counters are the core's (core/ib_credit.c).
 *
 * Memory: a queue has SHCA_IB_QUEUE packets at most. Then its senders wait, as for a
 * full queue of a network device (queue/tx.h), and their requests stay in their rings.
 *
 * A peer that gives no credit for long ends the wait (HOQLife). The packets of that lane
 * are lost, and their QPs repeat them until they give up.
 */
#include "ib_lanes.h"

#include <linux/cpumask.h>
#include <linux/if_ether.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/pkt_sched.h>
#include <linux/smp.h>

#include "../base/bh.h"
#include "../base/counters.h"
#include "ib.h"
#include "ib_path.h"

/* Frames of credits that nothing else has caused: after traffic, and without any. */
#define SHCA_IB_TELL_MS		10
#define SHCA_IB_TELL_IDLE_MS	100
/* Packets that one sender takes from the queues before others have their turn. */
#define SHCA_IB_DRAIN		128
/* The first packet of a lane waits so long, if HOQLife is 0: 4.096 us * 2^18, a second. */
#define SHCA_IB_HOQ_DEFAULT	18
/* From here on, HOQLife is infinite. */
#define SHCA_IB_HOQ_INFINITE	20

/* Can the kernel schedule softirq work on another CPU (base/bh.h)? */
#ifdef HAVE_WQ_BH
#define SHCA_IB_ON_CPU		true
#else
#define SHCA_IB_ON_CPU		false
#endif

/*
 * State of an skb while it waits. It leaves on the CPU that it came from: on another one,
 * it could overtake those before it, which lie in queues of that CPU.
 */
struct shca_ib_wait {
	u32 blocks;
	u8 lane;
	int cpu;
};

static struct shca_ib_wait *shca_ib_wait(struct sk_buff *skb)
{
	BUILD_BUG_ON(sizeof(struct shca_ib_wait) > sizeof(skb->cb));
	return (struct shca_ib_wait *)skb->cb;
}

/* ---- frames of credits ------------------------------------------------------ */

/* One that is lost, or for which there is no memory, comes again. */
void shca_ib_flow_tell(struct shca_ib_link *link)
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
	shca_ib_credits_tell(&flow->credits, &frame);
	spin_unlock(&flow->lock);
	frame.session = link->session;
	skb_reserve(skb, LL_RESERVED_SPACE(ndev));
	skb_reset_network_header(skb);
	shca_ib_credit_build(&frame, &shca_ib_vcrc_tables, skb_put(skb, room));
	skb->dev = ndev;
	skb->protocol = htons(SHCA_IB_ETHERTYPE);
	/* With data or behind them: what a frame says was sent is to be there. */
	skb->priority = TC_PRIO_BULK;
	if (dev_hard_header(skb, ndev, SHCA_IB_ETHERTYPE, view.peer_mac, NULL,
			    skb->len) < 0) {
		kfree_skb(skb);
		return;
	}
	dev_queue_xmit(skb);
}

/* ---- queues ----------------------------------------------------------------- */

/* The lock is held. Whoever looks again after a while finds the work done. */
static void shca_ib_flow_wake(struct shca_ib_flow *flow)
{
	lockdep_assert_held(&flow->lock);
	if (!flow->idle || !flow->running)
		return;
	flow->idle = false;
	mod_delayed_work(system_highpri_wq, &flow->work,
			 msecs_to_jiffies(SHCA_IB_TELL_MS));
}

/* The lock is held. */
static void shca_ib_enqueue(struct shca_ib_flow *flow, struct sk_buff *skb,
			    u8 lane, u32 blocks)
{
	struct shca_ib_queue *queue = &flow->queue[lane];
	u64 now = ktime_get_ns();

	lockdep_assert_held(&flow->lock);
	*shca_ib_wait(skb) = (struct shca_ib_wait){
		.blocks = blocks,
		.lane = lane,
		.cpu = smp_processor_id(),
	};
	if (skb_queue_empty(&queue->skbs))
		queue->since = now;
	if (!flow->waits++)
		flow->since = now;
	__skb_queue_tail(&queue->skbs, skb);
	shca_ib_flow_wake(flow);
}

/* The lock is held. The time until now was waiting; what goes on waiting begins anew. */
static void shca_ib_account_wait(struct shca_ib_flow *flow, u64 now)
{
	lockdep_assert_held(&flow->lock);
	flow->waited += now - flow->since;
	flow->since = now;
}

/* The lock is held. Return: the packet that has its turn, accounted for, or NULL. */
static struct sk_buff *shca_ib_choose(struct shca_ib_flow *flow)
{
	u32 blocks[SHCA_IB_LANES] = {};
	struct shca_ib_queue *queue;
	struct sk_buff *skb;
	u8 lane;
	u32 i;

	lockdep_assert_held(&flow->lock);
	for (i = 0; i < SHCA_IB_LANES; i++) {
		skb = skb_peek(&flow->queue[i].skbs);
		if (skb && shca_ib_credits_may(&flow->credits, i,
					       shca_ib_wait(skb)->blocks))
			blocks[i] = shca_ib_wait(skb)->blocks;
	}
	lane = shca_ib_arb_next(&flow->arb, &flow->lanes, blocks);
	if (lane == SHCA_IB_NO_LANE)
		return NULL;
	queue = &flow->queue[lane];
	skb = __skb_dequeue(&queue->skbs);
	shca_ib_credits_take(&flow->credits, lane, shca_ib_wait(skb)->blocks);
	queue->since = ktime_get_ns();
	return skb;
}

/*
 * The lock is held. Return: the packet that has its turn, if it may leave on this CPU. A
 * packet that may not is left to its own CPU, and no other one leaves before.
 */
static struct sk_buff *shca_ib_dequeue(struct shca_ib_flow *flow)
{
	struct sk_buff *skb = flow->turn;
	int cpu;

	lockdep_assert_held(&flow->lock);
	if (!flow->waits)
		return NULL;
	if (!skb)
		skb = shca_ib_choose(flow);
	flow->turn = skb;
	if (!skb)
		return NULL;
	cpu = shca_ib_wait(skb)->cpu;
	if (SHCA_IB_ON_CPU && cpu != smp_processor_id() && cpu_online(cpu) &&
	    flow->running) {
		shca_bh_schedule_on(cpu, &per_cpu_ptr(flow->turns, cpu)->bh);
		return NULL;
	}
	flow->turn = NULL;
	flow->queue[shca_ib_wait(skb)->lane].left++;
	shca_ib_account_wait(flow, ktime_get_ns());
	flow->waits--;
	return skb;
}

/* Whatever has credit leaves. Bottom halves off. */
static void shca_ib_drain(struct shca_ib_link *link)
{
	struct shca_ib_flow *flow = &link->flow;
	u32 budget = SHCA_IB_DRAIN;
	struct shca_ib_view view;
	struct sk_buff *skb;

	shca_ib_look(link, &view);
	spin_lock(&flow->lock);
	if (!flow->waits || flow->draining) {
		/* (who drains looks again before it stops) */
		spin_unlock(&flow->lock);
		return;
	}
	flow->draining = true;
	while (budget && (skb = shca_ib_dequeue(flow))) {
		spin_unlock(&flow->lock);
		budget--;
		/* It has been counted as sent: what the device refuses now is lost. */
		if (shca_ib_leave(link->dev, &view, skb) == -EBUSY)
			shca_count_n(link->dev, TX_DROP, 1);
		spin_lock(&flow->lock);
	}
	flow->draining = false;
	if (!budget && flow->waits && flow->running)
		shca_bh_schedule(&this_cpu_ptr(flow->turns)->bh);
	spin_unlock(&flow->lock);
}

SHCA_BH_HANDLER(shca_ib_flow_continue)
{
	shca_ib_drain(container_of(bh, struct shca_ib_turn, bh)->link);
}

/* The lock is held. Return: packets that were lost. */
static u32 shca_ib_discard(struct shca_ib_flow *flow, u32 lane)
{
	struct shca_ib_queue *queue = &flow->queue[lane];
	u32 nr = skb_queue_len(&queue->skbs);

	lockdep_assert_held(&flow->lock);
	__skb_queue_purge(&queue->skbs);
	flow->waits -= nr;
	return nr;
}

int shca_ib_flow_xmit(struct shca_ib_link *link, const struct shca_ib_view *view,
		      struct sk_buff *skb, u8 lane)
{
	u32 blocks = shca_ib_blocks(skb->len - SHCA_IB_SHIM_BYTES);
	struct shca_ib_flow *flow = &link->flow;
	struct shca_ib_queue *queue = &flow->queue[lane];
	int err;

	spin_lock(&flow->lock);
	if (likely(!flow->draining && !flow->turn && skb_queue_empty(&queue->skbs) &&
		   shca_ib_credits_may(&flow->credits, lane, blocks))) {
		shca_ib_credits_take(&flow->credits, lane, blocks);
		spin_unlock(&flow->lock);
		err = shca_ib_leave(link->dev, view, skb);
		if (likely(err != -EBUSY))
			return err;
		spin_lock(&flow->lock);
		shca_ib_credits_undo(&flow->credits, lane, blocks);
		spin_unlock(&flow->lock);
		return err;
	}
	/* (a link that has gone down meanwhile has no credits, and takes everything) */
	if (skb_queue_len(&queue->skbs) < SHCA_IB_QUEUE && flow->running) {
		shca_ib_enqueue(flow, skb, lane, blocks);
		spin_unlock(&flow->lock);
		shca_count(link->dev, TX_CREDIT);
		return 0;
	}
	spin_unlock(&flow->lock);
	kfree_skb(skb);
	return -EBUSY;
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

bool shca_ib_flow_arrived(struct shca_ib_link *link, u8 lane, u32 len)
{
	struct shca_ib_flow *flow = &link->flow;
	bool news;

	spin_lock(&flow->lock);
	news = shca_ib_credits_arrived(&flow->credits, lane, shca_ib_blocks(len));
	shca_ib_flow_wake(flow);
	spin_unlock(&flow->lock);
	return news;
}

bool shca_ib_flow_keep(struct shca_ib_link *link, u8 lane, u32 len)
{
	struct shca_ib_flow *flow = &link->flow;
	bool ok;

	spin_lock(&flow->lock);
	ok = shca_ib_credits_keep(&flow->credits, lane, shca_ib_blocks(len));
	spin_unlock(&flow->lock);
	return ok;
}

void shca_ib_flow_free(struct shca_ib_link *link, u8 lane, u32 len)
{
	struct shca_ib_flow *flow = &link->flow;
	bool news;

	local_bh_disable();
	spin_lock(&flow->lock);
	news = shca_ib_credits_free(&flow->credits, lane, shca_ib_blocks(len));
	shca_ib_flow_wake(flow);
	spin_unlock(&flow->lock);
	if (news)
		shca_ib_flow_tell(link);
	local_bh_enable();
}

void shca_ib_flow_hear(struct shca_ib_link *link,
		       const struct shca_ib_credit_frame *frame)
{
	struct shca_ib_flow *flow = &link->flow;
	bool first;

	spin_lock(&flow->lock);
	first = flow->credits.on && !flow->credits.heard;
	if (flow->credits.on)
		shca_ib_credits_hear(&flow->credits, frame);
	spin_unlock(&flow->lock);
	/* The peer waits for it. */
	if (first || frame->init)
		shca_ib_flow_tell(link);
	shca_ib_drain(link);
}

/* ---- time ------------------------------------------------------------------- */

static u64 shca_ib_hoq_ns(const struct shca_ib_flow *flow)
{
	u8 life = flow->hoq_life ?: SHCA_IB_HOQ_DEFAULT;

	return life < SHCA_IB_HOQ_INFINITE ? 4096ull << life : U64_MAX;
}

static void shca_ib_flow_work(struct work_struct *work)
{
	struct shca_ib_flow *flow = container_of(to_delayed_work(work),
						 struct shca_ib_flow, work);
	struct shca_ib_link *link = container_of(flow, struct shca_ib_link, flow);
	u64 now = ktime_get_ns();
	u32 lost = 0, i;

	local_bh_disable();
	shca_ib_drain(link);
	spin_lock(&flow->lock);
	for (i = 0; i < SHCA_IB_LANES; i++)
		if (!skb_queue_empty(&flow->queue[i].skbs) &&
		    now - flow->queue[i].since > shca_ib_hoq_ns(flow) &&
		    flow->queue[i].since < now)
			lost += shca_ib_discard(flow, i);
	shca_count_n(link->dev, TX_DROP, lost);
	flow->idle = !flow->credits.stirred && !flow->waits &&
		     flow->credits.heard;
	if (flow->running)
		mod_delayed_work(system_highpri_wq, &flow->work,
				 msecs_to_jiffies(flow->idle ?
						  SHCA_IB_TELL_IDLE_MS :
						  SHCA_IB_TELL_MS));
	spin_unlock(&flow->lock);
	shca_ib_flow_tell(link);
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
	struct shca_ib_turn *turn;
	int cpu;
	u32 i;

	flow->turns = alloc_percpu(struct shca_ib_turn);
	if (!flow->turns)
		return -ENOMEM;
	for_each_possible_cpu(cpu) {
		turn = per_cpu_ptr(flow->turns, cpu);
		turn->link = link;
		shca_bh_init(&turn->bh, shca_ib_flow_continue);
	}
	spin_lock_init(&flow->lock);
	INIT_DELAYED_WORK(&flow->work, shca_ib_flow_work);
	for (i = 0; i < SHCA_IB_LANES; i++)
		__skb_queue_head_init(&flow->queue[i].skbs);
	return 0;
}

void shca_ib_flow_exit(struct shca_ib_link *link)
{
	free_percpu(link->flow.turns);
}

void shca_ib_flow_set(struct shca_ib_flow *flow, const struct shca_ib_sma *sma)
{
	spin_lock(&flow->lock);
	flow->lanes = sma->lanes;
	flow->hoq_life = sma->hoq_life;
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
	if (flow->turn) {
		kfree_skb(flow->turn);
		flow->turn = NULL;
		flow->waits--;
		lost++;
	}
	shca_count_n(link->dev, TX_DROP, lost);
	shca_ib_credits_init(&flow->credits, on);
	flow->running = on;
	flow->idle = false;
	/* (a work that is under way finds that nothing is on) */
	if (on)
		mod_delayed_work(system_highpri_wq, &flow->work, 0);
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
