// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The device: its table of operations (the index of this driver), its creation
 * by `rdma link add`, and its removal. There are three ways of removal:
 *
 *   rdma link delete   the RDMA core unregisters and calls dealloc_driver
 *   netdev removed     our notifier queues the same
 *   rmmod              ib_unregister_driver() does it for all devices
 *
 * Each of them disassociates the contexts of all processes
 * (disassociate_ucontext), which destroys their objects. So none of our objects
 * is in use afterwards, and no process can delay the removal. A process that
 * only polls would not notice, so its outstanding requests are flushed; see
 * shca_destroy_qp().
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/etherdevice.h>
#include <linux/if_arp.h>
#include <linux/if_vlan.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/pci.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <net/addrconf.h>
#include <rdma/ib_mad.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_counter.h>
#include <rdma/uverbs_ioctl.h>

#include "../base/compat.h"
#include "../base/netns.h"
#include "../base/trust.h"
#include "../base/udata.h"
#include "../ib/ib_link.h"
#include "../ib/ib_path.h"
#include "../ib/ib_port.h"
#include "../ib/ib_rx.h"
#include "../ib/pma.h"
#include "../inject/fault.h"
#include "../inject/held.h"
#include "../mem/advice.h"
#include "../mem/buf.h"
#include "../mem/dm.h"
#include "../mem/dmabuf.h"
#include "../mem/dmah.h"
#include "../mem/mr.h"
#include "../mem/mw.h"
#include "../mem/odp.h"
#include "../mem/user_mr.h"
#include "../path/rq.h"
#include "../path/sq.h"
#include "../queue/ah.h"
#include "../queue/cq.h"
#include "../queue/last_error.h"
#include "../queue/qp.h"
#include "../queue/srq.h"
#include "../queue/tm.h"
#include "../queue/xrc.h"
#include "../roce/net.h"
#include "../roce/roce.h"
#include "../verbs/doorbell.h"
#include "../verbs/flow.h"
#include "../verbs/import.h"
#include "../verbs/mcast.h"
#include "../verbs/qp_modify.h"
#include "../verbs/qp_verbs.h"
#include "../verbs/wq.h"
#include "../../uapi/softhca-ops.h"
#include "attr.h"
#include "cc_params.h"
#include "device.h"
#include "hw_stats.h"
#include "lo.h"
#include "personality_netlink.h"
#include "port.h"
#include "restrack.h"

static bool shca_pci_parent = SHCA_NAMES_STAY;
module_param_named(pci_parent, shca_pci_parent, bool, 0644);
MODULE_PARM_DESC(pci_parent,
		 "the parent of a new device is the PCI function of its netdev, if it has one; "
		 "before Linux 6.12 and rdma-core 56, udev renames such a device");

static DEFINE_MUTEX(shca_dev_lock);
static LIST_HEAD(shca_dev_list);	/* protected by shca_dev_lock */
static atomic64_t shca_dev_ids;

/* ---- attributes -------------------------------------------------------------- */

static int shca_query_pkey(struct ib_device *ibdev, u32 port, u16 index,
			   u16 *pkey)
{
	if (index >= shca_limit(to_shca_dev(ibdev), PKEYS))
		return -EINVAL;
	*pkey = READ_ONCE(to_shca_dev(ibdev)->pkeys[index]);
	return 0;
}

/* QP1 and rdma_cm use the default partition, so entry 0 is permanent (annex A16.5). */
void shca_dev_set_pkey(struct shca_dev *dev, u32 index, u16 pkey)
{
	if (xchg(&dev->pkeys[index], pkey) != pkey)
		shca_event(&dev->events, IB_EVENT_PKEY_CHANGE);
}

static int shca_port_immutable(struct ib_device *ibdev, u32 port,
			       struct ib_port_immutable *immutable)
{
	immutable->core_cap_flags = RDMA_CORE_PORT_IBA_ROCE_UDP_ENCAP;
	if (!shca_lacks(to_shca_dev(ibdev), RAW_PACKET))
		immutable->core_cap_flags |= RDMA_CORE_PORT_RAW_PACKET;
	immutable->max_mad_size = IB_MGMT_MAD_SIZE;
	immutable->gid_tbl_len = shca_limit(to_shca_dev(ibdev), GIDS);
	immutable->pkey_tbl_len = shca_limit(to_shca_dev(ibdev), PKEYS);
	return 0;
}

