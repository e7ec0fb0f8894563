// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// is a timer made with hrtimer_setup() (else: hrtimer_init())?
#include <linux/hrtimer.h>

static enum hrtimer_restart expired(struct hrtimer *timer)
{
	return HRTIMER_NORESTART;
}

void probe(struct hrtimer *timer);
void probe(struct hrtimer *timer)
{
	hrtimer_setup(timer, expired, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
}
