/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Send requests of kernel consumers, as entries of the ring. */
#ifndef SHCA_WQE_H
#define SHCA_WQE_H

#include "../../uapi/softhca-abi.h"

struct ib_send_wr;
struct shca_qp;

#define SHCA_SEND_FLAGS (SHCA_SEND_FENCE | SHCA_SEND_SIGNALED | \
			 SHCA_SEND_SOLICITED | SHCA_SEND_INLINE)

/*
 * Write requests to the send ring of a kernel consumer's QP.
 * @bad_wr:	the first that was not written, if any
 * Context: any.
 * Return: 0 or errno.
 */
int shca_wqe_post(struct shca_qp *qp, const struct ib_send_wr *wr,
		  const struct ib_send_wr **bad_wr);

#endif
