/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Opcodes and syndromes, as far as the model and the words of a recording need them
 */
#ifndef SOFTHCA_TRACE_OP_H
#define SOFTHCA_TRACE_OP_H

#include "trace_model.h"

#define PSN_MASK	0xffffffu

/* Opcodes of RC, without the transport in the upper three bits: IBTA 9.2.1 */
#define OP(number)		(0x1f & (number))
#define OP_IS_READ(op)		(OP(op) == 12)
#define OP_IS_RESPONSE(op)	(OP(op) >= 13 && OP(op) <= 18)
#define OP_IS_CNP(op)		((op) == 0x81)
#define OP_IS_UD(op)		((op) >> 5 == 3)
#define OP_IS_RAW(op)		((op) >> 5 == 7)
#define OP_WRITE_ONLY		10
#define OP_ACK			17

/* AETH syndromes: IBTA 9.7.5.2.3; the third is of softhca alone (kernel/core/transport.h) */
#define AETH_TYPE		0xe0
#define AETH_RNR		0x20
#define AETH_NAK		0x60
#define AETH_MISSING		0x40
#define AETH_VALUE		0x1f

static inline bool op_is_reliable(unsigned int op)
{
	return op >> 5 == 0 || op >> 5 == 5;
}

static inline bool op_is_answer(unsigned int op)
{
	return op_is_reliable(op) && OP_IS_RESPONSE(op);
}

#endif