static enum rdma_link_layer shca_link_layer(struct ib_device *ibdev, u32 port)
{
	return IB_LINK_LAYER_ETHERNET;
}

/* sysfs attributes of adapters, for ibstat and monitoring */
static ssize_t hca_type_show(struct device *device,
			     struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "softhca\n");
}
static DEVICE_ATTR_RO(hca_type);

static ssize_t hw_rev_show(struct device *device, struct device_attribute *attr,
			   char *buf)
{
	return sysfs_emit(buf, "%x\n", SHCA_HW_VER);
}
static DEVICE_ATTR_RO(hw_rev);

/* The netdev's name, as rdma_rxe has it for scripts */
static ssize_t parent_show(struct device *device, struct device_attribute *attr, char *buf)
{
	struct shca_dev *dev = rdma_device_to_drv_device(device, struct shca_dev, ibdev);

	return sysfs_emit(buf, "%s\n", netdev_name(dev->ndev));
}
static DEVICE_ATTR_RO(parent);

static struct attribute *shca_sysfs_attrs[] = {
	&dev_attr_hca_type.attr,
	&dev_attr_hw_rev.attr,
	&dev_attr_parent.attr,
	NULL
};

static const struct attribute_group shca_sysfs_group = {
	.attrs = shca_sysfs_attrs,
};

/* ---- contexts and protection domains ------------------------------------------ */

/* SHCA_FEATURE_* of the sanitizer that the administrator has switched on */
static u64 shca_lint_features(const struct shca_dev *dev)
{
	switch (READ_ONCE(dev->lint.mode)) {
	case SHCA_LINT_MODE_ON:
		return SHCA_FEATURE_LINT;
	case SHCA_LINT_MODE_HINTS:
		return SHCA_FEATURE_LINT | SHCA_FEATURE_LINT_HINTS;
	default:
		return 0;
	}
}

static int shca_alloc_ucontext(struct ib_ucontext *ibuc, struct ib_udata *udata)
{
	struct shca_ucontext *uctx = container_of(ibuc, struct shca_ucontext,
						  ibuc);
	struct shca_dev *dev = to_shca_dev(ibuc->device);
	struct shca_alloc_ucontext_resp resp;
	struct shca_alloc_ucontext_req req;
	int err;

	err = shca_udata_in(udata, &req, sizeof(req));
	if (err)
		return err;
	if (req.comp_mask)
		return -EINVAL;
	uctx->features = req.features & (SHCA_FEATURE_DOORBELL |
					 SHCA_FEATURE_DOORBELL_INDEX |
					 shca_lint_features(dev) |
					 (SHCA_OPS_FEATURES &
					  ~SHCA_FEATURES_LACKED));
	shca_personality_features(dev, &uctx->features);
	shca_ucontext_resp(uctx, &resp);
	return shca_udata_out(udata, &resp, sizeof(resp));
}

static const struct uapi_definition shca_uverbs_defs[] = {
	UAPI_DEF_CHAIN(shca_doorbell_defs),
	UAPI_DEF_CHAIN(shca_dm_defs),
	UAPI_DEF_CHAIN(shca_import_defs),
	UAPI_DEF_CHAIN(shca_tm_defs),
	{},
};

static void shca_dealloc_ucontext(struct ib_ucontext *uctx)
{
}

/* Permits disassociation. Mappings keep their pages (buf.c); the RDMA core destroys objects. */
static void shca_disassociate_ucontext(struct ib_ucontext *uctx)
{
}

static int shca_alloc_pd(struct ib_pd *pd, struct ib_udata *udata)
{
	struct shca_pd *spd = container_of(pd, struct shca_pd, ibpd);
	int err = shca_fault_verb(pd->device, SHCA_FAULT_VERB_ALLOC_PD);
	struct shca_dev *dev = to_shca_dev(pd->device);

	if (err)
		return err;
	spd->is_user = udata;
	return shca_limit_get(dev, SHCA_LIMIT_PD, spd->is_user) ?
		       0 : -ENOMEM;
}

static int shca_dealloc_pd(struct ib_pd *pd, struct ib_udata *udata)
{
	struct shca_pd *spd = container_of(pd, struct shca_pd, ibpd);

	shca_limit_put(to_shca_dev(pd->device), SHCA_LIMIT_PD, spd->is_user);
	return 0;
}

/* ---- lifetime -------------------------------------------------------------------- */

