// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Multicast groups of UD (IBTA 10.5, annex A17.4.6): an MGID is an IP multicast address.
 *
 * The host joins a group when the first QP of a device attaches to it. IGMP or MLD informs
 * routers and switches, and the netdev's filter admits the frames. The IP stack then delivers
 * them to the socket on port 4791. Packets that this host sends are looped back to it as to
 * any member. So QPs of one machine reach each other, and an attached QP gets its own
 * messages, as the specification requires.
 *
 * The membership is the netdev's and not a socket's, because a socket may have fewer
 * memberships (igmp_max_memberships) than an adapter has groups. If the device is in a bond
 * or bridge, that one has the IP addresses, so it joins.
 *
 * An InfiniBand port joins nothing: consumers ask the subnet manager for that. The port
 * receives packets of groups to which a QP is attached, and loops its own ones back.
 *
 * Groups are read under RCU and changed under a mutex, inside RTNL where memberships need
 * that. IPoIB detaches its QPs under RTNL, so an InfiniBand port must not take it.
 */
#include "mcast.h"

#include <linux/igmp.h>
#include <linux/inetdevice.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <net/addrconf.h>
#include <net/if_inet6.h>
#include <net/ipv6.h>
#include <rdma/ib_addr.h>

#include "../base/dev.h"
#include "../base/refuse.h"
#include "../inject/fault.h"
#include "../link/link.h"
#include "../queue/group.h"
#include "../queue/qp.h"

/* ---- memberships ---------------------------------------------------------- */

static bool shca_mcast_is_ipv4(const struct shca_group *group)
{
	return ipv6_addr_v4mapped(&group->mgid);
}

/* The netdev that has the addresses of @dev; NULL while it is unregistered */
static struct net_device *shca_mcast_ndev(const struct shca_dev *dev)
{
	struct net_device *ndev = dev->ndev, *upper;

	ASSERT_RTNL();
	while ((upper = netdev_master_upper_dev_get(ndev)) &&
	       !netif_is_l3_master(upper))
		ndev = upper;
	return ndev->reg_state == NETREG_REGISTERED ? ndev : NULL;
}

static void shca_mcast_leave(struct shca_group *group)
{
	struct in_device *in_dev = group->in_dev;
	struct inet6_dev *idev = group->idev;

	group->in_dev = NULL;
	group->idev = NULL;
	if (in_dev) {
		/* A dead in_device has no memberships left. */
		ip_mc_dec_group(in_dev, group->mgid.s6_addr32[3]);
		in_dev_put(in_dev);
	}
	if (idev) {
		/* ipv6_dev_mc_dec() uses the netdev, which may have a new inet6_dev by now. */
		if (__in6_dev_get(idev->dev) == idev)
			ipv6_dev_mc_dec(idev->dev, &group->mgid);
		in6_dev_put(idev);
	}
}

/* Return: 0, also if joining is impossible now; shca_mcast_refresh() tries again. */
static int shca_mcast_join(struct shca_group *group)
{
	struct net_device *ndev;
	int err;

	if (shca_link_has_sm(group->dev->link))
		return 0;
	ndev = shca_mcast_ndev(group->dev);
	if (!ndev)
		return 0;
	if (shca_mcast_is_ipv4(group)) {
		struct in_device *in_dev = __in_dev_get_rtnl(ndev);

		if (!in_dev)
			return 0;
		ip_mc_inc_group(in_dev, group->mgid.s6_addr32[3]);
		in_dev_hold(in_dev);
		group->in_dev = in_dev;
	} else {
		struct inet6_dev *idev = __in6_dev_get(ndev);

		if (!idev)
			return 0;
		err = ipv6_dev_mc_inc(ndev, &group->mgid);
		if (err)
			return err;
		in6_dev_hold(idev);
		group->idev = idev;
	}
	return 0;
}

static bool shca_mcast_is_joined(const struct shca_group *group)
{
	struct net_device *ndev;

	if (shca_link_has_sm(group->dev->link))
		return true;
	ndev = shca_mcast_ndev(group->dev);
	if (!ndev)
		return !group->in_dev && !group->idev;
	if (shca_mcast_is_ipv4(group))
		return group->in_dev == __in_dev_get_rtnl(ndev);
	return group->idev == __in6_dev_get(ndev);
}

void shca_mcast_refresh(struct shca_net *snet)
{
	struct shca_group *group;
	int i;

	ASSERT_RTNL();
	mutex_lock(&snet->groups_lock);
	for (i = 0; i < SHCA_MCAST_CHAINS; i++)
		hlist_for_each_entry(group, &snet->groups[i], node) {
			if (shca_mcast_is_joined(group))
				continue;
			shca_mcast_leave(group);
			/* Without memory, the next change tries again. */
			shca_mcast_join(group);
		}
	mutex_unlock(&snet->groups_lock);
}

/* ---- attach and detach ------------------------------------------------------ */

static void shca_mcast_lock(struct shca_dev *dev)
{
	if (!shca_link_has_sm(dev->link))
		rtnl_lock();
	mutex_lock(&dev->snet->groups_lock);
}

