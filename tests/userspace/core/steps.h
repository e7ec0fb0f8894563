/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The core counts its steps here: it is built with -fsanitize-coverage=trace-pc, so
 * each basic block is one.  Nothing that the core is asked to do takes more than a
 * bounded number of them, however slow the machine is.
 */
#ifndef SHCA_STEPS_H
#define SHCA_STEPS_H

/*
 * What is counted at a time is one event of the simulator or one case of a unit
 * suite.  They take at most 13,000 and 216,000.
 */
#define STEPS_MAX	10000000ull

/** steps_begin() - count from here on; @endless is called once there are too many */
void steps_begin(void (*endless)(void));

#endif
