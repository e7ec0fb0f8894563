/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What stands in the way of a device's packets, for `softhca doctor` and `explain`. */
#ifndef SOFTHCA_OBSTACLE_H
#define SOFTHCA_OBSTACLE_H

#include "../softhca.h"

/*
 * What somebody has put in the way, by a rule or a setting.
 * @check:	a word for it: "faults", "netem" or "mtu"
 * @text:	a sentence without its end
 * @cure:	a command
 */
struct obstacle {
	const char *check;
	char text[320];
	char cure[128];
};

/*
 * Call @each for each obstacle, in the order in which to suspect them. The device is one of the
 * current network namespace.
 */
void obstacles_of(const char *device, void (*each)(const struct obstacle *obstacle, void *arg),
		  void *arg);

#endif
