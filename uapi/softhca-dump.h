/* SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR BSD-2-Clause) */
/*
 * Raw dumps of objects for `rdma resource show qp -r`, which prints the bytes
 * and needs CAP_NET_ADMIN. They are in the machine's byte order. A dump only
 * grows at its end; @size is its length. A dump has neither keys nor kernel
 * addresses.
 */
#ifndef SOFTHCA_DUMP_H
#define SOFTHCA_DUMP_H

#include <linux/types.h>

/* shca_dump_qp.flags */
#define SHCA_DUMP_QP_USER	(1u << 0)	/* belongs to a process */
#define SHCA_DUMP_QP_SQ_ERR	(1u << 1)	/* the send side has failed */
#define SHCA_DUMP_QP_RQ_ERR	(1u << 2)	/* the receive side has failed */
#define SHCA_DUMP_QP_RNR_WAIT	(1u << 3)	/* waits before it resends */
#define SHCA_DUMP_QP_DRAINING	(1u << 4)	/* SQD: starts no further request */
#define SHCA_DUMP_QP_DIRECT	(1u << 5)	/* its last requests took the direct path */
#define SHCA_DUMP_QP_PEER	(1u << 6)	/* the peer is known to be softhca */

/**
 * struct shca_dump_qp - a queue pair
 * @size: @qpn: @type: @state: IB_QPT_*, IB_QPS_*
 * @sq_entries: @sq_stride: @sq_posted: @sq_fetched:	send ring: slots, bytes
 *		per slot, index of the next slot to write, index of the next
 *		slot to fetch
 * @req_una: @req_next: @req_end:	fetched requests: oldest incomplete,
 *		next to send, end
 * @psn: @una_psn: @max_psn: next PSN, oldest not acknowledged, highest one sent + 1
 * @retry_left: @rnr_left:	retries left for the oldest request
 * @rq_entries: @rq_stride: @rq_posted:	receive ring: slots, bytes per slot,
 *		requests not taken yet
 * @epsn: @msn:	expected PSN, completed messages
 */
struct shca_dump_qp {
	__u32 size;
	__u32 qpn;
	__u32 type;
	__u32 state;
	__u32 flags;
	__u32 sq_entries;
	__u32 sq_stride;
	__u32 sq_posted;
	__u32 sq_fetched;
	__u32 req_una;
	__u32 req_next;
	__u32 req_end;
	__u32 psn;
	__u32 una_psn;
	__u32 max_psn;
	__u32 retry_left;
	__u32 rnr_left;
	__u32 rq_entries;
	__u32 rq_stride;
	__u32 rq_posted;
	__u32 epsn;
	__u32 msn;
};

/* shca_dump_cq.flags */
#define SHCA_DUMP_CQ_USER	(1u << 0)
#define SHCA_DUMP_CQ_OVERFLOW	(1u << 1)	/* a completion was lost */

/** struct shca_dump_cq - a completion queue; @written: completions written so far */
struct shca_dump_cq {
	__u32 size;
	__u32 flags;
	__u32 entries;
	__u32 written;
};

/** struct shca_dump_mr - a memory region; @type: enum shca_mr_type */
struct shca_dump_mr {
	__u32 size;
	__u32 type;
	__u32 access;
	__u32 block_shift;
	__aligned_u64 iova;
	__aligned_u64 length;
};

/** struct shca_dump_srq - a shared receive queue; @taken: requests taken so far */
struct shca_dump_srq {
	__u32 size;
	__u32 entries;
	__u32 stride;
	__u32 limit;
	__u32 taken;
	__u32 reserved;
};

#endif
