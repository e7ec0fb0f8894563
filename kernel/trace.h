/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * One trace event per step of the way of the data.  Packets print their PSN
 * state and no pointers; QP numbers and wr_ids let the steps be joined.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM softhca

#if !defined(SHCA_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define SHCA_TRACE_H

#include <linux/tracepoint.h>
#include <rdma/ib_verbs.h>

#include "core/opcode.h"
#include "core/packet.h"
#include "core/rc.h"
#include "core/wr.h"
#include "counters.h"

TRACE_EVENT(shca_post,
	TP_PROTO(u32 qpn, const struct shca_send_wr *wr),
	TP_ARGS(qpn, wr),
	TP_STRUCT__entry(
		__field(u32, qpn)
		__field(u64, wr_id)
		__field(u8, opcode)
		__field(u16, flags)
		__field(u32, length)
		__field(u8, preset)
	),
	TP_fast_assign(
		__entry->qpn = qpn;
		__entry->wr_id = wr->wr_id;
		__entry->opcode = wr->opcode;
		__entry->flags = wr->flags;
		__entry->length = wr->length;
		__entry->preset = wr->preset;
	),
	TP_printk("qpn=%#x wr_id=%#llx opcode=%u flags=%#x length=%u preset=%u",
		  __entry->qpn, __entry->wr_id, __entry->opcode,
		  __entry->flags, __entry->length, __entry->preset)
);

DECLARE_EVENT_CLASS(shca_packet,
	TP_PROTO(u32 qpn, const struct shca_pkt *pkt),
	TP_ARGS(qpn, pkt),
	TP_STRUCT__entry(
		__field(u32, qpn)
		__field(u32, dqpn)
		__field(u32, psn)
		__field(u8, opcode)
		__field(bool, ackreq)
		__field(u8, syndrome)
		__field(u32, msn)
		__field(u32, paylen)
	),
	TP_fast_assign(
		bool aeth = shca_opcode_info(pkt->opcode)->flags &
			    SHCA_OPF_AETH;

		__entry->qpn = qpn;
		__entry->dqpn = pkt->dqpn;
		__entry->psn = pkt->psn;
		__entry->opcode = pkt->opcode;
		__entry->ackreq = pkt->ackreq;
		__entry->syndrome = aeth ? pkt->aeth.syndrome : 0;
		__entry->msn = aeth ? pkt->aeth.msn : 0;
		__entry->paylen = pkt->paylen;
	),
	TP_printk("qpn=%#x dqpn=%#x psn=%u opcode=%#x ackreq=%d syndrome=%#x msn=%u len=%u",
		  __entry->qpn, __entry->dqpn, __entry->psn, __entry->opcode,
		  __entry->ackreq, __entry->syndrome, __entry->msn,
		  __entry->paylen)
);

DEFINE_EVENT(shca_packet, shca_tx,
	TP_PROTO(u32 qpn, const struct shca_pkt *pkt),
	TP_ARGS(qpn, pkt)
);

DEFINE_EVENT(shca_packet, shca_rx,
	TP_PROTO(u32 qpn, const struct shca_pkt *pkt),
	TP_ARGS(qpn, pkt)
);

TRACE_EVENT(shca_rx_verdict,
	TP_PROTO(u32 qpn, const struct shca_pkt *pkt, enum shca_rx verdict),
	TP_ARGS(qpn, pkt, verdict),
	TP_STRUCT__entry(
		__field(u32, qpn)
		__field(u32, psn)
		__field(u8, opcode)
		__field(u8, verdict)
	),
	TP_fast_assign(
		__entry->qpn = qpn;
		__entry->psn = pkt->psn;
		__entry->opcode = pkt->opcode;
		__entry->verdict = verdict;
	),
	TP_printk("qpn=%#x psn=%u opcode=%#x verdict=%s", __entry->qpn,
		  __entry->psn, __entry->opcode,
		  __print_symbolic(__entry->verdict,
			{ SHCA_RX_OK, "ok" },
			{ SHCA_RX_STATE, "qp-not-ready" },
			{ SHCA_RX_DUPLICATE, "duplicate" },
			{ SHCA_RX_OUT_OF_SEQ, "out-of-sequence" },
			{ SHCA_RX_RNR, "rnr" },
			{ SHCA_RX_INVALID, "invalid-request" },
			{ SHCA_RX_ACCESS, "access-error" },
			{ SHCA_RX_OPERATION, "operation-error" },
			{ SHCA_RX_STALE_ACK, "stale-response" },
			{ SHCA_RX_NAK_SEQ, "nak-sequence" },
			{ SHCA_RX_NAK_RNR, "nak-rnr" },
			{ SHCA_RX_NAK_FATAL, "nak-fatal" },
			{ SHCA_RX_BAD_RESPONSE, "bad-response" },
			{ SHCA_RX_LOST_RESPONSE, "lost-response" },
			{ SHCA_RX_LOCAL_ERR, "local-error" },
			{ SHCA_RX_CNP, "cnp" },
			{ SHCA_RX_DROPPED, "dropped-message" },
			{ SHCA_RX_QKEY, "qkey-mismatch" },
			{ SHCA_RX_RETRY, "page-not-present" }))
);

