/* SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR BSD-2-Clause) */
/*
 * Raw dumps of objects for `rdma resource show qp -r`, which prints the bytes and needs
 * CAP_NET_ADMIN. They are in the machine's byte order. A dump only grows at its end; @size is
 * its length. A dump has neither keys nor kernel addresses.
 */
#ifndef SOFTHCA_DUMP_H
#define SOFTHCA_DUMP_H

#include <linux/types.h>

/* shca_dump_qp.flags */
#define SHCA_DUMP_QP_USER	(1u << 0)	/* belongs to a process */
#define SHCA_DUMP_QP_SQ_ERR	(1u << 1)	/* the send side has failed */
#define SHCA_DUMP_QP_RQ_ERR	(1u << 2)	/* the receive side has failed */
#define SHCA_DUMP_QP_RNR_WAIT	(1u << 3)	/* waits before it sends again */
#define SHCA_DUMP_QP_DRAINING	(1u << 4)	/* SQD: starts no new request */
#define SHCA_DUMP_QP_DIRECT	(1u << 5)	/* its last requests took the direct path */
#define SHCA_DUMP_QP_PEER	(1u << 6)	/* the peer is a softhca */

/**
 * struct shca_dump_qp - a queue pair
 * @size:	of the dump, in bytes
 * @qpn:	number of the QP
 * @type:	IB_QPT_*
 * @state:	IB_QPS_*
 * @flags:	SHCA_DUMP_QP_*
 * @sq_entries:	send ring: slots
 * @sq_stride:	bytes per slot
 * @sq_posted:	index of the next slot to write
 * @sq_fetched:	index of the next slot to fetch
 * @req_una:	fetched requests: oldest incomplete
 * @req_next:	next to send
 * @req_end:	end
 * @psn:	next PSN
 * @una_psn:	oldest PSN not acknowledged
 * @max_psn:	highest PSN sent + 1
 * @retry_left:	retries left for the oldest request
 * @rnr_left:	likewise, after RNR NAKs
 * @rq_entries:	receive ring: slots
 * @rq_stride:	bytes per slot
 * @rq_posted:	requests not taken yet
 * @epsn:	expected PSN
 * @msn:	completed messages
 * @window:	congestion window, in packets
 * @errors:	since the QP left RESET: refused packets, and completions in error except
 *		flushed ones
 * @tx_bytes:	since the QP was created: payload of requests and responses sent, with
 *		retransmissions
 * @rx_bytes:	likewise, payload accepted
 * @sent_again:	likewise, retransmitted packets of requests
 * @timeouts:	likewise, time-outs
 * @resets:	likewise, changes to RESET, where counters of PSNs, messages and requests
 *		restart
 * @first_psn:	@psn at the last change to RTS
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
	__u32 window;
	__u32 errors;
	__aligned_u64 tx_bytes;
	__aligned_u64 rx_bytes;
	__aligned_u64 sent_again;
	__aligned_u64 timeouts;
	__u32 resets;
	__u32 first_psn;
};

/* shca_dump_cq.flags */
#define SHCA_DUMP_CQ_USER	(1u << 0)
#define SHCA_DUMP_CQ_OVERFLOW	(1u << 1)	/* a completion was lost */

/**
 * struct shca_dump_cq - a completion queue
 * @size:	of the dump, in bytes
 * @flags:	SHCA_DUMP_CQ_*
 * @entries:	slots
 * @written:	completions written so far
 */
struct shca_dump_cq {
	__u32 size;
	__u32 flags;
	__u32 entries;
	__u32 written;
};

/**
 * struct shca_dump_mr - a memory region
 * @size:	of the dump, in bytes
 * @type:	enum shca_mr_type
 * @access:	enum ib_access_flags
 * @block_shift: log2 of the block size
 * @iova:	first address that requests use
 * @length:	bytes from there on
 */
struct shca_dump_mr {
	__u32 size;
	__u32 type;
	__u32 access;
	__u32 block_shift;
	__aligned_u64 iova;
	__aligned_u64 length;
};

/**
 * struct shca_dump_srq - a shared receive queue
 * @size:	of the dump, in bytes
 * @entries:	slots
 * @stride:	bytes per slot
 * @limit:	SRQ_LIMIT_REACHED is raised once fewer are posted; 0: not armed
 * @taken:	requests taken so far
 * @reserved:	zero
 */
struct shca_dump_srq {
	__u32 size;
	__u32 entries;
	__u32 stride;
	__u32 limit;
	__u32 taken;
	__u32 reserved;
};

