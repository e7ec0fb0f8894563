/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The opcodes of the base transport header as data (IBTA table 38). Each row has the headers that
 * follow, the position in a message, and the side that receives the packet.
 */
#ifndef SHCA_CORE_OPCODE_H
#define SHCA_CORE_OPCODE_H

#include "os.h"

/* Transport, upper three bits of the opcode. */
#define SHCA_TRANSPORT_RC	0x00
#define SHCA_TRANSPORT_UC	0x20
#define SHCA_TRANSPORT_RD	0x40
#define SHCA_TRANSPORT_UD	0x60
#define SHCA_TRANSPORT_CNP	0x80
#define SHCA_TRANSPORT_XRC	0xa0
/* Ethernet frames without a transport: only in the state machines, in no packet. */
#define SHCA_TRANSPORT_RAW	0xe0
#define SHCA_TRANSPORT_MASK	0xe0

/* Operation, lower five bits. */
enum shca_op {
	SHCA_OP_SEND_FIRST = 0x00,
	SHCA_OP_SEND_MIDDLE,
	SHCA_OP_SEND_LAST,
	SHCA_OP_SEND_LAST_IMM,
	SHCA_OP_SEND_ONLY,
	SHCA_OP_SEND_ONLY_IMM,
	SHCA_OP_WRITE_FIRST,
	SHCA_OP_WRITE_MIDDLE,
	SHCA_OP_WRITE_LAST,
	SHCA_OP_WRITE_LAST_IMM,
	SHCA_OP_WRITE_ONLY,
	SHCA_OP_WRITE_ONLY_IMM,
	SHCA_OP_READ_REQUEST,
	SHCA_OP_READ_RESP_FIRST,
	SHCA_OP_READ_RESP_MIDDLE,
	SHCA_OP_READ_RESP_LAST,
	SHCA_OP_READ_RESP_ONLY,
	SHCA_OP_ACK,
	SHCA_OP_ATOMIC_ACK,
	SHCA_OP_CMP_SWAP,
	SHCA_OP_FETCH_ADD,
	SHCA_OP_SEND_LAST_INV = 0x16,
	SHCA_OP_SEND_ONLY_INV = 0x17,
	SHCA_OP_FLUSH = 0x1c,
	SHCA_OP_ATOMIC_WRITE = 0x1d,
};

#define SHCA_OPCODE_CNP		0x81	/* RoCEv2, IBTA annex A17.9.3 */
#define SHCA_OPCODE_CNP_IB	0x80	/* InfiniBand, annex A10.2.2 */

/* Properties of a packet: struct shca_opcode_info.flags */
#define SHCA_OPF_VALID		(1u << 0)
#define SHCA_OPF_REQUEST	(1u << 1)	/* goes to the responder */
#define SHCA_OPF_RESPONSE	(1u << 2)	/* goes to the completer */
#define SHCA_OPF_START		(1u << 3)	/* FIRST or ONLY */
#define SHCA_OPF_END		(1u << 4)	/* LAST or ONLY */
#define SHCA_OPF_PAYLOAD	(1u << 5)
#define SHCA_OPF_SEND		(1u << 6)
#define SHCA_OPF_WRITE		(1u << 7)
#define SHCA_OPF_READ		(1u << 8)
#define SHCA_OPF_ATOMIC		(1u << 9)
#define SHCA_OPF_IMM		(1u << 10)
#define SHCA_OPF_INV		(1u << 11)
#define SHCA_OPF_FLUSH		(1u << 12)
#define SHCA_OPF_ATOMIC_WRITE	(1u << 13)
/* headers after the BTH */
#define SHCA_OPF_XRCETH		(1u << 15)
#define SHCA_OPF_DETH		(1u << 16)
#define SHCA_OPF_RETH		(1u << 17)
#define SHCA_OPF_AETH		(1u << 18)
#define SHCA_OPF_ATOMICETH	(1u << 19)
#define SHCA_OPF_ATOMICACKETH	(1u << 20)
#define SHCA_OPF_CNP		(1u << 21)	/* 16 reserved bytes */
#define SHCA_OPF_FETH		(1u << 24)

/*
 * The opcodes, one row each, for the table, for traces and for names:
 *
 * X(transport, op, text, flags)
 *
 *	transport, op	SHCA_TRANSPORT_@transport + SHCA_OP_@op is the opcode
 *	text		its name in the specification, after that of the transport
 *	flags		SHCA_OPF_*, with the short names of opcode.c
 *
 * @x: flags of all requests of transport @t.
 */
