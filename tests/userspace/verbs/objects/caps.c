// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Prints what a device advertises, one "NAME VALUE" per line.
 * tests/guest/ops/reported.sh compares it with docs/verbs.md. A limit of 0 and a
 * clear flag mean that the device lacks the feature, so they are not printed.
 *
 *	caps DEVICE
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <infiniband/verbs.h>

struct flag {
	unsigned long long bit;
	const char *name;
};

#define FLAG(name) { name, #name }

static const struct flag device_flags[] = {
	FLAG(IBV_DEVICE_RESIZE_MAX_WR), FLAG(IBV_DEVICE_BAD_PKEY_CNTR),
	FLAG(IBV_DEVICE_BAD_QKEY_CNTR), FLAG(IBV_DEVICE_RAW_MULTI),
	FLAG(IBV_DEVICE_AUTO_PATH_MIG), FLAG(IBV_DEVICE_CHANGE_PHY_PORT),
	FLAG(IBV_DEVICE_UD_AV_PORT_ENFORCE), FLAG(IBV_DEVICE_CURR_QP_STATE_MOD),
	FLAG(IBV_DEVICE_SHUTDOWN_PORT), FLAG(IBV_DEVICE_INIT_TYPE),
	FLAG(IBV_DEVICE_PORT_ACTIVE_EVENT), FLAG(IBV_DEVICE_SYS_IMAGE_GUID),
	FLAG(IBV_DEVICE_RC_RNR_NAK_GEN), FLAG(IBV_DEVICE_SRQ_RESIZE),
	FLAG(IBV_DEVICE_N_NOTIFY_CQ), FLAG(IBV_DEVICE_MEM_WINDOW),
	FLAG(IBV_DEVICE_UD_IP_CSUM), FLAG(IBV_DEVICE_XRC),
	FLAG(IBV_DEVICE_MEM_MGT_EXTENSIONS), FLAG(IBV_DEVICE_MEM_WINDOW_TYPE_2A),
	FLAG(IBV_DEVICE_MEM_WINDOW_TYPE_2B), FLAG(IBV_DEVICE_RC_IP_CSUM),
	FLAG(IBV_DEVICE_RAW_IP_CSUM), FLAG(IBV_DEVICE_MANAGED_FLOW_STEERING),
	/* kernel flags that no user header has */
	{ 1ull << 38, "IB_UVERBS_DEVICE_FLUSH_GLOBAL" },
	{ 1ull << 39, "IB_UVERBS_DEVICE_FLUSH_PERSISTENT" },
	{ 1ull << 40, "IB_UVERBS_DEVICE_ATOMIC_WRITE" },
	{ 0 }
};

static const struct flag odp_flags[] = {
	FLAG(IBV_ODP_SUPPORT), FLAG(IBV_ODP_SUPPORT_IMPLICIT), { 0 }
};

static const struct flag odp_ops[] = {
	{ IBV_ODP_SUPPORT_SEND, "SEND" }, { IBV_ODP_SUPPORT_RECV, "RECV" },
	{ IBV_ODP_SUPPORT_WRITE, "WRITE" }, { IBV_ODP_SUPPORT_READ, "READ" },
	{ IBV_ODP_SUPPORT_ATOMIC, "ATOMIC" },
	{ IBV_ODP_SUPPORT_SRQ_RECV, "SRQ_RECV" },
	/* Older headers lack these. */
	{ 1 << 6, "FLUSH" }, { 1 << 7, "ATOMIC_WRITE" }, { 0 }
};

static const struct flag rss_qpts[] = {
	{ 1u << IBV_QPT_RAW_PACKET, "RAW_PACKET" }, { 1u << IBV_QPT_UD, "UD" }, { 0 }
};

static const struct flag rss_functions[] = {
	{ IBV_RX_HASH_FUNC_TOEPLITZ, "TOEPLITZ" }, { 0 }
};

static const struct flag rss_fields[] = {
	{ IBV_RX_HASH_SRC_IPV4, "SRC_IPV4" }, { IBV_RX_HASH_DST_IPV4, "DST_IPV4" },
	{ IBV_RX_HASH_SRC_IPV6, "SRC_IPV6" }, { IBV_RX_HASH_DST_IPV6, "DST_IPV6" },
	{ IBV_RX_HASH_SRC_PORT_TCP, "SRC_PORT_TCP" },
	{ IBV_RX_HASH_DST_PORT_TCP, "DST_PORT_TCP" },
	{ IBV_RX_HASH_SRC_PORT_UDP, "SRC_PORT_UDP" },
	{ IBV_RX_HASH_DST_PORT_UDP, "DST_PORT_UDP" }, { 0 }
};

static const struct flag raw_flags[] = {
	FLAG(IBV_RAW_PACKET_CAP_CVLAN_STRIPPING),
	FLAG(IBV_RAW_PACKET_CAP_SCATTER_FCS), FLAG(IBV_RAW_PACKET_CAP_IP_CSUM),
	FLAG(IBV_RAW_PACKET_CAP_DELAY_DROP), { 0 }
};

static const struct flag port_flags[] = {
	FLAG(IBV_PORT_SM), FLAG(IBV_PORT_CM_SUP), FLAG(IBV_PORT_SNMP_TUNNEL_SUP),
	FLAG(IBV_PORT_REINIT_SUP), FLAG(IBV_PORT_DEVICE_MGMT_SUP),
	FLAG(IBV_PORT_VENDOR_CLASS_SUP), FLAG(IBV_PORT_IP_BASED_GIDS), { 0 }
};

/* Prints the set flags by name; unnamed bits as one number. */
static void print_flags(const char *name, const struct flag *flags,
			unsigned long long value)
{
	for (; flags->name; flags++) {
		if (value & flags->bit)
			printf("%s%s%s yes\n", name, *name ? "." : "",
			       flags->name);
		value &= ~flags->bit;
	}
	if (value)
		printf("%s%sothers %#llx\n", name, *name ? "." : "", value);
}

