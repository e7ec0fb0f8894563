// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "personality_netlink.h"

#include <linux/ctype.h>
#include <net/genetlink.h>

#include "../base/compat.h"
#include "../roce/net.h"
#include "../../uapi/softhca-netlink.h"
#include "netlink.h"

void shca_personality_query(const struct shca_dev *dev,
			    struct ib_device_attr *attr)
{
	if (shca_lacks(dev, XRC))
		attr->device_cap_flags &= ~IB_DEVICE_XRC;
	if (shca_lacks(dev, SRQ))
		attr->device_cap_flags &= ~IB_DEVICE_SRQ_RESIZE;
	if (shca_lacks(dev, FLOW))
		attr->device_cap_flags &= ~IB_DEVICE_MANAGED_FLOW_STEERING;
	if (shca_lacks(dev, FLUSH))
		attr->device_cap_flags &= ~IB_DEVICE_FLUSH_GLOBAL;
	if (shca_lacks(dev, ATOMIC_WRITE))
		attr->device_cap_flags &= ~IB_DEVICE_ATOMIC_WRITE;
	if (shca_lacks(dev, MW))
		attr->device_cap_flags &= ~(IB_DEVICE_MEM_WINDOW |
					    IB_DEVICE_MEM_WINDOW_TYPE_2B);
	if (shca_lacks(dev, ODP)) {
		attr->kernel_cap_flags &= ~IBK_ON_DEMAND_PAGING;
		memset(&attr->odp_caps, 0, sizeof(attr->odp_caps));
	}
	if (shca_lacks(dev, TM))
		memset(&attr->tm_caps, 0, sizeof(attr->tm_caps));
	if (shca_lacks(dev, MODIFY_CQ))
		memset(&attr->cq_caps, 0, sizeof(attr->cq_caps));
	if (shca_lacks(dev, WQ))
		memset(&attr->rss_caps, 0, sizeof(attr->rss_caps));
	if (shca_lacks(dev, RAW_PACKET))
		attr->rss_caps.supported_qpts &= ~BIT(IB_QPT_RAW_PACKET);
	if (shca_lacks(dev, UD))
		attr->rss_caps.supported_qpts &= ~BIT(IB_QPT_UD);
	if (shca_lacks(dev, TIMESTAMPS)) {
		attr->timestamp_mask = 0;
		attr->hca_core_clock = 0;
	}
}

void shca_personality_features(const struct shca_dev *dev, u64 *features)
{
	if (shca_lacks(dev, FLUSH))
		*features &= ~SHCA_FEATURE_FLUSH;
	if (shca_lacks(dev, ATOMIC_WRITE))
		*features &= ~SHCA_FEATURE_ATOMIC_WRITE;
	if (shca_lacks(dev, ATOMICS))
		*features |= SHCA_FEATURE_NO_ATOMICS;
	if (shca_lacks(dev, RAW_PACKET))
		*features |= SHCA_FEATURE_NO_RAW_PACKET;
}

int shca_personality_fill(struct sk_buff *msg, const struct shca_dev *dev)
{
	struct nlattr *nest = nla_nest_start(msg, SHCA_A_PERSONALITY);

	if (!nest || nla_put_string(msg, SHCA_PA_NAME, dev->personality.name))
		return -EMSGSIZE;
	nla_nest_end(msg, nest);
	return 0;
}

/* ---- a request ------------------------------------------------------------------ */

static const struct nla_policy shca_personality_policy[SHCA_PA_MAX + 1] = {
	[SHCA_PA_NAME] = { .type = NLA_NUL_STRING,
			   .len = SHCA_PERSONALITY_NAME - 1 },
	[SHCA_PA_LIMITS] = { .type = NLA_NESTED },
	[SHCA_PA_LACKS] = { .type = NLA_U64 },
	[SHCA_PA_VENDOR_ERRS] = { .type = NLA_NESTED },
};

/* Users choose names, and other users see them on terminals. */
static bool shca_personality_may_be_called(const char *name)
{
	if (!*name)
		return false;
	for (; *name; name++)
		if (!isascii(*name) || (!isalnum(*name) && !strchr("-_.", *name)))
			return false;
	return true;
}

