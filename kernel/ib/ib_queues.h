/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Lanes of an InfiniBand link: packets that wait for credits, and frames of credits. */
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

/* Capacity of a lane's queue; when either is reached, senders wait for room. */
#define SHCA_IB_QUEUE		64
#define SHCA_IB_QUEUE_BLOCKS	16384

/**
 * struct shca_ib_load - size of the packets of one skb, for lanes
 * @lane:	data lane
 * @segs:	packets, each of which takes SHCA_IB_CHARGE of credit
 * @blocks:	blocks of all packets, for arbitration
 * @packet:	blocks of the first packet, which is the longest
 */
struct shca_ib_load {
	u8 lane;
	u16 segs;
	u32 blocks;
	u32 packet;
};

/**
 * shca_ib_load() - size of the packets of one skb
 * @load:	result
 * @lane:	data lane that they take
 * @lower:	bytes of each from LRH to BTH
 * @len:	bytes of all from BTH to ICRC
 * @unit:	bytes of each packet from BTH to ICRC, the last may be shorter; at least @len
 *		for one
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
 * @skbs:	with all headers except Ethernet
 * @blocks:	of all of them
 * @since:	when the first one became the first, ns
 * @left:	skbs that have left the queue
 */
struct shca_ib_queue {
	struct sk_buff_head skbs;
	u32 blocks;
	u64 since;
	u64 left;
};

/* Per CPU, because a running work item is queued on its own CPU, whatever CPU is asked for. */
struct shca_ib_turn {
	struct shca_bh bh;
	struct shca_ib_link *link;
};

/*
 * Flow control of a port.
 * @work:	sends a frame of credits each time, and ends waits that are too long
 * @turns:	per CPU
 * @lock:	protects all below; not held while a packet is transmitted
 * @hurries:	@work is due soon
 * @draining:	one CPU empties the queues, and others only add to them. Otherwise packets
 *		that two CPUs dequeue in order could leave out of order
 * @silent:	no frame of the peer for so long that the subnet manager was notified
 * @waits:	skbs in all queues
 * @turned: @turning:	jiffies when the port's period began, and when the peer's current one
 *			was reported
 * @drain:	jiffies after @turning within which the last packets of the period before
 *		arrive
 * @asked: @heard:	when a frame last asked, and when one last came, ns; @heard also when
 *			the link came up
 * @since:	if @waits: when packets began to wait, ns
 * @waited:	time in which packets waited and none left, ns (PortXmitWait)
 * @credits:	while they are on, @work and @turns may be queued
 * @arb:	arbitration among @lanes
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

/* May sleep. Return: 0 or errno. The caller frees @turns. */
int shca_ib_flow_init(struct shca_ib_link *link);

/*
 * The link went up (@on: and both ends have credits), or went down. Packets that wait are
 * lost.
 * Context: the port's lock held.
 */
void shca_ib_flow_reset(struct shca_ib_link *link, bool on);

/* Is the peer's window, as far as known, smaller than so many blocks? Without the lock. */
static inline bool shca_ib_flow_is_narrow(const struct shca_ib_flow *flow, u32 blocks)
{
	/* A batch that was made for an earlier window waits. */
	return data_race(flow->credits.on && flow->credits.window < blocks);
}

/* Apply lanes and weights of the subnet manager; the port's lock held. */
void shca_ib_flow_set(struct shca_ib_flow *flow, const struct shca_ib_sma *sma);

/* Stop the work and drop packets that wait; may sleep. */
void shca_ib_flow_stop(struct shca_ib_link *link);

/*
 * Transmit packets on a data lane, now or later; both ends have credits.
 * @skb:	all except Ethernet's header
 * Context: softirq or bottom halves off.
 * Return: as xmit of struct shca_link_ops.
 */
int shca_ib_flow_xmit(struct shca_ib_link *link, const struct shca_ib_view *view,
		      struct sk_buff *skb, const struct shca_ib_load *load);

/* holds() of struct shca_link_ops, for a lane */
bool shca_ib_flow_holds(struct shca_ib_link *link, u8 lane, u64 *left);

/* @segs packets have arrived on a lane and left its buffer; softirq. */
void shca_ib_flow_arrived(struct shca_ib_link *link, u8 lane, u8 period,
			  u32 segs);

/*
 * A received packet stays in its buffer, until shca_ib_flow_free(). Context: softirq; for
 * shca_ib_flow_free() also process context. Return: false: the buffer is full.
 */
bool shca_ib_flow_keep(struct shca_ib_link *link, u8 lane);
void shca_ib_flow_free(struct shca_ib_link *link, u8 lane);

/* A frame of credits was received; softirq. */
void shca_ib_flow_hear(struct shca_ib_link *link,
		       const struct shca_ib_credit_frame *frame);

/* PortXmitWait in ns; process or softirq. */
u64 shca_ib_flow_waited(struct shca_ib_flow *flow);

#endif
