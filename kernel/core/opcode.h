/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The opcodes of the base transport header as data (IBTA table 38). Each row
 * has the headers that follow, the position in a message, and the side that
 * receives the packet.
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
/* Ethernet frames without any transport: in no packet, for the state machines. */
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

/* What a packet carries and is: struct shca_opcode_info.flags */
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

/* The table: use shca_opcode_info(), rows of reserved opcodes are empty. */
extern const struct shca_opcode_info shca_opcodes[256];
extern const struct shca_opcode_info shca_opcode_reserved;

/* The row of @opcode; never NULL. */
static inline const struct shca_opcode_info *shca_opcode_info(u8 opcode)
{
	const struct shca_opcode_info *info = &shca_opcodes[opcode];

	return likely(info->name) ? info : &shca_opcode_reserved;
}

#endif
