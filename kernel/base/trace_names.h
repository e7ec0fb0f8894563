/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Names for the numbers in trace events, one list per enum.
 *
 * trace.h expands each list twice: to print, and to export the values.
 * trace-cmd and perf only see the text of a print format, in which an
 * enumerator has no value. E takes the last name of a list, and X takes the
 * others, because the text must not end in a comma.
 */
#ifndef SHCA_TRACE_NAMES_H
#define SHCA_TRACE_NAMES_H

#include "../../uapi/softhca-ops.h"

/* enum shca_op of transport @t: operations of UC, then those that RC and XRC add */
#define SHCA_TRACE_UC_OPS(X, t) \
	X(t, SEND_FIRST) \
	X(t, SEND_MIDDLE) \
	X(t, SEND_LAST) \
	X(t, SEND_LAST_IMM) \
	X(t, SEND_ONLY) \
	X(t, SEND_ONLY_IMM) \
	X(t, WRITE_FIRST) \
	X(t, WRITE_MIDDLE) \
	X(t, WRITE_LAST) \
	X(t, WRITE_LAST_IMM) \
	X(t, WRITE_ONLY) \
	X(t, WRITE_ONLY_IMM)

#define SHCA_TRACE_RC_OPS(X, t) \
	X(t, READ_REQUEST) \
	X(t, READ_RESP_FIRST) \
	X(t, READ_RESP_MIDDLE) \
	X(t, READ_RESP_LAST) \
	X(t, READ_RESP_ONLY) \
	X(t, ACK) \
	X(t, ATOMIC_ACK) \
	X(t, CMP_SWAP) \
	X(t, FETCH_ADD) \
	X(t, SEND_LAST_INV) \
	X(t, SEND_ONLY_INV) \
	X(t, FLUSH) \
	X(t, ATOMIC_WRITE)

/* The opcodes of the base transport header */
#define SHCA_TRACE_OPCODES(X) \
	SHCA_TRACE_UC_OPS(X, RC) \
	SHCA_TRACE_RC_OPS(X, RC) \
	SHCA_TRACE_UC_OPS(X, UC) \
	SHCA_TRACE_UC_OPS(X, XRC) \
	SHCA_TRACE_RC_OPS(X, XRC) \
	X(UD, SEND_ONLY) \
	X(UD, SEND_ONLY_IMM)

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

/* enum shca_wc_status */
#define SHCA_TRACE_STATUSES(X, E) \
	X(SHCA_WC_SUCCESS, "SUCCESS") \
	X(SHCA_WC_LOC_LEN_ERR, "LOC_LEN_ERR") \
	X(SHCA_WC_LOC_QP_OP_ERR, "LOC_QP_OP_ERR") \
	X(SHCA_WC_LOC_EEC_OP_ERR, "LOC_EEC_OP_ERR") \
	X(SHCA_WC_LOC_PROT_ERR, "LOC_PROT_ERR") \
	X(SHCA_WC_WR_FLUSH_ERR, "WR_FLUSH_ERR") \
	X(SHCA_WC_MW_BIND_ERR, "MW_BIND_ERR") \
	X(SHCA_WC_BAD_RESP_ERR, "BAD_RESP_ERR") \
	X(SHCA_WC_LOC_ACCESS_ERR, "LOC_ACCESS_ERR") \
	X(SHCA_WC_REM_INV_REQ_ERR, "REM_INV_REQ_ERR") \
	X(SHCA_WC_REM_ACCESS_ERR, "REM_ACCESS_ERR") \
	X(SHCA_WC_REM_OP_ERR, "REM_OP_ERR") \
	X(SHCA_WC_RETRY_EXC_ERR, "RETRY_EXC_ERR") \
	X(SHCA_WC_RNR_RETRY_EXC_ERR, "RNR_RETRY_EXC_ERR") \
	X(SHCA_WC_LOC_RDD_VIOL_ERR, "LOC_RDD_VIOL_ERR") \
	X(SHCA_WC_REM_INV_RD_REQ_ERR, "REM_INV_RD_REQ_ERR") \
	X(SHCA_WC_REM_ABORT_ERR, "REM_ABORT_ERR") \
	X(SHCA_WC_INV_EECN_ERR, "INV_EECN_ERR") \
	X(SHCA_WC_INV_EEC_STATE_ERR, "INV_EEC_STATE_ERR") \
	X(SHCA_WC_FATAL_ERR, "FATAL_ERR") \
	X(SHCA_WC_RESP_TIMEOUT_ERR, "RESP_TIMEOUT_ERR") \
	X(SHCA_WC_GENERAL_ERR, "GENERAL_ERR") \
	X(SHCA_WC_TM_ERR, "TM_ERR") \
	E(SHCA_WC_TM_RNDV_INCOMPLETE, "TM_RNDV_INCOMPLETE")

