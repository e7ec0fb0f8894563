/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What direct.c and datagram.c share; private to them. */
#ifndef SHCA_DIRECT_INTERNAL_H
#define SHCA_DIRECT_INTERNAL_H

#include "../base/dev.h"
#include "../base/trace.h"
#include "../base/trace_payload.h"
#include "../base/trace_steps.h"
#include "../base/trust.h"
#include "../mem/mr.h"
#include "direct.h"
#include "fault.h"
#include "qp.h"

/* Budget of one hold of the locks, in pages and hand-overs. */
#define SHCA_DIRECT_BUDGET	128

/* May requests go directly to this device?  Both must say so. */
static inline bool shca_direct_may_meet(const struct shca_dev *dev,
				 const struct shca_dev *peer)
{
	u8 path = READ_ONCE(peer->path);

	/* What befalls packets needs packets. */
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

/* Trace events and counters by opcode need packets. */
static inline bool shca_fast_watched(void)
{
	return trace_shca_direct_enabled() || trace_shca_rx_verdict_enabled() ||
	       trace_shca_payload_enabled() || trace_shca_place_enabled() ||
	       static_branch_unlikely(&shca_optional_counters);
}

/* What is told needs the peer after the locks are released. */
static inline void shca_direct_note(struct shca_qp *peer,
			     struct shca_direct_news *news)
{
	if (likely(!news->rq.events && !news->rq.failed && !peer->rq.srq) ||
	    news->peer)
		return;
	/* It is not dead, so it has the reference of the object itself. */
	refcount_inc(&peer->ref);
	news->peer = peer;
}

#endif