/* Packets for a QP that do not reach its transport. */
TRACE_EVENT(shca_rx_refused,
	TP_PROTO(u32 qpn, const struct shca_pkt *pkt, enum shca_counter id),
	TP_ARGS(qpn, pkt, id),
	TP_STRUCT__entry(
		__field(u32, qpn)
		__field(u32, psn)
		__field(u8, opcode)
		__field(u8, id)
	),
	TP_fast_assign(
		__entry->qpn = qpn;
		__entry->psn = pkt->psn;
		__entry->opcode = pkt->opcode;
		__entry->id = id;
	),
	TP_printk("qpn=%#x psn=%u opcode=%#x reason=%s", __entry->qpn,
		  __entry->psn, __entry->opcode,
		  __print_symbolic(__entry->id,
			{ SHCA_CNT_RX_PATH, "path" },
			{ SHCA_CNT_RX_TRANSPORT, "transport" },
			{ SHCA_CNT_RX_ICRC, "icrc" },
			{ SHCA_CNT_RX_PKEY, "pkey" }))
);

/* No answer came in time: sending goes back to @psn, or fails. */
TRACE_EVENT(shca_timeout,
	TP_PROTO(u32 qpn, const struct shca_req *req),
	TP_ARGS(qpn, req),
	TP_STRUCT__entry(
		__field(u32, qpn)
		__field(u32, psn)
		__field(u8, retries)
		__field(bool, failed)
	),
	TP_fast_assign(
		__entry->qpn = qpn;
		__entry->psn = req->una_psn;
		__entry->retries = req->retry_left;
		__entry->failed = req->state == SHCA_SIDE_ERR;
	),
	TP_printk("qpn=%#x psn=%u retries_left=%u failed=%d", __entry->qpn,
		  __entry->psn, __entry->retries, __entry->failed)
);

TRACE_EVENT(shca_complete,
	TP_PROTO(u32 qpn, const struct shca_wc *wc),
	TP_ARGS(qpn, wc),
	TP_STRUCT__entry(
		__field(u32, qpn)
		__field(u64, wr_id)
		__field(u8, status)
		__field(u8, opcode)
		__field(u16, vendor_err)
		__field(u32, byte_len)
	),
	TP_fast_assign(
		__entry->qpn = qpn;
		__entry->wr_id = wc->wr_id;
		__entry->status = wc->status;
		__entry->opcode = wc->opcode;
		__entry->vendor_err = wc->vendor_err;
		__entry->byte_len = wc->byte_len;
	),
	TP_printk("qpn=%#x wr_id=%#llx status=%u opcode=%u vendor_err=%u byte_len=%u",
		  __entry->qpn, __entry->wr_id, __entry->status,
		  __entry->opcode, __entry->vendor_err, __entry->byte_len)
);

TRACE_EVENT(shca_state,
	TP_PROTO(u32 qpn, enum ib_qp_state from, enum ib_qp_state to),
	TP_ARGS(qpn, from, to),
	TP_STRUCT__entry(
		__field(u32, qpn)
		__field(u8, from)
		__field(u8, to)
	),
	TP_fast_assign(
		__entry->qpn = qpn;
		__entry->from = from;
		__entry->to = to;
	),
	TP_printk("qpn=%#x from=%u to=%u", __entry->qpn, __entry->from,
		  __entry->to)
);

TRACE_EVENT(shca_event,
	TP_PROTO(u32 qpn, enum ib_event_type event),
	TP_ARGS(qpn, event),
	TP_STRUCT__entry(
		__field(u32, qpn)
		__field(u32, event)
	),
	TP_fast_assign(
		__entry->qpn = qpn;
		__entry->event = event;
	),
	TP_printk("qpn=%#x event=%u", __entry->qpn, __entry->event)
);

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