#define SHCA_OPCODES_OF_UC(X, t, x)					\
	X(t, SEND_FIRST, "SEND First", K_SEND | FIRST | (x))		\
	X(t, SEND_MIDDLE, "SEND Middle", K_SEND | MIDDLE | (x))		\
	X(t, SEND_LAST, "SEND Last", K_SEND | LAST | (x))		\
	X(t, SEND_LAST_IMM, "SEND Last with Immediate",			\
	  K_SEND | LAST | SHCA_OPF_IMM | (x))				\
	X(t, SEND_ONLY, "SEND Only", K_SEND | ONLY | (x))		\
	X(t, SEND_ONLY_IMM, "SEND Only with Immediate",			\
	  K_SEND | ONLY | SHCA_OPF_IMM | (x))				\
	X(t, WRITE_FIRST, "RDMA WRITE First",				\
	  K_WRITE | FIRST | SHCA_OPF_RETH | (x))			\
	X(t, WRITE_MIDDLE, "RDMA WRITE Middle", K_WRITE | MIDDLE | (x))	\
	X(t, WRITE_LAST, "RDMA WRITE Last", K_WRITE | LAST | (x))	\
	X(t, WRITE_LAST_IMM, "RDMA WRITE Last with Immediate",		\
	  K_WRITE | LAST | SHCA_OPF_IMM | (x))				\
	X(t, WRITE_ONLY, "RDMA WRITE Only",				\
	  K_WRITE | ONLY | SHCA_OPF_RETH | (x))				\
	X(t, WRITE_ONLY_IMM, "RDMA WRITE Only with Immediate",		\
	  K_WRITE | ONLY | SHCA_OPF_RETH | SHCA_OPF_IMM | (x))

/* XRC has the rows of RC, each request with an XRCETH (annex A14). */
#define SHCA_OPCODES_OF_RC(X, t, x)					\
	SHCA_OPCODES_OF_UC(X, t, x)					\
	X(t, READ_REQUEST, "RDMA READ Request", K_READ | (x))		\
	X(t, READ_RESP_FIRST, "RDMA READ response First",		\
	  K_RESP | FIRST | SHCA_OPF_AETH)				\
	X(t, READ_RESP_MIDDLE, "RDMA READ response Middle",		\
	  K_RESP | MIDDLE)						\
	X(t, READ_RESP_LAST, "RDMA READ response Last",			\
	  K_RESP | LAST | SHCA_OPF_AETH)				\
	X(t, READ_RESP_ONLY, "RDMA READ response Only",			\
	  K_RESP | ONLY | SHCA_OPF_AETH)				\
	X(t, ACK, "Acknowledge",					\
	  SHCA_OPF_RESPONSE | ONLY | SHCA_OPF_AETH)			\
	X(t, ATOMIC_ACK, "ATOMIC Acknowledge",				\
	  SHCA_OPF_RESPONSE | SHCA_OPF_ATOMIC | ONLY |			\
	  SHCA_OPF_AETH | SHCA_OPF_ATOMICACKETH)			\
	X(t, CMP_SWAP, "CmpSwap", K_ATOMIC | (x))			\
	X(t, FETCH_ADD, "FetchAdd", K_ATOMIC | (x))			\
	X(t, SEND_LAST_INV, "SEND Last with Invalidate",		\
	  K_SEND | LAST | SHCA_OPF_INV | (x))				\
	X(t, SEND_ONLY_INV, "SEND Only with Invalidate",		\
	  K_SEND | ONLY | SHCA_OPF_INV | (x))				\
	/* The responder answers both by an empty READ response (A19). */ \
	X(t, FLUSH, "FLUSH", SHCA_OPF_REQUEST | SHCA_OPF_FLUSH |	\
	  SHCA_OPF_FETH | SHCA_OPF_RETH | ONLY | (x))			\
	X(t, ATOMIC_WRITE, "ATOMIC WRITE",				\
	  SHCA_OPF_REQUEST | SHCA_OPF_ATOMIC_WRITE | SHCA_OPF_RETH |	\
	  SHCA_OPF_PAYLOAD | ONLY | (x))

#define SHCA_OPCODES(X)							\
	SHCA_OPCODES_OF_RC(X, RC, 0)					\
	SHCA_OPCODES_OF_UC(X, UC, 0)					\
	SHCA_OPCODES_OF_RC(X, XRC, SHCA_OPF_XRCETH)			\
	X(UD, SEND_ONLY, "SEND Only", K_SEND | ONLY | SHCA_OPF_DETH)	\
	X(UD, SEND_ONLY_IMM, "SEND Only with Immediate",		\
	  K_SEND | ONLY | SHCA_OPF_DETH | SHCA_OPF_IMM)

/**
 * struct shca_opcode_info - one row of the table
 * @name:	as in the specification, for traces
 * @flags:	SHCA_OPF_*; 0 for a reserved or unsupported opcode
 * @hdr_len:	bytes of BTH and extension headers together
 */
struct shca_opcode_info {
	const char *name;
	u32 flags;
	u8 hdr_len;
};

/* The table; use shca_opcode_info(), because rows of reserved opcodes are empty. */
extern const struct shca_opcode_info shca_opcodes[256];
extern const struct shca_opcode_info shca_opcode_reserved;

/* The row of @opcode; never NULL. */
static inline const struct shca_opcode_info *shca_opcode_info(u8 opcode)
{
	const struct shca_opcode_info *info = &shca_opcodes[opcode];

	return likely(info->name) ? info : &shca_opcode_reserved;
}

static inline bool shca_opcode_is_cnp(u8 opcode)
{
	return (opcode & ~1) == SHCA_OPCODE_CNP_IB;
}

#endif
