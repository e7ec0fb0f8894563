/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Commands of the generic-netlink family for fault injection. */
#ifndef SHCA_DEVICE_FAULT_H
#define SHCA_DEVICE_FAULT_H

#include <linux/netlink.h>
#include <net/genetlink.h>

#if IS_ENABLED(CONFIG_SOFTHCA_FAULT_INJECTION)

/* End rules with SHCA_FA_HELD when their netlink sockets are closed. Return: 0 or errno. */
int shca_fault_init(void);
void shca_fault_exit(void);

/* SHCA_CMD_FAULT_ADD, SHCA_CMD_FAULT_DEL, SHCA_CMD_FAULT_GET */
int shca_fault_add_doit(struct sk_buff *skb, struct genl_info *info);
int shca_fault_del_doit(struct sk_buff *skb, struct genl_info *info);
int shca_fault_get_start(struct netlink_callback *cb);
int shca_fault_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb);

#else

static inline int shca_fault_init(void) { return 0; }
static inline void shca_fault_exit(void) { }

static inline int shca_fault_add_doit(struct sk_buff *skb, struct genl_info *info)
{
	NL_SET_ERR_MSG(info->extack, "this module was built without fault injection");
	return -EOPNOTSUPP;
}

#define shca_fault_del_doit	shca_fault_add_doit
#define shca_fault_get_start	NULL

/* Not an error: a tool may list the rules before it creates a device anew. */
static inline int shca_fault_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	return 0;
}

#endif

#endif
