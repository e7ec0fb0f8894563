// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// does __assign_str() of tracepoints take one argument (else: two)?
#include <linux/trace_events.h>

/* Stage 6's definition, as trace/stages/stage6_event_callback.h has it. */
#include <trace/stages/stage6_event_callback.h>

struct probe_entry {
	u32 __data_loc_name;
};

void probe(struct probe_entry *__entry);
void probe(struct probe_entry *__entry)
{
	struct { const char *name_ptr_; } __data_offsets = {};

	__assign_str(name);
}