/* enum shca_wc_opcode */
#define SHCA_TRACE_WC_OPCODES(X, E) \
	X(SHCA_WC_SEND, "SEND") \
	X(SHCA_WC_RDMA_WRITE, "RDMA_WRITE") \
	X(SHCA_WC_RDMA_READ, "RDMA_READ") \
	X(SHCA_WC_COMP_SWAP, "COMP_SWAP") \
	X(SHCA_WC_FETCH_ADD, "FETCH_ADD") \
	X(SHCA_WC_BIND_MW, "BIND_MW") \
	X(SHCA_WC_LOCAL_INV, "LOCAL_INV") \
	X(SHCA_WC_TSO, "TSO") \
	X(SHCA_WC_FLUSH, "FLUSH") \
	X(SHCA_WC_ATOMIC_WRITE, "ATOMIC_WRITE") \
	X(SHCA_WC_REG_MR, "REG_MR") \
	X(SHCA_WC_RECV, "RECV") \
	X(SHCA_WC_RECV_RDMA_WITH_IMM, "RECV_RDMA_WITH_IMM") \
	X(SHCA_WC_TM_ADD, "TM_ADD") \
	X(SHCA_WC_TM_DEL, "TM_DEL") \
	X(SHCA_WC_TM_SYNC, "TM_SYNC") \
	X(SHCA_WC_TM_RECV, "TM_RECV") \
	E(SHCA_WC_TM_NO_TAG, "TM_NO_TAG")

/* enum ib_qp_state */
#define SHCA_TRACE_STATES(X, E) \
	X(IB_QPS_RESET, "RESET") \
	X(IB_QPS_INIT, "INIT") \
	X(IB_QPS_RTR, "RTR") \
	X(IB_QPS_RTS, "RTS") \
	X(IB_QPS_SQD, "SQD") \
	X(IB_QPS_SQE, "SQE") \
	E(IB_QPS_ERR, "ERR")

/* enum ib_event_type */
#define SHCA_TRACE_EVENTS(X, E) \
	X(IB_EVENT_CQ_ERR, "CQ_ERR") \
	X(IB_EVENT_QP_FATAL, "QP_FATAL") \
	X(IB_EVENT_QP_REQ_ERR, "QP_REQ_ERR") \
	X(IB_EVENT_QP_ACCESS_ERR, "QP_ACCESS_ERR") \
	X(IB_EVENT_COMM_EST, "COMM_EST") \
	X(IB_EVENT_SQ_DRAINED, "SQ_DRAINED") \
	X(IB_EVENT_PATH_MIG, "PATH_MIG") \
	X(IB_EVENT_PATH_MIG_ERR, "PATH_MIG_ERR") \
	X(IB_EVENT_DEVICE_FATAL, "DEVICE_FATAL") \
	X(IB_EVENT_PORT_ACTIVE, "PORT_ACTIVE") \
	X(IB_EVENT_PORT_ERR, "PORT_ERR") \
	X(IB_EVENT_LID_CHANGE, "LID_CHANGE") \
	X(IB_EVENT_PKEY_CHANGE, "PKEY_CHANGE") \
	X(IB_EVENT_SM_CHANGE, "SM_CHANGE") \
	X(IB_EVENT_SRQ_ERR, "SRQ_ERR") \
	X(IB_EVENT_SRQ_LIMIT_REACHED, "SRQ_LIMIT_REACHED") \
	X(IB_EVENT_QP_LAST_WQE_REACHED, "QP_LAST_WQE_REACHED") \
	X(IB_EVENT_CLIENT_REREGISTER, "CLIENT_REREGISTER") \
	X(IB_EVENT_GID_CHANGE, "GID_CHANGE") \
	E(IB_EVENT_WQ_FATAL, "WQ_FATAL")

