/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Queue pairs: the object, its two sides and its state.
 *
 * A QP is two independent halves, each with a lock: the send side (requester) and the receive
 * side (responder). Work runs to completion in the context that raises it: a post, a received
 * packet, a timer. When a budget is used up, a continuation in softirq (bh.h) takes over.
 *
 * Lifetime. The RDMA core allocates and frees struct ib_qp. struct shca_qp is ours; the receive
 * path finds it under RCU, so it is freed after a grace period. @ref counts the object itself,
 * each packet being received and each look of a dump.
 *
 * Destruction (qp_verbs.c): unpublish the QP. Mark it dead under both locks, so that nothing
 * arms a timer or continues any more, and cancel those. Drop the first reference and wait for
 * the rest, which are short. Cancel the events that these may have raised. Free.
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

/* Private copies of a QP's send requests: those being executed. */
#define SHCA_SQ_WINDOW		64

/*
 * Memory access of a side; context of its memory operations.
 * @fetch:	fetch that it waits for, or has waited for last (page_wait.c)
 * @starved:	there was no memory to request a fetch, and nobody calls @resume
 * @resume:	called when the memory was fetched, or cannot be had
 */
struct shca_mem_ctx {
	struct shca_qp *qp;
	struct shca_fetch *fetch;
	bool starved;
	void (*resume)(struct shca_qp *qp);
};

/*
 * A queue of received packets of a side, in order (pkt_queue.c).
 * @by_psn:	tree of the same packets, if they did not arrive in order; otherwise empty
 * @bytes: @total: bytes charged, and those of all sides (struct shca_dev)
 */
struct shca_pkt_queue {
	struct list_head list;
	struct rb_root by_psn;
	unsigned int nr;
	u32 bytes;
	atomic_long_t *total;
};

/*
 * State that both sides of a QP have, under the lock of each (side.h).
 * @mem: @backlog:	memory, and received packets that wait for it
 * @ooo:	out-of-order queue: earlier packets are missing
 * @bh:		continues when a budget is used up, and flushes
 * @continuing:	@bh is due: nobody else transmits until then
 * @feeds:	@bh is due, and feeds more of @ooo: nobody else does until then
 * @fatal:	failed without a completion: QP_FATAL is due
 * @timer:	sq.c: the requester's deadlines; rq.c: shca_reply.due
 * @route:	to the peer
 * @error:	the side's last error (last_error.c)
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
 * @req: @wrs:	the requester, and its private work requests
 * @slots: @entries: @stride: the ring, written by the process (or by kernel
 *		consumers under @post_lock)
 * @fetched:	requests taken from the ring, free-running
 * @seen:	producer index of the ring when it was read last
 * @side:	continues on the CPU that transmitted last, as packets of two CPUs overtake
 *		each other
 * @armed:	when the timer expires, ns; 0: not armed. It is never postponed: on expiry
 *		the deadline and the ring are checked again
 * @direct:	the last requests took the direct path (direct.c)
 * @peer:	the QP that they went to
 * @direct_more: the budget ended that: answers may be owed
 * @stream:	posts that need no doorbell
 * @far_waits:	direct requests in a row whose peer waited for its memory
 * @peer_looks: @peer_ns: @peer_changes: searches for the peer in this kernel that are left,
 *		when the next one is, and shca_net_changes() at the last one (peer.c)
 * @cc_mode: @ecn_peer: enum shca_cc_mode, and properties of the peer when they last decided
 *		whether packets are ECN-capable (peer.c)
 * @rate_kbps: @rate_ns: RAW_PACKET: rate limit, 0: none; when the next frame may leave
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
 * @xrc:	XRC: SRQ of the request being executed
 * @peer_looks: @peer_ns: attempts to find out whether the peer understands gap reports,
 *		and when the next one is (peer.c)
 * @behind:	the first packet of the backlog waits for an answer to leave, not for memory
 * @held:	direct path: payload of the request being executed; released before a key is
 *		invalidated, which may be its own
 * @far_waits:	a requester on the direct path waits for memory that @side fetches
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
 * @due:	when a responder continues that waits for a reply, a full queue below, or its
 *		rate, ns; 0: it does not wait. Written under rq.lock; the send side reads it
 *		without, and then again under the lock
 * @answered:	when the last request without a reply was executed, ns; 0: none. Written by
 *		both sides
 * @psn:	PSN of the last acknowledgement that waited or left; under rq.lock
 * @wants:	this many @replies make the next one likely; under rq.lock
 * @replies:	replies in time since one that was missing. Written by both sides: one more or
 *		less does not matter
 * @turn:	average time of a reply, ns; under sq.lock
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
 * Automatic path migration of a QP (path_migration.c).
 * @is:		its state, and whether there is an alternate path
 * @swapped:	the paths were exchanged since shca_qp.attr was written
 * @pkey_index: @timeout_ns: @av:	the alternate path
 *
 * All is written under both locks. A reader without a lock checks again under them.
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
 * @who:	identity of the QP in access checks
 * @uctx:	the process's context that may ring the doorbell; NULL: a kernel
 *		consumer's QP, or one without rings
 * @pkey_index: @av: written under both locks; @pkey_index is read without
 * @wq:		work queue whose receive side this is (wq.h). The QP then has no @ibqp, sends
 *		nothing, and no packet finds it by number
 * @rss:	it has work queues in place of a receive side (rss_rx.h); constant
 * @pd: @xrcd:	the responder of XRC has a domain, and of each request the PD
 * @attr:	attributes for query_qp, without @apm; under @attr_lock
 * @uid: @pid:	of the process that made it
 * @dropped:	the last packet dropped before it reached a side; written without a
 *		lock, so its members may be of two packets
 * @peer_ece:	ECE options of the peer, 0: none; under @attr_lock
 * @lost:	queued packets to be freed; under both locks, empty without (shca_qp_unlock())
 * @resets:	how often it went to RESET; under both locks
 * @index:	indices that the process writes; NULL never
 * @status:	indices that only the kernel writes
 * @tm:		rendezvous of tag matching, if its SRQ does that
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
 * Part that the RDMA core allocates.
 * @qp:	published by creation, withdrawn (NULL) by destruction. The core shows
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
 * @qp:		its receive side, in a QP whose other parts are not used
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

/* P_Key of its packets now; the table may change. */
static inline u16 shca_qp_pkey(const struct shca_qp *qp)
{
	return READ_ONCE(qp->dev->pkeys[READ_ONCE(qp->pkey_index)]);
}

#endif
