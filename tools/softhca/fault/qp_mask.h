/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The attributes that a queue pair must be given on its way to RTS. provoke.c loads
 * libibverbs as it runs, so this calls none of its functions. The tests use it, too
 * (tests/userspace/lib/util.h).
 */
#ifndef QP_MASK_H
#define QP_MASK_H

#include <infiniband/verbs.h>

/* The mask of ibv_modify_qp() to INIT, RTR or RTS; of another state, only the state */
static inline int qp_mask(enum ibv_qp_type type, enum ibv_qp_state to)
{
	int mask = IBV_QP_STATE;

	switch (to) {
	case IBV_QPS_INIT:
		mask |= IBV_QP_PORT;
		if (type != IBV_QPT_RAW_PACKET)
			mask |= IBV_QP_PKEY_INDEX | (type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS);
		break;
	case IBV_QPS_RTR:
		if (type == IBV_QPT_RAW_PACKET || type == IBV_QPT_UD)
			break;
		mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
		if (type == IBV_QPT_RC || type == IBV_QPT_XRC_RECV)
			mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
		break;
	case IBV_QPS_RTS:
		if (type != IBV_QPT_RAW_PACKET)
			mask |= IBV_QP_SQ_PSN;
		if (type == IBV_QPT_RC || type == IBV_QPT_XRC_SEND || type == IBV_QPT_XRC_RECV)
			mask |= IBV_QP_TIMEOUT;
		if (type == IBV_QPT_RC || type == IBV_QPT_XRC_SEND)
			mask |= IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
		break;
	default:
		break;
	}
	return mask;
}

#endif
