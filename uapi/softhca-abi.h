/* SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR BSD-2-Clause) */
/*
 * The binary interface between softhca.ko and its rdma-core provider.
 *
 * - Every struct is 8-byte aligned, and its size is a multiple of 8 bytes.
 *   Fields have a fixed width, and padding is explicit. There are no pointers
 *   and no enums.
 * - A struct only grows at its end. Requests carry comp_mask. The kernel
 *   refuses unknown bits and reserved fields that are not zero with EINVAL.
 *   Responses are zero-extended.
 * - Sizes and offsets are asserted below, so both sides agree or do not build.
 *
 * Rings. A send or receive ring has requests only. The process writes them, and
 * the kernel fetches each slot once, by a bounded copy, into private memory.
 * The kernel writes completions into pages that the process has mapped
 * read-only. Index words are separate from the slots, and each has one writer.
 * All indices use all 32 bits; slot = index & (entries-1).
 */
#ifndef SOFTHCA_ABI_H
#define SOFTHCA_ABI_H

#include <linux/types.h>

/* struct ib_device_ops.uverbs_abi_ver; only an incompatible change increases it. */
#define SHCA_ABI_VERSION	1

/* Private rdma_driver_id ('SHCA'), far above the assigned ones. */
#define SHCA_DRIVER_ID		0x53484341

/* Vendor of the device and of its ECE options; not an assigned OUI. */
#define SHCA_VENDOR_ID		0xffffff

/* ---- requests ---------------------------------------------------------- */

/**
 * struct shca_sge - one data segment
 * @addr:	of its first byte, in the region of @lkey
 * @length:	in bytes; 0 is allowed
 * @lkey:	of a memory region
 */
struct shca_sge {
	__aligned_u64 addr;
	__u32 length;
	__u32 lkey;
};

/* Values of shca_send_wqe.opcode. Equal to enum ibv_wr_opcode / ib_wr_opcode. */
#define SHCA_WR_RDMA_WRITE		0
#define SHCA_WR_RDMA_WRITE_WITH_IMM	1
#define SHCA_WR_SEND			2
#define SHCA_WR_SEND_WITH_IMM		3
#define SHCA_WR_RDMA_READ		4
#define SHCA_WR_ATOMIC_CMP_AND_SWP	5
#define SHCA_WR_ATOMIC_FETCH_AND_ADD	6
#define SHCA_WR_LOCAL_INV		7
#define SHCA_WR_BIND_MW			8
#define SHCA_WR_SEND_WITH_INV		9
#define SHCA_WR_FLUSH			14
#define SHCA_WR_ATOMIC_WRITE		15

/* shca_send_wqe.flush.type and level: enum ib_placement_type and enum ib_selectivity_level */
#define SHCA_FLUSH_GLOBAL	(1u << 0)
#define SHCA_FLUSH_PERSISTENT	(1u << 1)
#define SHCA_FLUSH_LEVEL_RANGE	0
#define SHCA_FLUSH_LEVEL_MR	1

/* Bits of shca_send_wqe.flags; the low four are equal to enum ibv_send_flags. */
#define SHCA_SEND_FENCE		(1u << 0)
#define SHCA_SEND_SIGNALED	(1u << 1)
#define SHCA_SEND_SOLICITED	(1u << 2)
#define SHCA_SEND_INLINE	(1u << 3)

/**
 * struct shca_send_wqe - one slot of a send ring
 * @wr_id:	returned in the completion
 * @opcode:	SHCA_WR_*
 * @num_sge:	data segments that follow; 0 with SHCA_SEND_INLINE
 * @flags:	SHCA_SEND_*; a request with unknown bits completes with LOC_QP_OP_ERR
 * @imm_data:	immediate data as on the wire (big endian), or the rkey to invalidate (host
 *		order) for SEND_WITH_INV and LOCAL_INV
 * @inline_len:	bytes of inline data that follow (SHCA_SEND_INLINE only)
 * @xrc_srqn:	XRC: the peer's SRQ, of which 24 bits are used; otherwise zero
 * @rdma:	RDMA and atomic operations
 * @ud:		UD; @ah is the handle from shca_create_ah_resp
 * @bind:	BIND_MW, without segments. @mw_handle is an earlier rkey of the window.
 *		@mw_key is the new rkey, of which only the low byte is used. @length 0 closes
 *		a window of type 1. The kernel ignores @user_data
 * @flush:	FLUSH, without segments; level MR ignores @length
 * @room:	all bytes of the union
 *
 * Then come @num_sge times struct shca_sge, or @inline_len bytes of data. shca_create_qp_resp
 * has the stride of the ring.
 */
