/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The generic-netlink family "softhca": see uapi/softhca-netlink.h. */
#ifndef SHCA_NETLINK_H
#define SHCA_NETLINK_H

struct genl_family;
struct genl_info;
struct shca_dev;

/* Serialises requests that set something; protects rules and trust. */
extern struct mutex shca_genl_lock;

extern struct genl_family shca_genl_family;

/*
 * Return: the device that a request names, if its sender may see it, with a reference
 * (ib_device_put()); or an errno with an extack message.
 */
struct shca_dev *shca_genl_dev(struct genl_info *info);

/* Register the family. Return: 0 or errno. */
int shca_netlink_init(void);
void shca_netlink_exit(void);

#endif
