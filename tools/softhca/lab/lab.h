/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Topologies: what `softhca up` makes, for `softhca learn` and completion too. */
#ifndef SOFTHCA_LAB_H
#define SOFTHCA_LAB_H

/*
 * What `softhca up` does without a file and its output; what exists stays.
 * @command:	which command a message names
 *
 * Return: 0, or an exit status after a message.
 */
int lab_make(const char *command);

/* Call @each for each topology that came with the tool. */
void topology_names(void (*each)(const char *name, void *arg), void *arg);

#endif