static void print_limit(const char *name, unsigned long long value)
{
	if (value)
		printf("%s %llu\n", name, value);
}

#define LIMIT(attr, field) print_limit(#field, (attr).field)

static void print_device(const struct ibv_device_attr *attr)
{
	LIMIT(*attr, max_mr_size);
	LIMIT(*attr, max_qp);
	LIMIT(*attr, max_qp_wr);
	LIMIT(*attr, max_sge);
	LIMIT(*attr, max_sge_rd);
	LIMIT(*attr, max_cq);
	LIMIT(*attr, max_cqe);
	LIMIT(*attr, max_mr);
	LIMIT(*attr, max_pd);
	LIMIT(*attr, max_qp_rd_atom);
	LIMIT(*attr, max_ee_rd_atom);
	LIMIT(*attr, max_res_rd_atom);
	LIMIT(*attr, max_qp_init_rd_atom);
	printf("atomic_cap %s\n", attr->atomic_cap == IBV_ATOMIC_GLOB ? "GLOB" :
	       attr->atomic_cap == IBV_ATOMIC_HCA ? "HCA" : "NONE");
	LIMIT(*attr, max_ee);
	LIMIT(*attr, max_rdd);
	LIMIT(*attr, max_mw);
	LIMIT(*attr, max_raw_ipv6_qp);
	LIMIT(*attr, max_raw_ethy_qp);
	LIMIT(*attr, max_mcast_grp);
	LIMIT(*attr, max_mcast_qp_attach);
	LIMIT(*attr, max_total_mcast_qp_attach);
	LIMIT(*attr, max_ah);
	LIMIT(*attr, max_srq);
	LIMIT(*attr, max_srq_wr);
	LIMIT(*attr, max_srq_sge);
	LIMIT(*attr, max_pkeys);
	LIMIT(*attr, local_ca_ack_delay);
	LIMIT(*attr, phys_port_cnt);
}

static void print_extended(const struct ibv_device_attr_ex *attr)
{
	/* The upper half has bits of its own. */
	print_flags("", device_flags, attr->orig_attr.device_cap_flags |
		    (attr->device_cap_flags_ex & ~0xffffffffull));
	print_flags("odp", odp_flags, attr->odp_caps.general_caps);
	print_flags("odp.rc", odp_ops, attr->odp_caps.per_transport_caps.rc_odp_caps);
	print_flags("odp.uc", odp_ops, attr->odp_caps.per_transport_caps.uc_odp_caps);
	print_flags("odp.ud", odp_ops, attr->odp_caps.per_transport_caps.ud_odp_caps);
	print_flags("odp.xrc", odp_ops, attr->xrc_odp_caps);
	print_limit("completion_timestamp_mask_bits",
		    __builtin_popcountll(attr->completion_timestamp_mask));
	LIMIT(*attr, hca_core_clock);
	print_limit("tso.max_tso", attr->tso_caps.max_tso);
	print_flags("rss", rss_qpts, attr->rss_caps.supported_qpts);
	print_flags("rss", rss_functions, attr->rss_caps.rx_hash_function);
	print_flags("rss", rss_fields, attr->rss_caps.rx_hash_fields_mask);
	print_limit("rss.max_rwq_indirection_tables",
		    attr->rss_caps.max_rwq_indirection_tables);
	print_limit("rss.max_rwq_indirection_table_size",
		    attr->rss_caps.max_rwq_indirection_table_size);
	LIMIT(*attr, max_wq_type_rq);
	print_limit("packet_pacing.qp_rate_limit_max",
		    attr->packet_pacing_caps.qp_rate_limit_max);
	print_flags("raw_packet", raw_flags, attr->raw_packet_caps);
	print_limit("tm.max_num_tags", attr->tm_caps.max_num_tags);
	print_limit("tm.max_rndv_hdr_size", attr->tm_caps.max_rndv_hdr_size);
	print_limit("tm.max_ops", attr->tm_caps.max_ops);
	print_limit("tm.max_sge", attr->tm_caps.max_sge);
	if (attr->tm_caps.flags & IBV_TM_CAP_RC)
		printf("tm.IBV_TM_CAP_RC yes\n");
	print_limit("cq_mod.max_cq_count", attr->cq_mod_caps.max_cq_count);
	print_limit("cq_mod.max_cq_period", attr->cq_mod_caps.max_cq_period);
	LIMIT(*attr, max_dm_size);
	print_limit("pci_atomic", attr->pci_atomic_caps.fetch_add |
		    attr->pci_atomic_caps.swap |
		    attr->pci_atomic_caps.compare_swap);
}

int main(int argc, char **argv)
{
	struct ibv_device_attr_ex attr = {};
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *ctx = NULL;
	struct ibv_port_attr port;
	int i;

	for (i = 0; argc == 2 && list && list[i]; i++)
		if (!strcmp(ibv_get_device_name(list[i]), argv[1]))
			ctx = ibv_open_device(list[i]);
	if (!ctx || ibv_query_device_ex(ctx, NULL, &attr) ||
	    ibv_query_port(ctx, 1, &port)) {
		fprintf(stderr, "usage: caps DEVICE\n");
		return EXIT_FAILURE;
	}
	print_device(&attr.orig_attr);
	print_extended(&attr);
	print_flags("", port_flags, port.port_cap_flags);
	print_limit("max_mtu", 128u << port.max_mtu);
	LIMIT(port, max_msg_sz);
	LIMIT(port, gid_tbl_len);
	LIMIT(port, pkey_tbl_len);
	return EXIT_SUCCESS;
}
