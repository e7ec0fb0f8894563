/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The generic-netlink family "softhca": see uapi/softhca-netlink.h. */
#ifndef SHCA_NETLINK_H
#define SHCA_NETLINK_H

/** shca_netlink_init() - register the family. Return: 0 or errno. */
int shca_netlink_init(void);
void shca_netlink_exit(void);

#endif
