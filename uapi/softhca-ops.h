/* SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR BSD-2-Clause) */
/*
 * The operations of a send queue, one row each. The module and the provider derive everything
 * about an operation from its row. The simulator of tests/userspace/core has tables of its own,
 * from the specification, to check these against.
 *
 * X(name, verb, feature, on, form, length, answer, flags, completion,
 *   first, middle, last, only)
 *
 *	name		SHCA_WR_@name is its number, IBV_WR_@name and IB_WR_@name in verbs,
 *			IBV_QP_EX_WITH_@name asks for it
 *	verb		ibv_wr_@verb() posts it
 *	feature		SHCA_FEATURE_@feature: both sides need it, and only ibv_wr_@verb()
 *			posts the operation; 0: no feature is needed
 *	on		SHCA_ON_@on: the transports that have it
 *	form		SHCA_FORM_@form: its part of struct shca_send_wqe and of struct
 *			shca_send_wr
 *	length		SHCA_LENGTH_@length: how long its message may be
 *	answer		SHCA_ANSWER_@answer: what completes it
 *	flags		SHCA_OPS_*
 *	completion	SHCA_WC_@completion is the opcode of its completion
 *	first, middle, last, only	SHCA_OP_*: its packets, by their place in the message
 */
#ifndef SOFTHCA_OPS_H
#define SOFTHCA_OPS_H

/* Bits by number of the transport, which is the upper three bits of opcodes. */
#define SHCA_ON_RC		(1u << 0 | 1u << 5)	/* and XRC */
#define SHCA_ON_UC		(1u << 1)
#define SHCA_ON_UD		(1u << 3)
#define SHCA_ON_RAW		(1u << 7)
#define SHCA_ON_CONNECTED	(SHCA_ON_RC | SHCA_ON_UC)
#define SHCA_ON_MESSAGES	(SHCA_ON_CONNECTED | SHCA_ON_UD)
#define SHCA_ON_ALL		(SHCA_ON_MESSAGES | SHCA_ON_RAW)

#define SHCA_FORM_SEND		0	/* data only; UD: and the address */
#define SHCA_FORM_INV		1	/* a key in place of immediate data */
#define SHCA_FORM_RDMA		2
#define SHCA_FORM_ATOMIC	3
#define SHCA_FORM_FLUSH		4
#define SHCA_FORM_BIND		5
#define SHCA_FORM_REG		6

#define SHCA_LENGTH_ANY		0	/* up to the limit of the transport */
#define SHCA_LENGTH_8		1
#define SHCA_LENGTH_8_UP	2	/* of the segments; it uses eight bytes */
#define SHCA_LENGTH_RANGE	3	/* no data: a range of the peer's memory */

#define SHCA_ANSWER_ACK		0	/* an acknowledgement; UC, UD: nothing */
#define SHCA_ANSWER_READ	1	/* READ responses with its data */
#define SHCA_ANSWER_ATOMIC	2	/* an ATOMIC acknowledgement */
#define SHCA_ANSWER_BARE	3	/* a READ response without data */
#define SHCA_ANSWER_LOCAL	4	/* none: it is executed locally */

#define SHCA_OPS_INLINE		(1u << 0)	/* it sends data, which may be inline */
#define SHCA_OPS_WAITS		(1u << 1)	/* it starts when all earlier ones are done */
#define SHCA_OPS_RECV		(1u << 2)	/* it consumes a receive request of the peer */

