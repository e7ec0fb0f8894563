/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The doorbell: tells the kernel that a QP has requests to be looked at.  The
 * only system call of the data path, and the only place that knows how it is
 * made: as the uverbs command POST_SEND with no request in it.
 */
#ifndef SOFTHCA_DOORBELL_H
#define SOFTHCA_DOORBELL_H

#include <errno.h>
#include <unistd.h>

#include "softhca.h"

/**
 * shca_doorbell_ring() - have the kernel look at the rings of @qp
 *
 * Return: 0; else an errno, EIO once the device is gone.
 */
static inline int shca_doorbell_ring(const struct shca_qp *qp)
{
	const struct ibv_qp *ibqp = &qp->vqp.qp;
	struct ib_uverbs_post_send_resp resp;
	struct ibv_post_send cmd = {
		.hdr.command = IB_USER_VERBS_CMD_POST_SEND,
		.hdr.in_words = sizeof(cmd) / 4,
		.hdr.out_words = sizeof(resp) / 4,
		.core_payload.response = (uintptr_t)&resp,
		.core_payload.qp_handle = ibqp->handle,
		.core_payload.wqe_size = sizeof(struct ib_uverbs_send_wr),
	};

	while (write(ibqp->context->cmd_fd, &cmd, sizeof(cmd)) < 0)
		if (errno != EINTR)
			return errno;
	return 0;
}

#endif
