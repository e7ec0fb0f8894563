/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Trace events, one per step of the data path. QP numbers and wr_ids connect the steps. A
 * packet's event has its headers without keys; no event has pointers. A run of packets (one
 * struct shca_pkt) is one event.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM softhca

#if !defined(SHCA_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define SHCA_TRACE_H

#include <linux/tracepoint.h>
#include <rdma/ib_verbs.h>

#include "../core/fault_rule.h"
#include "../core/headers.h"
#include "../core/opcode.h"
#include "../core/packet.h"
#include "../core/requester/requester.h"
#include "../core/wr.h"
#include "counters.h"
#include "trace_names.h"

SHCA_OPCODES_OF_RC(SHCA_TRACE_TELL_OP, RC, 0)
SHCA_TRACE_VERDICTS(SHCA_TRACE_TELL, SHCA_TRACE_TELL)
SHCA_TRACE_REASONS(SHCA_TRACE_TELL, SHCA_TRACE_TELL)
SHCA_WC_STATUSES(SHCA_TRACE_TELL_WC)
SHCA_WC_OPCODES(SHCA_TRACE_TELL_WC)
SHCA_TRACE_STATES(SHCA_TRACE_TELL, SHCA_TRACE_TELL)
SHCA_FAULT_EVENTS(SHCA_TRACE_TELL_EVENT)
SHCA_TRACE_TELL_EVENT(WQ_FATAL)
SHCA_FAULT_WHATS(SHCA_TRACE_TELL_FAULT)

#ifndef SHCA_TRACE_HDR
#define SHCA_TRACE_HDR
/*
 * Write the headers of a packet as on the wire, without keys, to @hdr.
 * @hdr:	SHCA_HDR_MAX bytes; zeros follow the headers
 * Return: length of the headers; 0 for a frame without (RAW_PACKET).
 */
u8 shca_trace_hdr(const struct shca_pkt *pkt, u8 *hdr);
#endif

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
	TP_printk("qpn=%#x wr_id=%#llx opcode=%s flags=%#x length=%u preset=%s",
		  __entry->qpn, __entry->wr_id,
		  SHCA_TRACE_WR_OPCODE(__entry->opcode),
		  __entry->flags, __entry->length,
		  SHCA_TRACE_STATUS(__entry->preset))
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
		__field(u32, packets)
		__field(u8, hdr_len)
		__array(u8, hdr, SHCA_HDR_MAX)
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
		__entry->packets = pkt->span + 1;
		__entry->hdr_len = shca_trace_hdr(pkt, __entry->hdr);
	),
	TP_printk("qpn=%#x dqpn=%#x psn=%u opcode=%s ackreq=%d syndrome=%#x msn=%u len=%u packets=%u hdr=%s",
		  __entry->qpn, __entry->dqpn, __entry->psn,
		  SHCA_TRACE_OPCODE(__entry->opcode),
		  __entry->ackreq, __entry->syndrome, __entry->msn,
		  __entry->paylen, __entry->packets,
		  __print_hex_str(__entry->hdr, __entry->hdr_len))
);

DEFINE_EVENT(shca_packet, shca_tx,
	TP_PROTO(u32 qpn, const struct shca_pkt *pkt),
	TP_ARGS(qpn, pkt)
);

DEFINE_EVENT(shca_packet, shca_rx,
	TP_PROTO(u32 qpn, const struct shca_pkt *pkt),
	TP_ARGS(qpn, pkt)
);

/* Direct path: sent and received in one event. */
DEFINE_EVENT(shca_packet, shca_direct,
	TP_PROTO(u32 qpn, const struct shca_pkt *pkt),
	TP_ARGS(qpn, pkt)
);

TRACE_EVENT(shca_rx_verdict,
	TP_PROTO(u32 qpn, const struct shca_pkt *pkt, enum shca_verdict verdict),
	TP_ARGS(qpn, pkt, verdict),
	TP_STRUCT__entry(
		__field(u32, qpn)
		__field(u32, psn)
		__field(u8, opcode)
		__field(u8, verdict)
		__field(u32, packets)
	),
	TP_fast_assign(
		__entry->qpn = qpn;
		__entry->psn = pkt->psn;
		__entry->opcode = pkt->opcode;
		__entry->verdict = verdict;
		__entry->packets = pkt->span + 1;
	),
	TP_printk("qpn=%#x psn=%u opcode=%s verdict=%s packets=%u",
		  __entry->qpn, __entry->psn,
		  SHCA_TRACE_OPCODE(__entry->opcode),
		  SHCA_TRACE_NAME(VERDICTS, __entry->verdict),
		  __entry->packets)
);

