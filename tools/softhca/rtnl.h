/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Network devices and RDMA devices, asked of the kernel (rtnl.c). Each function returns 0 or a
 * negative errno, in the network namespace of the caller.
 */
#ifndef SOFTHCA_RTNL_H
#define SOFTHCA_RTNL_H

#include "softhca.h"

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

#endif
