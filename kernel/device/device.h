/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef SHCA_DEVICE_H
#define SHCA_DEVICE_H

#include "../base/dev.h"

/*
 * Set an entry of the P_Key table, and report the change to consumers.
 * @index:	entry of a RoCE device's table, not 0; checked by the caller
 * Context: may sleep.
 */
void shca_dev_set_pkey(struct shca_dev *dev, u32 index, u16 pkey);

/*
 * `rdma link add`: struct rdma_link_ops.newlink. Takes the personality that the netdev's
 * network namespace has for its next device, even on failure.
 * Context: process, without RTNL.
 * Return: 0, -EADDRINUSE (another socket has UDP port 4791), -EEXIST (the name is in use),
 * -EINVAL (not an Ethernet netdev), -ENODEV (the netdev is being removed), -ENOMEM.
 */
int shca_newlink(const char *name, struct net_device *ndev);

/* shca_newlink() for an InfiniBand port: never -EADDRINUSE; -EINVAL also for a too small MTU */
int shca_newlink_ib(const char *name, struct net_device *ndev);

/* Find a registered device by name. Return: with a reference (ib_device_put()), or NULL. */
struct shca_dev *shca_dev_find(const char *name);

/* Call @fn for each registered device from @start on, until it returns non-zero. May sleep. */
int shca_dev_walk(int start, int (*fn)(struct shca_dev *dev, int idx,
				       void *arg), void *arg);

/*
 * Name of the device with this id. @net: visible there; NULL: anywhere. Return: NULL if there
 * is none.
 * Context: within the @fn of shca_dev_walk().
 */
const char *shca_dev_name_of(u64 id, struct net *net);

/* Register client and notifiers. Return: 0 or errno. Call exit when no device is left. */
int shca_dev_init(void);
void shca_dev_exit(void);

#endif
