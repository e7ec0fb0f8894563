// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Attributes of an InfiniBand port for the RDMA core. ib/ib_link.h has its state. */
#include "ib_port.h"

#include <rdma/ib_mad.h>

#include "../base/dev.h"
#include "../inject/fault.h"
#include "ib_link.h"
#include "pma.h"

static_assert(sizeof(struct ib_mad) == SHCA_IB_MAD_BYTES);
static_assert(IB_DEVICE_NODE_DESC_MAX == SHCA_IB_DESC_BYTES);

/* Entry 0 is the port's own GUID. */
#define SHCA_IB_GIDS	SHCA_IB_GUIDS
/* Not of the netdev: OpenSM's groups need 10 Gbit/s. */
#define SHCA_IB_SPEED	IB_SPEED_SDR
#define SHCA_IB_WIDTH	IB_WIDTH_4X
#define SHCA_IB_RATE	100	/* product of both, in 100 Mbit/s */

enum rdma_link_layer shca_ib_link_layer(struct ib_device *ibdev, u32 port)
{
	return IB_LINK_LAYER_INFINIBAND;
}

int shca_ib_port_immutable(struct ib_device *ibdev, u32 port,
			   struct ib_port_immutable *immutable)
{
	immutable->core_cap_flags = RDMA_CORE_PORT_IBA_IB;
	immutable->max_mad_size = IB_MGMT_MAD_SIZE;
	immutable->gid_tbl_len = SHCA_IB_GIDS;
	immutable->pkey_tbl_len = shca_limit(to_shca_dev(ibdev), PKEYS);
	return 0;
}

int shca_ib_query_gid(struct ib_device *ibdev, u32 port, int index,
		      union ib_gid *gid)
{
	struct shca_ib_link *link = to_shca_dev(ibdev)->ib;

	if (index < 0 || index >= SHCA_IB_GIDS)
		return -EINVAL;
	/*
	 * The prefix even without a GUID: the RDMA core takes the subnet's prefix from the
	 * last entry.
	 */
	spin_lock_bh(&link->lock);
	gid->global.subnet_prefix = cpu_to_be64(link->sma.gid_prefix);
	gid->global.interface_id = cpu_to_be64(link->sma.guids[index]);
	spin_unlock_bh(&link->lock);
	return 0;
}

/* The minimum of the manager's setting and of what both ends support */
static enum ib_mtu shca_ib_active_mtu(const struct shca_ib_link *link)
{
	u8 mtu = min(link->sma.mtu_cap, link->sma.neighbor_mtu);
	u32 peer = link->phy.peer.mtu;

	if (link->phy.phys == SHCA_IB_PHYS_LINK_UP && peer >= SHCA_IB_MTU_MIN)
		mtu = min_t(u8, mtu, ib_mtu_int_to_enum(peer));
	return mtu;
}

int shca_ib_query_port(struct ib_device *ibdev, u32 port,
		       struct ib_port_attr *attr)
{
	int err = shca_fault_verb(ibdev, SHCA_FAULT_VERB_QUERY_PORT);
	struct shca_ib_link *link = to_shca_dev(ibdev)->ib;

	if (err)
		return err;
	/* The caller has zeroed the other members. */
	shca_ib_lock_tallies(link);
	attr->state = link->sma.state;
	attr->phys_state = link->sma.phys;
	attr->lid = link->sma.lid;
	attr->lmc = link->sma.lmc;
	attr->sm_lid = link->sma.sm_lid;
	attr->sm_sl = link->sma.sm_sl;
	attr->subnet_timeout = link->sma.subnet_timeout;
	attr->port_cap_flags = link->sma.cap_mask;
	attr->max_mtu = link->sma.mtu_cap;
	attr->active_mtu = shca_ib_active_mtu(link);
	attr->bad_pkey_cntr = shca_ib_tally(&link->sma.bad_pkeys);
	attr->qkey_viol_cntr = shca_ib_tally(&link->sma.bad_qkeys);
	spin_unlock_bh(&link->lock);
	attr->gid_tbl_len = SHCA_IB_GIDS;
	attr->max_msg_sz = 1u << 31;
	attr->pkey_tbl_len = shca_limit(to_shca_dev(ibdev), PKEYS);
	attr->max_vl_num = SHCA_IB_VL_CAP;
	attr->active_speed = SHCA_IB_SPEED;
	attr->active_width = SHCA_IB_WIDTH;
	WRITE_ONCE(to_shca_dev(ibdev)->port.mbps, SHCA_IB_RATE * 100);
	return 0;
}

