// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Settings of a device over generic netlink.
 *
 * A new setting is an attribute in uapi/softhca-netlink.h, a row in the policy, and a line
 * each to fill and to set. A device is visible and settable in the network namespace of its
 * netdev. Setting needs CAP_NET_ADMIN there.
 *
 * Requests run in parallel to those of other families (parallel_ops); shca_genl_lock
 * serialises set requests. None waits for a process, because all families share generic
 * netlink's own lock, which is held for reading.
 */
#include "netlink.h"

#include <linux/netlink.h>
#include <linux/overflow.h>
#include <linux/pid_namespace.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <net/genetlink.h>
#include <net/net_namespace.h>
#include <rdma/ib_verbs.h>

#include "../base/netns.h"
#include "../base/trust.h"
#include "../queue/last_error.h"
#include "../queue/qp_table.h"
#include "../../uapi/softhca-netlink.h"
#include "device.h"
#include "fault_netlink.h"
#include "personality_netlink.h"

DEFINE_MUTEX(shca_genl_lock);

static const struct nla_policy shca_peer_policy[SHCA_A_DEV_NAME + 1] = {
	[SHCA_A_DEV_NAME] = { .type = NLA_NUL_STRING,
			      .len = IB_DEVICE_NAME_MAX - 1 },
};

static const struct nla_policy shca_dev_policy[SHCA_A_MAX + 1] = {
	[SHCA_A_DEV_NAME] = { .type = NLA_NUL_STRING,
			      .len = IB_DEVICE_NAME_MAX - 1 },
	[SHCA_A_PATH] = NLA_POLICY_MAX(NLA_U8, SHCA_PATH_MAX),
	[SHCA_A_PKEY_INDEX] = NLA_POLICY_RANGE(NLA_U16, 1, SHCA_LIM_PKEYS - 1),
	[SHCA_A_PKEY] = { .type = NLA_U16 },
	[SHCA_A_PEERS] = NLA_POLICY_NESTED(shca_peer_policy),
	[SHCA_A_RESV8A] = NLA_POLICY_MAX(NLA_U8, SHCA_RESV8A_MAX),
	[SHCA_A_CC] = NLA_POLICY_MAX(NLA_U8, SHCA_CC_MODE_MAX),
	[SHCA_A_CC_ALGORITHM] = NLA_POLICY_MAX(NLA_U8, SHCA_CC_ALGO_MAX),
	[SHCA_A_FAULT] = { .type = NLA_NESTED },
	[SHCA_A_LINT] = NLA_POLICY_MAX(NLA_U8, SHCA_LINT_MODE_MAX),
	[SHCA_A_PERSONALITY] = { .type = NLA_NESTED },
	[SHCA_A_ICRC] = NLA_POLICY_MAX(NLA_U8, SHCA_ICRC_MAX),
};

/* State of a reply about devices */
struct shca_fill {
	struct sk_buff *msg;
	struct sk_buff *request;	/* its sender's rights decide visibility */
	struct net *net;		/* of the sender */
	struct shca_dev *only;		/* NULL for all devices of @net */
	u32 portid;
	u32 seq;
	int flags;
	long *next;			/* start of the next part of a dump */
};

/* The network namespace that limits the RDMA devices that the sender sees, or NULL */
static struct net *shca_genl_view(struct sk_buff *request, struct net *net)
{
	return netlink_capable(request, CAP_NET_ADMIN) ? NULL : net;
}

static int shca_fill_peers(const struct shca_fill *fill, struct shca_dev *dev)
{
	struct net *view = shca_genl_view(fill->request, fill->net);
	const struct shca_trust *trust;
	struct nlattr *nest;
	const char *name;
	u32 i;

	/* The nest may stay empty: named devices may be gone. */
	nest = nla_nest_start(fill->msg, SHCA_A_PEERS);
	if (!nest)
		return -EMSGSIZE;
	rcu_read_lock();
	trust = rcu_dereference(dev->trust);
	for (i = 0; trust && i < trust->nr; i++) {
		name = shca_dev_name_of(trust->ids[i], view);
		if (name && nla_put_string(fill->msg, SHCA_A_DEV_NAME, name)) {
			rcu_read_unlock();
			return -EMSGSIZE;
		}
	}
	rcu_read_unlock();
	nla_nest_end(fill->msg, nest);
	return 0;
}

