/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Packets from their descriptors to the link, several at a time where that is
 * possible.  A run of packets of one length to one peer crosses the IP stack as one
 * (see struct shca_link_ops.max_batch).
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
 * How long to wait for a full queue.  Most queues are full for a moment; one that still
 * is after some waits is looked at less and less often.  After SHCA_BUSY_MAX waits,
 * a tenth of a second, what it refuses is lost, unless it is stopped.  Then nothing
 * leaves it, so it refuses others as well, and its sender waits for as long as it takes.
 */
#define SHCA_BUSY_NS		50000
#define SHCA_BUSY_STEP		8
#define SHCA_BUSY_DOUBLINGS	5
#define SHCA_BUSY_MAX		96
#define SHCA_STOPPED_NS		(10 * NSEC_PER_MSEC)

/*
 * Limits of one hold of a side's lock.  The limit on packets bounds the wait of
 * others for the lock.  The limit on skbs bounds the backlog of a receiver on this
 * machine, from which softirq takes something between two holds.
 */
#define SHCA_TX_PKTS	128
#define SHCA_TX_SKBS	16

/* Packets that a side hands over at once, where they may be of one batch. */
#define SHCA_TX_BURST	32

/*
 * Packets that have not been handed to the link yet.
 * @qp: @mem: @route: the sending side; the lock of its side is held while a batch lives
 * @av:		where all of them go
 * @skb:	NULL: the batch is empty
 * @first:	the first packet, at which a sender resumes when none could leave
 * @part:	the last one of a run; where a sender resumes, too
 * @handed:	skbs handed to the link since shca_tx_begin()
 * @segs: @seg_len: packets, and the length of each; the last may be shorter
 * @max_segs: @max_bytes: when it is full
 * @linear:	they lie in the skb itself, else in pages
 * @tail: @room: where the next packet goes, and what there is at least
 * @seed:	of the ICRCs of packets to @av
 * @mr:		a region that has been reached, kept for the next packet
 * @run:	the run that is being built, or NULL; @built: its packets so far, of
 *		which @traced are in the trace
 * @hit:	fault of the one packet of this batch, or NULL
 * @judged:	rules have been asked about the packet that is being added
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

/* An empty batch; no cost until a packet is added. */
void shca_tx_begin(struct shca_batch *batch, struct shca_mem_ctx *mem,
		   struct shca_route *route);

/*
 * PSNs that the next packet may stand for. If packets could not leave in batches last time, it
 * is one packet, so that SHCA_TX_SKBS holds.
 */
static inline u32 shca_tx_max_run(const struct shca_batch *batch)
{
	return batch->max_segs > 1 && batch->max_bytes >= 2 * batch->seg_len ?
	       SHCA_TX_BURST : 1;
}

/* Parts of shca_tx_add(): of @pkt->span 0, and of more. */
enum shca_mem_status shca_tx_one(struct shca_batch *batch,
				 const struct shca_pkt *pkt,
				 const struct shca_pkt **failed);
enum shca_mem_status shca_tx_run(struct shca_batch *batch,
				 const struct shca_pkt *pkt,
				 const struct shca_pkt **failed);

/*
 * Build one packet, or those of a run; hands over what cannot wait. No memory, no route, and
 * a queue below that refuses for long are counted and are loss, as on a wire.  Only the
 * protocol's retry limits may end a QP.  The queue may be full for a moment (a run of READ
 * responses into a backlog), or stopped (a peer that pauses the link).  The caller is then
 * asked to wait until shca_tx_busy_until(), and to resume at @failed, which is not @pkt nor a
 * part of it.
 * @pkt:	from shca_req_next() or shca_resp_next()
 * @failed:	the packet at which the sender must resume, unless OK
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

/* Is it a queue below that @failed has to wait for? */
static inline bool shca_tx_found_full(const struct shca_batch *batch,
				      const struct shca_pkt *failed)
{
	return failed == &batch->first;
}

/**
 * enum shca_queue - how the queue below was found
 * @SHCA_QUEUE_GOES:	it is empty
 * @SHCA_QUEUE_MOVES:	packets have left it since the last look
 * @SHCA_QUEUE_HOLDS:	it has packets; the next look tells whether they leave
 * @SHCA_QUEUE_STOPPED:	it has packets, and none has left since the last look
 * @SHCA_QUEUE_RESUMED:	it goes, and was stopped at the last look
 */
enum shca_queue {
	SHCA_QUEUE_GOES,
	SHCA_QUEUE_MOVES,
	SHCA_QUEUE_HOLDS,
	SHCA_QUEUE_STOPPED,
	SHCA_QUEUE_RESUMED,
};

/*
 * Look at the queue below. Looks that are more than a tenth of a second apart have nothing to
 * do with each other.
 * Context: the side's lock held.
 */
enum shca_queue shca_tx_look(const struct shca_qp *qp, struct shca_route *route,
			     u64 now);

/* When to look again at the queue that was full, ns. Context: the side's lock held. */
u64 shca_tx_busy_until(const struct shca_route *route, u64 now);

/* Hand over the rest. Return: SHCA_MEM_OK or SHCA_MEM_RETRY, as above. */
enum shca_mem_status shca_tx_end(struct shca_batch *batch,
				 const struct shca_pkt **failed);

/* Give back the memory kept for batches; none are built now. */
void shca_tx_exit(void);

/*
 * The packet at which the requester resumes waits for its memory. shca_sq_resume() comes; but
 * not where the kernel had no memory to ask with, and then the packet is tried again in a
 * moment.
 * Context: the side's lock held.
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