/* shca_dump_error.what */
#define SHCA_ERROR_NONE		0
#define SHCA_ERROR_COMPLETION	1	/* a request completed with an error */
#define SHCA_ERROR_PACKET	2	/* a packet of the peer was refused */
#define SHCA_ERROR_RING		3	/* the process wrote an impossible index */
#define SHCA_ERROR_CQ		4	/* a completion found its CQ full */

/* Why a packet was refused: shca_dump_error.reason */
#define SHCA_REASON_INVALID	1	/* invalid request: answered by a NAK */
#define SHCA_REASON_ACCESS	2	/* key, rights or range: answered by a NAK */
#define SHCA_REASON_OPERATION	3	/* failed here: answered by a NAK */
#define SHCA_REASON_RNR		4	/* no receive request */
#define SHCA_REASON_QKEY	5	/* UD: another Q_Key; dropped, as all below */
#define SHCA_REASON_MESSAGE	6	/* UC, UD: a broken or too long message */
#define SHCA_REASON_STATE	7	/* the QP is not ready to receive */
#define SHCA_REASON_RESPONSE	8	/* a malformed or unexpected response */
#define SHCA_REASON_PATH	9	/* not from the peer's address to the QP's */
#define SHCA_REASON_TRANSPORT	10	/* an opcode of another transport */
#define SHCA_REASON_ICRC	11	/* damaged */
#define SHCA_REASON_PKEY	12	/* another partition */

/**
 * struct shca_dump_error - the last error of a side of a QP
 * @when:	nanoseconds of CLOCK_BOOTTIME
 * @wr_id:	of the completion, if there was one
 * @psn:	of the packet; of a send request: of the oldest packet without acknowledgement
 * @count:	errors since the QP left RESET
 * @what:	SHCA_ERROR_*
 * @opcode:	of the packet (BTH), or of the completion (enum ibv_wc_opcode)
 * @status:	enum ibv_wc_status of the completion, if there was one
 * @reason:	SHCA_REASON_*; 0 unless a packet was refused
 * @vendor_err:	SHCA_VERR_* of the completion, or of the packet
 * @reserved:	zero
 */
struct shca_dump_error {
	__aligned_u64 when;
	__aligned_u64 wr_id;
	__u32 psn;
	__u32 count;
	__u8 what;
	__u8 opcode;
	__u8 status;
	__u8 reason;
	__u16 vendor_err;
	__u16 reserved;
};

/* shca_dump_fate.flags */
#define SHCA_FATE_DESTROYED	(1u << 0)	/* the QP was destroyed */
#define SHCA_FATE_USER		(1u << 1)	/* belongs to a process */
#define SHCA_FATE_RNR_WAIT	(1u << 2)	/* waits for the peer to post a receive */
#define SHCA_FATE_SRQ		(1u << 3)	/* receives from an SRQ or from work queues */
#define SHCA_FATE_NO_PSN	(1u << 4)	/* PSNs are 0: the caller may not see them */

/**
 * struct shca_dump_fate - a queue pair and its last errors (SHCA_A_FATE)
 * @size:	of the dump, in bytes
 * @qpn:	number of the QP
 * @type:	IB_QPT_*
 * @state:	IB_QPS_*
 * @flags:	SHCA_FATE_*
 * @pid:	its process; 0: not in this PID namespace
 * @dest_qpn:	number of the peer of a connected QP
 * @unfinished:	send requests posted and not completed
 * @rq_posted:	receive requests posted and not taken; 0 with SHCA_FATE_SRQ
 * @retry_left:	retries left for the oldest request
 * @rnr_left:	likewise, after RNR NAKs
 * @reserved:	zero
 * @dest:	RoCE: address of the peer; IPv4 addresses are IPv6-mapped
 * @send:	the last error of the send side
 * @recv:	likewise, of the receive side
 * @dropped:	the last packet dropped before it reached a side
 *
 * It has neither keys nor addresses of memory. It only grows at its end.
 */
struct shca_dump_fate {
	__u32 size;
	__u32 qpn;
	__u32 type;
	__u32 state;
	__u32 flags;
	__u32 pid;
	__u32 dest_qpn;
	__u32 unfinished;
	__u32 rq_posted;
	__u32 retry_left;
	__u32 rnr_left;
	__u32 reserved;
	__u8 dest[16];
	struct shca_dump_error send;
	struct shca_dump_error recv;
	struct shca_dump_error dropped;
};

#endif
