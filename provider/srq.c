// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Shared receive queues. The status page has the offset and the length of the
 * ring. A resize replaces the ring, and holds off posting meanwhile.
 */
#include "softhca.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <infiniband/cmd_ioctl.h>
#include <rdma/ib_user_ioctl_cmds.h>

#include "ring.h"

/* Maps the ring that the status page names. Return: 0 or an errno. */
static int shca_srq_map_ring(struct shca_srq *srq, int fd)
{
	uint64_t len = srq->status->ring_len;
	void *region;

	region = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		      srq->status->ring_off);
	if (region == MAP_FAILED)
		return errno;
	srq->index = region;
	srq->region_len = len;
	srq->wq.slots = (uint8_t *)region + srq->start;
	srq->wq.mask = srq->status->entries - 1;
	return 0;
}

static int shca_srq_map(struct shca_srq *srq, struct ibv_context *ibctx,
			const struct shca_create_srq_resp *resp)
{
	size_t page_size = to_shca_context(ibctx)->page_size;
	void *status;
	int err;

	status = mmap(NULL, page_size, PROT_READ, MAP_SHARED, ibctx->cmd_fd,
		      resp->status_off);
	if (status == MAP_FAILED)
		return errno;
	srq->status = status;
	srq->start = resp->start;
	srq->wq.stride = resp->stride;
	srq->wq.max_sge = resp->max_sge;
	err = shca_srq_map_ring(srq, ibctx->cmd_fd);
	if (err)
		munmap(status, page_size);
	return err;
}

struct ibv_srq *shca_create_srq_ex(struct ibv_context *ibctx,
				   struct ibv_srq_init_attr_ex *attr)
{
	struct shca_cmd_create_srq_resp resp = {};
	struct shca_cmd_create_xsrq cmd = {};
	struct shca_srq *srq;
	int err;

	if (attr->comp_mask & IBV_SRQ_INIT_ATTR_TM &&
	    attr->tm_cap.max_ops > SHCA_TM_MAX_OPS) {
		errno = EINVAL;
		return NULL;
	}
	srq = calloc(1, sizeof(*srq));
	if (!srq)
		return NULL;
	shca_lock_init(&srq->wq.lock, false);
	err = ibv_cmd_create_srq_ex(ibctx, &srq->vsrq, attr, &cmd.ibv_cmd,
				    sizeof(cmd), &resp.ibv_resp, sizeof(resp));
	if (err)
		goto err_free;
	err = shca_srq_map(srq, ibctx, &resp.drv_payload);
	if (err)
		goto err_destroy;
	srq->wq.max_wr = attr->attr.max_wr;
	srq->domain = shca_domain_get(attr->pd);
	return &srq->vsrq.srq;

err_destroy:
	ibv_cmd_destroy_srq(&srq->vsrq.srq);
err_free:
	shca_lock_destroy(&srq->wq.lock);
	free(srq);
	errno = err;
	return NULL;
}

struct ibv_srq *shca_create_srq(struct ibv_pd *pd,
				struct ibv_srq_init_attr *attr)
{
	struct ibv_srq_init_attr_ex attr_ex = {
		.srq_context = attr->srq_context,
		.attr = attr->attr,
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD,
		.srq_type = IBV_SRQT_BASIC,
		.pd = pd,
	};
	struct ibv_srq *srq;

	srq = shca_create_srq_ex(pd->context, &attr_ex);
	if (srq)
		attr->attr = attr_ex.attr;
	return srq;
}

/*
 * The lock is held across the command: the kernel moves posted requests to the
 * new ring, so nothing may be posted to the old one.
 */
int shca_modify_srq(struct ibv_srq *ibsrq, struct ibv_srq_attr *attr, int mask)
{
	struct shca_srq *srq = to_shca_srq(ibsrq);
	struct ibv_modify_srq cmd;
	void *old;
	size_t old_len;
	int err;

	if (!(mask & IBV_SRQ_MAX_WR))
		return ibv_cmd_modify_srq(ibsrq, attr, mask, &cmd,
					  sizeof(cmd));
	shca_lock(&srq->wq.lock);
	/* Not before: another thread may have replaced the ring while this one waited. */
	old = srq->index;
	old_len = srq->region_len;
	err = ibv_cmd_modify_srq(ibsrq, attr, mask, &cmd, sizeof(cmd));
	if (!err) {
		/* The kernel uses the new ring, even if mapping it fails. */
		err = shca_srq_map_ring(srq, ibsrq->context->cmd_fd);
		srq->lost = err;
		if (!err) {
			srq->wq.max_wr = attr->max_wr;
			munmap(old, old_len);
		}
	}
	shca_unlock(&srq->wq.lock);
	return err;
}

