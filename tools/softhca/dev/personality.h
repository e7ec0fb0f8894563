/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Personalities: their files as netlink attributes. */
#ifndef SOFTHCA_PERSONALITY_FILE_H
#define SOFTHCA_PERSONALITY_FILE_H

#include "../softhca.h"

/*
 * Delete @device and add it again with the personality @name.
 * @name:	of a file that came with the tool, or a path with '/'
 * Return: 0, or an exit status after a message.
 */
int personality_set(const char *device, const char *name);

/* Call @each for every file that came with the tool. */
void personality_names(void (*each)(const char *name, void *arg), void *arg);

/* Print the files that came with the tool; an exit status. */
int personality_list(bool json);

#endif
