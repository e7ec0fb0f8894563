/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The operations of a send queue as data; uapi/softhca-ops.h has the rows and the columns. */
#ifndef SHCA_CORE_WR_OP_H
#define SHCA_CORE_WR_OP_H

#include "../../uapi/softhca-ops.h"
#include "wr.h"

/**
 * struct shca_wr_op - one row
 * @on:		SHCA_ON_*; 0: there is no such operation
 * @form:	SHCA_FORM_*
 * @length:	SHCA_LENGTH_*
 * @answer:	SHCA_ANSWER_*
 * @flags:	SHCA_OPS_*
 * @completion:	enum shca_wc_opcode
 * @unused:	pads a row to 8 bytes, by which a CPU can scale an index
 */
struct shca_wr_op {
	u8 on;
	u8 form;
	u8 length;
	u8 answer;
	u8 flags;
	u8 completion;
	u8 unused[2];
};

/* The table: use shca_wr_op(). */
extern const struct shca_wr_op shca_wr_ops[256];

/* Operation of a packet (enum shca_op) by opcode of the request: [begins the message][ends it]. */
extern const u8 shca_wr_packets[256][2][2];

static inline const struct shca_wr_op *shca_wr_op(u8 opcode)
{
	return &shca_wr_ops[opcode];
}

/* Has the transport SHCA_TRANSPORT_* that operation? */
static inline bool shca_wr_op_is_on(const struct shca_wr_op *op, u8 transport)
{
	return op->on >> (transport >> 5) & 1;
}

#endif