/* All objects are destroyed before the device. A count that is left is a leak in an error path. */
static void shca_dev_check_counts(const struct shca_dev *dev)
{
	int i;

	for (i = 0; i < SHCA_LIMIT_NR; i++)
		WARN_ONCE(atomic_read(&dev->nr[i]), "count %d of a device: %d", i,
			  atomic_read(&dev->nr[i]));
}

/* The end of a device, called by ib_dealloc_device(), or by the RDMA core after unregistration. */
static void shca_dealloc_driver(struct ib_device *ibdev)
{
	struct shca_dev *dev = to_shca_dev(ibdev);
	struct shca_trust *trust;

	mutex_lock(&shca_dev_lock);
	list_del_init(&dev->node);
	mutex_unlock(&shca_dev_lock);
	shca_dev_check_counts(dev);
	shca_lo_exit_dev(dev);
	shca_fault_stop_dev(dev);
	if (shca_personality_has_manners(&dev->personality))
		static_branch_dec(&shca_manners_on);
	shca_fault_del(dev, 0, NULL, 0);
	if (dev->snet) {
		rhashtable_destroy(&dev->mrs);
		shca_net_put(dev->snet, !dev->ib);
	}
	shca_pma_exit(dev);
	if (shca_ib_of(dev))
		shca_ib_exit_dev(dev);
	xa_destroy(&dev->ahs.table);
	xa_destroy(&dev->xrc_srqs.table);
	shca_flow_exit_dev(dev);
	shca_counters_exit(dev);
	kfree(dev->history);
	put_device(ibdev->dev.parent);
	dev_put(dev->ndev);
	/* Requests that have found a QP of this device may still read it. They do not sleep. */
	trust = rcu_replace_pointer(dev->trust, NULL, true);
	if (trust)
		kfree_rcu(trust, rcu);
}

