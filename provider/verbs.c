// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Verbs that only call the kernel: queries, flows, imported regions. No data path. */
#include "softhca.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

int shca_query_device_ex(struct ibv_context *ibctx,
			 const struct ibv_query_device_ex_input *input,
			 struct ibv_device_attr_ex *attr, size_t attr_size)
{
	struct ib_uverbs_ex_query_device_resp resp;
	size_t resp_size = sizeof(resp);
	uint64_t fw_ver;
	int err;

	err = ibv_cmd_query_device_any(ibctx, input, attr, attr_size, &resp,
				       &resp_size);
	if (err)
		return err;
	fw_ver = resp.base.fw_ver;
	snprintf(attr->orig_attr.fw_ver, sizeof(attr->orig_attr.fw_ver),
		 "%u.%u.%u", (unsigned int)(fw_ver >> 32) & 0xffff,
		 (unsigned int)(fw_ver >> 16) & 0xffff,
		 (unsigned int)fw_ver & 0xffff);
	/* The common response does not have these. */
	if (attr_size >= offsetof(struct ibv_device_attr_ex,
				  packet_pacing_caps) +
			 sizeof(attr->packet_pacing_caps) &&
	    !(to_shca_context(ibctx)->features & SHCA_FEATURE_NO_RAW_PACKET)) {
		attr->packet_pacing_caps.qp_rate_limit_min = 1;
		attr->packet_pacing_caps.qp_rate_limit_max = UINT32_MAX;
		attr->packet_pacing_caps.supported_qpts =
			1u << IBV_QPT_RAW_PACKET;
	}
	if (attr_size >= offsetof(struct ibv_device_attr_ex, rss_caps) +
			 sizeof(attr->rss_caps) &&
	    attr->rss_caps.supported_qpts) {
		attr->rss_caps.rx_hash_function = SHCA_RX_HASH_TOEPLITZ;
		attr->rss_caps.rx_hash_fields_mask =
			SHCA_RX_HASH_SRC_IPV4 | SHCA_RX_HASH_DST_IPV4 |
			SHCA_RX_HASH_SRC_IPV6 | SHCA_RX_HASH_DST_IPV6 |
			SHCA_RX_HASH_SRC_PORT_TCP | SHCA_RX_HASH_DST_PORT_TCP |
			SHCA_RX_HASH_SRC_PORT_UDP | SHCA_RX_HASH_DST_PORT_UDP;
	}
	return 0;
}

int shca_query_port(struct ibv_context *ibctx, uint8_t port,
		    struct ibv_port_attr *attr)
{
	struct ibv_query_port cmd;

	return ibv_cmd_query_port(ibctx, port, attr, &cmd, sizeof(cmd));
}

struct ibv_flow *shca_create_flow(struct ibv_qp *qp, struct ibv_flow_attr *attr)
{
	struct ibv_flow *flow = calloc(1, sizeof(*flow));
	int err;

	if (!flow)
		return NULL;
	err = ibv_cmd_create_flow(qp, flow, attr, NULL, 0);
	if (err) {
		free(flow);
		errno = err;
		return NULL;
	}
	return flow;
}

int shca_destroy_flow(struct ibv_flow *flow)
{
	int err = ibv_cmd_destroy_flow(flow);

	if (!err)
		free(flow);
	return err;
}

struct ibv_mr *shca_import_mr(struct ibv_pd *pd, uint32_t handle)
{
	struct verbs_mr *vmr;

	vmr = calloc(1, sizeof(*vmr));
	if (!vmr)
		return NULL;
	if (ibv_cmd_query_mr(pd, vmr, handle)) {
		free(vmr);
		return NULL;
	}
	return &vmr->ibv_mr;
}

void shca_unimport_mr(struct ibv_mr *mr)
{
	free(verbs_get_mr(mr));
}
