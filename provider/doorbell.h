/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The doorbell: makes the kernel read the requests of a QP.
 *
 * It is the only system call of the data path. Only this file knows its form: a
 * method of this driver, or POST_SEND with an empty list on kernels without
 * that method.
 */
#ifndef SOFTHCA_DOORBELL_H
#define SOFTHCA_DOORBELL_H

#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "softhca.h"

/*
 * Prepare the constant command.
 * @number:	number of the QP or WQ
 *
 * Threads share the command, and nobody changes it.
 */
static inline void shca_doorbell_init(union shca_doorbell *doorbell, uint32_t number)
{
	struct ib_uverbs_ioctl_hdr *hdr = &doorbell->hdr;

	memset(doorbell, 0, sizeof(*doorbell));
	hdr->length = sizeof(*doorbell);
	hdr->object_id = SHCA_OBJECT_DOORBELL;
	hdr->method_id = SHCA_METHOD_RING;
	hdr->driver_id = SHCA_DRIVER_ID;
	hdr->num_attrs = 1;
	hdr->attrs[0].attr_id = SHCA_ATTR_RING_QPN;
	hdr->attrs[0].len = sizeof(__u32);
	hdr->attrs[0].flags = UVERBS_ATTR_F_MANDATORY;
	hdr->attrs[0].data = number;
}

/* Return: 0 or an errno. */
static inline int shca_doorbell_write(const struct ibv_qp *ibqp)
{
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

/*
 * Make the kernel read the rings of @qp.
 * Return: 0 or an errno; EIO once the device is gone.
 */
static inline int shca_doorbell_ring(const struct shca_qp *qp)
{
	const struct ibv_qp *ibqp = &qp->vqp.qp;
	const struct shca_context *ctx = to_shca_context(ibqp->context);

	if (unlikely(!(ctx->features & SHCA_FEATURE_DOORBELL)))
		return shca_doorbell_write(ibqp);
	return ioctl(ibqp->context->cmd_fd, RDMA_VERBS_IOCTL, &qp->doorbell) ?
	       errno : 0;
}

/* The same for a WQ, which has no POST_SEND. */
static inline int shca_doorbell_ring_wq(const struct shca_rwq *rwq)
{
	return ioctl(rwq->wq.context->cmd_fd, RDMA_VERBS_IOCTL, &rwq->doorbell) ?
	       errno : 0;
}

/* The device counts a finding of the sanitizer; an older one does not. */
static inline void shca_doorbell_found(const struct ibv_context *ctx, bool hint)
{
	union shca_doorbell doorbell;

	/* The form is the same: one attribute of 32 bits. */
	shca_doorbell_init(&doorbell, hint);
	doorbell.hdr.method_id = SHCA_METHOD_FOUND;
	doorbell.hdr.attrs[0].attr_id = SHCA_ATTR_FOUND_HINT;
	ioctl(ctx->cmd_fd, RDMA_VERBS_IOCTL, &doorbell);
}

#endif