static int shca_personality_limits(struct genl_info *info,
				   const struct nlattr *limits, u64 *limit)
{
#define X(id, name, min, max, native) { min, max },
	static const u64 bounds[SHCA_LIMIT_NR][2] = { SHCA_LIMITS(X) };
#undef X
	const struct nlattr *attr;
	int rem, which;

	nla_for_each_nested(attr, limits, rem) {
		which = nla_type(attr) - 1;
		if (which < 0 || which >= SHCA_LIMIT_NR)
			return shca_genl_refuse(info->extack, attr, -EINVAL,
						"personality: this module does not know the limit");
		if (nla_len(attr) != sizeof(u64) ||
		    nla_get_u64(attr) < bounds[which][0] ||
		    nla_get_u64(attr) > bounds[which][1])
			return shca_genl_refuse(info->extack, attr, -ERANGE,
						"personality: a limit is out of its range");
		limit[which] = nla_get_u64(attr);
	}
	if (!IS_ENABLED(CONFIG_SOFTHCA_FAULT_INJECTION) && limit[SHCA_LIMIT_LATE_US])
		return shca_genl_refuse(info->extack, limits, -EOPNOTSUPP,
					"personality: late_us: this module was built without fault injection");
	return 0;
}

static int shca_personality_vendor_errs(struct genl_info *info,
					const struct nlattr *errs,
					struct shca_personality *personality)
{
	const struct nlattr *attr;
	int rem, status;

	nla_for_each_nested(attr, errs, rem) {
		status = nla_type(attr);
		if (!status || status >= SHCA_PERSONALITY_STATUSES ||
		    nla_len(attr) != sizeof(u32) ||
		    nla_get_u32(attr) > U16_MAX)
			return shca_genl_refuse(info->extack, attr, -EINVAL,
						"personality: a vendor_err is of no status, or longer than 16 bits");
		personality->statuses |= BIT(status);
		personality->vendor_err[status] = nla_get_u32(attr);
	}
	return 0;
}

static int shca_personality_parse(struct genl_info *info,
				  struct shca_personality *personality)
{
	struct nlattr *tb[SHCA_PA_MAX + 1];
	int err;

	err = nla_parse_nested(tb, SHCA_PA_MAX, info->attrs[SHCA_A_PERSONALITY],
			       shca_personality_policy, info->extack);
	if (err)
		return err;
	*personality = shca_native;
	if (!tb[SHCA_PA_NAME] ||
	    !shca_personality_may_be_called(nla_data(tb[SHCA_PA_NAME])))
		return shca_genl_refuse(info->extack, NULL, -EINVAL,
					"personality: a name has letters, digits, '-', '_' and '.'");
	strscpy(personality->name, nla_data(tb[SHCA_PA_NAME]),
		sizeof(personality->name));
	if (tb[SHCA_PA_LACKS])
		personality->lacks = nla_get_u64(tb[SHCA_PA_LACKS]);
	if (personality->lacks >> SHCA_LACK_NR)
		return shca_genl_refuse(info->extack, tb[SHCA_PA_LACKS], -EINVAL,
					"personality: this module does not know what it is to be without");
	if (tb[SHCA_PA_LIMITS])
		err = shca_personality_limits(info, tb[SHCA_PA_LIMITS],
					      personality->limit);
	if (!err && tb[SHCA_PA_VENDOR_ERRS])
		err = shca_personality_vendor_errs(info,
						   tb[SHCA_PA_VENDOR_ERRS],
						   personality);
	if (!err)
		shca_personality_normalize(personality);
	return err;
}

int shca_personality_set(struct genl_info *info)
{
	struct shca_net *snet = shca_net_of(genl_info_net(info));
	struct shca_personality *personality;
	int i, err;

	for (i = 1; i <= SHCA_A_MAX; i++) {
		if (!info->attrs[i] || i == SHCA_A_PERSONALITY)
			continue;
		return shca_genl_refuse(info->extack, info->attrs[i], -EINVAL,
					"personality: it is what the next device of this network namespace will be, so a request names no device and nothing else");
	}
	personality = kmalloc(sizeof(*personality), GFP_KERNEL_ACCOUNT);
	if (!personality)
		return -ENOMEM;
	err = shca_personality_parse(info, personality);
	if (!err)
		personality = xchg(&snet->next, personality);
	kfree(personality);
	return err;
}
