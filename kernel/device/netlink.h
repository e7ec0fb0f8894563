/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The generic-netlink family "softhca": see uapi/softhca-netlink.h. */
#ifndef SHCA_NETLINK_H
#define SHCA_NETLINK_H

#include <linux/netlink.h>

struct genl_family;
struct genl_info;
struct shca_dev;

/* Serialises requests that set something; protects rules and trust. */
extern struct mutex shca_genl_lock;

extern struct genl_family shca_genl_family;

/* Refuse a request: @why is a literal, and @attr the attribute at fault, or NULL. Return: @err. */
static inline int shca_genl_refuse(struct netlink_ext_ack *extack,
				   const struct nlattr *attr, int err, const char *why)
{
	/* The macros of <linux/netlink.h> take literals only. */
	extack->_msg = why;
	NL_SET_BAD_ATTR(extack, attr);
	return err;
}

/*
 * Return: the device that a request names, if its sender may see it, with a reference
 * (ib_device_put()); or an errno with an extack message.
 */
struct shca_dev *shca_genl_dev(struct genl_info *info);

/* Register the family. Return: 0 or errno. */
int shca_netlink_init(void);
void shca_netlink_exit(void);

#endif
