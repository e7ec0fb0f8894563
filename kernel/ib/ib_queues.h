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
#include "core/ib_credit.h"

struct shca_ib_link;
struct shca_ib_sma;
struct shca_ib_view;

/* What a lane's queue takes; beyond either, a sender waits for room. */
#define SHCA_IB_QUEUE		64
#define SHCA_IB_QUEUE_BLOCKS	16384

/**
 * struct shca_ib_load - packets of one skb, as lanes count them
 * @lane:	data lane
 * @segs:	packets, each of which takes SHCA_IB_CHARGE of credit
 * @blocks:	of all of them, as arbitration counts them
 * @packet:	blocks of the first one, which is the longest
 */
struct shca_ib_load {
	u8 lane;
	u16 segs;
	u32 blocks;
	u32 packet;
};

/**
 * shca_ib_load() - count packets
 * @load:	result
 * @lane:	data lane that they take
 * @lower:	bytes of each from LRH to BTH
 * @len:	bytes of all from BTH to ICRC
 * @unit:	of each, but the last may be shorter; at least @len for one
 */
static inline void shca_ib_load(struct shca_ib_load *load, u8 lane, u32 lower,
				u32 len, u32 unit)
{
	load->lane = lane;
	load->segs = 1;
	if (likely(len <= unit)) {
		load->blocks = shca_ib_blocks(lower + len + SHCA_IB_VCRC_BYTES);
		load->packet = load->blocks;
		return;
	}
	load->segs = DIV_ROUND_UP(len, unit);
	load->packet = shca_ib_blocks(lower + unit + SHCA_IB_VCRC_BYTES);
	load->blocks = (load->segs - 1) * load->packet +
		       shca_ib_blocks(lower + len - (load->segs - 1) * unit +
				      SHCA_IB_VCRC_BYTES);
}

/*
 * Skbs of one lane.
 * @skbs:	with all headers but Ethernet's
 * @blocks:	of all of them
 * @since:	when the first one became that, ns
 * @left:	skbs that have left it
 */
struct shca_ib_queue {
	struct sk_buff_head skbs;
	u32 blocks;
	u64 since;
	u64 left;
};

/*
 * Goes on with the queues, on its CPU only.
 *
 * One for all CPUs would not do: a work that is running on a CPU is queued there again,
 * whatever CPU is asked for.
 */
struct shca_ib_turn {
	struct shca_bh bh;
	struct shca_ib_link *link;
};

/*
 * Flow control of a port.
 * @work:	sends a frame of credits each time, and ends waits that are too long
 * @turns:	per CPU
 * @lock:	protects all below; not held while a packet leaves
 * @hurries:	@work comes soon
 * @draining:	one CPU empties the queues, others add to them meanwhile. Packets that two
 *		CPUs took in order might leave out of order
 * @waits:	skbs in all queues
 * @turned: @turning:	jiffies when the own period began, when one of the peer was heard of
 * @drain:	jiffies after @turning in which its last packets arrive
 * @asked: @heard:	when a frame asked, when one came, ns; @heard also when the link came up
 * @silent:	none has come for so long that the manager was told
 * @since:	when packets began to wait, ns; if @waits
 * @waited:	time in which packets waited and none left, ns (PortXmitWait)
 * @credits:	while they are on, @work and @turns may be queued
 * @arb:	whose turn it is among @lanes
 */
struct shca_ib_flow {
	struct delayed_work work;
	struct shca_ib_turn __percpu *turns;
	spinlock_t lock;
	bool hurries;
	bool draining;
	bool silent;
	u32 waits;
	unsigned long turned;
	unsigned long turning;
	unsigned long drain;
	u64 asked;
	u64 heard;
	u64 since;
	u64 waited;
	struct shca_ib_credits credits;
	struct shca_ib_lanes lanes;
	struct shca_ib_arb arb;
	struct shca_ib_queue queue[SHCA_IB_LANES];
};

/* May sleep. Return: 0 or errno. Undone by shca_ib_flow_exit(). */
int shca_ib_flow_init(struct shca_ib_link *link);
void shca_ib_flow_exit(struct shca_ib_link *link);

/*
 * The link has come up, or gone down.
 * @on:		it has come up, and both ends have credits
 *
 * Packets that wait are lost. Context: the port's lock held.
 */
void shca_ib_flow_reset(struct shca_ib_link *link, bool on);

/* Is the peer's window, or what is known of it, too small for batches? Without the lock. */
static inline bool shca_ib_flow_is_narrow(const struct shca_ib_flow *flow)
{
	/* A batch that was made for a window of before waits. */
	return data_race(flow->credits.on && flow->credits.window < SHCA_IB_WINDOW);
}

/* A manager has set lanes or weights; the port's lock held. */
void shca_ib_flow_set(struct shca_ib_flow *flow, const struct shca_ib_sma *sma);

/* No work any more, no packets; may sleep. */
void shca_ib_flow_stop(struct shca_ib_link *link);

/*
 * Packets leave on a data lane, now or later; both ends have credits.
 * @skb:	all but Ethernet's header
 *
 * Context: softirq or bottom halves off.
 * Return: as xmit of struct shca_link_ops.
 */
int shca_ib_flow_xmit(struct shca_ib_link *link, const struct shca_ib_view *view,
		      struct sk_buff *skb, const struct shca_ib_load *load);

/* As holds of struct shca_link_ops, for a lane. */
bool shca_ib_flow_holds(struct shca_ib_link *link, u8 lane, u64 *left);

/* @segs packets have arrived on a lane, and have left its buffer; softirq. */
void shca_ib_flow_arrived(struct shca_ib_link *link, u8 lane, u8 period,
			  u32 segs);

/*
 * A packet that has arrived stays in its buffer.
 *
 * Undone by shca_ib_flow_free(), process context or softirq. Context: softirq.
 * Return: false: the buffer is full.
 */
bool shca_ib_flow_keep(struct shca_ib_link *link, u8 lane);
void shca_ib_flow_free(struct shca_ib_link *link, u8 lane);

/* A frame of credits has come; softirq. */
void shca_ib_flow_hear(struct shca_ib_link *link,
		       const struct shca_ib_credit_frame *frame);

/* PortXmitWait in ns; process or softirq. */
u64 shca_ib_flow_waited(struct shca_ib_flow *flow);

#endif