static const struct ib_device_ops shca_dev_ops = {
	.owner = THIS_MODULE,
	.driver_id = (enum rdma_driver_id)SHCA_DRIVER_ID,
	.uverbs_abi_ver = SHCA_ABI_VERSION,

	.advise_mr = shca_advise_mr,
	.alloc_dm = shca_alloc_dm,
	.alloc_hw_port_stats = shca_alloc_hw_port_stats,
	.alloc_mr = shca_alloc_mr,
	.alloc_mw = shca_alloc_mw,
	.alloc_pd = shca_alloc_pd,
	.alloc_ucontext = shca_alloc_ucontext,
	.alloc_xrcd = shca_alloc_xrcd,
	.attach_mcast = shca_attach_mcast,
	.counter_alloc_stats = shca_counter_alloc_stats,
	.counter_bind_qp = shca_counter_bind_qp,
	.counter_dealloc = shca_counter_dealloc,
	.counter_unbind_qp = shca_counter_unbind_qp,
	.counter_update_stats = shca_counter_update_stats,
	.create_ah = shca_create_ah,
	.create_cq = shca_create_cq,
	.create_flow = shca_create_flow,
	.create_qp = shca_create_qp,
	.create_rwq_ind_table = shca_create_rwq_ind_table,
	.create_srq = shca_create_srq,
	.create_user_ah = shca_create_ah,
	.create_wq = shca_create_wq,
	.dealloc_dm = shca_dealloc_dm,
	.dealloc_driver = shca_dealloc_driver,
	.dealloc_mw = shca_dealloc_mw,
	.dealloc_pd = shca_dealloc_pd,
	.dealloc_ucontext = shca_dealloc_ucontext,
	.dealloc_xrcd = shca_dealloc_xrcd,
	.dereg_mr = shca_dereg_mr,
	.destroy_ah = shca_destroy_ah,
	.destroy_cq = shca_destroy_cq,
	.destroy_flow = shca_destroy_flow,
	.destroy_qp = shca_destroy_qp,
	.destroy_rwq_ind_table = shca_destroy_rwq_ind_table,
	.destroy_srq = shca_destroy_srq,
	.destroy_wq = shca_destroy_wq,
	.detach_mcast = shca_detach_mcast,
	.device_group = &shca_sysfs_group,
	.disassociate_ucontext = shca_disassociate_ucontext,
	.get_dev_fw_str = shca_fw_str,
	.get_dma_mr = shca_get_dma_mr,
	.fill_res_cq_entry = shca_fill_res_cq_entry,
	.fill_res_cq_entry_raw = shca_fill_res_cq_entry_raw,
	.fill_res_mr_entry = shca_fill_res_mr_entry,
	.fill_res_mr_entry_raw = shca_fill_res_mr_entry_raw,
	.fill_res_qp_entry = shca_fill_res_qp_entry,
	.fill_res_qp_entry_raw = shca_fill_res_qp_entry_raw,
#ifdef HAVE_FILL_RES_SRQ_ENTRY
	.fill_res_srq_entry = shca_fill_res_srq_entry,
	.fill_res_srq_entry_raw = shca_fill_res_srq_entry_raw,
#endif
	.get_hw_stats = shca_get_hw_stats,
	.get_link_layer = shca_link_layer,
	.get_port_immutable = shca_port_immutable,
	.map_mr_sg = shca_map_mr_sg,
	.mmap = shca_mmap,
	.mmap_free = shca_mmap_free,
	.modify_ah = shca_modify_ah,
	.modify_cq = shca_modify_cq,
	.modify_hw_stat = shca_modify_hw_stat,
	.modify_qp = shca_modify_qp,
	.modify_srq = shca_modify_srq,
	.modify_wq = shca_modify_wq,
	.port_groups = shca_port_groups,
	.poll_cq = shca_poll_cq,
	.post_recv = shca_post_recv,
	.post_send = shca_post_send,
	.post_srq_recv = shca_post_srq_recv,
	.process_mad = shca_process_mad,
	.query_ah = shca_query_ah,
	.query_device = shca_query_device,
	.query_pkey = shca_query_pkey,
	.query_port = shca_query_port,
	.query_qp = shca_query_qp,
	.query_srq = shca_query_srq,
	.query_ucontext = shca_query_ucontext,
	.reg_dm_mr = shca_reg_dm_mr,
	.reg_user_mr = shca_reg_user_mr,
	.reg_user_mr_dmabuf = shca_reg_user_mr_dmabuf,
	.req_notify_cq = shca_req_notify_cq,
	.resize_user_cq = shca_resize_cq,
	.rereg_user_mr = shca_rereg_user_mr,

	INIT_RDMA_OBJ_SIZE(ib_ah, shca_ah, ibah),
	INIT_RDMA_OBJ_SIZE(ib_cq, shca_cq, ibcq),
	INIT_RDMA_OBJ_SIZE(ib_mw, shca_mw, ibmw),
	INIT_RDMA_OBJ_SIZE(ib_pd, shca_pd, ibpd),
	INIT_RDMA_OBJ_SIZE(ib_qp, shca_ibqp, ibqp),
	INIT_RDMA_OBJ_SIZE(ib_rwq_ind_table, shca_rwq_table, ibtbl),
	INIT_RDMA_OBJ_SIZE(ib_srq, shca_srq, ibsrq),
	INIT_RDMA_OBJ_SIZE(ib_ucontext, shca_ucontext, ibuc),
	INIT_RDMA_OBJ_SIZE(ib_xrcd, shca_xrcd, ibxrcd),
#ifdef HAVE_ALLOC_DMAH
	/* the RDMA core's struct only */
	.size_ib_dmah = sizeof(struct ib_dmah),
	.alloc_dmah = shca_alloc_dmah,
	.dealloc_dmah = shca_dealloc_dmah,
#endif
#ifdef HAVE_QUERY_PORT_SPEED
	.query_port_speed = shca_query_port_speed,
#endif
#ifdef HAVE_SIZE_RDMA_COUNTER
	.counter_init = shca_counter_init,
	.size_rdma_counter = sizeof(struct rdma_counter),
#endif
};

/* Operations of an InfiniBand port. The first table that has an operation wins. */
static const struct ib_device_ops shca_ib_dev_ops = {
	.get_link_layer = shca_ib_link_layer,
	.get_port_immutable = shca_ib_port_immutable,
	.modify_device = shca_ib_modify_device,
	.modify_port = shca_ib_modify_port,
	.process_mad = shca_ib_process_mad,
	.query_gid = shca_ib_query_gid,
	.query_port = shca_ib_query_port,
#ifdef HAVE_QUERY_PORT_SPEED
	.query_port_speed = shca_ib_query_port_speed,
#endif
};

