/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Trace events of the steps between those of trace.h: the doorbell, fetching, placing and
 * polling. Their system is their own, because they come with each request, and a recording
 * without them costs less. They have no keys and no addresses.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM softhca_steps

#if !defined(SHCA_TRACE_STEPS_H) || defined(TRACE_HEADER_MULTI_READ)
#define SHCA_TRACE_STEPS_H

#include <linux/tracepoint.h>

#include "../core/packet.h"

/* A process rings the doorbell; @waiting requests are in its ring. */
TRACE_EVENT(shca_doorbell,
	TP_PROTO(u32 qpn, u32 waiting),
	TP_ARGS(qpn, waiting),
	TP_STRUCT__entry(
		__field(u32, qpn)
		__field(u32, waiting)
	),
	TP_fast_assign(
		__entry->qpn = qpn;
		__entry->waiting = waiting;
	),
	TP_printk("qpn=%#x waiting=%u", __entry->qpn, __entry->waiting)
);

/* @taken requests were fetched from a ring; each has a shca_post before. */
TRACE_EVENT(shca_fetch,
	TP_PROTO(u32 qpn, u32 taken),
	TP_ARGS(qpn, taken),
	TP_STRUCT__entry(
		__field(u32, qpn)
		__field(u32, taken)
	),
	TP_fast_assign(
		__entry->qpn = qpn;
		__entry->taken = taken;
	),
	TP_printk("qpn=%#x taken=%u", __entry->qpn, __entry->taken)
);

/* Payload was placed: of a WRITE (@remote), a receive or a READ. Precedes shca_rx_verdict. */
TRACE_EVENT(shca_place,
	TP_PROTO(u32 qpn, const struct shca_pkt *pkt, bool remote),
	TP_ARGS(qpn, pkt, remote),
	TP_STRUCT__entry(
		__field(u32, qpn)
		__field(u32, psn)
		__field(u32, len)
		__field(u8, opcode)
		__field(bool, remote)
	),
	TP_fast_assign(
		__entry->qpn = qpn;
		__entry->psn = pkt->psn;
		__entry->len = pkt->paylen;
		__entry->opcode = pkt->opcode;
		__entry->remote = remote;
	),
	TP_printk("qpn=%#x psn=%u opcode=%#x len=%u remote=%d", __entry->qpn,
		  __entry->psn, __entry->opcode, __entry->len, __entry->remote)
);

/* A process polls without the kernel: this comes with the CQ's next completion. */
TRACE_EVENT(shca_poll,
	TP_PROTO(u32 cqn, u32 taken),
	TP_ARGS(cqn, taken),
	TP_STRUCT__entry(
		__field(u32, cqn)
		__field(u32, taken)
	),
	TP_fast_assign(
		__entry->cqn = cqn;
		__entry->taken = taken;
	),
	TP_printk("cqn=%u taken=%u", __entry->cqn, __entry->taken)
);

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace_steps
#include <trace/define_trace.h>
