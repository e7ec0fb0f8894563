/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Bytes between packets and memory regions. */
#ifndef SHCA_PAYLOAD_H
#define SHCA_PAYLOAD_H

#include "../base/dev.h"
#include "../core/mem_ops.h"

struct shca_mem_ctx;
struct shca_mr;
struct shca_qp;
struct shca_rx_skb;
struct sk_buff;

/* Memory operations of the core; their context is a struct shca_mem_ctx. */
extern const struct shca_mem_ops shca_mem_ops;

/*
 * Copy the payload of an outgoing packet into @dst, which has @pkt->paylen bytes.
 * @kept:	region that the previous packet has accessed, or NULL; call shca_mem_forget()
 *		before leaving the atomic section
 * Context: bottom halves off.
 * Return: SHCA_MEM_OK, or why the memory cannot be had (@dst is undefined); SHCA_MEM_RETRY:
 * later, see shca_page_wait().
 */
enum shca_mem_status shca_mem_gather(struct shca_mem_ctx *mem,
				     const struct shca_pkt *pkt, u8 *dst,
				     struct shca_mr **kept);
/* Put the region in @kept. */
void shca_mem_forget(struct shca_mr **kept);

/*
 * Part of a payload.
 * @mr: @va:	its region, with a reference, and its address there
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
 * The payload of an outgoing packet.
 * @kept:	see shca_mem_gather(); NULL: nothing outlives the pieces
 *
 * On the direct path struct shca_pkt.data points to one of these in place of an skb, and the
 * memory operations copy from page to page.
 */
struct shca_pieces {
	struct shca_mr **kept;
	u32 nr;
	struct shca_piece piece[SHCA_LIM_SGE];
};

/*
 * Find the payload of an outgoing packet, with references to its regions.
 * @pieces:	result, but for @kept; shca_mem_release() it before leaving the atomic section
 * Context: bottom halves off.
 * Return: SHCA_MEM_OK, or why the memory cannot be had (there are no references).
 */
enum shca_mem_status shca_mem_hold(struct shca_mem_ctx *mem,
				   const struct shca_pkt *pkt,
				   struct shca_pieces *pieces);

/*
 * Trace the payload of a packet, or of each packet of a run.
 * @pkt:	received, or on the direct path
 * @sent:	@qpn has sent it
 * Context: as the packet is received.
 */
void shca_payload_trace(u32 qpn, const struct shca_pkt *pkt, bool sent);

/*
 * Return: address of @len bytes at @off, cheap with rising offsets. NULL: they are not
 * contiguous; use skb_copy_bits() and its like.
 */
const u8 *shca_rx_flat(struct shca_rx_skb *rx, u32 off, u32 len);

/* Put references of shca_mem_hold(), if any are left. */
void shca_mem_release(struct shca_pieces *pieces);

#endif
