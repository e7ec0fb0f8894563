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

/* From @from, or if that is NULL from @buf, to @to; both have been checked. */
static inline void shca_fast_copy(const struct shca_mr *to, u64 to_va,
			    const struct shca_mr *from, u64 from_va,
			    const u8 *buf, u32 len)
{
	const u8 *p = buf;
	u32 run;
	u8 *q;

	if (unlikely(to->type == SHCA_MR_NULL))
		return;
	for (; len; len -= run, to_va += run, from_va += run, p += run) {
		run = len;
		if (from)
			p = shca_mr_next(from, from_va, &run);
		q = shca_mr_next(to, to_va, &run);
		memcpy(q, p, run);
	}
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
