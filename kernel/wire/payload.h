/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Moving bytes between packets and memory regions.
 */
#ifndef SHCA_PAYLOAD_H
#define SHCA_PAYLOAD_H

#include "../base/dev.h"
#include "../core/mem_ops.h"

struct shca_mem_ctx;
struct shca_mr;
struct shca_qp;
struct shca_rx_skb;
struct sk_buff;

/* The core's way to memory; the context is the struct shca_mem_ctx. */
extern const struct shca_mem_ops shca_mem_ops;

/*
 * Copy the payload of an outgoing packet into @dst.
 * @dst:	@pkt->paylen bytes
 * @kept:	a region that the packet before has reached, or NULL; give it back
 *		by shca_mem_forget() before leaving the atomic section
 * Context: bottom halves off.
 * Return: SHCA_MEM_OK, or why the memory cannot be had (@dst is undefined); SHCA_MEM_RETRY:
 * later, see shca_page_wait().
 */
enum shca_mem_status shca_mem_gather(struct shca_mem_ctx *mem,
				     const struct shca_pkt *pkt, u8 *dst,
				     struct shca_mr **kept);
/* The end of @kept. */
void shca_mem_forget(struct shca_mr **kept);

/*
 * Part of a payload, where it lies.
 * @mr: @va:	in a region that is held, from there on
 * @buf:	@mr is NULL: inline data
 */
struct shca_piece {
	struct shca_mr *mr;
	union {
		u64 va;
		const u8 *buf;
	};
	u32 len;
};

/*
 * The payload of an outgoing packet, where it lies.
 * @kept:	see shca_mem_gather(); NULL: nothing outlives the pieces
 *
 * Between two QPs of this machine struct shca_pkt.data points to one in place of
 * an skb: the memory operations then copy from page to page.
 */
struct shca_pieces {
	struct shca_mr **kept;
	u32 nr;
	struct shca_piece piece[SHCA_LIM_SGE];
};

/*
 * Find the payload of an outgoing packet and keep it.
 * @pieces:	result, but for @kept; shca_mem_release() it before leaving the
 *		atomic section
 * Context: bottom halves off.
 * Return: SHCA_MEM_OK, or why the memory cannot be had (nothing is held).
 */
enum shca_mem_status shca_mem_hold(struct shca_mem_ctx *mem,
				   const struct shca_pkt *pkt,
				   struct shca_pieces *pieces);

/*
 * The trace event of the payload of a packet, or of each of a run.
 * @pkt:	received, or on the direct path
 * @sent:	the event is @qpn's, which has sent it
 * Context: as the packet is received.
 */
void shca_payload_trace(u32 qpn, const struct shca_pkt *pkt, bool sent);

/*
 * @len bytes at @off, if they are in one piece of memory. Cheap if called with rising offsets.
 * Return: NULL: they are not; use skb_copy_bits() and its like.
 */
const u8 *shca_rx_flat(struct shca_rx_skb *rx, u32 off, u32 len);

/* Give back what is held, if anything still is. */
void shca_mem_release(struct shca_pieces *pieces);

#endif
