/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* First bytes of payloads. The system is its own, so that enabling softhca:* records none. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM softhca_payload

#if !defined(SHCA_TRACE_PAYLOAD_H) || defined(TRACE_HEADER_MULTI_READ)
#define SHCA_TRACE_PAYLOAD_H

#include <linux/tracepoint.h>

#include "../core/packet.h"

#ifndef SHCA_TRACE_PAYLOAD
/* Most bytes of payload in one event */
#define SHCA_TRACE_PAYLOAD	256

/*
 * The event needs CAP_NET_RAW, as packet capture does. tracefs needs root only, who may lack
 * CAP_NET_RAW in a container.
 */
int shca_payload_reg(void);
void shca_payload_unreg(void);
/* Demands the same for perf. */
void shca_payload_init(void);
#endif

/* Precedes the packet's shca_tx, shca_rx or shca_direct. */
TRACE_EVENT_FN(shca_payload,
	TP_PROTO(u32 qpn, const struct shca_pkt *pkt, bool sent,
		 const u8 *data, u32 len),
	TP_ARGS(qpn, pkt, sent, data, len),
	TP_STRUCT__entry(
		__field(u32, qpn)
		__field(u32, psn)
		__field(u8, opcode)
		__field(bool, sent)
		__field(u16, len)
		__dynamic_array(u8, data, min_t(u32, len, SHCA_TRACE_PAYLOAD))
	),
	TP_fast_assign(
		__entry->qpn = qpn;
		__entry->psn = pkt->psn;
		__entry->opcode = pkt->opcode;
		__entry->sent = sent;
		__entry->len = min_t(u32, len, SHCA_TRACE_PAYLOAD);
		memcpy(__get_dynamic_array(data), data, __entry->len);
	),
	TP_printk("qpn=%#x psn=%u opcode=%#x sent=%d data=%s", __entry->qpn,
		  __entry->psn, __entry->opcode, __entry->sent,
		  __print_hex_str(__get_dynamic_array(data), __entry->len)),
	shca_payload_reg, shca_payload_unreg
);

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace_payload
#include <trace/define_trace.h>