/* The packet did not reach its QP's transport. */
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
	TP_printk("qpn=%#x psn=%u opcode=%s reason=%s", __entry->qpn,
		  __entry->psn, SHCA_TRACE_OPCODE(__entry->opcode),
		  SHCA_TRACE_NAME(REASONS, __entry->id))
);

/* The transport timer has expired: the requester goes back to @psn, or fails. */
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
		__entry->psn = req->psn.una;
		__entry->retries = req->recovery.retry_left;
		__entry->failed = req->state == SHCA_SIDE_ERR;
	),
	TP_printk("qpn=%#x psn=%u retries_left=%u failed=%d", __entry->qpn,
		  __entry->psn, __entry->retries, __entry->failed)
);

/* A CNP, or a smaller congestion window: by a CNP, a loss or a longer round trip */
TRACE_EVENT(shca_congestion,
	TP_PROTO(u32 qpn, const struct shca_cc *cc, bool cnp),
	TP_ARGS(qpn, cc, cnp),
	TP_STRUCT__entry(
		__field(u32, qpn)
		__field(u32, window)
		__field(u32, widest)
		__field(bool, cnp)
	),
	TP_fast_assign(
		__entry->qpn = qpn;
		__entry->window = cc->cwnd;
		__entry->widest = max(cc->window, cc->wide);
		__entry->cnp = cnp;
	),
	TP_printk("qpn=%#x window=%u widest=%u cnp=%d", __entry->qpn,
		  __entry->window, __entry->widest, __entry->cnp)
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
	TP_printk("qpn=%#x wr_id=%#llx status=%s opcode=%s vendor_err=%u byte_len=%u",
		  __entry->qpn, __entry->wr_id,
		  SHCA_TRACE_STATUS(__entry->status),
		  SHCA_TRACE_WC_OPCODE(__entry->opcode),
		  __entry->vendor_err, __entry->byte_len)
);

TRACE_EVENT(shca_state,
	TP_PROTO(const struct ib_device *dev, u32 qpn, enum ib_qp_state from,
		 enum ib_qp_state to),
	TP_ARGS(dev, qpn, from, to),
	TP_STRUCT__entry(
		__field(u32, qpn)
		__field(u8, from)
		__field(u8, to)
		__array(char, dev, IB_DEVICE_NAME_MAX)
	),
	TP_fast_assign(
		/* Not dev_name(): a rename frees that string at any time. */
		strscpy(__entry->dev, dev->name, sizeof(__entry->dev));
		__entry->qpn = qpn;
		__entry->from = from;
		__entry->to = to;
	),
	TP_printk("qpn=%#x from=%s to=%s dev=%s", __entry->qpn,
		  SHCA_TRACE_NAME(STATES, __entry->from),
		  SHCA_TRACE_NAME(STATES, __entry->to), __entry->dev)
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
	TP_printk("qpn=%#x event=%s", __entry->qpn,
		  SHCA_TRACE_IB_EVENT(__entry->event))
);

/* A rule injects its @hit-th fault. Without a packet, @psn is 0 and @opcode 0xff. */
TRACE_EVENT(shca_fault,
	TP_PROTO(const struct shca_fault_at *at, u32 rule, u8 what, u64 hit),
	TP_ARGS(at, rule, what, hit),
	TP_STRUCT__entry(
		__field(u32, qpn)
		__field(u32, rule)
		__field(u64, hit)
		__field(u64, wr_id)
		__field(u32, psn)
		__field(u8, what)
		__field(u8, opcode)
	),
	TP_fast_assign(
		__entry->qpn = at->qpn;
		__entry->rule = rule;
		__entry->hit = hit;
		__entry->wr_id = at->wr_id;
		__entry->psn = at->pkt ? at->pkt->psn : 0;
		__entry->what = what;
		__entry->opcode = at->pkt ? at->pkt->opcode : 0xff;
	),
	TP_printk("qpn=%#x rule=%u what=%s hit=%llu psn=%u opcode=%s wr_id=%#llx",
		  __entry->qpn, __entry->rule,
		  SHCA_TRACE_FAULT(__entry->what), __entry->hit,
		  __entry->psn, SHCA_TRACE_OPCODE(__entry->opcode),
		  __entry->wr_id)
);

/* @qpn is 0 if there is no QP yet. */
TRACE_EVENT(shca_refused,
	TP_PROTO(u32 qpn, int err, const char *why),
	TP_ARGS(qpn, err, why),
	TP_STRUCT__entry(
		__field(u32, qpn)
		__field(int, err)
		/* A fixed array: the macros of __string() differ between kernels. */
		__array(char, why, 96)
	),
	TP_fast_assign(
		__entry->qpn = qpn;
		__entry->err = -err;
		strscpy(__entry->why, why, sizeof(__entry->why));
	),
	TP_printk("qpn=%#x errno=%d why=%s", __entry->qpn, __entry->err,
		  __entry->why)
);

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