static int shca_dev_fill(const struct shca_fill *fill, struct shca_dev *dev)
{
	struct sk_buff *msg = fill->msg;
	void *hdr;

	hdr = genlmsg_put(msg, fill->portid, fill->seq, &shca_genl_family,
			  fill->flags, SHCA_CMD_DEV_GET);
	if (!hdr)
		return -EMSGSIZE;
	if (nla_put_string(msg, SHCA_A_DEV_NAME, dev->ibdev.name) ||
	    nla_put_u32(msg, SHCA_A_NETDEV_IFINDEX, dev->ndev->ifindex) ||
	    nla_put_string(msg, SHCA_A_NETDEV_NAME, dev->ndev->name) ||
	    nla_put_u8(msg, SHCA_A_PATH, READ_ONCE(dev->path)) ||
	    nla_put_u8(msg, SHCA_A_RESV8A, READ_ONCE(dev->resv8a)) ||
	    nla_put_u8(msg, SHCA_A_ICRC, READ_ONCE(dev->icrc)) ||
	    nla_put_u8(msg, SHCA_A_CC, READ_ONCE(dev->cc.mode)) ||
	    nla_put_u8(msg, SHCA_A_CC_ALGORITHM, READ_ONCE(dev->cc.algo)) ||
	    nla_put_u8(msg, SHCA_A_LINT, READ_ONCE(dev->lint.mode)) ||
	    nla_put_u32(msg, SHCA_A_LINT_ERRORS, atomic_read(&dev->lint.errors)) ||
	    nla_put_u32(msg, SHCA_A_LINT_HINTS, atomic_read(&dev->lint.hints)) ||
	    nla_put(msg, SHCA_A_PKEYS,
		    shca_limit(dev, PKEYS) * sizeof(*dev->pkeys), dev->pkeys) ||
	    shca_personality_fill(msg, dev) ||
	    shca_fill_peers(fill, dev)) {
		genlmsg_cancel(msg, hdr);
		return -EMSGSIZE;
	}
	genlmsg_end(msg, hdr);
	return 0;
}

struct shca_dev *shca_genl_dev(struct genl_info *info)
{
	struct shca_dev *dev;

	if (GENL_REQ_ATTR_CHECK(info, SHCA_A_DEV_NAME))
		return ERR_PTR(-EINVAL);
	dev = shca_dev_find(nla_data(info->attrs[SHCA_A_DEV_NAME]));
	if (dev && !net_eq(dev_net(dev->ndev), genl_info_net(info))) {
		ib_device_put(&dev->ibdev);
		dev = NULL;
	}
	if (!dev)
		return ERR_PTR(shca_genl_refuse(info->extack, info->attrs[SHCA_A_DEV_NAME], -ENODEV,
						"no softhca device of this name with its netdev in this network namespace"));
	return dev;
}

static int shca_dev_fill_one(struct shca_dev *dev, int idx, void *arg)
{
	const struct shca_fill *fill = arg;
	int err;

	if (fill->only ? dev != fill->only :
			 !net_eq(dev_net(dev->ndev), fill->net))
		return 0;
	err = shca_dev_fill(fill, dev);
	if (!err && fill->next)
		*fill->next = idx + 1;
	return err;
}

static int shca_dev_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct shca_fill fill = {
		.request = skb,
		.net = genl_info_net(info),
		.only = shca_genl_dev(info),
		.portid = info->snd_portid,
		.seq = info->snd_seq,
	};
	int err = -ENOMEM;

	if (IS_ERR(fill.only))
		return PTR_ERR(fill.only);
	fill.msg = genlmsg_new(GENLMSG_DEFAULT_SIZE + SHCA_TRUSTED_MAX *
			       nla_total_size(IB_DEVICE_NAME_MAX), GFP_KERNEL);
	if (fill.msg) {
		err = shca_dev_walk(0, shca_dev_fill_one, &fill);
		if (err)
			nlmsg_free(fill.msg);
		else
			err = genlmsg_reply(fill.msg, info);
	}
	ib_device_put(&fill.only->ibdev);
	return err;
}

