// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Device and context: how libibverbs finds softhca, and its operations. The
 * verbs are in files named after their objects.
 */
#include "softhca.h"
#include "poller.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <infiniband/cmd_ioctl.h>
#include <rdma/ib_user_ioctl_cmds.h>

static void shca_free_context(struct ibv_context *ibctx);

static const struct verbs_context_ops shca_context_ops = {
	.advise_mr = shca_advise_mr,
	.alloc_dm = shca_alloc_dm,
#ifndef LIBIBVERBS_LACKS_DMAH
	.alloc_dmah = shca_alloc_dmah,
#endif
	.alloc_mw = shca_alloc_mw,
	.alloc_null_mr = shca_alloc_null_mr,
	.alloc_parent_domain = shca_alloc_parent_domain,
	.alloc_pd = shca_alloc_pd,
	.alloc_td = shca_alloc_td,
	.attach_mcast = ibv_cmd_attach_mcast,
	.close_xrcd = shca_close_xrcd,
	.bind_mw = shca_bind_mw,
	.cq_event = shca_cq_event,
	.create_ah = shca_create_ah,
	.create_cq = shca_create_cq,
	.create_cq_ex = shca_create_cq_ex,
	.create_flow = shca_create_flow,
	.create_qp = shca_create_qp,
	.create_qp_ex = shca_create_qp_ex,
	.create_rwq_ind_table = shca_create_rwq_ind_table,
	.create_srq = shca_create_srq,
	.create_srq_ex = shca_create_srq_ex,
	.create_wq = shca_create_wq,
#ifndef LIBIBVERBS_LACKS_DMAH
	.dealloc_dmah = shca_dealloc_dmah,
#endif
	.dealloc_mw = shca_dealloc_mw,
	.dealloc_pd = shca_dealloc_pd,
	.dealloc_td = shca_dealloc_td,
	.dereg_mr = shca_dereg_mr,
	.destroy_ah = shca_destroy_ah,
	.destroy_cq = shca_destroy_cq,
	.destroy_flow = shca_destroy_flow,
	.destroy_qp = shca_destroy_qp,
	.destroy_rwq_ind_table = shca_destroy_rwq_ind_table,
	.destroy_srq = shca_destroy_srq,
	.destroy_wq = shca_destroy_wq,
	.detach_mcast = ibv_cmd_detach_mcast,
	.free_context = shca_free_context,
	.free_dm = shca_free_dm,
	.get_srq_num = shca_get_srq_num,
	.import_dm = shca_import_dm,
	.import_mr = shca_import_mr,
	.import_pd = shca_import_pd,
	.modify_cq = shca_modify_cq,
	.modify_qp = shca_modify_qp,
	.modify_qp_rate_limit = shca_modify_qp_rate_limit,
	.modify_srq = shca_modify_srq,
	.modify_wq = shca_modify_wq,
	.open_qp = shca_open_qp,
	.open_xrcd = shca_open_xrcd,
	.poll_cq = shca_poll_cq,
	.post_recv = shca_post_recv,
	.post_send = shca_post_send,
	.post_srq_ops = shca_post_srq_ops,
	.post_srq_recv = shca_post_srq_recv,
	.query_device_ex = shca_query_device_ex,
	.query_ece = shca_query_ece,
	.query_port = shca_query_port,
#ifndef LIBIBVERBS_LACKS_PORT_SPEED
	.query_port_speed = ibv_cmd_query_port_speed,
#endif
	.query_qp = shca_query_qp,
	.query_rt_values = shca_query_rt_values,
	.query_srq = shca_query_srq,
	.reg_dm_mr = shca_reg_dm_mr,
	.reg_dmabuf_mr = shca_reg_dmabuf_mr,
	.reg_mr = shca_reg_mr,
#ifndef LIBIBVERBS_LACKS_DMAH
	.reg_mr_ex = shca_reg_mr_ex,
#endif
	.req_notify_cq = shca_req_notify_cq,
	.resize_cq = shca_resize_cq,
	.rereg_mr = shca_rereg_mr,
	.set_ece = shca_set_ece,
	.unimport_dm = shca_unimport_dm,
	.unimport_mr = shca_unimport_mr,
	.unimport_pd = shca_unimport_pd,
};

/* From rdma-core v57 on, a list of file descriptors comes before resp. */
static int shca_cmd_context(struct verbs_context *vctx,
			    struct shca_cmd_get_context *cmd,
			    struct shca_cmd_get_context_resp *resp)
{
#if IBVERBS_PABI_VERSION >= 57
	return ibv_cmd_get_context(vctx, &cmd->ibv_cmd, sizeof(*cmd), NULL,
				   &resp->ibv_resp, sizeof(*resp));
#else
	return ibv_cmd_get_context(vctx, &cmd->ibv_cmd, sizeof(*cmd),
				   &resp->ibv_resp, sizeof(*resp));
#endif
}

