/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The InfiniBand link: an InfiniBand port on an Ethernet netdev (docs/infiniband.md). */
#ifndef SHCA_IB_H
#define SHCA_IB_H

#include <linux/netdevice.h>
#include <linux/seqlock.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include "../base/dev.h"
#include "../link/link.h"
#include "core/ib_cong.h"
#include "core/ib_hello.h"
#include "core/ib_sample.h"
#include "core/ib_sma.h"
#include "core/ib_wire.h"
#include "ib_queues.h"

/* Counters of performance management (ib/pma.c) */
enum shca_pma_counter {
	SHCA_PMA_SYMBOL_ERRORS,
	SHCA_PMA_LINK_DOWNED,
	SHCA_PMA_RCV_ERRORS,
	SHCA_PMA_XMIT_DISCARDS,
	SHCA_PMA_INTEGRITY,
	SHCA_PMA_OVERRUNS,
	SHCA_PMA_XMIT_DATA,
	SHCA_PMA_RCV_DATA,
	SHCA_PMA_XMIT_PKTS,
	SHCA_PMA_RCV_PKTS,
	SHCA_PMA_XMIT_WAIT,
	SHCA_PMA_NR,
};

/**
 * struct shca_ib_view - copy of the port's state, for packets
 * @up:		physical state LinkUp; the members from @peer_session on are valid
 * @credits:	@up, and both ends have credits
 * @batches:	@up, and the peer takes frames of batches
 * @state:	enum shca_ib_state
 * @lmc:	the port has 2^this LIDs
 * @lid:	base LID; 0: none
 * @lanes:	number of data lanes
 * @lane:	lane of each service level, or SHCA_IB_NO_LANE
 * @gid_prefix:	of the subnet
 * @peer_session:	session of the peer port
 * @peer_mac:	its MAC address
 */
struct shca_ib_view {
	bool up;
	bool credits;
	bool batches;
	u8 state;
	u8 lmc;
	u8 lanes;
	u8 lane[SHCA_IB_SLS];
	u16 lid;
	u64 gid_prefix;
	u32 peer_session;
	u8 peer_mac[ETH_ALEN];
};

/**
 * struct shca_ib_link - the port of an InfiniBand link
 * @dev:	device of the port
 * @rcu:	packets for other ports of the namespace read @view and @session, too
 * @wq:		for work that a peer waits for: hellos, credits; needs no memory
 * @ptype:	receives the netdev's frames while @running
 * @session:	own session; constant
 * @guid:	port GUID; constant
 * @pma_base:	values of the counters at their last reset; without a lock
 * @sample_lock: protects @sample; process context
 * @sample:	counters that are sampled
 * @sampling:	next step of @sample
 * @hello:	sends hellos, and detects that none come
 * @trap:	sends traps (ib_trap_send.c)
 * @agent:	for @trap; NULL if its registration failed
 * @lock:	protects all below; taken in softirq
 * @running:	frames are received and sent
 * @phy:	physical state
 * @sma:	attributes of the subnet management agent
 * @cong:	attributes of congestion control; its table is read for packets without @lock
 * @flow:	flow control; its own lock is taken inside @lock
 * @seq:	protects @view
 * @view:	read for each packet without @lock
 */
struct shca_ib_link {
	struct shca_dev *dev;
	struct rcu_head rcu;
	u32 session;
	u64 guid;
	struct workqueue_struct *wq;
	struct packet_type ptype;
	u64 pma_base[SHCA_PMA_NR];
	spinlock_t sample_lock;
	struct shca_ib_sample sample;
	struct delayed_work sampling;
	struct delayed_work hello;
	struct delayed_work trap;
	struct ib_mad_agent *agent;
	spinlock_t lock;
	bool running;
	struct shca_ib_port phy;
	struct shca_ib_sma sma;
	struct shca_ib_cong cong;
	struct shca_ib_flow flow;
	seqcount_spinlock_t seq;
	struct shca_ib_view view;
};