/* Operations that struct ibv_qp_ex of every supported libibverbs has. */
#define SHCA_SEND_OPS_BUT_FLUSH(X) \
	X(RDMA_WRITE, rdma_write, 0, CONNECTED, RDMA, ANY, ACK, \
	  SHCA_OPS_INLINE, RDMA_WRITE, \
	  WRITE_FIRST, WRITE_MIDDLE, WRITE_LAST, WRITE_ONLY) \
	X(RDMA_WRITE_WITH_IMM, rdma_write_imm, 0, CONNECTED, RDMA, ANY, ACK, \
	  SHCA_OPS_INLINE | SHCA_OPS_RECV, RDMA_WRITE, \
	  WRITE_FIRST, WRITE_MIDDLE, WRITE_LAST_IMM, WRITE_ONLY_IMM) \
	X(SEND, send, 0, ALL, SEND, ANY, ACK, \
	  SHCA_OPS_INLINE | SHCA_OPS_RECV, SEND, \
	  SEND_FIRST, SEND_MIDDLE, SEND_LAST, SEND_ONLY) \
	X(SEND_WITH_IMM, send_imm, 0, MESSAGES, SEND, ANY, ACK, \
	  SHCA_OPS_INLINE | SHCA_OPS_RECV, SEND, \
	  SEND_FIRST, SEND_MIDDLE, SEND_LAST_IMM, SEND_ONLY_IMM) \
	X(RDMA_READ, rdma_read, 0, RC, RDMA, ANY, READ, \
	  0, RDMA_READ, \
	  READ_REQUEST, READ_REQUEST, READ_REQUEST, READ_REQUEST) \
	X(ATOMIC_CMP_AND_SWP, atomic_cmp_swp, 0, RC, ATOMIC, 8_UP, ATOMIC, \
	  0, COMP_SWAP, \
	  CMP_SWAP, CMP_SWAP, CMP_SWAP, CMP_SWAP) \
	X(ATOMIC_FETCH_AND_ADD, atomic_fetch_add, 0, RC, ATOMIC, 8_UP, ATOMIC, \
	  0, FETCH_ADD, \
	  FETCH_ADD, FETCH_ADD, FETCH_ADD, FETCH_ADD) \
	X(LOCAL_INV, local_inv, 0, CONNECTED, INV, ANY, LOCAL, \
	  SHCA_OPS_WAITS, LOCAL_INV, \
	  SEND_ONLY, SEND_ONLY, SEND_ONLY, SEND_ONLY) \
	X(BIND_MW, bind_mw, 0, CONNECTED, BIND, ANY, LOCAL, \
	  0, BIND_MW, \
	  SEND_ONLY, SEND_ONLY, SEND_ONLY, SEND_ONLY) \
	X(SEND_WITH_INV, send_inv, 0, RC, INV, ANY, ACK, \
	  SHCA_OPS_INLINE | SHCA_OPS_RECV, SEND, \
	  SEND_FIRST, SEND_MIDDLE, SEND_LAST_INV, SEND_ONLY_INV) \
	X(ATOMIC_WRITE, atomic_write, SHCA_FEATURE_ATOMIC_WRITE, RC, RDMA, 8, BARE, \
	  SHCA_OPS_INLINE, ATOMIC_WRITE, \
	  ATOMIC_WRITE, ATOMIC_WRITE, ATOMIC_WRITE, ATOMIC_WRITE)

#define SHCA_SEND_OPS(X) \
	SHCA_SEND_OPS_BUT_FLUSH(X) \
	X(FLUSH, flush, SHCA_FEATURE_FLUSH, RC, FLUSH, RANGE, BARE, \
	  0, FLUSH, \
	  FLUSH, FLUSH, FLUSH, FLUSH)

/* Operations that only kernel consumers post; core/wr.h has their numbers. */
#define SHCA_KERNEL_OPS(X) \
	X(REG_MR, reg_mr, 0, CONNECTED, REG, ANY, LOCAL, \
	  0, REG_MR, \
	  SEND_ONLY, SEND_ONLY, SEND_ONLY, SEND_ONLY)

/* All SHCA_FEATURE_* of the rows. */
#define SHCA_OPS_FEATURE(name, verb, feature, ...)	| (feature)
#define SHCA_OPS_FEATURES	(0 SHCA_SEND_OPS(SHCA_OPS_FEATURE))

#endif
