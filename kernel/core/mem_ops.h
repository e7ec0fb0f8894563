/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The core's only access to memory. The core calls it where access rights
 * decide the reply. The caller of the core gathers outgoing payload, without
 * these operations.
 */
#ifndef SHCA_CORE_MEM_OPS_H
#define SHCA_CORE_MEM_OPS_H

#include "packet.h"
#include "tm.h"
#include "wr.h"

/* Rights; values equal enum ib_access_flags. */
#define SHCA_ACCESS_LOCAL_WRITE		(1u << 0)
#define SHCA_ACCESS_REMOTE_WRITE	(1u << 1)
#define SHCA_ACCESS_REMOTE_READ		(1u << 2)
#define SHCA_ACCESS_REMOTE_ATOMIC	(1u << 3)
#define SHCA_ACCESS_FLUSH_GLOBAL	(1u << 8)
#define SHCA_ACCESS_FLUSH_PERSISTENT	(1u << 9)

/** enum shca_mem_status - verdict of the access to memory, in checking order */
enum shca_mem_status {
	SHCA_MEM_OK,
	SHCA_MEM_KEY,		/* no such key, wrong state, or another PD's */
	SHCA_MEM_ACCESS,	/* right not granted */
	SHCA_MEM_RANGE,		/* outside of the region */
	SHCA_MEM_RETRY,		/* page not present: come back later */
};

/** shca_mem_verr() - SHCA_VERR_* that tells which check refused */
static inline u16 shca_mem_verr(enum shca_mem_status status)
{
	switch (status) {
	case SHCA_MEM_KEY:
		return SHCA_VERR_KEY;
	case SHCA_MEM_ACCESS:
		return SHCA_VERR_ACCESS;
	case SHCA_MEM_RANGE:
		return SHCA_VERR_RANGE;
	case SHCA_MEM_OK:
	case SHCA_MEM_RETRY:
		break;
	}
	return SHCA_VERR_NONE;
}

/* Bytes in front of a UD message; byte_len counts them (IBTA 11.4.1.2). */
#define SHCA_GRH_BYTES 40

/** enum shca_recv_status - verdict of taking a receive request */
enum shca_recv_status {
	SHCA_RECV_OK,
	SHCA_RECV_EMPTY,	/* none posted: RNR */
	SHCA_RECV_BAD,		/* malformed, but for its wr_id */
	SHCA_RECV_BROKEN,	/* the queue itself is: no request was taken */
};

/**
 * struct shca_mem_ops - how the core reaches memory
 *
 * @ctx is what the side was initialised with.  All are called with the lock of
 * the side held by the caller of the core, in softirq or with bottom halves
 * off: they do not sleep.  A length of zero is never passed to them.
 *
 * @remote_check: may [@va, @va + @len) be reached through @rkey with
 *	@access?  Called once per message or READ request, before any byte.
 * @remote_write: place the whole payload of @pkt at @va; checks again, since
 *	the region may be gone by now.
 * @remote_atomic: CMP_SWAP or FETCH_ADD of @pkt (8 bytes, aligned, checked by
 *	the core), value before into @orig; atomic to CPUs (GLOB).
 * @remote_atomic_write: store the eight bytes that are the payload of @pkt, at
 *	its aligned address, in one piece and after all that was placed before.
 * @remote_flush: FLUSH of @pkt, whose range may be of no length: what was placed
 *	is visible to all, and where asked for persistent, on return.
 * @local_scatter: place the payload of @pkt at byte @off of the segment list
 *	(receive buffers, READ responses); needs SHCA_ACCESS_LOCAL_WRITE.
 * @local_store: same for a value that the core made (atomic results).
 * @grh_store: write the SHCA_GRH_BYTES in front of a UD message, made from
 *	@pkt, to the start of the segment list.
 * @recv_get: take the next receive request, fetched once and bounded.
 * @tm_get: of a queue with tag matching: the buffer for @msg, a tagged one
 *		(@matched) or the next receive request.  A rendezvous that is matched
 *		is the callee's to carry out, if shca_resp_out.rndv says so.
 * @tm_undo:	a message that was not matched has broken off
 * @payload:	the first @len bytes of the payload of @pkt
 * @xrc_select:	XRC: what is asked for from here on is for this SRQ: its receive
 *		requests, and regions and windows of its protection domain.  Returns
 *		false: the QP's XRC domain has no such SRQ.
 * @invalidate: the peer's SEND with invalidate: false: no such region or
 *	window, or it may not be invalidated from remote.
 * @local_op: execute a local request (LOCAL_INV, BIND_MW, REG_MR); returns the
 *	status that it completes with.
 */
struct shca_mem_ops {
	enum shca_mem_status (*remote_check)(void *ctx, u32 rkey, u64 va,
					     u32 len, u32 access);
	enum shca_mem_status (*remote_write)(void *ctx, u32 rkey, u64 va,
					     const struct shca_pkt *pkt);
	enum shca_mem_status (*remote_atomic)(void *ctx,
					      const struct shca_pkt *pkt,
					      u64 *orig);
	enum shca_mem_status (*remote_atomic_write)(void *ctx,
						    const struct shca_pkt *pkt);
	enum shca_mem_status (*remote_flush)(void *ctx,
					     const struct shca_pkt *pkt);
	enum shca_mem_status (*local_scatter)(void *ctx,
					      const struct shca_sge *sge,
					      u32 nr, u32 off,
					      const struct shca_pkt *pkt);
	enum shca_mem_status (*local_store)(void *ctx,
					    const struct shca_sge *sge, u32 nr,
					    const void *buf, u32 len);
	enum shca_mem_status (*grh_store)(void *ctx, const struct shca_sge *sge,
					  u32 nr, const struct shca_pkt *pkt);
	enum shca_recv_status (*recv_get)(void *ctx, struct shca_recv_wr *wr);
	enum shca_recv_status (*tm_get)(void *ctx,
					const struct shca_tm_msg *msg,
					struct shca_recv_wr *wr, bool *matched);
	void (*tm_undo)(void *ctx);
	void (*payload)(void *ctx, const struct shca_pkt *pkt, void *buf,
			u32 len);
	bool (*xrc_select)(void *ctx, u32 srqn);
	bool (*invalidate)(void *ctx, u32 rkey);
	enum shca_wc_status (*local_op)(void *ctx,
					const struct shca_send_wr *wr);
};

#endif