struct shca_send_wqe {
	__aligned_u64 wr_id;
	__u8 opcode;
	__u8 num_sge;
	__u16 flags;
	__u32 imm_data;
	__u32 inline_len;
	__u32 xrc_srqn;
	union {
		struct {
			__aligned_u64 remote_addr;
			__aligned_u64 compare_add;
			__aligned_u64 swap;
			__u32 rkey;
			__u32 reserved;
		} rdma;
		struct {
			__u32 ah;
			__u32 remote_qpn;
			__u32 remote_qkey;
			__u32 pkey_index;	/* QP1, kernel consumers; else 0 */
			__u32 reserved[4];
		} ud;
		struct {
			__aligned_u64 addr;
			__aligned_u64 length;
			__u32 mw_handle;
			__u32 mw_key;
			__u32 mr_lkey;
			__u32 access;
			__aligned_u64 user_data;
		} bind;
		struct {
			__aligned_u64 remote_addr;
			__aligned_u64 length;
			__u32 rkey;
			__u32 type;
			__u32 level;
			__u32 reserved;
		} flush;
		__u8 room[40];
	};
};

/**
 * struct shca_recv_wqe - one slot of a receive ring
 * @wr_id:	returned in the completion
 * @num_sge:	segments that follow
 * @reserved:	must be zero
 */
struct shca_recv_wqe {
	__aligned_u64 wr_id;
	__u32 num_sge;
	__u32 reserved;
};

/* ---- completions ------------------------------------------------------- */

/* Bits of shca_cqe.wc_flags; equal to enum ibv_wc_flags. */
#define SHCA_WC_GRH		(1u << 0)
#define SHCA_WC_WITH_IMM	(1u << 1)
#define SHCA_WC_IP_CSUM_OK	(1u << 2)
#define SHCA_WC_WITH_INV	(1u << 3)
#define SHCA_WC_TM_SYNC_REQ	(1u << 4)
#define SHCA_WC_TM_MATCH	(1u << 5)
#define SHCA_WC_TM_DATA_VALID	(1u << 6)

/* shca_cqe.status: enum ibv_wc_status. Kernel consumers do not get those of tag matching. */
#define SHCA_WC_STATUSES_BUT_TM(X) \
	X(SUCCESS) \
	X(LOC_LEN_ERR) \
	X(LOC_QP_OP_ERR) \
	X(LOC_EEC_OP_ERR) \
	X(LOC_PROT_ERR) \
	X(WR_FLUSH_ERR) \
	X(MW_BIND_ERR) \
	X(BAD_RESP_ERR) \
	X(LOC_ACCESS_ERR) \
	X(REM_INV_REQ_ERR) \
	X(REM_ACCESS_ERR) \
	X(REM_OP_ERR) \
	X(RETRY_EXC_ERR) \
	X(RNR_RETRY_EXC_ERR) \
	X(LOC_RDD_VIOL_ERR) \
	X(REM_INV_RD_REQ_ERR) \
	X(REM_ABORT_ERR) \
	X(INV_EECN_ERR) \
	X(INV_EEC_STATE_ERR) \
	X(FATAL_ERR) \
	X(RESP_TIMEOUT_ERR) \
	X(GENERAL_ERR)

#define SHCA_WC_STATUSES(X) \
	SHCA_WC_STATUSES_BUT_TM(X) \
	X(TM_ERR) \
	X(TM_RNDV_INCOMPLETE)

