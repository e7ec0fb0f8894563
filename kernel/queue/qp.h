/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Queue pairs: the object, its two sides and its state.
 *
 * A QP is two independent halves, each with a lock: the send side (requester) and
 * the receive side (responder).  Work runs to completion in whichever context
 * raises it: a post, a received packet, a timer.  When a budget is used up, a
 * continuation in softirq (bh.h) takes over.
 *
 * Lifetime.  struct ib_qp is allocated and freed by the RDMA core.  struct shca_qp
 * is ours. The receive path finds it through RCU, so it is freed after a grace
 * period.  @ref counts the object itself, each packet being received and each look
 * of a dump.
 *
 * Destruction (qp_verbs.c) takes these steps.  Unpublish.  Mark dead under both locks, so
 * that nothing arms a timer or continues any more.  Cancel those. Drop the first
 * reference and wait for the rest (they are short).  Cancel the events that these
 * may have raised.  Free.
 */
#ifndef SHCA_QP_H
#define SHCA_QP_H

#include <linux/completion.h>
#include <linux/hrtimer.h>
#include <linux/mutex.h>
#include <linux/rbtree.h>
#include <linux/refcount.h>
#include <linux/rhashtable-types.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>

#include "../base/bh.h"
#include "../base/dev.h"
#include "../core/apm.h"
#include "../core/opcode.h"
#include "../core/requester/requester.h"
#include "../core/responder/responder.h"
#include "../link/link.h"
#include "../mem/buf.h"
#include "../mem/mr.h"
#include "../mem/odp.h"
#include "../../uapi/softhca-dump.h"
#include "qp_table.h"
#include "recv_ring.h"
#include "stream.h"
#include "tm.h"

struct shca_cq;
struct shca_dev;
struct shca_fetch;
struct shca_pieces;
struct shca_rss;
struct shca_srq;
struct shca_wq;
struct shca_xrc_target;

/* Private copies of send requests per QP: those being executed. */
#define SHCA_SQ_WINDOW		64

/*
 * A side's way to memory; context of its memory operations.
 * @fetch:	what it waits for, or has waited for last (page_wait.c)
 * @starved:	there was no memory for that, and nobody calls @resume
 * @resume:	called when what it waits for is there, or cannot be had
 */
struct shca_mem_ctx {
	struct shca_qp *qp;
	struct shca_fetch *fetch;
	bool starved;
	void (*resume)(struct shca_qp *qp);
};

/*
 * A queue of received packets of a side, in order (pkt_queue.c).
 * @by_psn:	the same, if they are out of order among themselves; otherwise empty
 * @bytes: @total: what they take, and those of all sides (struct shca_dev.backlog_bytes, @ooo_bytes)
 */
struct shca_pkt_queue {
	struct list_head list;
	struct rb_root by_psn;
	unsigned int nr;
	u32 bytes;
	atomic_long_t *total;
};

/*
 * What both sides of a QP have, under the lock of each (side.h).
 * @mem: @backlog:	memory, and received packets that wait for it
 * @ooo:	received packets that came out of order, by PSN; earlier ones are missing
 * @bh:		continues when a budget is used up, and flushes
 * @continuing:	it will: nobody else transmits until then
 * @feeds:	it will, and feeds more of @ooo: nobody else does until then
 * @fatal:	failed so that no completion can tell: QP_FATAL is due
 * @timer:	sq.c: the requester's deadlines; rq.c: waits for a full queue below
 * @route:	to the peer
 * @error:	what went wrong last (last_error.c)
 */
struct shca_side {
	struct shca_mem_ctx mem;
	struct shca_pkt_queue backlog;
	struct shca_pkt_queue ooo;
	struct shca_bh bh;
	bool continuing;
	bool feeds;
	bool fatal;
	struct hrtimer timer;
	struct shca_route route;
	struct shca_dump_error error;
};

/*
 * Send side of a QP.
 * @lock:	everything here but what @post_lock guards
 * @req:	the requester
 * @wrs:	its private work requests
 * @slots: @entries: @stride: the ring, written by the process (or by kernel
 *		consumers under @post_lock)
 * @fetched:	requests taken from the ring, free-running
 * @seen:	requests that were in the ring when it was looked at last
 * @side:	what it shares with the other; it continues on the CPU that transmitted
 *		last, for packets of two CPUs overtake each other
 * @armed:	one lazy timer: it is never re-armed to later, and on expiry
 *		looks at the requester's deadline, and at the ring; ns, 0: not armed
 * @direct:	the last requests went to the peer directly (direct.c)
 * @peer:	the QP that they went to
 * @direct_more: and a budget ended that: answers may be owed
 * @stream:	posts that need no doorbell
 * @far_waits:	direct requests in a row whose peer waited for its memory
 * @peer_looks: @peer_ns: @peer_changes: how often the peer is still looked for among
 *		the QPs of this kernel, when, and what it was like last (peer.c)
 * @cc_mode: @ecn_peer: enum shca_cc_mode, and what was known of the peer when that was
 *		asked whether packets are ECN-capable (peer.c)
 * @rate_kbps: @rate_ns: RAW_PACKET: its limit, 0: none; when what has left is over
 * @prod:	kernel consumer: requests written
 */
