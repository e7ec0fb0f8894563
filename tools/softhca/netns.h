/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Network namespaces with names, and those of `softhca up` (netns.c). */
#ifndef SOFTHCA_NETNS_H
#define SOFTHCA_NETNS_H

#include <stdbool.h>

/* Size of the name of a network namespace, with its end */
#define NETNS_NAME_SIZE	32

/*
 * Owner of the network namespace with a name.
 * @NETNS_NONE:	there is none
 * @NETNS_OURS:	`softhca up` has made it
 * @NETNS_OTHER: another has
 */
enum netns_owner {
	NETNS_NONE,
	NETNS_OURS,
	NETNS_OTHER,
};

/*
 * Does this tool make namespaces with this name? Letters, digits, '-', '_' and '.', a letter or
 * digit first: no path can be made of it.
 */
bool netns_valid_name(const char *name);

/*
 * Call @each for each namespace that `softhca up` has made, by name. Only root can look for the
 * mark. Others get every namespace that has a name.
 */
void netns_names(void (*each)(const char *name, void *arg), void *arg);

/* Find the owner; on NETNS_OURS, @fd is open: the namespace; the caller closes it. */
enum netns_owner netns_owner(const char *name, int *fd);

/*
 * Call @fn here, and then in each namespace of `softhca up`. Only here without privilege, and in
 * a namespace that has a name itself: whoever has entered one asks for that one. A true of @fn
 * ends the walk, and the process stays there. Otherwise it is back in the end.
 * Return: whether one returned true.
 */
bool netns_everywhere(bool (*fn)(void *arg), void *arg);

/* The name of the namespace in which netns_everywhere() is; "" where it began. */
const char *netns_current(void);

/* Nothing was found: tell a user without privilege that root may find more. */
void netns_hint(void);

/* Run @fn in a child process in the namespace; its exit status. */
int netns_call(int fd, int (*fn)(const void *arg), const void *arg);

/*
 * Move this process into the namespace, with /sys of it.
 * Return: 0 or a negative errno.
 */
int netns_enter(int fd);

#endif
