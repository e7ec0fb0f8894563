// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Shows defects of the RDMA core, which are not softhca's, one at a time, as an
 * unprivileged process can. Each harms the kernel, so use a guest of its own.
 * README.md describes the effects.
 *
 *   core_defects DEVICE modify_wq	WARNING when the file closes
 *   core_defects DEVICE open_qp	WARNING, with CONFIG_DEBUG_MUTEXES
 *   core_defects DEVICE iwpm_hello	this process hangs for good; needs no device
 *   core_defects DEVICE get_context	a thousand processes are leaked, 8 MiB and more
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <infiniband/verbs.h>
#include <linux/netlink.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/rdma_netlink.h>
#include <rdma/rdma_user_ioctl_cmds.h>

#include "../../../uapi/softhca-abi.h"
#include "util.h"

/*
 * ib_uverbs_ex_modify_wq() looks the WQ up, which locks it. For an invalid
 * state it returns before it releases the WQ.
 */
static int modify_wq(struct ibv_context *ctx)
{
	struct ibv_wq_init_attr init = {
		.wq_type = IBV_WQT_RQ,
		.max_wr = 1,
		.max_sge = 1,
		.pd = ibv_alloc_pd(ctx),
		.cq = ibv_create_cq(ctx, 1, NULL, NULL, 0),
	};
	struct ibv_wq *wq = ibv_create_wq(ctx, &init);
	struct ibv_wq_attr attr = { .attr_mask = IBV_WQ_ATTR_STATE };

	if (!wq) {
		perror("ibv_create_wq");
		return 1;
	}
	attr.wq_state = IBV_WQS_UNKNOWN;
	printf("modify: %s\n", strerror(ibv_modify_wq(wq, &attr)));
	printf("destroy: %s\n", strerror(ibv_destroy_wq(wq)));
	return 0;
}

/* ib_uverbs_open_qp() does not initialise mcast_lock. */
static int open_qp(struct ibv_context *ctx)
{
	struct ibv_xrcd_init_attr domain = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = -1,
		.oflags = O_CREAT,
	};
	struct ibv_qp_init_attr_ex init = {
		.qp_type = IBV_QPT_XRC_RECV,
		.comp_mask = IBV_QP_INIT_ATTR_XRCD,
		.xrcd = ibv_open_xrcd(ctx, &domain),
	};
	struct ibv_qp *qp = init.xrcd ? ibv_create_qp_ex(ctx, &init) : NULL;
	struct ibv_qp_open_attr attr = {
		.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD |
			     IBV_QP_OPEN_ATTR_TYPE,
		.xrcd = init.xrcd,
		.qp_type = IBV_QPT_XRC_RECV,
	};
	union ibv_gid group = { .raw = { 0xff, 0x0e, [15] = 1 } };

	if (!qp) {
		perror("XRC");
		return 1;
	}
	attr.qp_num = qp->qp_num;
	qp = ibv_open_qp(ctx, &attr);
	if (!qp) {
		perror("ibv_open_qp");
		return 1;
	}
	printf("attach: %s\n", strerror(ibv_attach_mcast(qp, &group, 0)));
	return 0;
}

/*
 * Asks iw_cm for a dump of HELLO. The callback answers with a message to the
 * sender's port. The RDMA netlink takes that for a request of the same kind and
 * executes it at once. Then it waits for the lock that it holds.
 */
static int iwpm_hello(void)
{
	struct {
		struct nlmsghdr hdr;
		struct nlattr attr;
		uint32_t version;
	} msg = {
		.hdr = { .nlmsg_len = sizeof(msg),
			 .nlmsg_type = RDMA_NL_GET_TYPE(RDMA_NL_IWCM,
							RDMA_NL_IWPM_HELLO),
			 .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP },
		.attr = { .nla_len = sizeof(msg.attr) + sizeof(msg.version),
			  .nla_type = IWPM_NLA_HELLO_ABI_VERSION },
		.version = 3,
	};
	int fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_RDMA);

	if (fd < 0 || send(fd, &msg, sizeof(msg), 0) < 0) {
		perror("netlink");
		return 1;
	}
	return 0;
}

/* A second context for an open file, as an ioctl. Refused, with EINVAL. */
static int second_context(const struct ibv_context *ctx, uint32_t driver_id)
{
	uint64_t support;
	uint32_t vectors;
	struct {
		struct ib_uverbs_ioctl_hdr hdr;
		struct ib_uverbs_attr attr[2];
	} call = {
		.hdr = { .length = sizeof(call), .object_id = UVERBS_OBJECT_DEVICE,
			 .method_id = UVERBS_METHOD_GET_CONTEXT, .num_attrs = 2,
			 .driver_id = driver_id },
		.attr = {
			{ .attr_id = UVERBS_ATTR_GET_CONTEXT_NUM_COMP_VECTORS,
			  .len = sizeof(vectors), .flags = UVERBS_ATTR_F_MANDATORY,
			  .data = (uintptr_t)&vectors },
			{ .attr_id = UVERBS_ATTR_GET_CONTEXT_CORE_SUPPORT,
			  .len = sizeof(support), .flags = UVERBS_ATTR_F_MANDATORY,
			  .data = (uintptr_t)&support },
		},
	};

	return ioctl(ctx->cmd_fd, RDMA_VERBS_IOCTL, &call) ? errno : 0;
}

/*
 * The handler of GET_CONTEXT frees a context that it does not make. Its record holds a
 * reference to the process that has called, and that is lost.
 */
static int get_context(const char *device)
{
	uint32_t driver_id = strncmp(device, "rxe", 3) ? SHCA_DRIVER_ID : RDMA_DRIVER_RXE;
	int i, status = 0;

	for (i = 0; i < 1000; i++) {
		if (!fork())
			_exit(second_context(device_open(device), driver_id));
		wait(&status);
	}
	printf("second context: %s\n", strerror(WEXITSTATUS(status)));
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[2], "modify_wq"))
		return modify_wq(device_open(argv[1]));
	if (argc == 3 && !strcmp(argv[2], "open_qp"))
		return open_qp(device_open(argv[1]));
	if (argc == 3 && !strcmp(argv[2], "iwpm_hello"))
		return iwpm_hello();
	if (argc == 3 && !strcmp(argv[2], "get_context"))
		return get_context(argv[1]);
	fprintf(stderr, "usage: core_defects DEVICE modify_wq|open_qp|iwpm_hello|get_context\n");
	return 2;
}
