// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "attr.h"

#include <linux/module.h>

#include "../base/compat.h"
#include "../base/dev.h"
#include "../ib/ib_link.h"
#include "../mem/odp.h"
#include "../queue/tm.h"
#include "personality_netlink.h"

/* Encode the module's version as `rdma dev` and ibv_devinfo show it. */
static u64 shca_fw_ver(void)
{
	unsigned int major = 0, minor = 0, patch = 0;

	if (THIS_MODULE->version)
		sscanf(THIS_MODULE->version, "%u.%u.%u", &major, &minor,
		       &patch);
	return (u64)major << 32 | minor << 16 | patch;
}

int shca_query_device(struct ib_device *ibdev, struct ib_device_attr *attr,
		      struct ib_udata *udata)
{
	struct shca_dev *dev = to_shca_dev(ibdev);

	/* NULL or empty at registration, depending on the kernel */
	if (udata && (udata->inlen || udata->outlen))
		return -EINVAL;
	memset(attr, 0, sizeof(*attr));
	attr->fw_ver = shca_fw_ver();
	attr->sys_image_guid = ibdev->node_guid;
	attr->max_mr_size = shca_limit(dev, MR_SIZE);
	attr->page_size_cap = PAGE_MASK & shca_limit(dev, PAGE_SIZES);
	attr->vendor_id = shca_limit(dev, VENDOR_ID);
	attr->vendor_part_id = shca_limit(dev, VENDOR_PART_ID);
	attr->hw_ver = SHCA_HW_VER;
	attr->max_qp = shca_limit(dev, QP);
	attr->max_qp_wr = shca_limit(dev, QP_WR);
	attr->device_cap_flags = IB_DEVICE_CURR_QP_STATE_MOD |
				 IB_DEVICE_RC_RNR_NAK_GEN |
				 IB_DEVICE_SYS_IMAGE_GUID |
				 IB_DEVICE_PORT_ACTIVE_EVENT |
				 IB_DEVICE_SRQ_RESIZE |
				 IB_DEVICE_XRC |
				 IB_DEVICE_MANAGED_FLOW_STEERING |
				 IB_DEVICE_FLUSH_GLOBAL |
				 IB_DEVICE_ATOMIC_WRITE |
				 IB_DEVICE_MEM_WINDOW |
				 IB_DEVICE_MEM_WINDOW_TYPE_2B |
				 IB_DEVICE_MEM_MGT_EXTENSIONS;
	attr->kernel_cap_flags = IBK_ALLOW_USER_UNREG | IBK_ON_DEMAND_PAGING;
	shca_odp_caps(&attr->odp_caps);
	attr->max_send_sge = shca_limit(dev, SEND_SGE);
	attr->max_recv_sge = shca_limit(dev, RECV_SGE);
	attr->max_sge_rd = shca_limit(dev, SEND_SGE);
	attr->max_cq = shca_limit(dev, CQ);
	attr->max_cqe = shca_limit(dev, CQE);
	attr->max_mr = shca_limit(dev, MR);
	attr->max_mw = shca_limit(dev, MW);
	attr->max_pd = shca_limit(dev, PD);
	attr->max_qp_rd_atom = shca_limit(dev, RD_ATOM);
	attr->max_qp_init_rd_atom = shca_limit(dev, INIT_RD_ATOM);
	attr->max_res_rd_atom = shca_limit(dev, RD_ATOM) * shca_limit(dev, QP);
	attr->atomic_cap = shca_limit(dev, ATOMIC_CAP);
	attr->max_ah = shca_limit(dev, AH);
	attr->max_srq = shca_limit(dev, SRQ);
	attr->max_srq_wr = attr->max_srq ? shca_limit(dev, SRQ_WR) : 0;
	attr->max_srq_sge = attr->max_srq ? shca_limit(dev, SRQ_SGE) : 0;
	attr->max_pkeys = shca_limit(dev, PKEYS);
	attr->max_mcast_grp = shca_limit(dev, MCAST_GRP);
	attr->max_mcast_qp_attach = shca_limit(dev, MCAST_QP);
	attr->max_total_mcast_qp_attach = shca_limit(dev, MCAST_TOTAL);
	attr->max_fast_reg_page_list_len = shca_limit(dev, FAST_PAGES);
	attr->local_ca_ack_delay = shca_limit(dev, ACK_DELAY);
	/* Completion timestamps are nanoseconds, CLOCK_MONOTONIC_RAW. */
	attr->timestamp_mask = GENMASK_ULL(63, 0);
	attr->hca_core_clock = USEC_PER_SEC;	/* kHz */
	attr->max_dm_size = shca_limit(dev, DM);
	attr->tm_caps = (struct ib_tm_caps){
		.max_rndv_hdr_size = SHCA_TM_RNDV_MAX,
		.max_num_tags = shca_limit(dev, TAGS),
		.flags = IB_TM_CAP_RNDV_RC,
		.max_ops = SHCA_TM_MAX_OPS,
		.max_sge = 1,
	};
	attr->cq_caps.max_cq_moderation_count = U16_MAX;
	attr->cq_caps.max_cq_moderation_period = U16_MAX;
	attr->raw_packet_caps = 0;
	attr->max_wq_type_rq = shca_limit(dev, WQ);
	attr->rss_caps.supported_qpts = BIT(IB_QPT_RAW_PACKET) | BIT(IB_QPT_UD);
	attr->rss_caps.max_rwq_indirection_tables =
		shca_limit(dev, RWQ_TBL);
	attr->rss_caps.max_rwq_indirection_table_size =
		shca_limit(dev, RWQ_TBL_SIZE);
	if (shca_ib_of(dev))
		attr->device_cap_flags |= IB_DEVICE_AUTO_PATH_MIG;
	shca_personality_query(dev, attr);
	ibdev_dbg(&dev->ibdev, "queried\n");
	return 0;
}

void shca_fw_str(struct ib_device *ibdev, char *str)
{
	strscpy(str, THIS_MODULE->version ?: "in-tree", IB_FW_VERSION_NAME_MAX);
}
