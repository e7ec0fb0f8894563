// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Steps of the core are counted, so that an endless loop is a failure: see steps.h. */
#include <stddef.h>

#include "steps.h"

static unsigned long long steps;
static void (*on_endless)(void);

void steps_begin(void (*endless)(void))
{
	steps = 0;
	on_endless = endless;
}

/* Called by the core at each basic block. */
void __sanitizer_cov_trace_pc(void);
void __sanitizer_cov_trace_pc(void)
{
	if (++steps > STEPS_MAX && on_endless)
		on_endless();
}