/**
 * struct shca_cqe - a completion that the kernel writes
 * @wr_id:	of the work request
 * @timestamp:	nanoseconds, CLOCK_MONOTONIC_RAW; only of a CQ with SHCA_CQ_TIMESTAMPS,
 *		because reading the clock costs more than writing the rest
 * @status:	enum ibv_wc_status
 * @opcode:	enum ibv_wc_opcode
 * @vendor_err:	detail of an error, SHCA_VERR_*, or 0
 * @byte_len:	bytes received (UD: counts the 40 bytes of the GRH), or read
 * @imm_data:	big endian, or the invalidated rkey in host order
 * @qp_num:	local QP number
 * @src_qp:	UD: QP number of the sender
 * @wc_flags:	SHCA_WC_*
 * @pkey_index:	UD receive: index of its P_Key, on QP1; otherwise 0
 * @slid:	UD receive: LID of the sender; RoCE: 0
 * @sl:		UD receive: service level; RoCE: kind of the headers
 * @dlid_path_bits:	UD receive: low bits of the LID that it was sent to; RoCE: 0
 * @smac:	zero
 * @vlan:	UD receive: VLAN tag; 0xffff: none
 * @tm_tag_lo:	with an opcode of tag matching, in place of @slid to @vlan: low half of the
 *		tag of the message that got a tagged buffer
 * @tm_tag_hi:	likewise, high half
 * @tm_priv:	likewise, its user data
 * @port:	number of the port: 1
 * @reserved:	zero
 * @seq:	index of this completion plus one; written last, with release. A slot is valid
 *		for consumer index i iff seq == i + 1
 */
struct shca_cqe {
	__aligned_u64 wr_id;
	__aligned_u64 timestamp;
	__u8 status;
	__u8 opcode;
	__u16 vendor_err;
	__u32 byte_len;
	__u32 imm_data;
	__u32 qp_num;
	__u32 src_qp;
	__u16 wc_flags;
	__u16 pkey_index;
	union {
		struct {
			__u16 slid;
			__u8 sl;
			__u8 dlid_path_bits;
			__u8 smac[6];
			__u16 vlan;
		};
		struct {
			__u32 tm_tag_lo;
			__u32 tm_tag_hi;
			__u32 tm_priv;
		};
	};
	__u8 port;
	__u8 reserved[7];
	__u32 seq;
};

/**
 * struct shca_cq_index - page of a CQ that the process writes
 * @cons:	completions consumed
 * @reserved0:	not used
 * @arm:	requested event: SHCA_CQ_ARM_*. The upper bits count the requests, so each
 *		causes one event. The process stores @arm, executes a full barrier, then
 *		polls. The kernel stores a completion, executes a full barrier, then reads
 *		@arm
 * @reserved1:	not used
 */
struct shca_cq_index {
	__u32 cons;
	__u32 reserved0[15];
	__u32 arm;
	__u32 reserved1[15];
};

#define SHCA_CQ_ARM_NEXT	1u	/* next completion */
#define SHCA_CQ_ARM_SOLICITED	2u	/* next completion that is solicited or in error */
#define SHCA_CQ_ARM_KIND	3u	/* mask of the two */
#define SHCA_CQ_ARM_SEQ		4u	/* increment per request */

/**
 * struct shca_qp_index - head of a QP's request region, written by the process
 * @sq_prod:	send requests written. Store with release, then ring the doorbell if it is
 *		due: see shca_qp_status.sq_doorbell
 * @reserved0:	not used
 * @rq_prod:	receive requests written (store with release)
 * @reserved1:	not used
 */
struct shca_qp_index {
	__u32 sq_prod;
	__u32 reserved0[15];
	__u32 rq_prod;
	__u32 reserved1[15];
};

/**
 * struct shca_qp_status - page of a QP that only the kernel writes
 * @sq_cons:	send requests retired; slots below it may be reused. It advances before the
 *		completion of the request is published
 * @rq_cons:	receive requests fetched; slots below it may be reused
 * @flags:	SHCA_QPS_*
 * @sq_doorbell: with SHCA_FEATURE_DOORBELL_INDEX, the sq_prod from which on a doorbell is
 *		due. None is due while sq_prod is behind it, by at most the entries of the
 *		ring: the kernel then polls the ring within 250 us plus timer latency, or on a
 *		slow machine within the time of 25 doorbells (10 ms at most). Read it after
 *		storing sq_prod and a full barrier. Requests that a program may wait for
 *		always need a doorbell: signalled, solicited and fenced ones, and all but
 *		SENDs, WRITEs, READs and atomics of a few hundred bytes. Each doorbell of a QP
 *		with a send ring updates it
 * @first_psn:	RC, XRC: PSN of the first received request, and SHCA_QPS_FIRST_PSN, if that
 *		PSN is not rq_psn and no request with rq_psn has come; or 0
 * @reserved:	zero
 *
 * A change to RESET drops posted requests and sets all indices of the QP to 0. After it has
 * returned, no completion of an earlier request is written.
 */
