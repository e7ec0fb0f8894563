// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Instantiates the trace event of payloads, and says who may have it. */
#include <linux/capability.h>
#include <linux/trace_events.h>

#define CREATE_TRACE_POINTS
#include "trace_payload.h"

/*
 * Called as the event is enabled, in the process that does it. A second one is not
 * asked: it needs tracefs, too, where it could read what the first has recorded.
 */
int shca_payload_reg(void)
{
	return capable(CAP_NET_RAW) ? 0 : -EPERM;
}

void shca_payload_unreg(void)
{
}

#ifdef CONFIG_PERF_EVENTS
/* Where perf_event_paranoid lets users read events, it lets them read no payload. */
static int shca_payload_perf(struct trace_event_call *call,
			     struct perf_event *event)
{
	return capable(CAP_NET_RAW) ? 0 : -EPERM;
}
#endif

void shca_payload_init(void)
{
#ifdef CONFIG_PERF_EVENTS
	event_shca_payload.perf_perm = shca_payload_perf;
#endif
}