struct shca_sq {
	spinlock_t lock;
	struct shca_req req;
	void *wrs;
	void *slots;
	u32 entries;
	u32 stride;
	u32 max_wr;
	u32 max_sge;
	u32 max_inline;
	u32 fetched;
	u32 seen;
	bool sig_all;
	bool drain_event;
	bool direct;
	bool direct_more;
	struct shca_side side;
	struct shca_qp_hint peer;
	u64 armed;
	u32 rate_kbps;
	u64 rate_ns;
	struct shca_stream stream;
	u32 far_waits;
	u32 peer_looks;
	u64 peer_ns;
	u64 peer_changes;
	u32 ecn_peer;
	u8 cc_mode;
	struct shca_cq *cq;
	spinlock_t post_lock;
	u32 prod;
};

/*
 * Receive side of a QP; fields as in struct shca_sq.
 * @ring:	its receive requests, unless @srq has them
 * @xrc:	XRC: the SRQ of the request being executed
 * @peer_looks: @peer_ns:	attempts to find out whether the peer understands what is
 *		missing (peer.c), and when the next one is
 * @behind:	the first packet that waits does so for an answer to leave, and not for
 *		memory
 * @held:	payload of the request being executed, where it came directly;
 *		given back before a key is invalidated, which may be its own
 * @far_waits:	a requester on the direct path waits for what @side fetches
 * @delayed:	delayed placement, or NULL; constant
 * @last_wqe:	LAST_WQE_REACHED has been raised since the QP was reset
 */
struct shca_rq {
	spinlock_t lock;
	struct shca_resp resp;
	struct shca_rd *rd;
	struct shca_recv_ring ring;
	struct shca_side side;
	u64 peer_ns;
	u8 peer_looks;
	bool behind;
	struct shca_cq *cq;
	struct shca_srq *srq;
	struct shca_xrc_target *xrc;
	struct shca_pieces *held;
	bool far_waits;
	bool last_wqe;
	spinlock_t post_lock;
	struct shca_delayed *delayed;
};

/**
 * struct shca_reply - whether acknowledgements wait for replies (reply.h)
 * @due:	when the responder goes on that waits: for a reply, a full queue below, or its
 *		rate, ns; 0: it does not wait. Written under rq.lock; the send side looks at
 *		it without, and then again under the lock
 * @answered:	when a request was executed to which no reply came yet, ns; 0: none. Written
 *		by both sides
 * @psn:	of the last acknowledgement that waited or left; under rq.lock
 * @wants:	so many @replies make the next one likely; under rq.lock
 * @replies:	so many came in time since the last one that did not. Written by both sides:
 *		one more or less does not matter
 * @turn:	what a reply takes on average, ns; under sq.lock
 */
struct shca_reply {
	u64 due;
	u64 answered;
	u32 psn;
	u32 wants;
	u32 replies;
	u32 turn;
};

/*
 * Automatic path migration of a QP (apm.c).
 * @is:		its state, and whether there is an alternate path
 * @swapped:	the paths were exchanged since shca_qp.attr was written
 * @pkey_index: @timeout_ns: @av:	the alternate path
 *
 * All is written under both locks. The state may be read without, by whoever looks again
 * under them.
 */
struct shca_qp_apm {
	struct shca_apm is;
	bool swapped;
	u16 pkey_index;
	u64 timeout_ns;
	struct shca_av av;
};