struct shca_qp_status {
	__u32 sq_cons;
	__u32 rq_cons;
	__u32 flags;
	__u32 sq_doorbell;
	__u32 first_psn;
	__u32 reserved[11];
};

/**
 * struct shca_srq_status - page of an SRQ that only the kernel writes
 * @cons:	receive requests fetched
 * @entries:	entries of the current ring, a power of two
 * @ring_off:	mmap offset of the current request region. A resize by modify_srq replaces
 *		the region, and keeps indices and posted requests. Read this and @ring_len
 *		after it has returned
 * @ring_len:	bytes of that region
 * @reserved:	zero
 *
 * The request region begins with struct shca_qp_index, of which only rq_prod is used.
 */
struct shca_srq_status {
	__u32 cons;
	__u32 entries;
	__aligned_u64 ring_off;
	__aligned_u64 ring_len;
	__u32 reserved[10];
};

/* The QP is in error: to flush a posted receive, ring the doorbell. */
#define SHCA_QPS_ERR		(1u << 0)
/* shca_qp_status.first_psn has a PSN. */
#define SHCA_QPS_FIRST_PSN	(1u << 31)

/* ---- commands ---------------------------------------------------------- */

/**
 * struct shca_alloc_ucontext_req - open a context
 * @comp_mask:	none defined; zero
 * @features:	SHCA_FEATURE_* that the provider can use
 *
 * Unknown bits are ignored; the response has the granted ones.
 */
struct shca_alloc_ucontext_req {
	__aligned_u64 comp_mask;
	__aligned_u64 features;
};

struct shca_alloc_ucontext_resp {
	__aligned_u64 comp_mask;
	__aligned_u64 features;		/* granted */
	__u32 max_inline;
	__u32 reserved;
};

/* Bits of shca_create_cq_req.flags */
#define SHCA_CQ_TIMESTAMPS	(1u << 0)
/* Drop a completion that does not fit; the CQ and its QPs continue. */
#define SHCA_CQ_IGNORE_OVERRUN	(1u << 1)

struct shca_create_cq_req {
	__aligned_u64 comp_mask;
	__aligned_u64 flags;		/* SHCA_CQ_*; other bits are refused */
};

/**
 * struct shca_create_cq_resp - where to map a CQ
 * @comp_mask:	zero
 * @ring_off:	mmap offset of the completions, read-only
 * @ring_len:	bytes
 * @index_off:	mmap offset of struct shca_cq_index, one page, read-write
 * @entries:	power of two; cq.cqe reports entries - 1 or less
 * @reserved:	zero
 */
struct shca_create_cq_resp {
	__aligned_u64 comp_mask;
	__aligned_u64 ring_off;
	__aligned_u64 ring_len;
	__aligned_u64 index_off;
	__u32 entries;
	__u32 reserved;
};

/**
 * struct shca_resize_cq_resp - the new ring of a CQ
 * @comp_mask:	zero
 * @ring_off:	as in struct shca_create_cq_resp
 * @ring_len:	likewise
 * @entries:	likewise
 * @reserved:	zero
 *
 * Indices continue, and the index page stays. The new ring has the unconsumed completions;
 * the old one gets no more. The process must not consume from the call until it has mapped
 * the new ring.
 */
struct shca_resize_cq_resp {
	__aligned_u64 comp_mask;
	__aligned_u64 ring_off;
	__aligned_u64 ring_len;
	__u32 entries;
	__u32 reserved;
};