/*
 * Features to request from the kernel. SOFTHCA_DOORBELL=write does not request
 * the doorbell method, so POST_SEND is used, as on kernels without the method:
 * for tests and comparison. With "write" or "each", each post rings.
 */
static uint64_t shca_features(void)
{
	uint64_t features = SHCA_OPS_FEATURES | SHCA_FEATURE_LINT |
			    SHCA_FEATURE_LINT_HINTS;
	const char *doorbell = getenv("SOFTHCA_DOORBELL");

	if (!doorbell || strcmp(doorbell, "write"))
		features |= SHCA_FEATURE_DOORBELL;
	if (!doorbell || (strcmp(doorbell, "write") && strcmp(doorbell, "each")))
		features |= SHCA_FEATURE_DOORBELL_INDEX;
	return features;
}

static struct shca_context *shca_init_context(struct ibv_device *ibdev,
					      int cmd_fd)
{
	struct shca_context *ctx;

	return verbs_init_and_alloc_context(ibdev, cmd_fd, ctx, vctx,
					    SHCA_DRIVER_ID);
}

static void shca_uninit_context(struct shca_context *ctx)
{
	verbs_uninit_context(&ctx->vctx);
	free(ctx);
}

static struct verbs_context *
shca_start_context(struct shca_context *ctx,
		   const struct shca_alloc_ucontext_resp *resp)
{
	struct verbs_context_ops ops = shca_context_ops;
	int err;

	ctx->page_size = sysconf(_SC_PAGESIZE);
	ctx->features = resp->features;
	err = shca_fault_start(&ops);
	if (!err)
		err = shca_lint_start(ctx, &ops);
	if (err) {
		shca_uninit_context(ctx);
		errno = err;
		return NULL;
	}
	verbs_set_ops(&ctx->vctx, &ops);
	shca_ahs_init(&ctx->ahs);
	shca_poller_start(ctx);
	return &ctx->vctx;
}

static struct verbs_context *shca_alloc_context(struct ibv_device *ibdev,
						int cmd_fd, void *private_data)
{
	struct shca_cmd_get_context_resp resp = {};
	struct shca_cmd_get_context cmd = {
		.drv_payload.features = shca_features(),
	};
	struct shca_context *ctx = shca_init_context(ibdev, cmd_fd);

	if (!ctx)
		return NULL;
	if (shca_cmd_context(&ctx->vctx, &cmd, &resp)) {
		shca_uninit_context(ctx);
		return NULL;
	}
	return shca_start_context(ctx, &resp.drv_payload);
}

/* Takes the file of a context that another process, or this one, has opened. */
static struct verbs_context *shca_import_context(struct ibv_device *ibdev,
						 int cmd_fd)
{
	DECLARE_COMMAND_BUFFER(cmd, UVERBS_OBJECT_DEVICE,
			       UVERBS_METHOD_QUERY_CONTEXT, 1);
	struct shca_alloc_ucontext_resp resp = {};
	struct shca_context *ctx = shca_init_context(ibdev, cmd_fd);

	if (!ctx)
		return NULL;
	fill_attr_out_ptr(cmd, SHCA_ATTR_CONTEXT_RESP, &resp);
	if (ibv_cmd_query_context(&ctx->vctx.context, cmd)) {
		shca_uninit_context(ctx);
		return NULL;
	}
	return shca_start_context(ctx, &resp);
}

static void shca_free_context(struct ibv_context *ibctx)
{
	shca_poller_stop(to_shca_context(ibctx));
	shca_lint_stop(to_shca_context(ibctx));
	shca_ahs_uninit(&to_shca_context(ibctx)->ahs);
	shca_uninit_context(to_shca_context(ibctx));
}

static struct verbs_device *shca_alloc_device(struct verbs_sysfs_dev *sysfs_dev)
{
	struct shca_device *dev = calloc(1, sizeof(*dev));

	return dev ? &dev->vdev : NULL;
}

static void shca_uninit_device(struct verbs_device *vdev)
{
	free(container_of(vdev, struct shca_device, vdev));
}

/* Matches by id and not by name: the user chooses the name. */
static const struct verbs_match_ent shca_match_table[] = {
	VERBS_DRIVER_ID(SHCA_DRIVER_ID),
	{},
};

static const struct verbs_device_ops shca_device_ops = {
	.name = "softhca",
	.match_min_abi_version = SHCA_ABI_VERSION,
	.match_max_abi_version = SHCA_ABI_VERSION,
	.match_table = shca_match_table,
	.alloc_device = shca_alloc_device,
	.uninit_device = shca_uninit_device,
	.alloc_context = shca_alloc_context,
	.import_context = shca_import_context,
};

PROVIDER_DRIVER(softhca, shca_device_ops);
