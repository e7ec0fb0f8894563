// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Receive packet steering (RPS): received batches go to another CPU.
 *
 * It serves senders on this machine only, where transmission and reception would
 * share one CPU.  A batch whose sender is on another one (a NIC's interrupt, RPS)
 * is received where it is.  The answer to such a batch comes back to the CPU that
 * transmits for the QP.  Otherwise the two CPUs would wait for each other's lock,
 * and packets sent from two CPUs would overtake each other.
 *
 * Order: a side's packets stay on a CPU while any waits there, as RPS flow steering
 * does it.  Memory: each queue has a limit, beyond which packets are lost. An skb
 * in a queue holds its QP, so a QP's destruction waits for it.  The skb holds no
 * reference to its netdev, and its pointer to the netdev is cleared.
 *
 * Only idle CPUs are used.  A CPU that was found at work is left alone for a while,
 * since taking time from it gains nothing.  A CPU is left alone for longer if it
 * took the batch later than this CPU would have received it. A virtual CPU whose
 * host has others to run does that.
 */
#include "rps.h"

#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/moduleparam.h>
#include <linux/netfilter.h>
#include <linux/percpu.h>
#include <linux/sched.h>
#include <linux/sched/isolation.h>
#include <linux/skbuff.h>
#include <linux/smp.h>
#include <linux/topology.h>
#include <net/dst.h>

#include "../base/bh.h"
#include "../base/counters.h"
#include "../base/dev.h"
#include "qp.h"
#include "rx.h"

/* A smaller batch is received sooner than another CPU wakes up. */
#define SHCA_RPS_BYTES	16384u
/* skbs in a queue: several windows of several QPs. */
#define SHCA_RPS_LIMIT	1000u
/* skbs taken from it before other softirqs have their turn. */
#define SHCA_RPS_BUDGET	16
/* How long a CPU is left alone after it was at work, or came late. */
#define SHCA_RPS_BUSY		(HZ / 10)
#define SHCA_RPS_LATE		HZ
/* A CPU that comes after this time is late. */
#define SHCA_RPS_LATE_NS	(500 * NSEC_PER_USEC)

/* Off: WRITE gains nothing, READ and SEND 8 to 14% at best (docs/performance.md). */
static bool shca_rps_batches;
module_param_named(rps, shca_rps_batches, bool, 0644);
MODULE_PARM_DESC(rps, "receive large batches from senders on this machine on another CPU than the sender's");

/**
 * struct shca_rps_queue - skbs to be received on one CPU
 * @skbs:	they and their lock
 * @woken:	@csd is on its way, or @bh has not begun
 * @running:	@bh is at it
 * @woken_at:	when it was woken while it was not, ns; 0: since it was awake
 * @idle_from:	when that CPU may be asked again, in jiffies
 * @csd:	lets that CPU schedule @bh
 * @bh:		empties the queue
 */
struct shca_rps_queue {
	struct sk_buff_head skbs;
	atomic_t woken;
	bool running;
	u64 woken_at;
	unsigned long idle_from;
	call_single_data_t csd;
	struct shca_bh bh;
};

static DEFINE_PER_CPU_ALIGNED(struct shca_rps_queue, shca_rps_queues);

/* State of an skb while it waits. */
struct shca_rps_cb {
	struct shca_qp *qp;
	u32 seg_len;
	bool response;
};

static struct shca_rps_cb *shca_rps_cb(struct sk_buff *skb)
{
	BUILD_BUG_ON(sizeof(struct shca_rps_cb) > sizeof(skb->cb));
	return (struct shca_rps_cb *)skb->cb;
}

static struct shca_rps *shca_rps_of(struct shca_qp *qp, bool response)
{
	return response ? &qp->sq.side.rps : &qp->rq.side.rps;
}

/* ---- where to ---------------------------------------------------------------- */

/* The CPU that transmitted it, where that is one of this machine; else -1. */
static int shca_sender_cpu(const struct sk_buff *skb)
{
#ifdef CONFIG_XPS
	if (skb->sender_cpu - 1 < nr_cpu_ids)
		return skb->sender_cpu - 1;
#endif
	return -1;
}

static bool shca_rps_may(int cpu, int self)
{
	return cpu != self && cpu >= 0 && cpu_online(cpu) &&
	       housekeeping_cpu(cpu, HK_TYPE_DOMAIN);
}

/* The same for work that can as well be done here. */
static bool shca_rps_idle(int cpu, int self)
{
	return shca_rps_may(cpu, self) &&
	       time_after_eq(jiffies,
			     READ_ONCE(per_cpu(shca_rps_queues, cpu).idle_from));
}

/* Another CPU, of the same node, that stays the same for a QP; -1: none. */
static int shca_rps_other(const struct shca_rps *rps, u32 qpn)
{
	int self = smp_processor_id(), cpu = READ_ONCE(rps->cpu), found = -1;
	const struct cpumask *node = cpumask_of_node(cpu_to_node(self));
	int skip;

	if (shca_rps_idle(cpu, self))
		return cpu;
	skip = qpn % max(cpumask_weight(node), 1u);
	for_each_cpu(cpu, node) {
		if (shca_rps_idle(cpu, self))
			found = cpu;
		if (found >= 0 && skip-- <= 0)
			break;
	}
	return found;
}

/* Return: the CPU that is to receive @skb; -1: this one, at once. */
static int shca_rps_where(struct shca_qp *qp, bool response,
			    const struct sk_buff *skb)
{
	const struct shca_rps *rps = shca_rps_of(qp, response);
	int self = smp_processor_id(), sender;

	if (atomic_read(&rps->pending))
		return READ_ONCE(rps->cpu);
	if (!READ_ONCE(shca_rps_batches))
		return -1;
	sender = shca_sender_cpu(skb);
	if (skb_is_gso(skb) && skb->len >= SHCA_RPS_BYTES)
		return sender == self ? shca_rps_other(rps, qp->qpn) : -1;
	/* An answer goes to the CPU that waits for it. */
	if (response && sender == self) {
		sender = READ_ONCE(qp->sq.tx_cpu);
		if (shca_rps_may(sender, self))
			return sender;
	}
	return -1;
}

/* ---- queues ------------------------------------------------------------------ */

static void shca_rps_wake(void *arg)
{
	struct shca_rps_queue *queue = arg;

	/* (what a softirq interrupts here may be our own) */
	if (!in_serving_softirq() && !is_idle_task(current))
		WRITE_ONCE(queue->idle_from, jiffies + SHCA_RPS_BUSY);
	shca_bh_schedule(&queue->bh);
}

static void shca_rps_one(struct sk_buff *skb)
{
	struct shca_rps_cb cb = *shca_rps_cb(skb);
	struct shca_rps *rps = shca_rps_of(cb.qp, cb.response);

	shca_rx_steered(cb.qp, skb, cb.seg_len);
	/* pending == 0: every earlier packet has been processed. */
	smp_mb__before_atomic();
	atomic_dec(&rps->pending);
	shca_qp_put(cb.qp);
}

SHCA_BH_HANDLER(shca_rps_drain)
{
	struct shca_rps_queue *queue =
		container_of(bh, struct shca_rps_queue, bh);
	u64 woken_at = READ_ONCE(queue->woken_at);
	int budget = SHCA_RPS_BUDGET;
	struct sk_buff *skb;

	if (woken_at && ktime_get_ns() > woken_at + SHCA_RPS_LATE_NS)
		WRITE_ONCE(queue->idle_from, jiffies + SHCA_RPS_LATE);
	WRITE_ONCE(queue->running, true);
	WRITE_ONCE(queue->woken_at, 0);
	atomic_set(&queue->woken, 0);
	/* Whoever queues from here on either is seen below, or wakes us. */
	smp_mb();
	local_bh_disable();
	rcu_read_lock();
	while (budget-- && (skb = skb_dequeue(&queue->skbs)))
		shca_rps_one(skb);
	rcu_read_unlock();
	local_bh_enable();
	WRITE_ONCE(queue->running, false);
	if (!skb_queue_empty(&queue->skbs) && !atomic_xchg(&queue->woken, 1))
		shca_bh_schedule(&queue->bh);
}

/* There is something in the queue of @cpu. */
static void shca_rps_call(struct shca_rps_queue *queue, int cpu)
{
	/* Fully ordered: queued before, and pairs with shca_rps_drain(). */
	if (atomic_xchg(&queue->woken, 1))
		return;
	if (cpu == smp_processor_id()) {
		shca_bh_schedule(&queue->bh);
		return;
	}
	if (!READ_ONCE(queue->running))
		WRITE_ONCE(queue->woken_at, ktime_get_ns());
	/* A CPU that is gone takes no call; its queue then is emptied here. */
	if (smp_call_function_single_async(cpu, &queue->csd))
		shca_bh_schedule(&queue->bh);
}

bool shca_rps(struct shca_qp *qp, bool response, struct sk_buff *skb,
		u32 seg_len)
{
	struct shca_rps *rps = shca_rps_of(qp, response);
	struct shca_rps_queue *queue;
	int cpu;

	cpu = shca_rps_where(qp, response, skb);
	if (likely(cpu < 0))
		return false;
	/* Only its peer makes another CPU work for a QP; see rx.c. */
	if (!data_race(qp->link->check(qp->dev, &qp->av, skb)))
		return false;
	queue = per_cpu_ptr(&shca_rps_queues, cpu);
	if (skb_queue_len_lockless(&queue->skbs) >= SHCA_RPS_LIMIT) {
		shca_count(qp, RX_BACKLOG);
		kfree_skb(skb);
		return true;
	}
	shca_count(qp, RX_STEERED);
	/* It may outlive its netdev, and the route it has come by. */
	skb_orphan(skb);
	skb_dst_drop(skb);
	nf_reset_ct(skb);
	skb->dev = NULL;
	refcount_inc(&qp->ref);
	*shca_rps_cb(skb) = (struct shca_rps_cb){
		.qp = qp,
		.seg_len = seg_len,
		.response = response,
	};
	WRITE_ONCE(rps->cpu, cpu);
	atomic_inc(&rps->pending);
	skb_queue_tail(&queue->skbs, skb);
	shca_rps_call(queue, cpu);
	return true;
}

void shca_rps_init(void)
{
	struct shca_rps_queue *queue;
	int cpu;

	for_each_possible_cpu(cpu) {
		queue = per_cpu_ptr(&shca_rps_queues, cpu);
		skb_queue_head_init(&queue->skbs);
		queue->idle_from = jiffies;
		INIT_CSD(&queue->csd, shca_rps_wake, queue);
		shca_bh_init(&queue->bh, shca_rps_drain);
	}
}

void shca_rps_exit(void)
{
	int cpu;

	/* The last skb is gone with the last QP; so are now the calls. */
	kick_all_cpus_sync();
	for_each_possible_cpu(cpu)
		shca_bh_cancel(&per_cpu_ptr(&shca_rps_queues, cpu)->bh);
}