/* An InfiniBand port needs a peer at the other end of the cable, and a minimum MTU. */
static int shca_check_ib_netdev(const char *name, struct net_device *ndev)
{
	u32 mtu = READ_ONCE(ndev->mtu);

	if (ndev->type != ARPHRD_ETHER) {
		pr_err_ratelimited("%s: cannot use netdev %s: %s\n", name, ndev->name,
				   ndev->type == ARPHRD_LOOPBACK ?
				   "a loopback device has no other end" :
				   "it is not an Ethernet device");
		return -EINVAL;
	}
	if (shca_ib_mtu(mtu))
		return 0;
	pr_err_ratelimited("%s: cannot use netdev %s: its MTU is %u, and the smallest InfiniBand MTU, 256, takes %u\n",
			   name, ndev->name, mtu,
			   shca_ib_frame_mtu(SHCA_IB_MTU_MIN));
	return -EINVAL;
}

/* The RDMA core passes no extack, so the reason goes to the log. */
static int shca_check_netdev(const char *name, struct net_device *ndev)
{
	const char *why = NULL;

	if (is_vlan_dev(ndev))
		why = "it is a VLAN device; attach to its parent, whose VLANs' addresses become GIDs";
	else if (ndev->type != ARPHRD_ETHER && ndev->type != ARPHRD_LOOPBACK &&
		 ndev->type != ARPHRD_NONE)
		why = "it is not an Ethernet device, nor one of bare IP packets";
	if (!why)
		return 0;
	pr_err_ratelimited("%s: cannot use netdev %s: %s\n", name, ndev->name,
			   why);
	return -EINVAL;
}

/* A second port of a netdev would have the same GUID, and receive its own hellos. */
static bool shca_dev_has_twin(const struct shca_dev *dev)
{
	const struct shca_dev *other;

	lockdep_assert_held(&shca_dev_lock);
	list_for_each_entry(other, &shca_dev_list, node)
		if (dev->ib && other->ib && other->ndev == dev->ndev)
			return true;
	return false;
}

/*
 * Is the netdev still in @dev's namespace? Another namespace cannot end before the device
 * does, and nothing would remove the device then.
 */
static bool shca_dev_has_netdev(const struct shca_dev *dev)
{
	ASSERT_RTNL();
	return dev->ndev->reg_state == NETREG_REGISTERED &&
	       net_eq(dev_net(dev->ndev), dev->snet->net);
}

/* With RTNL, neither NETDEV_UNREGISTER nor a move is missed from here on. */
static int shca_dev_publish(struct shca_dev *dev)
{
	int err = 0;

	rtnl_lock();
	mutex_lock(&shca_dev_lock);
	if (!shca_dev_has_netdev(dev))
		err = -ENODEV;
	else if (shca_dev_has_twin(dev))
		err = -EBUSY;
	else
		list_add_tail(&dev->node, &shca_dev_list);
	mutex_unlock(&shca_dev_lock);
	rtnl_unlock();
	return err;
}

/*
 * From the MAC address of the netdev. A RoCE device may be on the same netdev, and management
 * finds a port by its GUID. So an InfiniBand device has another GUID: with the FF-FF of
 * IEEE's old mapping, which is out of use, instead of FF-FE.
 */
static __be64 shca_dev_guid(const struct shca_dev *dev)
{
	u8 mac[ETH_ALEN];
	__be64 guid;

	/* Netdevs of bare IP packets (tun, WireGuard) have no MAC address. */
	if (dev->ndev->type == ARPHRD_NONE)
		eth_random_addr(mac);
	else
		ether_addr_copy(mac, dev->ndev->dev_addr);
	addrconf_addr_eui48((u8 *)&guid, mac);
	if (shca_link_has_sm(dev->link))
		((u8 *)&guid)[4] = 0xff;
	return guid;
}

static void shca_dev_init_attrs(struct shca_dev *dev)
{
	struct ib_device *ibdev = &dev->ibdev;

	strscpy(ibdev->node_desc, "softhca", sizeof(ibdev->node_desc));
	ibdev->node_type = RDMA_NODE_IB_CA;
	ibdev->phys_port_cnt = 1;
	ibdev->num_comp_vectors = min_t(u64, num_possible_cpus(),
					shca_limit(dev, VECTORS));
	ibdev->node_guid = shca_dev_guid(dev);
	ibdev->driver_def = shca_uverbs_defs;
	/* The doorbell of older providers */
	ibdev->uverbs_cmd_mask |= BIT_ULL(IB_USER_VERBS_CMD_POST_SEND);
	if (shca_link_has_sm(dev->link))
		ib_set_device_ops(ibdev, &shca_ib_dev_ops);
	ib_set_device_ops(ibdev, &shca_dev_ops);
	shca_personality_prune(&dev->personality, &ibdev->ops);
}

