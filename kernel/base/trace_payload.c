// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Instantiates the trace event of payloads, and checks who may enable it. */
#include <linux/capability.h>
#include <linux/trace_events.h>

#define CREATE_TRACE_POINTS
#include "trace_payload.h"

/*
 * Runs in the process that enables the event first. The next process is not checked: it needs
 * tracefs, too, and can read there what the first one has recorded.
 */
int shca_payload_reg(void)
{
	return capable(CAP_NET_RAW) ? 0 : -EPERM;
}

void shca_payload_unreg(void)
{
}

/*
 * perf_event_paranoid alone could let any user read payloads. (A kernel may have perf without
 * trace events.)
 */
#if defined(CONFIG_PERF_EVENTS) && defined(CONFIG_EVENT_TRACING)
static int shca_payload_perf(struct trace_event_call *call,
			     struct perf_event *event)
{
	return capable(CAP_NET_RAW) ? 0 : -EPERM;
}
#endif

void shca_payload_init(void)
{
#if defined(CONFIG_PERF_EVENTS) && defined(CONFIG_EVENT_TRACING)
	event_shca_payload.perf_perm = shca_payload_perf;
#endif
}
