// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Knobs of a device over generic netlink.  A new knob is an attribute in
 * uapi/softhca-netlink.h, a row in the policy, and a line in fill and set.
 * A device is visible and settable from the network namespace of its netdev;
 * setting needs CAP_NET_ADMIN there.
 */
#include "netlink.h"

#include <net/genetlink.h>
#include <net/net_namespace.h>
#include <rdma/ib_verbs.h>

#include "dev.h"
#include "net.h"
#include "../uapi/softhca-netlink.h"

static struct genl_family shca_genl_family;

static const struct nla_policy shca_dev_policy[SHCA_A_MAX + 1] = {
	[SHCA_A_DEV_NAME] = { .type = NLA_NUL_STRING,
			      .len = IB_DEVICE_NAME_MAX - 1 },
	[SHCA_A_PATH] = NLA_POLICY_MAX(NLA_U8, SHCA_PATH_MAX),
	[SHCA_A_PKEY_INDEX] = NLA_POLICY_RANGE(NLA_U16, 1, SHCA_LIM_PKEYS - 1),
	[SHCA_A_PKEY] = { .type = NLA_U16 },
};

static int shca_dev_fill(struct sk_buff *msg, struct shca_dev *dev, u32 portid,
			 u32 seq, int flags)
{
	void *hdr;

	hdr = genlmsg_put(msg, portid, seq, &shca_genl_family, flags,
			  SHCA_CMD_DEV_GET);
	if (!hdr)
		return -EMSGSIZE;
	if (nla_put_string(msg, SHCA_A_DEV_NAME, dev->ibdev.name) ||
	    nla_put_u32(msg, SHCA_A_NETDEV_IFINDEX, dev->ndev->ifindex) ||
	    nla_put_string(msg, SHCA_A_NETDEV_NAME, dev->ndev->name) ||
	    nla_put_u8(msg, SHCA_A_PATH, READ_ONCE(dev->path)) ||
	    nla_put(msg, SHCA_A_PKEYS, sizeof(dev->pkeys), dev->pkeys)) {
		genlmsg_cancel(msg, hdr);
		return -EMSGSIZE;
	}
	genlmsg_end(msg, hdr);
	return 0;
}

/* The device a request names, visible to its sender; ib_device_put() it. */
static struct shca_dev *shca_genl_dev(struct genl_info *info)
{
	struct shca_dev *dev;

	if (GENL_REQ_ATTR_CHECK(info, SHCA_A_DEV_NAME))
		return ERR_PTR(-EINVAL);
	dev = shca_dev_find(nla_data(info->attrs[SHCA_A_DEV_NAME]));
	if (dev && !net_eq(dev_net(dev->ndev), genl_info_net(info))) {
		ib_device_put(&dev->ibdev);
		dev = NULL;
	}
	if (!dev) {
		NL_SET_ERR_MSG_ATTR(info->extack,
				    info->attrs[SHCA_A_DEV_NAME],
				    "no softhca device of this name has its netdev in this network namespace");
		return ERR_PTR(-ENODEV);
	}
	return dev;
}

static int shca_dev_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct shca_dev *dev = shca_genl_dev(info);
	struct sk_buff *msg;
	int err = -ENOMEM;

	if (IS_ERR(dev))
		return PTR_ERR(dev);
	msg = genlmsg_new(GENLMSG_DEFAULT_SIZE, GFP_KERNEL);
	if (msg) {
		err = shca_dev_fill(msg, dev, info->snd_portid, info->snd_seq,
				    0);
		if (err)
			nlmsg_free(msg);
		else
			err = genlmsg_reply(msg, info);
	}
	ib_device_put(&dev->ibdev);
	return err;
}

struct shca_dump {
	struct sk_buff *skb;
	struct netlink_callback *cb;
};

static int shca_dev_dump_one(struct shca_dev *dev, int idx, void *arg)
{
	struct shca_dump *dump = arg;
	struct netlink_callback *cb = dump->cb;
	int err;

	if (!net_eq(dev_net(dev->ndev), sock_net(dump->skb->sk)))
		return 0;
	err = shca_dev_fill(dump->skb, dev, NETLINK_CB(cb->skb).portid,
			    cb->nlh->nlmsg_seq, NLM_F_MULTI);
	if (!err)
		cb->args[0] = idx + 1;
	return err;
}

static int shca_dev_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct shca_dump dump = { .skb = skb, .cb = cb };

	shca_dev_walk(cb->args[0], shca_dev_dump_one, &dump);
	return skb->len;
}

static int shca_dev_set_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct shca_dev *dev = shca_genl_dev(info);
	struct nlattr *path, *index, *pkey;
	int err = 0;

	if (IS_ERR(dev))
		return PTR_ERR(dev);
	path = info->attrs[SHCA_A_PATH];
	index = info->attrs[SHCA_A_PKEY_INDEX];
	pkey = info->attrs[SHCA_A_PKEY];
	if (!path && !pkey && !index) {
		NL_SET_ERR_MSG(info->extack, "nothing to set: no knob given");
		err = -EINVAL;
	} else if (!pkey != !index) {
		NL_SET_ERR_MSG(info->extack,
			       "a P_Key needs the index of its entry, and an index a P_Key");
		err = -EINVAL;
	}
	if (!err && path) {
		WRITE_ONCE(dev->path, nla_get_u8(path));
		shca_net_note_change();
	}
	if (!err && pkey)
		err = shca_dev_set_pkey(dev, nla_get_u16(index),
					nla_get_u16(pkey));
	ib_device_put(&dev->ibdev);
	return err;
}

static const struct genl_ops shca_genl_ops[] = {
	{
		.cmd = SHCA_CMD_DEV_GET,
		.doit = shca_dev_get_doit,
		.dumpit = shca_dev_get_dumpit,
	},
	{
		.cmd = SHCA_CMD_DEV_SET,
		.flags = GENL_UNS_ADMIN_PERM,
		.doit = shca_dev_set_doit,
	},
};

static struct genl_family shca_genl_family = {
	.name = SHCA_GENL_NAME,
	.version = SHCA_GENL_VERSION,
	.maxattr = SHCA_A_MAX,
	.policy = shca_dev_policy,
	.netnsok = true,
	.module = THIS_MODULE,
	.ops = shca_genl_ops,
	.n_ops = ARRAY_SIZE(shca_genl_ops),
	.resv_start_op = SHCA_CMD_MAX + 1,
};

int shca_netlink_init(void)
{
	return genl_register_family(&shca_genl_family);
}

void shca_netlink_exit(void)
{
	genl_unregister_family(&shca_genl_family);
}