static int shca_dev_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct shca_fill fill = {
		.msg = skb,
		.request = cb->skb,
		.net = sock_net(skb->sk),
		.portid = NETLINK_CB(cb->skb).portid,
		.seq = cb->nlh->nlmsg_seq,
		.flags = NLM_F_MULTI,
		.next = &cb->args[0],
	};

	shca_dev_walk(cb->args[0], shca_dev_fill_one, &fill);
	return skb->len;
}

/* ---- setting ------------------------------------------------------------------ */

/* Find the id of the device in @attr. Return: 0, or an errno with an extack message. */
static int shca_genl_peer(struct sk_buff *skb, struct genl_info *info,
			  const struct shca_dev *dev, struct nlattr *attr,
			  u64 *id)
{
	struct net *view = shca_genl_view(skb, genl_info_net(info));
	struct shca_dev *peer = shca_dev_find(nla_data(attr));
	int err = 0;

	/* For the sender, a device that it may not see does not exist. */
	if (peer && view && !rdma_dev_access_netns(&peer->ibdev, view)) {
		ib_device_put(&peer->ibdev);
		peer = NULL;
	}
	if (!peer)
		return shca_genl_refuse(info->extack, attr, -ENODEV,
					"peer: no softhca device has this name");
	if (peer->snet == dev->snet)
		err = shca_genl_refuse(info->extack, attr, -EINVAL,
				       "peer: this device is in the same network namespace, so requests go directly anyway");
	*id = peer->id;
	ib_device_put(&peer->ibdev);
	return err;
}

static struct shca_trust *shca_genl_trust(struct sk_buff *skb,
					  struct genl_info *info,
					  const struct shca_dev *dev)
{
	struct nlattr *peers = info->attrs[SHCA_A_PEERS], *attr;
	struct shca_trust *trust;
	int rem, err;
	u32 nr = 0;

	nla_for_each_nested(attr, peers, rem)
		nr++;
	if (!nr || nr > SHCA_TRUSTED_MAX)
		return ERR_PTR(shca_genl_refuse(info->extack, peers, -EINVAL,
						"peer: name 1 to 64 devices"));
	trust = kzalloc(struct_size(trust, ids, nr), GFP_KERNEL_ACCOUNT);
	if (!trust)
		return ERR_PTR(-ENOMEM);
	nla_for_each_nested(attr, peers, rem) {
		err = shca_genl_peer(skb, info, dev, attr,
				     &trust->ids[trust->nr++]);
		if (err) {
			kfree(trust);
			return ERR_PTR(err);
		}
	}
	return trust;
}

/* Set the trust for path host. Return: 0, or an errno with an extack message. */
static int shca_genl_set_trust(struct sk_buff *skb, struct genl_info *info,
			       struct shca_dev *dev)
{
	struct shca_trust *trust;

	if (!info->attrs[SHCA_A_PEERS]) {
		if (rcu_access_pointer(dev->trust))
			return 0;
		return shca_genl_refuse(info->extack, NULL, -EINVAL,
					"path host: name the trusted devices of other network namespaces: path host peer DEVICE,...");
	}
	trust = shca_genl_trust(skb, info, dev);
	if (IS_ERR(trust))
		return PTR_ERR(trust);
	trust = rcu_replace_pointer(dev->trust, trust,
				    lockdep_is_held(&shca_genl_lock));
	if (trust)
		kfree_rcu(trust, rcu);
	return 0;
}

static int shca_genl_set_path(struct sk_buff *skb, struct genl_info *info,
			      struct shca_dev *dev, u8 path)
{
	int err = 0;

	if (path == SHCA_PATH_HOST)
		err = shca_genl_set_trust(skb, info, dev);
	if (err)
		return err;
	WRITE_ONCE(dev->path, path);
	/* Invalidate cached decisions about the direct path. */
	shca_net_note_change();
	return 0;
}

