// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#define CREATE_TRACE_POINTS
#include "trace.h"

u8 shca_trace_hdr(const struct shca_pkt *pkt, u8 *hdr)
{
	u32 len = 0;

	if ((pkt->opcode & SHCA_TRANSPORT_MASK) != SHCA_TRANSPORT_RAW) {
		len = shca_hdr_build(pkt, hdr);
		shca_hdr_hide_keys(hdr);
	}
	/* The trace ring is reused: clear bytes of older events. */
	memset(hdr + len, 0, SHCA_HDR_MAX - len);
	return len;
}
