/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What `softhca up`, `down`, `run`, `learn` and `doctor` share. */
#ifndef SOFTHCA_LAB_H
#define SOFTHCA_LAB_H

#include "../softhca.h"

/* Size of the name of a network namespace, with its end */
#define NETNS_NAME_SIZE	32

/* lab.c */

/*
 * What `softhca up` does without a file and its output; what exists stays.
 * @command:	which command a message names
 *
 * Return: 0, or an exit status after a message.
 */
int lab_make(const char *command);

/* Call @each for each topology that came with the tool. */
void topology_names(void (*each)(const char *name, void *arg), void *arg);

/* rtnl.c: each returns 0 or a negative errno, in the network namespace of the caller. */

/* Read the alias of a network device; "" if it has none. */
int link_alias(const char *name, char *alias, size_t size);
/*
 * A network device.
 * @qdisc:	its root queueing discipline
 * @lower:	index of the device below it, or of the other end of a veth; 0: none
 * @lower_netns: where that is: an id of the namespace that was asked for, or -1: in the same one
 */
struct link_info {
	char name[16];
	char qdisc[16];
	unsigned int mtu;
	int lower;
	int lower_netns;
};

/* Read a network device; @netns: an id as in struct link_info, or -1: the caller's namespace. */
int link_read(int index, int netns, struct link_info *info);
/*
 * What a netem does: times in us, parts of 1.
 * @parent:	of the qdisc, or TC_H_ROOT
 * @model:	it loses packets by a model, not by chance alone
 * @rate:	it limits the rate
 */
struct link_netem {
	uint32_t parent;
	double delay, loss, duplicate, corrupt, reorder;
	bool model, rate;
};

/* Call @each for each netem on the network device @index. */
int link_netem(int index, void (*each)(const struct link_netem *netem, void *arg), void *arg);
/* Add a device of @type: softhca or softhca_ib. */
int rdma_link_add(const char *name, const char *type, const char *netdev);
int rdma_link_delete(const char *name);
/*
 * Read a counter of the device's port; 0 if there is none. sysfs has counters in the namespace
 * of the RDMA device only.
 */
uint64_t rdma_counter(const char *device, const char *counter);
/* Call @each for every RDMA device, of any driver; 0 or a negative errno. */
int rdma_devices(void (*each)(const char *name, uint32_t index, void *arg), void *arg);
/* Call @each for every counter of the device's port. */
int rdma_counters(uint32_t index, void (*each)(const char *name, uint64_t value, void *arg),
		  void *arg);
/* Call @each with the attributes of every QP; @raw: the driver's dump. */
int rdma_qps(uint32_t index, bool raw, void (*each)(struct nlattr *entry, void *arg),
	     void *arg);
/* Does each RDMA device belong to one network namespace? */
bool rdma_is_exclusive(void);
/* Move an RDMA device to @netns, a file descriptor. */
int rdma_set_netns(const char *name, int netns);

/* netns.c */

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
