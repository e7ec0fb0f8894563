// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* QPs that a multicast packet is for. */
#include "group.h"

#include <linux/rculist.h>

#include "../link/link.h"
#include "qp.h"

static unsigned int shca_group_give(struct shca_group *group, u16 vlan,
				    void (*fn)(struct shca_qp *qp, u16 vlan,
					       void *arg),
				    void *arg)
{
	struct shca_group_member *member;
	unsigned int nr = 0;

	list_for_each_entry_rcu(member, &group->members, node) {
		if (!refcount_inc_not_zero(&member->qp->ref))
			continue;
		fn(member->qp, vlan, arg);
		shca_qp_put(member->qp);
		nr++;
	}
	return nr;
}

unsigned int shca_group_walk(const struct shca_link_ops *link,
			     struct shca_net *snet, const struct sk_buff *skb,
			     void (*fn)(struct shca_qp *qp, u16 vlan, void *arg),
			     void *arg)
{
	struct shca_group *group;
	struct in6_addr mgid;
	unsigned int nr = 0;
	u16 vlan;

	link->mgid(skb, &mgid);
	rcu_read_lock();
	hlist_for_each_entry_rcu(group, shca_group_chain(snet, &mgid), node)
		if (ipv6_addr_equal(&group->mgid, &mgid) &&
		    group->dev->link == link &&
		    link->arrived_at(group->dev, skb, &vlan))
			nr += shca_group_give(group, vlan, fn, arg);
	rcu_read_unlock();
	return nr;
}
