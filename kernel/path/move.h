/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What the direct paths of connected QPs (direct.c) and of datagrams (datagram.c) share. Both
 * hold the locks of two QPs, and requests of the one access the memory of the other.
 */
#ifndef SHCA_MOVE_H
#define SHCA_MOVE_H

#include "../base/dev.h"
#include "../base/trust.h"
#include "../inject/fault.h"
#include "../queue/qp.h"
#include "../wire/payload.h"
#include "direct.h"

/* Budget of one hold of the locks, in pages and hand-overs. */
#define SHCA_DIRECT_BUDGET	128

/**
 * struct shca_move - one hold of both locks
 * @qp:		requester
 * @peer:	responder
 * @near:	a region of @qp that a small message has accessed, see shca_mr_get_kept()
 * @far:	the same of @peer
 * @nr:		messages that are not counted yet
 * @out:	their bytes that went to @peer
 * @back:	their bytes that came from it (READ)
 * @now:	ns, for packets of direct.c
 * @budget:	what is left, in pages and hand-overs
 * @wait:	memory is being fetched: no more now
 * @pending:	about @peer
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

/* May requests go directly to this device?  Both must say so. */
static inline bool shca_move_may(const struct shca_dev *dev,
				 const struct shca_dev *peer)
{
	u8 path = READ_ONCE(peer->path);

	/* A fault of a packet needs packets. */
	if (shca_fault_is_on(peer, SHCA_FAULT_PACKETS))
		return false;
	/* One copy places all at once. */
	if (static_branch_unlikely(&shca_manners_on) &&
	    (shca_limit(peer, LATE_US) || shca_limit(dev, LATE_US)))
		return false;
	if (likely(dev->snet == peer->snet))
		return path != SHCA_PATH_WIRE;
	return path == SHCA_PATH_HOST &&
	       READ_ONCE(dev->path) == SHCA_PATH_HOST &&
	       shca_trusts(dev, peer) && shca_trusts(peer, dev);
}

/* Begin a hold; the lock of @peer is held, too. */
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

/* May a small message do without a packet?  Traces, counters and faults may need one. */
bool shca_move_is_short(const struct shca_move *m);

/**
 * shca_move_short() - move the bytes of a small message, of one segment at each end
 * @m:		both locks are held
 * @wr:		from shca_fast_next() or shca_fast_datagram()
 * @grh:	datagram: what comes before the message; otherwise NULL
 *
 * Return: false: nothing has happened, but that a receive request may have been taken, which the
 * next message uses. Packets find the reason, and report it.
 */
bool shca_move_short(struct shca_move *m, const struct shca_send_wr *wr,
		     const u8 *grh);

/*
 * Hold the payload of a request packet, as shca_mem_hold() does.
 * Return: false: the requester goes back to @pkt, maybe when its memory is there (@m->wait).
 */
bool shca_move_hold(struct shca_move *m, const struct shca_pkt *pkt);

/* @pkt, whose payload is held, leaves @from. */
void shca_move_leaves(struct shca_move *m, const struct shca_qp *from,
		      struct shca_pkt *pkt);

/* Count @nr packets with so many bytes, from one QP to another. */
void shca_move_count(const struct shca_qp *from, const struct shca_qp *to,
		     unsigned int nr, u32 bytes);

/* The last call before the lock of @m->peer is released. */
void shca_move_end(struct shca_move *m);

#endif
