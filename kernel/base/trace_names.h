/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Names for the numbers in trace events, one list per enum.
 *
 * trace.h expands each list twice: to print, and to export the values, because trace-cmd and
 * perf see only the text of a print format, in which an enumerator has no value. E takes the
 * last name of a list, and X the others, because the text must not end in a comma.
 */
#ifndef SHCA_TRACE_NAMES_H
#define SHCA_TRACE_NAMES_H

#include "../../uapi/softhca-netlink.h"
#include "../../uapi/softhca-ops.h"
#include "../core/opcode.h"

/* enum shca_verdict */
#define SHCA_TRACE_VERDICTS(X, E) \
	X(SHCA_RX_OK, "ok") \
	X(SHCA_RX_STATE, "qp-not-ready") \
	X(SHCA_RX_DUPLICATE, "duplicate") \
	X(SHCA_RX_OUT_OF_SEQ, "out-of-sequence") \
	X(SHCA_RX_RNR, "rnr") \
	X(SHCA_RX_INVALID, "invalid-request") \
	X(SHCA_RX_ACCESS, "access-error") \
	X(SHCA_RX_OPERATION, "operation-error") \
	X(SHCA_RX_STALE_ACK, "stale-response") \
	X(SHCA_RX_NAK_SEQ, "nak-sequence") \
	X(SHCA_RX_NAK_RNR, "nak-rnr") \
	X(SHCA_RX_NAK_FATAL, "nak-fatal") \
	X(SHCA_RX_BAD_RESPONSE, "bad-response") \
	X(SHCA_RX_LOST_RESPONSE, "lost-response") \
	X(SHCA_RX_LOCAL_ERR, "local-error") \
	X(SHCA_RX_CNP, "cnp") \
	X(SHCA_RX_DROPPED, "dropped-message") \
	X(SHCA_RX_QKEY, "qkey-mismatch") \
	E(SHCA_RX_RETRY, "page-not-present")

/* enum shca_counter: reasons to refuse a packet */
#define SHCA_TRACE_REASONS(X, E) \
	X(SHCA_CNT_RX_PATH, "path") \
	X(SHCA_CNT_RX_TRANSPORT, "transport") \
	X(SHCA_CNT_RX_ICRC, "icrc") \
	E(SHCA_CNT_RX_PKEY, "pkey")

/* enum ib_qp_state */
#define SHCA_TRACE_STATES(X, E) \
	X(IB_QPS_RESET, "RESET") \
	X(IB_QPS_INIT, "INIT") \
	X(IB_QPS_RTR, "RTR") \
	X(IB_QPS_RTS, "RTS") \
	X(IB_QPS_SQD, "SQD") \
	X(IB_QPS_SQE, "SQE") \
	E(IB_QPS_ERR, "ERR")

/* SHCA_WR_*: macros, so their values need no export; X and E get their rows */
#define SHCA_TRACE_WR_OPCODES(X, E) \
	SHCA_SEND_OPS(X) \
	E(REG_MR)

/* ---- export of the values ----------------------------------------------------- */

#define SHCA_TRACE_TELL_OP(t, op, ...)	TRACE_DEFINE_ENUM(SHCA_OP_##op);
#define SHCA_TRACE_TELL(value, name)	TRACE_DEFINE_ENUM(value);
#define SHCA_TRACE_TELL_WC(id, ...)	TRACE_DEFINE_ENUM(SHCA_WC_##id);
#define SHCA_TRACE_TELL_EVENT(id)	TRACE_DEFINE_ENUM(IB_EVENT_##id);
#define SHCA_TRACE_TELL_FAULT(id, name)	TRACE_DEFINE_ENUM(SHCA_FAULT_##id);

/* ---- printing ----------------------------------------------------------------- */

#define SHCA_TRACE_ROW_OP(t, op, ...) \
	{ SHCA_TRANSPORT_##t + SHCA_OP_##op, #t "_" #op },
#define SHCA_TRACE_ROW(value, name)	{ value, name },
#define SHCA_TRACE_LAST(value, name)	{ value, name }
/* @list: a list above, without its prefix SHCA_TRACE_ */
#define SHCA_TRACE_NAME(list, value) \
	__print_symbolic(value, \
			 SHCA_TRACE_##list(SHCA_TRACE_ROW, SHCA_TRACE_LAST))
/* Ends the lists of uapi/, which have no last name of their own; no value is 0xff. */
#define SHCA_TRACE_END			{ 0xff, "?" }
#define SHCA_TRACE_ROW_WC(id, ...)	{ SHCA_WC_##id, #id },
#define SHCA_TRACE_STATUS(value) \
	__print_symbolic(value, SHCA_WC_STATUSES(SHCA_TRACE_ROW_WC) SHCA_TRACE_END)
#define SHCA_TRACE_WC_OPCODE(value) \
	__print_symbolic(value, SHCA_WC_OPCODES(SHCA_TRACE_ROW_WC) SHCA_TRACE_END)
#define SHCA_TRACE_ROW_EVENT(id)	{ IB_EVENT_##id, #id },
#define SHCA_TRACE_IB_EVENT(value) \
	__print_symbolic(value, SHCA_FAULT_EVENTS(SHCA_TRACE_ROW_EVENT) \
			 { IB_EVENT_WQ_FATAL, "WQ_FATAL" })
#define SHCA_TRACE_ROW_FAULT(id, name)	{ SHCA_FAULT_##id, name },
#define SHCA_TRACE_FAULT(value) \
	__print_symbolic(value, SHCA_FAULT_WHATS(SHCA_TRACE_ROW_FAULT) SHCA_TRACE_END)
#define SHCA_TRACE_ROW_WR(name, ...)	{ SHCA_WR_##name, #name },
#define SHCA_TRACE_LAST_WR(name)	{ SHCA_WR_##name, #name }
#define SHCA_TRACE_WR_OPCODE(value) \
	__print_symbolic(value, SHCA_TRACE_WR_OPCODES(SHCA_TRACE_ROW_WR, \
						      SHCA_TRACE_LAST_WR))
#define SHCA_TRACE_OPCODE(value) \
	__print_symbolic(value, SHCA_OPCODES(SHCA_TRACE_ROW_OP) \
			 { SHCA_OPCODE_CNP, "CNP" }, \
			 { SHCA_OPCODE_CNP_IB, "CNP" })

#endif