/*
 * A queue pair.
 * @ref: @unused: see above
 * @state: @dead: written under both locks, read under either
 * @counters:	the device's, or its own (counters.c)
 * @who:	as which it reaches memory
 * @uctx:	the process's context that may ring the doorbell; NULL: a kernel
 *		consumer's QP, or one without rings
 * @pkey_index: written under both locks, read without
 * @wq:		the work queue that it is the receive half of (wq.h).  It then has no
 *		@ibqp, sends nothing, and no packet finds it by its number
 * @rss:	it has work queues in place of a receive side (rss.h); fixed
 * @pd: @xrcd:	the responder of XRC has a domain, and of each request the PD
 * @attr:	what query_qp reports, but for @apm; under @attr_lock
 * @av:	peer; written under both locks
 * @apm:	its alternate path
 * @uid: @pid:	of the process that made it
 * @dropped:	the last packet dropped before it reached a side; written without a
 *		lock, so its members may be of two packets
 * @peer_ece:	options that its end has told of by ECE, 0: none; under @attr_lock
 * @lost:	packets that waited and are lost; under both locks, empty without
 *		(shca_qp_unlock())
 * @resets:	how often it went to RESET; under both locks
 * @index:	indices that the process writes; NULL never
 * @status:	indices that only the kernel writes
 * @tm:		rendezvous of tag matching, if its SRQ does that
 * @reply:	what both sides know about replies
 * @events:	to its owner; a kernel consumer's handler runs in softirq
 */
struct shca_qp {
	struct rhash_head node;
	struct list_head mgmt_node;
	u32 qpn;
	refcount_t ref;
	struct completion unused;
	struct rcu_head rcu;

	struct shca_dev *dev;
	struct shca_counters __percpu *counters;
	struct ib_qp *ibqp;
	struct ib_pd *pd;
	struct ib_xrcd *xrcd;
	struct shca_accessor who;
	struct ib_ucontext *uctx;
	const struct shca_link_ops *link;
	enum ib_qp_type type;
	bool is_user;
	bool dead;
	u16 pkey_index;
	enum ib_qp_state state;
	struct shca_wq *wq;
	struct shca_rss *rss;
	struct shca_av av;
	struct shca_qp_apm apm;
	u32 peer_ece;
	u32 resets;
	kuid_t uid;
	pid_t pid;
	struct shca_dump_error dropped;

	struct mutex attr_lock;
	struct ib_qp_attr attr;

	struct shca_buf *ring_buf;
	struct shca_buf *status_buf;
	struct rdma_user_mmap_entry *ring_mmap;
	struct rdma_user_mmap_entry *status_mmap;
	struct shca_qp_index *index;
	struct shca_qp_status *status;
	struct shca_qp_tm tm;
	struct shca_events events;
	struct list_head lost;

	struct shca_reply reply ____cacheline_aligned_in_smp;
	struct shca_sq sq ____cacheline_aligned_in_smp;
	struct shca_rq rq ____cacheline_aligned_in_smp;
};

/*
 * What the RDMA core allocates.
 * @qp:	published by creation, withdrawn (NULL) by destruction.  The core shows
 *	@ibqp to dumps until after that, where it lacks rdma_restrack_begin_del()
 */
struct shca_ibqp {
	struct ib_qp ibqp;
	struct shca_qp __rcu *qp;
};

/* For verbs, whose callers keep the QP from being destroyed. */
static inline struct shca_qp *to_shca_qp(struct ib_qp *ibqp)
{
	return rcu_dereference_protected(
			container_of(ibqp, struct shca_ibqp, ibqp)->qp, true);
}

/*
 * A work queue of verbs (ibv_create_wq), allocated by us.
 * @qp:		its receive side, in a QP of which the rest lies idle
 */
struct shca_wq {
	struct ib_wq ibwq;
	struct shca_qp *qp;
};

static inline struct shca_wq *to_shca_wq(struct ib_wq *ibwq)
{
	return container_of(ibwq, struct shca_wq, ibwq);
}

/* SHCA_TRANSPORT_* of a QP type. */
static inline u8 shca_qp_transport(enum ib_qp_type type)
{
	switch (type) {
	case IB_QPT_UC:
		return SHCA_TRANSPORT_UC;
	case IB_QPT_UD:
	case IB_QPT_GSI:
	case IB_QPT_SMI:
		return SHCA_TRANSPORT_UD;
	case IB_QPT_RAW_PACKET:
		return SHCA_TRANSPORT_RAW;
	case IB_QPT_XRC_INI:
	case IB_QPT_XRC_TGT:
		return SHCA_TRANSPORT_XRC;
	default:
		return SHCA_TRANSPORT_RC;
	}
}

/* Are its requests acknowledged? */
static inline bool shca_qp_is_reliable(const struct shca_qp *qp)
{
	u8 transport = shca_qp_transport(qp->type);

	return transport == SHCA_TRANSPORT_RC ||
	       transport == SHCA_TRANSPORT_XRC;
}

/* What its packets carry now; the table may change. */
static inline u16 shca_qp_pkey(const struct shca_qp *qp)
{
	return READ_ONCE(qp->dev->pkeys[READ_ONCE(qp->pkey_index)]);
}

#endif