/* enum shca_fault_what */
#define SHCA_TRACE_FAULTS(X, E) \
	X(SHCA_FAULT_DROP, "drop") \
	X(SHCA_FAULT_DUPLICATE, "duplicate") \
	X(SHCA_FAULT_DELAY, "delay") \
	X(SHCA_FAULT_REORDER, "reorder") \
	X(SHCA_FAULT_CORRUPT_PAYLOAD, "corrupt-payload") \
	X(SHCA_FAULT_CORRUPT_HEADER, "corrupt-header") \
	X(SHCA_FAULT_CORRUPT_ICRC, "corrupt-icrc") \
	X(SHCA_FAULT_ECN, "ecn") \
	X(SHCA_FAULT_NAK, "nak") \
	X(SHCA_FAULT_COMPLETE, "complete") \
	X(SHCA_FAULT_QP_FATAL, "qp-fatal") \
	X(SHCA_FAULT_CQ_OVERRUN, "cq-overrun") \
	X(SHCA_FAULT_FAIL, "fail") \
	X(SHCA_FAULT_EVENT, "event") \
	X(SHCA_FAULT_REVOKE, "revoke") \
	X(SHCA_FAULT_LOSE_EVENT, "lose-event") \
	X(SHCA_FAULT_LOSE_DOORBELL, "lose-doorbell") \
	E(SHCA_FAULT_DELAY_DOORBELL, "delay-doorbell")

/* SHCA_WR_*: macros, so their values need no export; X and E get their rows */
#define SHCA_TRACE_WR_OPCODES(X, E) \
	SHCA_SEND_OPS(X) \
	E(REG_MR)

/* ---- export of the values ----------------------------------------------------- */

#define SHCA_TRACE_TELL_OP(t, op)	TRACE_DEFINE_ENUM(SHCA_OP_##op);
#define SHCA_TRACE_TELL(value, name)	TRACE_DEFINE_ENUM(value);

/* ---- printing ----------------------------------------------------------------- */

#define SHCA_TRACE_ROW_OP(t, op) \
	{ SHCA_TRANSPORT_##t + SHCA_OP_##op, #t "_" #op },
#define SHCA_TRACE_ROW(value, name)	{ value, name },
#define SHCA_TRACE_LAST(value, name)	{ value, name }
/* @list: a list above, without its prefix SHCA_TRACE_ */
#define SHCA_TRACE_NAME(list, value) \
	__print_symbolic(value, \
			 SHCA_TRACE_##list(SHCA_TRACE_ROW, SHCA_TRACE_LAST))
#define SHCA_TRACE_ROW_WR(name, ...)	{ SHCA_WR_##name, #name },
#define SHCA_TRACE_LAST_WR(name)	{ SHCA_WR_##name, #name }
#define SHCA_TRACE_WR_OPCODE(value) \
	__print_symbolic(value, SHCA_TRACE_WR_OPCODES(SHCA_TRACE_ROW_WR, \
						      SHCA_TRACE_LAST_WR))
#define SHCA_TRACE_OPCODE(value) \
	__print_symbolic(value, SHCA_TRACE_OPCODES(SHCA_TRACE_ROW_OP) \
			 { SHCA_OPCODE_CNP, "CNP" })

#endif
