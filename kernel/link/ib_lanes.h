/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Lanes of an InfiniBand link: packets that wait for credit, and frames of credits. */
#ifndef SHCA_LINK_IB_LANES_H
#define SHCA_LINK_IB_LANES_H

#include <linux/netdevice.h>
#include <linux/percpu.h>
#include <linux/skbuff.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include "../base/bh.h"
#include "../core/ib_credit.h"

struct shca_ib_link;
struct shca_ib_sma;
struct shca_ib_view;

/* Packets of a lane that wait for credit; a sender waits for room. */
#define SHCA_IB_QUEUE		64

/**
 * struct shca_ib_queue - packets of one lane
 * @skbs:	with all headers but Ethernet's; the lock of struct shca_ib_flow protects them
 * @since:	when the first one became that, ns
 * @left:	packets that have left it
 */
struct shca_ib_queue {
	struct sk_buff_head skbs;
	u64 since;
	u64 left;
};

/**
 * struct shca_ib_turn - goes on with the queues, on its CPU only
 *
 * One for all CPUs would not do: a work that is running on a CPU is queued there again,
 * whatever CPU is asked for.
 */
struct shca_ib_turn {
	struct shca_bh bh;
	struct shca_ib_link *link;
};

/**
 * struct shca_ib_flow - flow control of a port
 * @work:	sends frames of credits that nothing else has caused, and ends waits that
 *		are too long
 * @turns:	per CPU
 * @lock:	protects all below. It is taken for each packet: what is counted here belongs to
 *		the link as a whole. It is never held while a packet leaves
 * @running:	@work and @turns may be queued
 * @idle:	@work comes seldom
 * @draining:	one sender empties the queues; others add to them meanwhile, so that
 *		packets of a QP stay in order
 * @turn:	the packet that leaves next, out of its queue, once its CPU takes it; or NULL
 * @waits:	packets in all queues, and @turn
 * @hoq_life:	of PortInfo
 * @since:	when packets began to wait, ns; if @waits
 * @waited:	time in which packets waited and none left, ns (PortXmitWait)
 */
struct shca_ib_flow {
	struct delayed_work work;
	struct shca_ib_turn __percpu *turns;
	spinlock_t lock;
	bool running;
	bool idle;
	bool draining;
	struct sk_buff *turn;
	u32 waits;
	u8 hoq_life;
	u64 since;
	u64 waited;
	struct shca_ib_credits credits;
	struct shca_ib_lanes lanes;
	struct shca_ib_arb arb;
	struct shca_ib_queue queue[SHCA_IB_LANES];
};

/** shca_ib_flow_init() - may sleep. Return: 0 or errno. Undone by shca_ib_flow_exit(). */
int shca_ib_flow_init(struct shca_ib_link *link);
void shca_ib_flow_exit(struct shca_ib_link *link);

/**
 * shca_ib_flow_reset() - the link has come up, or gone down
 * @on:		it has come up, and both ends have credits
 *
 * Packets that wait are lost. Context: the port's lock held.
 */
void shca_ib_flow_reset(struct shca_ib_link *link, bool on);

/** shca_ib_flow_set() - a manager has set lanes, weights, HOQLife; the port's lock held */
void shca_ib_flow_set(struct shca_ib_flow *flow, const struct shca_ib_sma *sma);

/** shca_ib_flow_stop() - no work any more, no packets; may sleep */
void shca_ib_flow_stop(struct shca_ib_link *link);

/**
 * shca_ib_flow_xmit() - a packet leaves on a data lane, now or later
 * @skb:	all but Ethernet's header
 *
 * Context: softirq or bottom halves off.
 * Return: as xmit of struct shca_link_ops.
 */
int shca_ib_flow_xmit(struct shca_ib_link *link, const struct shca_ib_view *view,
		      struct sk_buff *skb, u8 lane);

/** shca_ib_flow_holds() - as holds of struct shca_link_ops, for a lane */
bool shca_ib_flow_holds(struct shca_ib_link *link, u8 lane, u64 *left);

/**
 * shca_ib_flow_arrived() - a packet of @len bytes has arrived on a data lane; softirq
 *
 * Return: shca_ib_flow_tell() is to be called.
 */
bool shca_ib_flow_arrived(struct shca_ib_link *link, u8 lane, u32 len);

/** shca_ib_flow_tell() - send a frame of credits; softirq or bottom halves off */
void shca_ib_flow_tell(struct shca_ib_link *link);

/**
 * shca_ib_flow_keep() - a packet that has arrived stays in its buffer
 *
 * Undone by shca_ib_flow_free(), process context or softirq. Context: softirq.
 * Return: false: the buffer is full.
 */
bool shca_ib_flow_keep(struct shca_ib_link *link, u8 lane, u32 len);
void shca_ib_flow_free(struct shca_ib_link *link, u8 lane, u32 len);

/** shca_ib_flow_hear() - a frame of credits has come; softirq */
void shca_ib_flow_hear(struct shca_ib_link *link,
		       const struct shca_ib_credit_frame *frame);

/** shca_ib_flow_waited() - PortXmitWait in ns; process or softirq */
u64 shca_ib_flow_waited(struct shca_ib_flow *flow);

#endif