int shca_query_srq(struct ibv_srq *ibsrq, struct ibv_srq_attr *attr)
{
	struct ibv_query_srq cmd;

	return ibv_cmd_query_srq(ibsrq, attr, &cmd, sizeof(cmd));
}

int shca_destroy_srq(struct ibv_srq *ibsrq)
{
	size_t page_size = to_shca_context(ibsrq->context)->page_size;
	struct shca_srq *srq = to_shca_srq(ibsrq);
	int err;

	err = ibv_cmd_destroy_srq(ibsrq);
	if (err)
		return err;
	munmap(srq->index, srq->region_len);
	munmap((void *)srq->status, page_size);
	shca_domain_put(srq->domain);
	shca_lock_destroy(&srq->wq.lock);
	free(srq);
	return 0;
}

static SHCA_ALWAYS_INLINE int shca_srq_post(struct ibv_srq *ibsrq,
				       struct ibv_recv_wr *wr,
				       struct ibv_recv_wr **bad_wr,
				       shca_watch_fn *watch)
{
	struct shca_srq *srq = to_shca_srq(ibsrq);
	int err;

	shca_lock(&srq->wq.lock);
	err = srq->lost;
	if (likely(!err))
		err = shca_wq_write_recv(&srq->wq, srq->index,
					 &srq->status->cons, wr, bad_wr, watch);
	else
		*bad_wr = wr;
	shca_unlock(&srq->wq.lock);
	return err;
}

int shca_post_srq_recv(struct ibv_srq *ibsrq, struct ibv_recv_wr *wr,
		       struct ibv_recv_wr **bad_wr)
{
	return shca_srq_post(ibsrq, wr, bad_wr, NULL);
}

int shca_lint_post_srq_recv(struct ibv_srq *ibsrq, struct ibv_recv_wr *wr,
			    struct ibv_recv_wr **bad_wr)
{
	return shca_srq_post(ibsrq, wr, bad_wr, shca_lint_posted);
}

/* ---- tag matching ------------------------------------------------------- */

/* Return: 0, or an errno if the request is malformed. */
static int shca_srq_fill_op(struct shca_srq_op *op, const struct ibv_ops_wr *wr)
{
	*op = (struct shca_srq_op){
		.wr_id = wr->wr_id,
		.opcode = wr->opcode,
		.flags = wr->flags,
	};
	if (wr->flags & IBV_OPS_TM_SYNC)
		op->unexpected_cnt = wr->tm.unexpected_cnt;
	if (wr->opcode == IBV_WR_TAG_DEL)
		op->handle = wr->tm.handle;
	if (wr->opcode != IBV_WR_TAG_ADD)
		return 0;
	if (wr->tm.add.num_sge < 0 || wr->tm.add.num_sge > 1)
		return EINVAL;
	op->recv_wr_id = wr->tm.add.recv_wr_id;
	op->tag = wr->tm.add.tag;
	op->mask = wr->tm.add.mask;
	if (wr->tm.add.num_sge)
		memcpy(&op->sge, wr->tm.add.sg_list, sizeof(op->sge));
	return 0;
}

/*
 * The kernel has the list of tags. So each operation is a system call, complete
 * on return.
 */
int shca_post_srq_ops(struct ibv_srq *ibsrq, struct ibv_ops_wr *wr,
		      struct ibv_ops_wr **bad_wr)
{
	struct shca_srq_op op;
	uint32_t handle;
	int err;

	for (; wr; wr = wr->next) {
		DECLARE_COMMAND_BUFFER(cmd, UVERBS_OBJECT_SRQ,
				       SHCA_METHOD_SRQ_OP, 3);

		err = shca_srq_fill_op(&op, wr);
		if (!err) {
			fill_attr_in_obj(cmd, SHCA_ATTR_SRQ_OP_SRQ,
					 ibsrq->handle);
			fill_attr_in_ptr(cmd, SHCA_ATTR_SRQ_OP_OP, &op);
			fill_attr_out_ptr(cmd, SHCA_ATTR_SRQ_OP_HANDLE,
					  &handle);
			err = execute_ioctl(ibsrq->context, cmd);
		}
		if (err) {
			*bad_wr = wr;
			return err;
		}
		if (wr->opcode == IBV_WR_TAG_ADD)
			wr->tm.handle = handle;
	}
	return 0;
}
