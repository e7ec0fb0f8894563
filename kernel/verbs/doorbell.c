// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The doorbell as a method of uverbs' ioctl interface, and a second method, FOUND.
 *
 * A file of our own would cost less per call. But an open file pins the module that has its
 * operations, and this module must be removable while processes use it. uverbs solves that:
 * once the device is disassociated, the file has no handler any more (EIO). Removal waits for
 * calls in progress, each of which is bounded (sq.c).
 *
 * Compared with POST_SEND, the method allocates no memory and writes no response. It finds
 * the QP by its number under RCU, and not by its handle under the locks of uverbs' objects.
 * Therefore destroy_qp may run concurrently. The reference keeps the QP, and shca_sq_run()
 * does nothing for one that is dead.
 */
#include "doorbell.h"

#define UVERBS_MODULE_NAME softhca
#include <rdma/uverbs_named_ioctl.h>

#include "../base/dev.h"
#include "../path/sq.h"
#include "../queue/qp.h"
#include "../queue/qp_table.h"
#include "../../uapi/softhca-abi.h"

static_assert(SHCA_UVERBS_NS == 1 << UVERBS_ID_NS_SHIFT);

static int UVERBS_HANDLER(SHCA_METHOD_RING)(struct uverbs_attr_bundle *attrs)
{
	struct ib_ucontext *uctx = ib_uverbs_get_ucontext(attrs);
	struct shca_qp *qp;
	int err;
	u32 qpn;

	if (IS_ERR(uctx))
		return PTR_ERR(uctx);
	err = uverbs_copy_from(&qpn, attrs, SHCA_ATTR_RING_QPN);
	if (err)
		return err;
	qp = shca_net_find_qp(to_shca_dev(uctx->device)->snet, qpn);
	if (!qp)
		return -EINVAL;
	/* A QP is destroyed before its context, so the address is not another context's. */
	if (qp->uctx == uctx)
		shca_sq_ring(qp);
	else
		err = -EINVAL;
	shca_qp_put(qp);
	return err;
}

/* Statistics: processes report findings, and nobody verifies them. */
static int UVERBS_HANDLER(SHCA_METHOD_FOUND)(struct uverbs_attr_bundle *attrs)
{
	struct ib_ucontext *uctx = ib_uverbs_get_ucontext(attrs);
	struct shca_dev *dev;
	u32 hint;
	int err;

	if (IS_ERR(uctx))
		return PTR_ERR(uctx);
	err = uverbs_copy_from(&hint, attrs, SHCA_ATTR_FOUND_HINT);
	if (err)
		return err;
	if (hint > 1)
		return -EINVAL;
	dev = to_shca_dev(uctx->device);
	atomic_inc(hint ? &dev->lint.hints : &dev->lint.errors);
	return 0;
}

DECLARE_UVERBS_NAMED_METHOD(
	SHCA_METHOD_FOUND,
	UVERBS_ATTR_PTR_IN(SHCA_ATTR_FOUND_HINT, UVERBS_ATTR_TYPE(u32),
			   UA_MANDATORY));

DECLARE_UVERBS_NAMED_METHOD(
	SHCA_METHOD_RING,
	UVERBS_ATTR_PTR_IN(SHCA_ATTR_RING_QPN, UVERBS_ATTR_TYPE(u32),
			   UA_MANDATORY));

DECLARE_UVERBS_GLOBAL_METHODS(SHCA_OBJECT_DOORBELL,
			      &UVERBS_METHOD(SHCA_METHOD_RING),
			      &UVERBS_METHOD(SHCA_METHOD_FOUND));

const struct uapi_definition shca_doorbell_defs[] = {
	UAPI_DEF_CHAIN_OBJ_TREE_NAMED(SHCA_OBJECT_DOORBELL),
	{},
};