/* Settings of one byte, which the policy has checked, and which may change at any time */
static bool shca_genl_has_mode(const struct genl_info *info)
{
	return info->attrs[SHCA_A_RESV8A] || info->attrs[SHCA_A_ICRC] || info->attrs[SHCA_A_CC] ||
	       info->attrs[SHCA_A_CC_ALGORITHM] || info->attrs[SHCA_A_LINT];
}

static void shca_genl_set_mode(const struct nlattr *attr, u8 *mode)
{
	if (attr)
		WRITE_ONCE(*mode, nla_get_u8(attr));
}

static void shca_genl_set_modes(const struct genl_info *info,
				struct shca_dev *dev)
{
	shca_genl_set_mode(info->attrs[SHCA_A_RESV8A], &dev->resv8a);
	shca_genl_set_mode(info->attrs[SHCA_A_ICRC], &dev->icrc);
	shca_genl_set_mode(info->attrs[SHCA_A_CC], &dev->cc.mode);
	shca_genl_set_mode(info->attrs[SHCA_A_CC_ALGORITHM], &dev->cc.algo);
	shca_genl_set_mode(info->attrs[SHCA_A_LINT], &dev->lint.mode);
}

/*
 * All checks before the first change, except that of path host, which is changed first. So a
 * request that fails has changed nothing. Return: 0, or an errno with an extack message.
 */
static int shca_genl_check_set(const struct genl_info *info,
			       const struct shca_dev *dev)
{
	const struct nlattr *index = info->attrs[SHCA_A_PKEY_INDEX];
	const struct nlattr *peers = info->attrs[SHCA_A_PEERS];
	const struct nlattr *path = info->attrs[SHCA_A_PATH];
	const struct nlattr *pkey = info->attrs[SHCA_A_PKEY];

	if (!path && !pkey && !index && !peers && !shca_genl_has_mode(info))
		return shca_genl_refuse(info->extack, NULL, -EINVAL,
					"no setting given");
	if (!pkey != !index)
		return shca_genl_refuse(info->extack, NULL, -EINVAL,
					"a P_Key and its index must be given together");
	if (peers && (!path || nla_get_u8(path) != SHCA_PATH_HOST))
		return shca_genl_refuse(info->extack, peers, -EINVAL,
					"only path host has peers");
	if (index && dev->ib)
		return shca_genl_refuse(info->extack, index, -EOPNOTSUPP,
					"pkey: the subnet manager sets those of an InfiniBand port");
	/* The policy has refused index 0, the default partition. */
	if (index && nla_get_u16(index) >= shca_limit(dev, PKEYS))
		return shca_genl_refuse(info->extack, index, -EINVAL,
					"pkey: the P_Key table of the device is shorter");
	return 0;
}

static int shca_dev_set_doit(struct sk_buff *skb, struct genl_info *info)
{
	const struct nlattr *path, *index, *pkey;
	struct shca_dev *dev;
	int err;

	if (info->attrs[SHCA_A_PERSONALITY])
		return shca_personality_set(info);
	dev = shca_genl_dev(info);
	if (IS_ERR(dev))
		return PTR_ERR(dev);
	path = info->attrs[SHCA_A_PATH];
	index = info->attrs[SHCA_A_PKEY_INDEX];
	pkey = info->attrs[SHCA_A_PKEY];
	mutex_lock(&shca_genl_lock);
	err = shca_genl_check_set(info, dev);
	if (!err && path)
		err = shca_genl_set_path(skb, info, dev, nla_get_u8(path));
	if (!err) {
		shca_genl_set_modes(info, dev);
		if (pkey)
			shca_dev_set_pkey(dev, nla_get_u16(index),
					  nla_get_u16(pkey));
	}
	mutex_unlock(&shca_genl_lock);
	ib_device_put(&dev->ibdev);
	return err;
}

/* ---- last errors of queue pairs --------------------------------------------------- */

/* State of a dump of last errors */
struct shca_last_error_fill {
	struct sk_buff *msg;
	struct netlink_callback *cb;
	const struct shca_dev *dev;
	bool all;
};

/* Only administrators see the PSNs of a live QP, which an attacker lacks (docs/security.md). */
static void shca_last_error_hide(struct shca_dump_fate *errors)
{
	errors->flags |= SHCA_FATE_NO_PSN;
	errors->send.psn = 0;
	errors->recv.psn = 0;
	errors->dropped.psn = 0;
}

