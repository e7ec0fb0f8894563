/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Packets from their descriptors to the link. A run of packets of one length to one peer
 * crosses the IP stack as a batch (struct shca_link_ops.max_batch).
 */
#ifndef SHCA_TX_H
#define SHCA_TX_H

#include "../core/mem_ops.h"
#include "../link/link.h"
#include "../queue/qp.h"

struct shca_fault_hit;
struct shca_mem_ctx;
struct shca_mr;
struct shca_qp;

/*
 * Waits for a full queue below. Most queues are full for a moment; one that stays full is tried
 * less and less often. After SHCA_BUSY_MAX waits, a tenth of a second, packets that it refuses
 * are lost. But a stopped queue refuses others as well, so its sender waits for as long as it
 * takes.
 */
#define SHCA_BUSY_NS		50000
#define SHCA_BUSY_STEP		8
#define SHCA_BUSY_DOUBLINGS	5
#define SHCA_BUSY_MAX		96
#define SHCA_STOPPED_NS		(10 * NSEC_PER_MSEC)

/*
 * Limits of a critical section of a side. The limit on packets bounds how long others wait for
 * the lock. The limit on skbs bounds the backlog of a receiver on this machine, from which
 * softirq takes packets only between two of them.
 */
#define SHCA_TX_PKTS	128
#define SHCA_TX_SKBS	16

/* PSNs of one descriptor, if its packets may leave in batches. */
#define SHCA_TX_BURST	32

/*
 * Packets that have not been handed to the link yet.
 * @qp: @mem: @route: the sending side, whose lock is held while a batch exists
 * @av:		destination of all of them
 * @skb:	NULL: the batch is empty
 * @first:	the first packet, at which a sender resumes if none could leave
 * @part:	the last packet of a run, at which a sender may resume, too
 * @handed:	skbs handed to the link since shca_tx_begin()
 * @segs: @seg_len: number of packets, and their length; the last may be shorter
 * @max_segs: @max_bytes: when it is full
 * @linear:	they lie in the skb itself, otherwise in pages
 * @tail:	where the next packet goes
 * @room:	bytes that it has there at least, if @linear
 * @seed:	of the ICRCs of packets to @av
 * @mr:		cache of shca_mem_gather()
 * @run:	the run that is being built, or NULL; @built: its packets so far, of
 *		which @traced are in the trace
 * @hit:	fault of the one packet of this batch, or NULL
 * @judged:	rules were asked about the packet that is being added
 */
struct shca_batch {
	struct shca_qp *qp;
	struct shca_mem_ctx *mem;
	struct shca_route *route;
	const struct shca_av *av;
	struct sk_buff *skb;
	struct shca_pkt first;
	struct shca_pkt part;
	unsigned int segs;
	unsigned int handed;
	unsigned int max_segs;
	u32 seg_len;
	u32 bytes;
	u32 max_bytes;
	bool linear;
	u8 *tail;
	u32 room;
	struct shca_seed seed;
	struct shca_mr *mr;
	const struct shca_pkt *run;
	u32 built;
	u32 traced;
	const struct shca_fault_hit *hit;
	bool judged;
};

/* Make an empty batch; cheap. */
void shca_tx_begin(struct shca_batch *batch, struct shca_mem_ctx *mem,
		   struct shca_route *route);

/*
 * PSNs that the next descriptor may stand for: one if packets could not leave in batches last
 * time, so that SHCA_TX_SKBS holds.
 */
static inline u32 shca_tx_max_run(const struct shca_batch *batch)
{
	return batch->max_segs > 1 && batch->max_bytes >= 2 * batch->seg_len ?
	       SHCA_TX_BURST : 1;
}

/* Parts of shca_tx_add(), for @pkt->span 0 and for more. */
enum shca_mem_status shca_tx_one(struct shca_batch *batch,
				 const struct shca_pkt *pkt,
				 const struct shca_pkt **failed);
enum shca_mem_status shca_tx_run(struct shca_batch *batch,
				 const struct shca_pkt *pkt,
				 const struct shca_pkt **failed);

/*
 * Build one packet, or those of a run, and hand full batches to the link. Packets without
 * memory or route are counted and lost, as on a wire, and so are those that a queue below
 * refuses for long: only the protocol's retry limits may end a QP. If the queue is full for a
 * moment, or is stopped (a peer pauses the link), the caller must wait until
 * shca_tx_busy_until() and resume at @failed, which is not @pkt nor a part of it.
 * @pkt:	from shca_req_next() or shca_resp_next()
 * @failed:	unless OK: the packet at which the sender must resume
 * Context: softirq or bottom halves off.
 * Return: SHCA_MEM_OK; SHCA_MEM_RETRY: resume later; or why the payload of @pkt (which then is
 * @failed) cannot be had.
 */
static inline enum shca_mem_status shca_tx_add(struct shca_batch *batch,
					       const struct shca_pkt *pkt,
					       const struct shca_pkt **failed)
{
	if (likely(!pkt->span))
		return shca_tx_one(batch, pkt, failed);
	return shca_tx_run(batch, pkt, failed);
}

/* Does @failed wait for a queue below? */
static inline bool shca_tx_found_full(const struct shca_batch *batch,
				      const struct shca_pkt *failed)
{
	return failed == &batch->first;
}

/**
 * enum shca_queue - result of a look at the queue below
 * @SHCA_QUEUE_GOES:	it is empty
 * @SHCA_QUEUE_MOVES:	packets have left it since the last look
 * @SHCA_QUEUE_HOLDS:	it has packets; the next look shows whether they leave
 * @SHCA_QUEUE_STOPPED:	it has packets, and none has left since the last look
 * @SHCA_QUEUE_RESUMED:	it was stopped at the last look, and goes on
 */
enum shca_queue {
	SHCA_QUEUE_GOES,
	SHCA_QUEUE_MOVES,
	SHCA_QUEUE_HOLDS,
	SHCA_QUEUE_STOPPED,
	SHCA_QUEUE_RESUMED,
};

/* Look at the queue below; a look up to 0.1 s ago counts. Context: the side's lock held. */
enum shca_queue shca_tx_look(const struct shca_qp *qp, struct shca_route *route,
			     u64 now);

/* When to try the full queue again, ns. Context: the side's lock held. */
u64 shca_tx_busy_until(const struct shca_route *route, u64 now);

/* Hand the rest to the link. Return: SHCA_MEM_OK or SHCA_MEM_RETRY, as above. */
enum shca_mem_status shca_tx_end(struct shca_batch *batch,
				 const struct shca_pkt **failed);

/* Free the pages for batches; none are built any more. */
void shca_tx_exit(void);

/*
 * The requester resumes at a packet whose memory is being fetched, by shca_sq_resume(); or
 * after a delay, if the fetch could not be requested. Context: the side's lock held.
 */
static inline void shca_sq_pause(struct shca_sq *sq)
{
	if (unlikely(sq->side.mem.starved))
		shca_req_stall(&sq->req, ktime_get_ns() +
			       (SHCA_BUSY_NS << SHCA_BUSY_DOUBLINGS));
	else
		shca_req_pause(&sq->req);
}

#endif