/* Values of shca_rx_hash.function; equal to enum ibv_rx_hash_function_flags. */
#define SHCA_RX_HASH_TOEPLITZ		(1u << 0)

/* Bits of shca_rx_hash.fields; equal to enum ibv_rx_hash_fields. */
#define SHCA_RX_HASH_SRC_IPV4		(1u << 0)
#define SHCA_RX_HASH_DST_IPV4		(1u << 1)
#define SHCA_RX_HASH_SRC_IPV6		(1u << 2)
#define SHCA_RX_HASH_DST_IPV6		(1u << 3)
#define SHCA_RX_HASH_SRC_PORT_TCP	(1u << 4)
#define SHCA_RX_HASH_DST_PORT_TCP	(1u << 5)
#define SHCA_RX_HASH_SRC_PORT_UDP	(1u << 6)
#define SHCA_RX_HASH_DST_PORT_UDP	(1u << 7)

#define SHCA_RX_HASH_KEY_LEN		40

/**
 * struct shca_rx_hash - spreads packets over the work queues of a table
 * @fields:	SHCA_RX_HASH_* of IPv4 or IPv6, of TCP or UDP; none only if the
 *		table has one entry
 * @function:	SHCA_RX_HASH_TOEPLITZ
 * @key_len:	SHCA_RX_HASH_KEY_LEN
 * @reserved:	must be zero
 * @key:	key of the hash
 *
 * The hash covers the fields that a packet has, in this order: source address,
 * destination address, source port, destination port. A fragment has no ports.
 * The entry is the hash modulo the size of the table. The hash of nothing is 0.
 */
struct shca_rx_hash {
	__aligned_u64 fields;
	__u8 function;
	__u8 key_len;
	__u8 reserved[6];
	__u8 key[SHCA_RX_HASH_KEY_LEN];
};

/* @rx_hash: of a QP with an indirection table; else 0 */
struct shca_create_qp_req {
	__aligned_u64 comp_mask;
	__aligned_u64 flags;		/* none defined; zero */
	struct shca_rx_hash rx_hash;
};

/**
 * struct shca_create_qp_resp - where to map a QP
 * @comp_mask:	zero
 * @ring_off:	mmap offset of the request region, read-write
 * @ring_len:	bytes
 * @status_off:	mmap offset of struct shca_qp_status, one page, read-only
 * @sq_start:	offset of the slots of sends in the request region, which begins with
 *		struct shca_qp_index
 * @rq_start:	likewise, of receives
 * @sq_entries:	a power of two, or 0 without such a ring; without both rings there is
 *		nothing to map
 * @rq_entries:	likewise
 * @sq_stride:	bytes per slot
 * @rq_stride:	likewise
 * @max_inline:	granted limit
 * @max_send_sge: likewise
 * @max_recv_sge: likewise
 * @reserved:	zero
 */
struct shca_create_qp_resp {
	__aligned_u64 comp_mask;
	__aligned_u64 ring_off;
	__aligned_u64 ring_len;
	__aligned_u64 status_off;
	__u32 sq_start;
	__u32 rq_start;
	__u32 sq_entries;
	__u32 rq_entries;
	__u32 sq_stride;
	__u32 rq_stride;
	__u32 max_inline;
	__u32 max_send_sge;
	__u32 max_recv_sge;
	__u32 reserved;
};

/*
 * Options of ECE (enhanced connection establishment), with SHCA_VENDOR_ID. That ID is not
 * assigned, so the upper half is a signature that marks the lower half as softhca's.
 */
#define SHCA_ECE_SIGNATURE	0x53480000u	/* "SH" */
#define SHCA_ECE_SIGNATURE_MASK	0xffff0000u
/* Acknowledges all executed requests before it is destroyed or reset, also without AckReq. */
#define SHCA_ECE_FLUSHES_ACKS		(1u << 0)
/* Has an out-of-order queue, and sends and understands gap reports. */
#define SHCA_ECE_HOLDS			(1u << 1)
#define SHCA_ECE_OPTIONS \
	(SHCA_ECE_SIGNATURE | SHCA_ECE_FLUSHES_ACKS | SHCA_ECE_HOLDS)