/*
 * If the netdev has gone during registration, nothing else unregisters the device. But a
 * registered device may have been removed and freed, so @dev is only used if it is still in
 * the list, and with a reference.
 */
static int shca_dev_check_gone(struct shca_dev *dev)
{
	struct shca_dev *it, *found = NULL;
	bool gone = false;

	rtnl_lock();
	mutex_lock(&shca_dev_lock);
	list_for_each_entry(it, &shca_dev_list, node) {
		if (it == dev && ib_device_try_get(&it->ibdev)) {
			found = it;
			gone = it->gone;
			break;
		}
	}
	mutex_unlock(&shca_dev_lock);
	if (found && !gone)
		shca_port_update(found);
	rtnl_unlock();
	if (!found)
		return 0;	/* already removed */
	if (!gone) {
		ib_device_put(&found->ibdev);
		return 0;
	}
	/*
	 * In a work item, because it waits for processes that have opened the device already,
	 * and the RDMA core's lock of all link types is held here.
	 */
	ib_unregister_device_queued(&found->ibdev);
	ib_device_put(&found->ibdev);
	return -ENODEV;
}

/*
 * Programs look for an adapter's place in the machine at the parent of its device, and take PCI
 * functions only: not the virtio device between a function and its netdev. A netdev that is registered,
 * which RTNL keeps so, has a reference of its parent, and that of its own.
 *
 * Return: the function, with a reference; NULL: none, as of a veth.
 */
static struct device *shca_pci_function(const struct net_device *ndev)
{
	struct device *found = NULL;

	rtnl_lock();
	if (READ_ONCE(shca_pci_parent) && ndev->reg_state == NETREG_REGISTERED)
		found = ndev->dev.parent;
	while (found && !dev_is_pci(found))
		found = found->parent;
	get_device(found);
	rtnl_unlock();
	return found;
}

static struct shca_dev *shca_dev_make(struct net_device *ndev,
				      const struct shca_link_ops *link,
				      const struct shca_personality *personality)
{
	bool ib = shca_link_has_sm(link);
	struct shca_dev *dev;
	struct shca_net *snet;
	int err;

	dev = ib_alloc_device(shca_dev, ibdev);
	if (!dev)
		return ERR_PTR(-ENOMEM);
	dev->personality = *personality;
	/* Only RoCE devices on Ethernet netdevs or `lo` have Ethernet frames. */
	if (ib || ndev->type == ARPHRD_NONE)
		dev->personality.lacks |= BIT_ULL(SHCA_LACK_RAW_PACKET) |
					  BIT_ULL(SHCA_LACK_FLOW);
	if (shca_personality_has_manners(personality))
		static_branch_inc(&shca_manners_on);
	INIT_LIST_HEAD(&dev->node);
	xa_init_flags(&dev->stats.bound, XA_FLAGS_ALLOC1);
	xa_init_flags(&dev->xrc_srqs.table, XA_FLAGS_ALLOC1 | XA_FLAGS_ACCOUNT);
	/*
	 * Until shca_dealloc_driver(). The RDMA core has a reference, too, and drops it before it removes
	 * the device from sysfs. So who removes a PCI function waits in unregister_netdev() until
	 * nothing is below it.
	 */
	dev_hold(ndev);
	dev->ndev = ndev;
	dev->ibdev.dev.parent = shca_pci_function(ndev);
	dev->link = link;
	dev->id = atomic64_inc_return(&shca_dev_ids);
	dev->pkeys[0] = IB_DEFAULT_PKEY_FULL;
	dev->resv8a = SHCA_RESV8A_AUTO;
	dev->cc.mode = SHCA_CC_MODE_AUTO;
	dev->cc.algo = SHCA_CC_ALGO_WINDOW;
	dev->cc.params = shca_cc_presets;
	shca_dev_init_attrs(dev);
	shca_ah_table_init(dev);
	shca_flow_init_dev(dev);
	shca_fault_init_dev(dev);
	shca_port_init(dev);
	shca_lo_init_dev(dev);
	ib_mark_name_assigned_by_user(&dev->ibdev);
	err = -ENOMEM;
	if (shca_counters_init(dev) || shca_history_init(dev) ||
	    (ib && shca_ib_init_dev(dev, shca_ib_rcv)))
		goto err_dealloc;
	shca_pma_init(dev);
	snet = shca_net_get(dev_net(ndev), !ib);
	if (IS_ERR(snet)) {
		err = PTR_ERR(snet);
		goto err_dealloc;
	}
	err = shca_mr_table_init(dev);
	if (err) {
		shca_net_put(snet, !ib);
		goto err_dealloc;
	}
	dev->snet = snet;
	err = shca_dev_publish(dev);
	if (err)
		goto err_dealloc;
	err = ib_device_set_netdev(&dev->ibdev, ndev, 1);
	if (err)
		goto err_dealloc;
	return dev;

err_dealloc:
	ib_dealloc_device(&dev->ibdev);	/* shca_dealloc_driver() */
	return ERR_PTR(err);
}

