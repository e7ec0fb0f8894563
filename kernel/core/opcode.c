// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The table of transport opcodes (IBTA 9.2.1, table 38), made of the rows of opcode.h.
 *
 * Opcodes of RD, which is not supported, have no flags, like reserved ones. Their headers are not
 * decoded, and a responder drops them like any opcode of another transport.
 */
#include "opcode.h"
#include "headers.h"

#define HDR_LEN(f)							\
	(SHCA_BTH_BYTES +						\
	 ((f) & SHCA_OPF_XRCETH ? SHCA_XRCETH_BYTES : 0) +		\
	 ((f) & SHCA_OPF_DETH ? SHCA_DETH_BYTES : 0) +			\
	 ((f) & SHCA_OPF_FETH ? SHCA_FETH_BYTES : 0) +			\
	 ((f) & SHCA_OPF_RETH ? SHCA_RETH_BYTES : 0) +			\
	 ((f) & SHCA_OPF_AETH ? SHCA_AETH_BYTES : 0) +			\
	 ((f) & SHCA_OPF_ATOMICETH ? SHCA_ATOMICETH_BYTES : 0) +	\
	 ((f) & SHCA_OPF_ATOMICACKETH ? SHCA_ATOMICACKETH_BYTES : 0) +	\
	 ((f) & SHCA_OPF_CNP ? SHCA_CNP_BYTES : 0) +			\
	 ((f) & SHCA_OPF_IMM ? SHCA_IMM_BYTES : 0) +			\
	 ((f) & SHCA_OPF_INV ? SHCA_IETH_BYTES : 0))

#define ROW(transport, op, text, f)					\
	[SHCA_TRANSPORT_##transport + SHCA_OP_##op] = {			\
		.name = #transport " " text,				\
		.flags = SHCA_OPF_VALID | (f),				\
		.hdr_len = HDR_LEN(f),					\
	},

#define K_SEND	(SHCA_OPF_REQUEST | SHCA_OPF_SEND | SHCA_OPF_PAYLOAD)
#define K_WRITE	(SHCA_OPF_REQUEST | SHCA_OPF_WRITE | SHCA_OPF_PAYLOAD)
#define K_READ	(SHCA_OPF_REQUEST | SHCA_OPF_READ | SHCA_OPF_RETH | ONLY)
#define K_RESP	(SHCA_OPF_RESPONSE | SHCA_OPF_READ | SHCA_OPF_PAYLOAD)
#define K_ATOMIC	(SHCA_OPF_REQUEST | SHCA_OPF_ATOMIC |		\
			 SHCA_OPF_ATOMICETH | ONLY)
#define FIRST	SHCA_OPF_START
#define MIDDLE	0
#define LAST	SHCA_OPF_END
#define ONLY	(SHCA_OPF_START | SHCA_OPF_END)

const struct shca_opcode_info shca_opcodes[256] = {
	SHCA_OPCODES(ROW)
	[SHCA_OPCODE_CNP_IB ... SHCA_OPCODE_CNP] = {
		.name = "CNP",
		.flags = SHCA_OPF_VALID | SHCA_OPF_RESPONSE | SHCA_OPF_CNP,
		.hdr_len = HDR_LEN(SHCA_OPF_CNP),
	},
};

const struct shca_opcode_info shca_opcode_reserved = {
	.name = "reserved",
	.hdr_len = SHCA_BTH_BYTES,
};