/**
 * struct shca_modify_qp_req - change the state of a QP
 * @comp_mask:	none defined; zero
 * @peer_ece:	ECE options of the peer; 0 for none
 * @reserved:	must be zero
 *
 * The options apply from the change to RTS until the change to RESET. For the responder
 * SHCA_ECE_HOLDS applies from the change to RTR. Unknown bits and other signatures are
 * ignored.
 */
struct shca_modify_qp_req {
	__aligned_u64 comp_mask;
	__u32 peer_ece;
	__u32 reserved;
};

/* Bits of shca_reg_mr_req.flags */
#define SHCA_REG_MR_NULL	(1u << 0)	/* no memory: ibv_alloc_null_mr() */

struct shca_reg_mr_req {
	__aligned_u64 comp_mask;
	__aligned_u64 flags;		/* SHCA_REG_MR_*; other bits are refused */
};

struct shca_create_srq_req {
	__aligned_u64 comp_mask;
	__aligned_u64 flags;		/* none defined; zero */
};

/**
 * struct shca_create_srq_resp - where to map an SRQ
 * @comp_mask:	zero
 * @status_off:	mmap offset of struct shca_srq_status, one page, read-only; it
 *		has the ring's size and offset
 * @start:	offset of the slots in the request region
 * @stride:	bytes per slot
 * @max_sge:	granted limit
 * @reserved:	zero
 */
struct shca_create_srq_resp {
	__aligned_u64 comp_mask;
	__aligned_u64 status_off;
	__u32 start;
	__u32 stride;
	__u32 max_sge;
	__u32 reserved;
};

struct shca_create_wq_req {
	__aligned_u64 comp_mask;
	__aligned_u64 flags;		/* none defined; zero */
};

/**
 * struct shca_create_wq_resp - where to map a work queue
 * @comp_mask:	zero
 * @ring_off:	mmap offset of the request region, read-write; it begins with struct
 *		shca_qp_index, of which only rq_prod is used
 * @ring_len:	bytes
 * @status_off:	mmap offset of struct shca_qp_status, one page, read-only; only rq_cons and
 *		flags are used
 * @start:	offset of the slots in the request region
 * @entries:	a power of two
 * @stride:	bytes per slot
 * @max_sge:	granted limit
 *
 * If SHCA_QPS_ERR is set, the provider rings the doorbell with the number of the WQ. It uses
 * the method RING, which every kernel with work queues has.
 */
struct shca_create_wq_resp {
	__aligned_u64 comp_mask;
	__aligned_u64 ring_off;
	__aligned_u64 ring_len;
	__aligned_u64 status_off;
	__u32 start;
	__u32 entries;
	__u32 stride;
	__u32 max_sge;
};

/* Follows a 4-byte response of the RDMA core, hence two 4-byte fields. */
struct shca_create_ah_resp {
	__u32 comp_mask;
	__u32 handle;			/* for shca_send_wqe.ud.ah */
};

/* ---- the doorbell ---------------------------------------------------------- */

/*
 * The doorbell makes the kernel read the rings of a QP, after sq_prod was stored. With
 * SHCA_FEATURE_DOORBELL it is a method of uverbs' ioctl interface on the context's file,
 * which allocates nothing and takes no lock of uverbs' objects. Every version also accepts
 * the uverbs command POST_SEND without a request.
 *
 * It returns 0 after the kernel has read the rings. EINVAL: no QP or WQ of this context has
 * the number. EIO: the device is gone.
 */
#define SHCA_FEATURE_DOORBELL	(1ull << 0)
/* SHCA_WR_ATOMIC_WRITE of eight bytes, inline or not; SHCA_WR_FLUSH */
#define SHCA_FEATURE_ATOMIC_WRITE	(1ull << 1)
#define SHCA_FEATURE_FLUSH	(1ull << 2)
/* shca_qp_status.sq_doorbell is valid: some posts need no doorbell */
#define SHCA_FEATURE_DOORBELL_INDEX	(1ull << 3)
/* The provider reports wrong use of the verbs, with HINTS also hints. */
#define SHCA_FEATURE_LINT	(1ull << 4)
#define SHCA_FEATURE_LINT_HINTS	(1ull << 5)
/* Granted without request: a personality has no atomics, no RAW_PACKET. */
#define SHCA_FEATURE_NO_ATOMICS	(1ull << 6)
#define SHCA_FEATURE_NO_RAW_PACKET	(1ull << 7)