static int shca_dev_register(struct shca_dev *dev, const char *name)
{
	int err = ib_register_device(&dev->ibdev, name, NULL);

	if (err == -ENFILE) {	/* for a name in use */
		err = -EEXIST;
		pr_err_ratelimited("%s: the name is in use by another RDMA device, maybe in another network namespace\n",
				   name);
	}
	if (err) {
		ib_dealloc_device(&dev->ibdev);	/* shca_dealloc_driver() */
		return err;
	}
	return shca_dev_check_gone(dev);
}

static int shca_dev_new(const char *name, struct net_device *ndev,
			const struct shca_link_ops *link)
{
	int err = shca_check_netdev(name, ndev);
	struct shca_personality *next;
	struct shca_dev *dev;

	if (err)
		return err;
	next = xchg(&shca_net_of(dev_net(ndev))->next, NULL);
	dev = shca_dev_make(ndev, link, next ?: &shca_native);
	kfree(next);
	if (PTR_ERR_OR_ZERO(dev) == -EBUSY)
		pr_err_ratelimited("%s: cannot use netdev %s: it has an InfiniBand port already\n",
				   name, ndev->name);
	return IS_ERR(dev) ? PTR_ERR(dev) : shca_dev_register(dev, name);
}

int shca_newlink(const char *name, struct net_device *ndev)
{
	return shca_dev_new(name, ndev, &shca_roce_ops);
}

int shca_newlink_ib(const char *name, struct net_device *ndev)
{
	int err;

	if (!IS_ENABLED(CONFIG_SOFTHCA_IB))
		return -EOPNOTSUPP;
	err = shca_check_netdev(name, ndev) ?: shca_check_ib_netdev(name, ndev);
	return err ?: shca_dev_new(name, ndev, &shca_ib_ops);
}

/* ---- finding devices -------------------------------------------------------------- */

struct shca_dev *shca_dev_find(const char *name)
{
	struct shca_dev *dev, *found = NULL;

	mutex_lock(&shca_dev_lock);
	list_for_each_entry(dev, &shca_dev_list, node) {
		/*
		 * Not dev_name(): a rename frees that string. Newer RDMA cores have no
		 * look-up by name.
		 */
		if (!strncmp(dev->ibdev.name, name, sizeof(dev->ibdev.name)) &&
		    ib_device_try_get(&dev->ibdev)) {
			found = dev;
			break;
		}
	}
	mutex_unlock(&shca_dev_lock);
	return found;
}

const char *shca_dev_name_of(u64 id, struct net *net)
{
	struct shca_dev *dev;

	lockdep_assert_held(&shca_dev_lock);
	list_for_each_entry(dev, &shca_dev_list, node)
		if (dev->id == id &&
		    (!net || rdma_dev_access_netns(&dev->ibdev, net)))
			return dev->ibdev.name;
	return NULL;
}

int shca_dev_walk(int start, int (*fn)(struct shca_dev *dev, int idx, void *arg),
		  void *arg)
{
	struct shca_dev *dev;
	int idx = 0, err = 0;

	mutex_lock(&shca_dev_lock);
	list_for_each_entry(dev, &shca_dev_list, node) {
		if (idx++ < start || !ib_device_try_get(&dev->ibdev))
			continue;
		err = fn(dev, idx - 1, arg);
		ib_device_put(&dev->ibdev);
		if (err)
			break;
	}
	mutex_unlock(&shca_dev_lock);
	return err;
}