static void shca_mcast_unlock(struct shca_dev *dev)
{
	mutex_unlock(&dev->snet->groups_lock);
	if (!shca_link_has_sm(dev->link))
		rtnl_unlock();
}

static struct shca_group *shca_mcast_find(struct shca_dev *dev,
					  const struct in6_addr *mgid)
{
	struct shca_group *group;

	hlist_for_each_entry(group, shca_group_chain(dev->snet, mgid), node)
		if (group->dev == dev && ipv6_addr_equal(&group->mgid, mgid))
			return group;
	return NULL;
}

static struct shca_group_member *
shca_mcast_find_member(const struct shca_group *group,
		       const struct shca_qp *qp)
{
	struct shca_group_member *member;

	list_for_each_entry(member, &group->members, node)
		if (member->qp == qp)
			return member;
	return NULL;
}

static struct shca_group *shca_mcast_create(struct shca_dev *dev,
					    const struct in6_addr *mgid)
{
	struct shca_group *group;
	int err;

	if (dev->mcast.nr_groups >= shca_limit(dev, MCAST_GRP))
		return ERR_PTR(-ENOMEM);
	group = kzalloc(sizeof(*group), GFP_KERNEL_ACCOUNT);
	if (!group)
		return ERR_PTR(-ENOMEM);
	group->dev = dev;
	group->mgid = *mgid;
	INIT_LIST_HEAD(&group->members);
	err = shca_mcast_join(group);
	if (err) {
		kfree(group);
		return ERR_PTR(err);
	}
	WRITE_ONCE(dev->mcast.nr_groups, dev->mcast.nr_groups + 1);
	return group;
}

static void shca_mcast_remove_if_empty(struct shca_group *group)
{
	if (group->nr_members)
		return;
	hlist_del_rcu(&group->node);
	shca_mcast_leave(group);
	WRITE_ONCE(group->dev->mcast.nr_groups, group->dev->mcast.nr_groups - 1);
	kfree_rcu(group, rcu);
}

static int shca_mcast_attach(struct shca_qp *qp, const struct in6_addr *mgid)
{
	struct shca_group_member *member;
	struct shca_group *group;
	struct shca_dev *dev = qp->dev;

	lockdep_assert_held(&dev->snet->groups_lock);
	group = shca_mcast_find(dev, mgid);
	/* uverbs handles a process that attaches twice by its own list. */
	if (group && shca_mcast_find_member(group, qp))
		return -EEXIST;
	if (dev->mcast.nr_attached >= shca_limit(dev, MCAST_TOTAL) ||
	    (group && group->nr_members >= shca_limit(dev, MCAST_QP)))
		return -ENOMEM;
	member = kzalloc(sizeof(*member), GFP_KERNEL_ACCOUNT);
	if (!member)
		return -ENOMEM;
	member->qp = qp;
	if (group) {
		list_add_tail_rcu(&member->node, &group->members);
	} else {
		group = shca_mcast_create(dev, mgid);
		if (IS_ERR(group)) {
			kfree(member);
			return PTR_ERR(group);
		}
		list_add_tail(&member->node, &group->members);
		hlist_add_head_rcu(&group->node,
				   shca_group_chain(dev->snet, mgid));
	}
	group->nr_members++;
	dev->mcast.nr_attached++;
	return 0;
}

static int shca_mcast_detach(struct shca_qp *qp, const struct in6_addr *mgid)
{
	struct shca_group_member *member;
	struct shca_group *group;

	lockdep_assert_held(&qp->dev->snet->groups_lock);
	group = shca_mcast_find(qp->dev, mgid);
	member = group ? shca_mcast_find_member(group, qp) : NULL;
	if (!member)
		return -EINVAL;
	list_del_rcu(&member->node);
	kfree_rcu(member, rcu);
	group->nr_members--;
	qp->dev->mcast.nr_attached--;
	shca_mcast_remove_if_empty(group);
	return 0;
}

/* The RDMA core has checked that the GID is multicast and the QP UD. */
int shca_attach_mcast(struct ib_qp *ibqp, union ib_gid *mgid, u16 mlid)
{
	struct shca_qp *qp = to_shca_qp(ibqp);
	struct in6_addr addr;
	int err;

	err = shca_fault_verb(ibqp->device, SHCA_FAULT_VERB_ATTACH_MCAST);
	if (err)
		return err;
	memcpy(&addr, mgid, sizeof(addr));
	if (!shca_link_has_sm(qp->link) && !qp->dev->snet->sk6 &&
	    !ipv6_addr_v4mapped(&addr))
		return -EAFNOSUPPORT;
	shca_mcast_lock(qp->dev);
	err = shca_mcast_attach(qp, &addr);
	shca_mcast_unlock(qp->dev);
	return err;
}

int shca_detach_mcast(struct ib_qp *ibqp, union ib_gid *mgid, u16 mlid)
{
	struct shca_qp *qp = to_shca_qp(ibqp);
	struct in6_addr addr;
	int err;

	memcpy(&addr, mgid, sizeof(addr));
	shca_mcast_lock(qp->dev);
	err = shca_mcast_detach(qp, &addr);
	shca_mcast_unlock(qp->dev);
	return err;
}
