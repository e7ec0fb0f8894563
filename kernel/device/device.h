/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Making, finding and changing devices. */
#ifndef SHCA_DEVICE_H
#define SHCA_DEVICE_H

#include "../base/dev.h"

/**
 * shca_dev_set_pkey() - change an entry of the P_Key table; tells consumers
 *
 * Context: may sleep.
 * Return: 0, or EINVAL: entry 0, or one beyond the table.
 */
int shca_dev_set_pkey(struct shca_dev *dev, u32 index, u16 pkey);

/**
 * shca_newlink() - rdma link add; struct rdma_link_ops.newlink
 *
 * Context: process, without RTNL.
 * Return: 0, or EADDRINUSE (port 4791 has another owner), EEXIST (the name is
 * taken), EINVAL (not an Ethernet netdev), ENODEV (netdev going away), ENOMEM.
 */
int shca_newlink(const char *name, struct net_device *ndev);

/** shca_dev_find() - a registered device by name, or NULL; ib_device_put() it */
struct shca_dev *shca_dev_find(const char *name);

/**
 * shca_dev_walk() - call @fn for each registered device, from index @start on
 *
 * Context: may sleep.  A non-zero return of @fn stops and is returned.
 */
int shca_dev_walk(int start, int (*fn)(struct shca_dev *dev, int idx,
				       void *arg), void *arg);

/**
 * shca_dev_name_of() - the name of the device with that id, as @net may know it
 * @net:	NULL: as the machine's administrator may
 *
 * Context: within the @fn of shca_dev_walk().
 * Return: NULL: there is none, or none to be known there.
 */
const char *shca_dev_name_of(u64 id, struct net *net);

/**
 * shca_dev_init() - the client and the notifier; no devices yet
 *
 * Return: 0 or what registration returned.  Undone by shca_dev_exit(), once no
 * device is left.
 */
int shca_dev_init(void);
void shca_dev_exit(void);

#endif