/*
 * IDs of objects, methods and attributes begin here, in the name space of drivers (1 <<
 * UVERBS_ID_NS_SHIFT). They are no macros, because uverbs pastes their names.
 */
#define SHCA_UVERBS_NS		0x1000

/* FOUND counts a finding of the verbs sanitizer. Without the method, nothing is counted. */
enum {
	SHCA_OBJECT_DOORBELL = SHCA_UVERBS_NS,
	SHCA_METHOD_RING = SHCA_UVERBS_NS,
	SHCA_METHOD_FOUND,
	SHCA_ATTR_RING_QPN = SHCA_UVERBS_NS,	/* __u32, in the attribute itself */
	SHCA_ATTR_FOUND_HINT = SHCA_UVERBS_NS,	/* likewise: 0: an error, 1: a hint */
};

/* ---- import ------------------------------------------------------------- */

/*
 * For a context that another process has opened. UVERBS_METHOD_QUERY_CONTEXT has one more
 * attribute: a struct shca_alloc_ucontext_resp with the features granted to that context.
 * PD_QUERY, a method of UVERBS_OBJECT_PD, returns ENOENT if the protection domain does not
 * exist.
 */
enum {
	SHCA_ATTR_CONTEXT_RESP = SHCA_UVERBS_NS,
	SHCA_METHOD_PD_QUERY = SHCA_UVERBS_NS,
	SHCA_ATTR_PD_HANDLE = SHCA_UVERBS_NS,
};

/* ---- tag matching -------------------------------------------------------- */

/* Values of shca_srq_op.opcode; equal to enum ibv_ops_wr_opcode. */
#define SHCA_OP_TAG_ADD		0
#define SHCA_OP_TAG_DEL		1
#define SHCA_OP_TAG_SYNC	2

/* Bits of shca_srq_op.flags; equal to enum ibv_ops_flags. */
#define SHCA_OP_SIGNALED	(1u << 0)
#define SHCA_OP_TM_SYNC		(1u << 1)

/* Maximum outstanding operations that a program may ask for; each is done at once. */
#define SHCA_TM_MAX_OPS		16384

/**
 * struct shca_srq_op - an operation on the tags of an SRQ
 * @wr_id:	wr_id of its completion, if signalled
 * @recv_wr_id:	ADD: wr_id of the receive
 * @tag:	ADD: matches a message whose tag & @mask equals it
 * @mask:	ADD: see @tag
 * @sge:	ADD: the buffer; none if its length is 0
 * @opcode:	SHCA_OP_TAG_*
 * @flags:	SHCA_OP_SIGNALED, SHCA_OP_TM_SYNC
 * @handle:	DEL: handle that ADD returned
 * @unexpected_cnt:	with SHCA_OP_TM_SYNC: unexpected messages handled so far
 */
struct shca_srq_op {
	__aligned_u64 wr_id;
	__aligned_u64 recv_wr_id;
	__aligned_u64 tag;
	__aligned_u64 mask;
	struct shca_sge sge;
	__u32 opcode;
	__u32 flags;
	__u32 unexpected_cnt;
	__u32 handle;
};

/*
 * SRQ_OP, a method of UVERBS_OBJECT_SRQ, executes an operation. ADD returns the handle.
 * ENOMEM: all tags of the SRQ are in use. EINVAL: the SRQ is of another type, or the
 * operation is malformed.
 */
enum {
	SHCA_METHOD_SRQ_OP = SHCA_UVERBS_NS,
	SHCA_ATTR_SRQ_OP_SRQ = SHCA_UVERBS_NS,
	SHCA_ATTR_SRQ_OP_OP,		/* struct shca_srq_op */
	SHCA_ATTR_SRQ_OP_HANDLE,	/* __u32, out */
};

/* ---- device memory ------------------------------------------------------ */

/*
 * UVERBS_METHOD_DM_ALLOC has one more attribute, a struct shca_dm_resp. DM_QUERY, a method of
 * UVERBS_OBJECT_DM, returns the same for existing device memory.
 */
