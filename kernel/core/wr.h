/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Work requests and completions in the core: private copies that no process can change, with the
 * progress of their execution.
 */
#ifndef SHCA_CORE_WR_H
#define SHCA_CORE_WR_H

#include "os.h"
#include "packet.h"
#include "../../uapi/softhca-abi.h"

/* Longest message, IBTA 9.7.6 */
#define SHCA_MAX_MSG		0x80000000u
#define SHCA_MAX_SGE		32

/* The list is in softhca-abi.h. */
enum shca_wc_status {
#define X(id) SHCA_WC_##id,
	SHCA_WC_STATUSES(X)
#undef X
};

/* Completion opcodes; values equal those of enum ibv_wc_opcode and enum ib_wc_opcode. */
#define SHCA_WC_OPCODES(X) \
	X(SEND) \
	X(RDMA_WRITE) \
	X(RDMA_READ) \
	X(COMP_SWAP) \
	X(FETCH_ADD) \
	X(BIND_MW) \
	X(LOCAL_INV) \
	X(TSO) \
	X(FLUSH) \
	X(ATOMIC_WRITE) \
	X(REG_MR) \
	X(RECV, = 1 << 7) \
	X(RECV_RDMA_WITH_IMM) \
	X(TM_ADD) \
	X(TM_DEL) \
	X(TM_SYNC) \
	X(TM_RECV) \
	X(TM_NO_TAG)

enum shca_wc_opcode {
#define X(id, ...) SHCA_WC_##id __VA_ARGS__,
	SHCA_WC_OPCODES(X)
#undef X
};

/* Opcodes of kernel consumers, above those of the ABI; decode.c refuses them from processes. */
#define SHCA_WR_KERNEL		0x80
#define SHCA_WR_REG_MR		(SHCA_WR_KERNEL | 0)

/**
 * struct shca_send_wr - private copy of a send request
 * @wr_id:	returned in the completion
 * @opcode:	SHCA_WR_*
 * @num_sge:	segments in @sge
 * @flags:	SHCA_SEND_*
 * @imm:	immediate data (big endian, opaque)
 * @inv_rkey:	the rkey to invalidate
 * @length:	bytes of the message: sum of the segments, or inline length
 * @xrc_srqn:	XRC: the peer's SRQ
 * @rate_kbps:	UD: static rate of the address; 0: none
 * @rdma:	one of these up to @ud; the form of the operation says which (wr_op.h)
 * @atomic:	begins like @rdma
 * @flush:	begins like @rdma
 * @bind:	@key is the window's handle with the low byte of its new key; @mr_lkey
 *		names the region
 * @reg:	@key finds the region, which gets @new_key
 * @ud:		destination of a datagram
 * @inline_data: where inline data lies, opaque to the core; NULL: segments
 * @priv:	the caller's, opaque to the core (UD: the address handle)
 * @own:	the caller's; not NULL: a request of the adapter's own, not of the ring
 * @preset:	not SUCCESS: complete with this status, never execute
 * @vendor_err:	detail of @preset, then of @status
 * @first_psn:	first of the PSNs taken, valid from the first packet on
 * @nr_psn:	their number, likewise
 * @status:	outcome once it is known; core only
 * @flags_core:	SHCA_WRF_*; core only
 * @sge:	@num_sge segments
 *
 * The caller writes what is above "progress", between shca_req_slot() and shca_req_post(). Only
 * the core writes what is below.
 */
struct shca_send_wr {
	u64 wr_id;
	u8 opcode;
	u8 num_sge;
	u16 flags;
	union {
		u32 imm;
		u32 inv_rkey;
	};
	u32 length;
	union {
		u32 xrc_srqn;
		u32 rate_kbps;
	};
	union {
		struct {
			u64 remote_addr;
			u32 rkey;
		} rdma;
		struct {
			u64 remote_addr;
			u32 rkey;
			u64 compare_add;
			u64 swap;
		} atomic;
		struct {
			u64 remote_addr;
			u32 rkey;
			u32 type;
			u64 length;
			u32 level;
		} flush;
		struct {
			u64 addr;
			u64 length;
			u32 key;
			u32 mr_lkey;
			u32 access;
		} bind;
		struct {
			u32 key;
			u32 new_key;
			u32 access;
		} reg;
		struct {
			u32 remote_qpn;
			u32 remote_qkey;
		} ud;
	};
	void *inline_data;
	void *priv;
	void *own;
	u8 preset;
	/* progress */
	u8 status;
	u16 vendor_err;
	u32 flags_core;
	u32 first_psn;
	u32 nr_psn;
	struct shca_sge sge[];
};

/**
 * struct shca_recv_wr - private copy of a receive request
 * @wr_id:	returned in the completion
 * @num_sge:	segments in @sge
 * @length:	sum of the segments, at most SHCA_MAX_MSG
 * @sge:	where the data goes
 */
struct shca_recv_wr {
	u64 wr_id;
	u32 num_sge;
	u32 length;
	struct shca_sge sge[SHCA_MAX_SGE];
};

/**
 * struct shca_wc - a completion, before it is written to a CQ
 * @wr_id:	of the work request
 * @status:	enum shca_wc_status
 * @opcode:	enum shca_wc_opcode
 * @vendor_err:	detail of an error, SHCA_VERR_*
 * @byte_len:	bytes of the message (UD: of the GRH, too)
 * @imm:	immediate data (big endian), or the invalidated rkey in host order
 * @src_qp:	UD: QP number of the sender
 * @wc_flags:	SHCA_WC_GRH and other bits of struct shca_cqe
 * @pkey_index:	0; that of a datagram is in @path
 * @solicited:	may wake a CQ armed for solicited completions
 * @is_recv:	goes to the receive CQ
 * @xrc_srqn:	XRC, of the receive queue: the SRQ that the request was from
 * @has_path:	@path is valid
 * @path:	of the datagram received
 * @tm_tag:	tag of a message that got a tagged buffer
 * @tm_priv:	user data of such a message
 * @own:	not for a CQ: the end of a request of the adapter's own, with its
 *		shca_send_wr.own
 */
struct shca_wc {
	u64 wr_id;
	u8 status;
	u8 opcode;
	u16 vendor_err;
	u32 byte_len;
	u32 imm;
	u32 src_qp;
	u32 xrc_srqn;
	u16 wc_flags;
	u16 pkey_index;
	bool solicited;
	bool is_recv;
	bool has_path;
	struct shca_path_info path;
	u64 tm_tag;
	u32 tm_priv;
	void *own;
};

#endif