static int shca_last_error_fill(const struct shca_dump_fate *errors, void *arg)
{
	const struct shca_last_error_fill *fill = arg;
	struct sk_buff *msg = fill->msg;
	struct shca_dump_fate *filled;
	struct nlattr *attr;
	void *hdr;

	hdr = genlmsg_put(msg, NETLINK_CB(fill->cb->skb).portid,
			  fill->cb->nlh->nlmsg_seq, &shca_genl_family,
			  NLM_F_MULTI, SHCA_CMD_FATE_GET);
	if (!hdr)
		return -EMSGSIZE;
	if (nla_put_string(msg, SHCA_A_DEV_NAME, fill->dev->ibdev.name))
		goto err_cancel;
	attr = nla_reserve_64bit(msg, SHCA_A_FATE, sizeof(*errors), SHCA_A_PAD);
	if (!attr)
		goto err_cancel;
	filled = nla_data(attr);
	*filled = *errors;
	/* Outside of the initial PID namespace the number means nothing. */
	if (task_active_pid_ns(current) != &init_pid_ns)
		filled->pid = 0;
	if (!fill->all && !(errors->flags & SHCA_FATE_DESTROYED))
		shca_last_error_hide(filled);
	genlmsg_end(msg, hdr);
	/* Entries of this device that the sender has */
	fill->cb->args[1]++;
	return 0;

err_cancel:
	genlmsg_cancel(msg, hdr);
	return -EMSGSIZE;
}

static int shca_last_error_fill_dev(struct shca_dev *dev, int idx, void *arg)
{
	struct shca_last_error_fill *fill = arg;
	struct netlink_callback *cb = fill->cb;
	kuid_t uid = NETLINK_CB(cb->skb).creds.uid;
	int err = 0;

	fill->dev = dev;
	if (idx != cb->args[0])
		cb->args[1] = 0;
	cb->args[0] = idx;
	/* All with the capability, otherwise the user's own. */
	fill->all = netlink_capable(cb->skb, CAP_NET_ADMIN);
	if (fill->all)
		uid = INVALID_UID;
	if (net_eq(dev_net(dev->ndev), sock_net(cb->skb->sk)))
		err = shca_last_error_walk(dev, cb->args[1], uid, shca_last_error_fill,
					   fill);
	if (err)
		return err;
	cb->args[0] = idx + 1;
	cb->args[1] = 0;
	return 0;
}

static int shca_last_error_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct shca_last_error_fill fill = { .msg = skb, .cb = cb };

	shca_dev_walk(cb->args[0], shca_last_error_fill_dev, &fill);
	return skb->len;
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
	{
		.cmd = SHCA_CMD_FATE_GET,
		.dumpit = shca_last_error_get_dumpit,
	},
	{
		.cmd = SHCA_CMD_FAULT_ADD,
		.flags = GENL_UNS_ADMIN_PERM,
		.doit = shca_fault_add_doit,
	},
	{
		.cmd = SHCA_CMD_FAULT_GET,
		.start = shca_fault_get_start,
		.dumpit = shca_fault_get_dumpit,
	},
	{
		.cmd = SHCA_CMD_FAULT_DEL,
		.flags = GENL_UNS_ADMIN_PERM,
		.doit = shca_fault_del_doit,
	},
};

struct genl_family shca_genl_family = {
	.name = SHCA_GENL_NAME,
	.version = SHCA_GENL_VERSION,
	.maxattr = SHCA_A_MAX,
	.policy = shca_dev_policy,
	.netnsok = true,
	.parallel_ops = true,
	.module = THIS_MODULE,
	.ops = shca_genl_ops,
	.n_ops = ARRAY_SIZE(shca_genl_ops),
	.resv_start_op = SHCA_CMD_MAX + 1,
};

int shca_netlink_init(void)
{
	int err = shca_fault_init();

	if (err)
		return err;
	err = genl_register_family(&shca_genl_family);
	if (err)
		shca_fault_exit();
	return err;
}

void shca_netlink_exit(void)
{
	genl_unregister_family(&shca_genl_family);
	shca_fault_exit();
}