enum {
	SHCA_ATTR_ALLOC_DM_RESP = SHCA_UVERBS_NS,
	SHCA_METHOD_DM_QUERY = SHCA_UVERBS_NS,
	SHCA_ATTR_QUERY_DM_HANDLE = SHCA_UVERBS_NS,
	SHCA_ATTR_QUERY_DM_RESP,
};

/**
 * struct shca_dm_resp - where to map device memory
 * @comp_mask:	zero
 * @map_off:	mmap offset, read-write
 * @map_len:	bytes, whole pages
 * @length:	bytes of device memory at its beginning
 */
struct shca_dm_resp {
	__aligned_u64 comp_mask;
	__aligned_u64 map_off;
	__aligned_u64 map_len;
	__aligned_u64 length;
};

/* shca_cqe.vendor_err: the check that failed (docs/verbs.md) */
#define SHCA_VERR_NONE		0
#define SHCA_VERR_WQE		1	/* malformed request in the ring */
#define SHCA_VERR_KEY		2	/* no such key, or another PD's */
#define SHCA_VERR_ACCESS	3	/* rights of the region */
#define SHCA_VERR_RANGE		4	/* outside of the region */
#define SHCA_VERR_LENGTH	5	/* message longer than the buffer */
#define SHCA_VERR_TIMEOUT	6	/* retry_cnt exhausted by time-outs */
#define SHCA_VERR_SEQ_NAK	7	/* ... by sequence NAKs */
#define SHCA_VERR_RNR		8	/* rnr_retry exhausted */
#define SHCA_VERR_NAK		9	/* the responder refused */
#define SHCA_VERR_RESPONSE	10	/* unexpected or malformed response */

#ifndef __cplusplus	/* C11 or C++ spelling */
#define SHCA_ABI_SIZE(type, size) \
	_Static_assert(sizeof(struct type) == (size), #type " is ABI")

SHCA_ABI_SIZE(shca_sge, 16);
SHCA_ABI_SIZE(shca_send_wqe, 64);
SHCA_ABI_SIZE(shca_recv_wqe, 16);
SHCA_ABI_SIZE(shca_cqe, 64);
SHCA_ABI_SIZE(shca_cq_index, 128);
SHCA_ABI_SIZE(shca_qp_index, 128);
SHCA_ABI_SIZE(shca_qp_status, 64);
SHCA_ABI_SIZE(shca_alloc_ucontext_req, 16);
SHCA_ABI_SIZE(shca_alloc_ucontext_resp, 24);
SHCA_ABI_SIZE(shca_create_cq_req, 16);
SHCA_ABI_SIZE(shca_create_cq_resp, 40);
SHCA_ABI_SIZE(shca_resize_cq_resp, 32);
SHCA_ABI_SIZE(shca_rx_hash, 56);
SHCA_ABI_SIZE(shca_create_qp_req, 72);
SHCA_ABI_SIZE(shca_create_qp_resp, 72);
SHCA_ABI_SIZE(shca_modify_qp_req, 16);
SHCA_ABI_SIZE(shca_create_ah_resp, 8);
SHCA_ABI_SIZE(shca_reg_mr_req, 16);
SHCA_ABI_SIZE(shca_srq_status, 64);
SHCA_ABI_SIZE(shca_create_srq_req, 16);
SHCA_ABI_SIZE(shca_create_srq_resp, 32);
SHCA_ABI_SIZE(shca_create_wq_req, 16);
SHCA_ABI_SIZE(shca_create_wq_resp, 48);
SHCA_ABI_SIZE(shca_dm_resp, 32);
SHCA_ABI_SIZE(shca_srq_op, 64);
_Static_assert(__builtin_offsetof(struct shca_cqe, seq) == 60, "ABI");
_Static_assert(__builtin_offsetof(struct shca_send_wqe, rdma) == 24, "ABI");
_Static_assert(__builtin_offsetof(struct shca_qp_index, rq_prod) == 64, "ABI");
_Static_assert(__builtin_offsetof(struct shca_cq_index, arm) == 64, "ABI");
#endif

#endif
