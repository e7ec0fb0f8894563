// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The table of transport opcodes (IBTA 9.2.1, table 38) as data.
 *
 * It is the only place that lists opcodes: all other files ask it for the
 * headers and the meaning of an opcode. Transports that the driver does not
 * support (RD) have no flags, like a reserved opcode. Their headers are not
 * decoded, and the responder refuses them as invalid requests.
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
	}

/* Known to the specification, not offered here. */
#define ROW_NO(transport, op, text)					\
	[SHCA_TRANSPORT_##transport + SHCA_OP_##op] = {			\
		.name = #transport " " text,				\
		.hdr_len = SHCA_BTH_BYTES,				\
	}

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

/* The rows of RC.  XRC has the same, each request with an XRCETH (annex A14). */
#define ROWS_RELIABLE(t, x)						\
	ROW(t, SEND_FIRST, "SEND First", K_SEND | FIRST | (x)),		\
	ROW(t, SEND_MIDDLE, "SEND Middle", K_SEND | MIDDLE | (x)),	\
	ROW(t, SEND_LAST, "SEND Last", K_SEND | LAST | (x)),		\
	ROW(t, SEND_LAST_IMM, "SEND Last with Immediate",		\
	    K_SEND | LAST | SHCA_OPF_IMM | (x)),			\
	ROW(t, SEND_ONLY, "SEND Only", K_SEND | ONLY | (x)),		\
	ROW(t, SEND_ONLY_IMM, "SEND Only with Immediate",		\
	    K_SEND | ONLY | SHCA_OPF_IMM | (x)),			\
	ROW(t, WRITE_FIRST, "RDMA WRITE First",				\
	    K_WRITE | FIRST | SHCA_OPF_RETH | (x)),			\
	ROW(t, WRITE_MIDDLE, "RDMA WRITE Middle",			\
	    K_WRITE | MIDDLE | (x)),					\
	ROW(t, WRITE_LAST, "RDMA WRITE Last", K_WRITE | LAST | (x)),	\
	ROW(t, WRITE_LAST_IMM, "RDMA WRITE Last with Immediate",	\
	    K_WRITE | LAST | SHCA_OPF_IMM | (x)),			\
	ROW(t, WRITE_ONLY, "RDMA WRITE Only",				\
	    K_WRITE | ONLY | SHCA_OPF_RETH | (x)),			\
	ROW(t, WRITE_ONLY_IMM, "RDMA WRITE Only with Immediate",	\
	    K_WRITE | ONLY | SHCA_OPF_RETH | SHCA_OPF_IMM | (x)),	\
	ROW(t, READ_REQUEST, "RDMA READ Request", K_READ | (x)),	\
	ROW(t, READ_RESP_FIRST, "RDMA READ response First",		\
	    K_RESP | FIRST | SHCA_OPF_AETH),				\
	ROW(t, READ_RESP_MIDDLE, "RDMA READ response Middle",		\
	    K_RESP | MIDDLE),						\
	ROW(t, READ_RESP_LAST, "RDMA READ response Last",		\
	    K_RESP | LAST | SHCA_OPF_AETH),				\
	ROW(t, READ_RESP_ONLY, "RDMA READ response Only",		\
	    K_RESP | ONLY | SHCA_OPF_AETH),				\
	ROW(t, ACK, "Acknowledge",					\
	    SHCA_OPF_RESPONSE | ONLY | SHCA_OPF_AETH),			\
	ROW(t, ATOMIC_ACK, "ATOMIC Acknowledge",			\
	    SHCA_OPF_RESPONSE | SHCA_OPF_ATOMIC | ONLY |		\
	    SHCA_OPF_AETH | SHCA_OPF_ATOMICACKETH),			\
	ROW(t, CMP_SWAP, "CmpSwap", K_ATOMIC | (x)),			\
	ROW(t, FETCH_ADD, "FetchAdd", K_ATOMIC | (x)),			\
	ROW(t, SEND_LAST_INV, "SEND Last with Invalidate",		\
	    K_SEND | LAST | SHCA_OPF_INV | (x)),			\
	ROW(t, SEND_ONLY_INV, "SEND Only with Invalidate",		\
	    K_SEND | ONLY | SHCA_OPF_INV | (x)),			\
	/* Both are answered by a READ response of nothing (IBTA A19). */ \
	ROW(t, FLUSH, "FLUSH", SHCA_OPF_REQUEST | SHCA_OPF_FLUSH |	\
	    SHCA_OPF_FETH | SHCA_OPF_RETH | ONLY | (x)),		\
	ROW(t, ATOMIC_WRITE, "ATOMIC WRITE",				\
	    SHCA_OPF_REQUEST | SHCA_OPF_ATOMIC_WRITE | SHCA_OPF_RETH |	\
	    SHCA_OPF_PAYLOAD | ONLY | (x))

const struct shca_opcode_info shca_opcodes[256] = {
	ROWS_RELIABLE(RC, 0),
	ROWS_RELIABLE(XRC, SHCA_OPF_XRCETH),

	ROW(UC, SEND_FIRST, "SEND First", K_SEND | FIRST),
	ROW(UC, SEND_MIDDLE, "SEND Middle", K_SEND | MIDDLE),
	ROW(UC, SEND_LAST, "SEND Last", K_SEND | LAST),
	ROW(UC, SEND_LAST_IMM, "SEND Last with Immediate",
	    K_SEND | LAST | SHCA_OPF_IMM),
	ROW(UC, SEND_ONLY, "SEND Only", K_SEND | ONLY),
	ROW(UC, SEND_ONLY_IMM, "SEND Only with Immediate",
	    K_SEND | ONLY | SHCA_OPF_IMM),
	ROW(UC, WRITE_FIRST, "RDMA WRITE First", K_WRITE | FIRST | SHCA_OPF_RETH),
	ROW(UC, WRITE_MIDDLE, "RDMA WRITE Middle", K_WRITE | MIDDLE),
	ROW(UC, WRITE_LAST, "RDMA WRITE Last", K_WRITE | LAST),
	ROW(UC, WRITE_LAST_IMM, "RDMA WRITE Last with Immediate",
	    K_WRITE | LAST | SHCA_OPF_IMM),
	ROW(UC, WRITE_ONLY, "RDMA WRITE Only", K_WRITE | ONLY | SHCA_OPF_RETH),
	ROW(UC, WRITE_ONLY_IMM, "RDMA WRITE Only with Immediate",
	    K_WRITE | ONLY | SHCA_OPF_RETH | SHCA_OPF_IMM),

	ROW(UD, SEND_ONLY, "SEND Only", K_SEND | ONLY | SHCA_OPF_DETH),
	ROW(UD, SEND_ONLY_IMM, "SEND Only with Immediate",
	    K_SEND | ONLY | SHCA_OPF_DETH | SHCA_OPF_IMM),

	[SHCA_OPCODE_CNP] = {
		.name = "CNP",
		.flags = SHCA_OPF_VALID | SHCA_OPF_RESPONSE | SHCA_OPF_CNP,
		.hdr_len = HDR_LEN(SHCA_OPF_CNP),
	},
};

const struct shca_opcode_info shca_opcode_reserved = {
	.name = "reserved",
	.hdr_len = SHCA_BTH_BYTES,
};
