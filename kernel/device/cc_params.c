// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Parameters of congestion control in sysfs; see cc_params.h. */
#include "cc_params.h"

#include <linux/kstrtox.h>
#include <linux/sysfs.h>
#include <rdma/ib_sysfs.h>

#include "../base/dev.h"
#include "../core/requester/dcqcn.h"

/* struct shca_cc_param - @off: offset in struct shca_cc_params; @least: @most: its range */
struct shca_cc_param {
	struct ib_port_attribute attr;
	size_t off;
	u32 least;
	u32 most;
};

static u32 *shca_cc_param_of(struct ib_device *ibdev,
			     const struct shca_cc_param *param)
{
	return (void *)&to_shca_dev(ibdev)->cc.params + param->off;
}

static ssize_t shca_cc_show(struct ib_device *ibdev, u32 port,
			    struct ib_port_attribute *attr, char *buf)
{
	const struct shca_cc_param *param =
		container_of(attr, struct shca_cc_param, attr);

	return sysfs_emit(buf, "%u\n",
			  READ_ONCE(*shca_cc_param_of(ibdev, param)));
}

static ssize_t shca_cc_store(struct ib_device *ibdev, u32 port,
			     struct ib_port_attribute *attr, const char *buf,
			     size_t count)
{
	const struct shca_cc_param *param =
		container_of(attr, struct shca_cc_param, attr);
	u32 value;
	int err = kstrtou32(buf, 0, &value);

	if (err)
		return err;
	if (value < param->least || value > param->most)
		return -ERANGE;
	WRITE_ONCE(*shca_cc_param_of(ibdev, param), value);
	return count;
}

#define SHCA_CC_PARAM(name, preset, least_, most_)			\
	static struct shca_cc_param shca_cc_##name = {			\
		.attr = __ATTR(name, 0644, shca_cc_show, shca_cc_store), \
		.off = offsetof(struct shca_cc_params, name),		\
		.least = least_,					\
		.most = most_,						\
	};
SHCA_CC_PARAMS(SHCA_CC_PARAM)
#undef SHCA_CC_PARAM

static struct attribute *shca_cc_attrs[] = {
#define SHCA_CC_PARAM(name, preset, least, most) &shca_cc_##name.attr.attr,
	SHCA_CC_PARAMS(SHCA_CC_PARAM)
#undef SHCA_CC_PARAM
	NULL
};

static const struct attribute_group shca_cc_group = {
	.name = "cc_params",
	.attrs = shca_cc_attrs,
};

const struct attribute_group *shca_port_groups[] = {
	&shca_cc_group,
	NULL
};
