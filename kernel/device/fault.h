/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Commands of the generic-netlink family for fault injection. */
#ifndef SHCA_DEVICE_FAULT_H
#define SHCA_DEVICE_FAULT_H

#include <net/netlink.h>

struct genl_info;
struct netlink_callback;
struct notifier_block;
struct sk_buff;

extern const struct nla_policy shca_fault_policy[];
/* A rule with SHCA_FA_HELD ends as its netlink socket is closed. */
extern struct notifier_block shca_fault_nb;

/* SHCA_CMD_FAULT_ADD, SHCA_CMD_FAULT_DEL, SHCA_CMD_FAULT_GET */
int shca_fault_add_doit(struct sk_buff *skb, struct genl_info *info);
int shca_fault_del_doit(struct sk_buff *skb, struct genl_info *info);
int shca_fault_get_start(struct netlink_callback *cb);
int shca_fault_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb);

#endif