/* ---- management ------------------------------------------------------------- */

int shca_ib_modify_device(struct ib_device *ibdev, int mask,
			  struct ib_device_modify *modify)
{
	if (mask & ~IB_DEVICE_MODIFY_NODE_DESC)
		return -EOPNOTSUPP;
	if (mask)
		shca_ib_describe(to_shca_dev(ibdev), modify->node_desc);
	return 0;
}

/* Consumers report their services: a subnet manager (/dev/infiniband/issm), the CM, SRP. */
#define SHCA_IB_CAPS	(IB_PORT_SM | IB_PORT_CM_SUP | IB_PORT_SNMP_TUNNEL_SUP | \
			 IB_PORT_DEVICE_MGMT_SUP | IB_PORT_VENDOR_CLASS_SUP)

int shca_ib_modify_port(struct ib_device *ibdev, u32 port, int mask,
			struct ib_port_modify *modify)
{
	if (mask || (modify->set_port_cap_mask | modify->clr_port_cap_mask) &
		    ~SHCA_IB_CAPS)
		return -EOPNOTSUPP;
	shca_ib_change_caps(to_shca_dev(ibdev), modify->set_port_cap_mask,
			    modify->clr_port_cap_mask);
	return 0;
}

/* Congestion control, from other ports of the subnet, too: the CC_Key protects it. */
static int shca_ib_process_cong(struct shca_ib_link *link, const struct ib_mad *in,
				struct ib_mad *out)
{
	bool answers;

	/* Answers and traps are for a manager of this machine. */
	if (in->mad_hdr.method & IB_MGMT_METHOD_RESP ||
	    in->mad_hdr.method == IB_MGMT_METHOD_TRAP ||
	    in->mad_hdr.method == IB_MGMT_METHOD_TRAP_REPRESS ||
	    in->mad_hdr.method == IB_MGMT_METHOD_REPORT)
		return IB_MAD_RESULT_SUCCESS;
	*out = *in;
	spin_lock_bh(&link->lock);
	answers = shca_ib_cong_answer(&link->cong, (u8 *)out, ktime_get_ns());
	spin_unlock_bh(&link->lock);
	return IB_MAD_RESULT_SUCCESS |
	       (answers ? IB_MAD_RESULT_REPLY : IB_MAD_RESULT_CONSUMED);
}

int shca_ib_process_mad(struct ib_device *ibdev, int flags, u32 port,
			const struct ib_wc *wc, const struct ib_grh *grh,
			const struct ib_mad *in, struct ib_mad *out,
			size_t *out_size, u16 *out_pkey_index)
{
	u32 what;

	if (in->mad_hdr.mgmt_class == SHCA_IB_CLASS_CONG)
		return shca_ib_process_cong(to_shca_dev(ibdev)->ib, in, out);
	if (in->mad_hdr.mgmt_class != IB_MGMT_CLASS_SUBN_LID_ROUTED &&
	    in->mad_hdr.mgmt_class != IB_MGMT_CLASS_SUBN_DIRECTED_ROUTE)
		/* From other ports of the subnet, too (no @wc) */
		return shca_process_mad(ibdev, flags, port, NULL, grh, in, out,
					out_size, out_pkey_index);
	what = shca_ib_process_smp(to_shca_dev(ibdev), in, out,
				   wc ? wc->slid : 0,
				   flags & IB_MAD_IGNORE_MKEY);
	if (what & SHCA_IB_SMA_REPLY)
		return IB_MAD_RESULT_SUCCESS | IB_MAD_RESULT_REPLY;
	if (what & SHCA_IB_SMA_CONSUMED)
		return IB_MAD_RESULT_SUCCESS | IB_MAD_RESULT_CONSUMED;
	return IB_MAD_RESULT_SUCCESS;
}

#ifdef HAVE_QUERY_PORT_SPEED
int shca_ib_query_port_speed(struct ib_device *ibdev, u32 port, u64 *speed)
{
	*speed = SHCA_IB_RATE;
	return 0;
}
#endif
