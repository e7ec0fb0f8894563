/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The core's only access to memory: it calls these where access rights decide the answer. The
 * caller of the core gathers outgoing payload without them.
 */
#ifndef SHCA_CORE_MEM_OPS_H
#define SHCA_CORE_MEM_OPS_H

#include "packet.h"
#include "tag_list.h"
#include "wr.h"

/* Access rights; values equal enum ib_access_flags. */
#define SHCA_ACCESS_LOCAL_WRITE		(1u << 0)
#define SHCA_ACCESS_REMOTE_WRITE	(1u << 1)
#define SHCA_ACCESS_REMOTE_READ		(1u << 2)
#define SHCA_ACCESS_REMOTE_ATOMIC	(1u << 3)
#define SHCA_ACCESS_FLUSH_GLOBAL	(1u << 8)
#define SHCA_ACCESS_FLUSH_PERSISTENT	(1u << 9)

/* Result of an access check, in the order of checks. */
enum shca_mem_status {
	SHCA_MEM_OK,
	SHCA_MEM_KEY,		/* no such key, wrong state, or another PD's */
	SHCA_MEM_ACCESS,	/* right not granted */
	SHCA_MEM_RANGE,		/* outside of the region */
	SHCA_MEM_RETRY,		/* page not present: try later */
};

/* SHCA_VERR_* of the check that failed. */
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

/* Bytes before a UD message; byte_len counts them (IBTA 11.4.1.2). */
#define SHCA_GRH_BYTES 40

/* Result of taking a receive request. */
enum shca_recv_status {
	SHCA_RECV_OK,
	SHCA_RECV_EMPTY,	/* none posted: RNR */
	SHCA_RECV_BAD,		/* malformed, except for its wr_id */
	SHCA_RECV_BROKEN,	/* the queue is malformed: no request was taken */
};

/**
 * struct shca_mem_ops - operations by which the core accesses memory
 *
 * @ctx is what the side was initialised with. The length is never 0.
 *
 * @remote_check: may the peer access [@va, @va + @len) by @rkey with @access? Called once per
 *	message or READ request, before any byte.
 * @remote_write: store the whole payload of @pkt at @va. Checks access again, because the region
 *	may be gone by now.
 * @remote_atomic: execute CMP_SWAP or FETCH_ADD of @pkt (8 bytes, aligned, checked by the core).
 *	@orig gets the value before. Atomic to CPUs (GLOB).
 * @remote_atomic_write: store the eight bytes of payload of @pkt at its aligned address, in one
 *	piece, after all earlier data.
 * @remote_flush: execute FLUSH of @pkt, whose range may have length 0. On return, earlier data is
 *	visible to all, and persistent on request.
 * @local_scatter: store the payload of @pkt at byte @off of the segment list (receive buffers,
 *	READ responses). Needs SHCA_ACCESS_LOCAL_WRITE.
 * @local_store: the same for a value of the core (atomic results).
 * @grh_store: make the SHCA_GRH_BYTES before a UD message from @pkt, and write them to the start
 *	of the segment list.
 * @recv_get: take the next receive request, fetched once and bounded.
 * @recv_count: receive requests that are posted, and not taken.
 * @tm_get: take the buffer for @msg from a queue with tag matching: a tagged one
 *	(@matched) or the next receive request. The callee executes a matched
 *	rendezvous if shca_resp_out.rndv is set.
 * @tm_undo: a message without a matching tag was broken off.
 * @payload: copy the first @len bytes of the payload of @pkt to @buf.
 * @xrc_select: XRC: from now on use the receive requests of this SRQ, and regions and windows of
 *	its protection domain. Returns false if the QP's XRC domain has no such SRQ.
 * @invalidate: execute the invalidation of the peer's SEND. Returns false if there is no such
 *	region or window, or the peer may not invalidate it.
 * @local_op: execute a local request (LOCAL_INV, BIND_MW, REG_MR). Returns the status of its
 *	completion.
 *
 * Context: softirq or bottom halves off, under the lock of the side. They do not sleep.
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
	u32 (*recv_count)(void *ctx);
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