/* The port of an InfiniBand device, or NULL */
static inline struct shca_ib_link *shca_ib_of(const struct shca_dev *dev)
{
	return IS_ENABLED(CONFIG_SOFTHCA_IB) ? dev->ib : NULL;
}

/* Context: any but hard interrupts; the write side disables bottom halves. */
static inline void shca_ib_look(const struct shca_ib_link *link,
				struct shca_ib_view *view)
{
	unsigned int seq;

	do {
		seq = read_seqcount_begin(&link->seq);
		*view = link->view;
	} while (read_seqcount_retry(&link->seq, seq));
}

static inline bool shca_ib_is_own(const struct shca_ib_view *view, u16 lid)
{
	return view->lid && lid >> view->lmc == view->lid >> view->lmc;
}

static inline bool shca_ib_is_mlid(u16 lid)
{
	return lid >= SHCA_IB_LID_MCAST && lid != SHCA_IB_LID_PERMISSIVE;
}

/**
 * shca_ib_init_dev() - make the port of an InfiniBand device
 * @dev:	the device
 * @rcv:	receives frames; passes hellos to shca_ib_rcv_hello()
 *
 * Context: may sleep. Undone by shca_ib_exit_dev().
 * Return: 0 or errno.
 */
int shca_ib_init_dev(struct shca_dev *dev,
		     int (*rcv)(struct sk_buff *skb, struct net_device *ndev,
				struct packet_type *ptype,
				struct net_device *orig));
void shca_ib_exit_dev(struct shca_dev *dev);

/*
 * Begin to send and receive. Undone by shca_ib_stop(), before the RDMA core takes the device
 * from its consumers. Context: may sleep.
 */
void shca_ib_start(struct shca_dev *dev);
void shca_ib_stop(struct shca_dev *dev);

/* A hello from @mac was received; softirq. */
void shca_ib_rcv_hello(struct shca_ib_link *link,
		       const struct shca_ib_hello *hello, const u8 *mac);

/**
 * shca_ib_process_smp() - give a subnet management packet to the port's agent
 * @dev:	device of the port
 * @in:		the packet, SHCA_IB_MAD_BYTES
 * @out:	the response, SHCA_IB_MAD_BYTES; valid with SHCA_IB_SMA_REPLY
 * @slid:	source of the packet
 * @trusted:	from this machine: the M_Key is not checked
 *
 * Context: process or softirq.
 * Return: as shca_ib_smp().
 */
u32 shca_ib_process_smp(struct shca_dev *dev, const void *in, void *out,
			u16 slid, bool trusted);

/*
 * Lock the port and update its P_Key and Q_Key violation counters. Undone by
 * spin_unlock_bh(). Context: process or softirq.
 */
void shca_ib_lock_tallies(struct shca_ib_link *link);

/* Set the NodeDescription, SHCA_IB_DESC_BYTES. Context: process or softirq. */
void shca_ib_describe(struct shca_dev *dev, const void *desc);

/* Set bits of the CapabilityMask, then clear some. Context: process or softirq. */
void shca_ib_change_caps(struct shca_dev *dev, u32 set, u32 clear);

/* A packet from the peer was intact, or @damaged; softirq. */
void shca_ib_arrived(struct shca_ib_link *link, bool damaged);

/* A packet from the peer found no buffer; bottom halves off. */
void shca_ib_overrun(struct shca_ib_link *link);

/* The peer has sent no credits for too long; bottom halves off. */
void shca_ib_watchdog(struct shca_ib_link *link);

/* A packet was refused for its P_Key or Q_Key; softirq. */
void shca_ib_bad_key(struct shca_ib_link *link, enum shca_ib_trap kind,
		     const struct shca_ib_bad_key *bad);

/* The netdev's state, carrier or MTU may have changed; any context. */
void shca_ib_carrier(struct shca_dev *dev);

#endif
