/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What direct.c and datagram.c share. Both hold the locks of two QPs, and requests of the one
 * access the memory of the other.
 */
#ifndef SHCA_MOVE_H
#define SHCA_MOVE_H

#include "../base/dev.h"
#include "../base/trust.h"
#include "../inject/fault.h"
#include "../queue/qp.h"
#include "../wire/payload.h"
#include "direct.h"

/* Budget of one critical section, in pages and descriptors. */
#define SHCA_DIRECT_BUDGET	128

/**
 * struct shca_move - a critical section of both locks
 * @qp:		requester
 * @peer:	responder
 * @near:	region of @qp that a small message has accessed, see shca_mr_get_kept()
 * @far:	region of @peer, likewise
 * @nr:		messages that are not counted yet
 * @out:	their bytes that went to @peer
 * @back:	their bytes that came from it (READ)
 * @now:	ns, for packets of direct.c
 * @budget:	what is left, in pages and descriptors
 * @wait:	memory is being fetched, so this critical section ends
 * @pending:	pending events of @peer
 * @pieces:	payload of the packet being handed over
 */
struct shca_move {
	struct shca_qp *qp;
	struct shca_qp *peer;
	struct shca_mr *near;
	struct shca_mr *far;
	unsigned int nr;
	u32 out;
	u32 back;
	u64 now;
	int budget;
	bool wait;
	struct shca_direct_pending *pending;
	struct shca_pieces pieces;
};

/* May requests go directly to @peer? Both devices must permit it. */
static inline bool shca_move_may(const struct shca_dev *dev,
				 const struct shca_dev *peer)
{
	u8 path = READ_ONCE(peer->path);

	if (shca_fault_is_on(peer, SHCA_FAULT_PACKETS))
		return false;
	/* Delayed placement needs packets: here one copy places all bytes. */
	if (static_branch_unlikely(&shca_manners_on) &&
	    (shca_limit(peer, LATE_US) || shca_limit(dev, LATE_US)))
		return false;
	if (likely(dev->snet == peer->snet))
		return path != SHCA_PATH_WIRE;
	return path == SHCA_PATH_HOST &&
	       READ_ONCE(dev->path) == SHCA_PATH_HOST &&
	       shca_trusts(dev, peer) && shca_trusts(peer, dev);
}

/* Context: the locks of both QPs held. */
static inline void shca_move_begin(struct shca_move *m, struct shca_qp *qp,
				   struct shca_qp *peer,
				   struct shca_direct_pending *pending)
{
	m->qp = qp;
	m->peer = peer;
	m->near = NULL;
	m->far = NULL;
	m->nr = 0;
	m->out = 0;
	m->back = 0;
	m->pending = pending;
}

/* May a small message skip the descriptor? Traces, counters and faults may need one. */
bool shca_move_is_short(const struct shca_move *m);

/**
 * shca_move_short() - move the bytes of a small message, of one segment at each end
 * @m:		critical section
 * @wr:		from shca_fast_next() or shca_fast_datagram()
 * @grh:	datagram: bytes before the message; otherwise NULL
 *
 * Return: false: nothing was moved, and the descriptor path finds and reports the reason. A
 * receive request may have been taken, which the next message uses.
 */
bool shca_move_short(struct shca_move *m, const struct shca_send_wr *wr,
		     const u8 *grh);

/*
 * Get the payload of a request packet by shca_mem_hold().
 * Return: false: the requester goes back to @pkt, with @m->wait when its memory was fetched.
 */
bool shca_move_hold(struct shca_move *m, const struct shca_pkt *pkt);

/* Attach the payload to @pkt, which leaves @from, and trace it. */
void shca_move_leaves(struct shca_move *m, const struct shca_qp *from,
		      struct shca_pkt *pkt);

/* Count @nr packets with @bytes of payload, from one QP to another. */
void shca_move_count(const struct shca_qp *from, const struct shca_qp *to,
		     unsigned int nr, u32 bytes);

/* Last call before the lock of @m->peer is released. */
void shca_move_end(struct shca_move *m);

#endif