/* ---- netdev events ------------------------------------------------------------------ */

static void shca_netdev_event(struct shca_dev *dev, unsigned long event)
{
	lockdep_assert_held(&shca_dev_lock);
	if (!ib_device_try_get(&dev->ibdev)) {
		/* not registered yet, unregistered, or between two namespaces */
		if (event == NETDEV_UNREGISTER)
			dev->gone = true;
		return;
	}
	switch (event) {
	case NETDEV_UNREGISTER:
		ib_unregister_device_queued(&dev->ibdev);
		break;
	case NETDEV_UP:
	case NETDEV_DOWN:
	case NETDEV_CHANGE:
	case NETDEV_CHANGEMTU:	/* a too small MTU takes the port down */
		shca_port_update(dev);
		break;
	}
	ib_device_put(&dev->ibdev);
}

static int shca_netdev_notify(struct notifier_block *nb, unsigned long event,
			      void *arg)
{
	struct net_device *ndev = netdev_notifier_info_to_dev(arg);
	struct shca_dev *dev;

	mutex_lock(&shca_dev_lock);
	list_for_each_entry(dev, &shca_dev_list, node)
		if (dev->ndev == ndev)
			shca_netdev_event(dev, event);
	mutex_unlock(&shca_dev_lock);
	switch (event) {
	case NETDEV_UNREGISTER:
	case NETDEV_UP:
	case NETDEV_CHANGEMTU:	/* a netdev with a small MTU has no IPv6 */
	case NETDEV_CHANGEUPPER:
		shca_mcast_refresh(shca_net_of(dev_net(ndev)));
		break;
	}
	return NOTIFY_DONE;
}

static struct notifier_block shca_netdev_nb = {
	.notifier_call = shca_netdev_notify,
};

/* ---- device removal ------------------------------------------------------- */

/*
 * The netdev may have gone or changed while the device was disabled to move to another RDMA
 * namespace; the notifier has noted only the former. RTNL nests in the RDMA core's locks, as
 * in IPoIB's client.
 */
static void shca_client_catch_up(struct shca_dev *dev)
{
	rtnl_lock();
	mutex_lock(&shca_dev_lock);
	/* The work of the RDMA core waits for the return of this call. */
	if (dev->gone)
		ib_unregister_device_queued(&dev->ibdev);
	else
		shca_port_update(dev);
	mutex_unlock(&shca_dev_lock);
	rtnl_unlock();
}

/*
 * A client of our own devices. A device is taken from clients in the reverse order of their
 * registration. ib_uverbs, on which this module depends, has registered before. So this
 * client is called before objects of processes are destroyed.
 */
static int shca_client_add(struct ib_device *ibdev)
{
	if (ibdev->ops.dealloc_driver != shca_dealloc_driver)
		return -EOPNOTSUPP;	/* another driver's: no error */
	/* A device may also come back in another network namespace. */
	WRITE_ONCE(to_shca_dev(ibdev)->removing, false);
	shca_fault_start_dev(to_shca_dev(ibdev));
	/* Report earlier events, too, perhaps of another namespace. */
	shca_events_start(&to_shca_dev(ibdev)->events);
	if (shca_ib_of(to_shca_dev(ibdev)))
		shca_ib_start(to_shca_dev(ibdev));
	shca_client_catch_up(to_shca_dev(ibdev));
	return 0;
}

static void shca_client_remove(struct ib_device *ibdev, void *data)
{
	WRITE_ONCE(to_shca_dev(ibdev)->removing, true);
	shca_fault_stop_dev(to_shca_dev(ibdev));
	if (shca_ib_of(to_shca_dev(ibdev)))
		shca_ib_stop(to_shca_dev(ibdev));
	/* Consumers still exist for the last events. */
	shca_events_stop(&to_shca_dev(ibdev)->events, true);
}

static struct ib_client shca_client = {
	.name = KBUILD_MODNAME,
	.add = shca_client_add,
	.remove = shca_client_remove,
};

int shca_dev_init(void)
{
	int err;

	err = ib_register_client(&shca_client);
	if (err)
		return err;
	err = register_netdevice_notifier(&shca_netdev_nb);
	if (err)
		ib_unregister_client(&shca_client);
	return err;
}

void shca_dev_exit(void)
{
	unregister_netdevice_notifier(&shca_netdev_nb);
	ib_unregister_client(&shca_client);
}
