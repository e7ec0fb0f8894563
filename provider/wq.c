// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Work queues and indirection tables. A work queue is used like the receive
 * queue of a QP (qp.c), with a number of its own.
 */
#include "softhca.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "doorbell.h"
#include "ring.h"

/* The command's maximum; the device's may be lower. */
#define SHCA_MAX_LOG_IND_TBL	13

/* ---- posting ------------------------------------------------------------ */

static int shca_post_wq_recv(struct ibv_wq *ibwq, struct ibv_recv_wr *wr,
			     struct ibv_recv_wr **bad_wr)
{
	struct shca_rwq *rwq = to_shca_rwq(ibwq);
	int err, doorbell_err;
	bool must_ring;

	if (unlikely(ibwq->state == IBV_WQS_RESET)) {
		*bad_wr = wr;
		return EINVAL;
	}
	err = shca_rq_post(&rwq->ring, rwq->index, rwq->status, wr, bad_wr,
			   &must_ring, NULL);
	if (likely(!must_ring))
		return err;
	doorbell_err = shca_doorbell_ring_wq(rwq);
	if (likely(!doorbell_err))
		return err;
	*bad_wr = wr;
	return doorbell_err;
}

/* ---- objects ------------------------------------------------------------ */

static int shca_wq_map(struct shca_rwq *rwq, struct shca_context *ctx,
		       const struct shca_create_wq_resp *resp)
{
	int fd = ctx->vctx.context.cmd_fd;
	void *region, *status;
	int err;

	region = mmap(NULL, resp->ring_len, PROT_READ | PROT_WRITE, MAP_SHARED,
		      fd, resp->ring_off);
	if (region == MAP_FAILED)
		return errno;
	status = mmap(NULL, ctx->page_size, PROT_READ, MAP_SHARED, fd,
		      resp->status_off);
	if (status == MAP_FAILED) {
		err = errno;
		munmap(region, resp->ring_len);
		return err;
	}
	rwq->index = region;
	rwq->region_len = resp->ring_len;
	rwq->status = status;
	rwq->ring.slots = (uint8_t *)region + resp->start;
	rwq->ring.mask = resp->entries - 1;
	rwq->ring.stride = resp->stride;
	rwq->ring.max_sge = resp->max_sge;
	return 0;
}

struct ibv_wq *shca_create_wq(struct ibv_context *ibctx,
			      struct ibv_wq_init_attr *attr)
{
	struct shca_context *ctx = to_shca_context(ibctx);
	struct shca_cmd_create_wq_resp resp = {};
	struct shca_cmd_create_wq cmd = {};
	struct shca_rwq *rwq;
	int err;

	rwq = calloc(1, sizeof(*rwq));
	if (!rwq)
		return NULL;
	shca_lock_init(&rwq->ring.lock, to_shca_pd(attr->pd)->td);
	err = ibv_cmd_create_wq(ibctx, attr, &rwq->wq, &cmd.ibv_cmd,
				sizeof(cmd), &resp.ibv_resp, sizeof(resp));
	if (err)
		goto err_free;
	err = shca_wq_map(rwq, ctx, &resp.drv_payload);
	if (err)
		goto err_destroy;
	rwq->ring.max_wr = attr->max_wr;
	rwq->domain = shca_domain_get(attr->pd);
	rwq->wq.state = IBV_WQS_RESET;
	rwq->wq.post_recv = shca_post_wq_recv;
	shca_doorbell_init(&rwq->doorbell, rwq->wq.wq_num);
	return &rwq->wq;

err_destroy:
	ibv_cmd_destroy_wq(&rwq->wq);
err_free:
	shca_lock_destroy(&rwq->ring.lock);
	free(rwq);
	errno = err;
	return NULL;
}

/* As for a QP: old completions are dropped. */
int shca_modify_wq(struct ibv_wq *ibwq, struct ibv_wq_attr *attr)
{
	struct shca_rwq *rwq = to_shca_rwq(ibwq);
	struct ibv_modify_wq cmd = {};
	int err;

	err = ibv_cmd_modify_wq(ibwq, attr, &cmd, sizeof(cmd));
	if (err)
		return err;
	if ((attr->attr_mask & IBV_WQ_ATTR_STATE) &&
	    attr->wq_state == IBV_WQS_RESET) {
		shca_cq_purge(ibwq->cq, ibwq->wq_num);
		shca_lock(&rwq->ring.lock);
		rwq->ring.cons = shca_wq_read_cons(&rwq->status->rq_cons);
		rwq->ring.prod = rwq->ring.cons;
		shca_rq_publish(rwq->index, rwq->ring.prod);
		shca_unlock(&rwq->ring.lock);
	}
	return 0;
}

int shca_destroy_wq(struct ibv_wq *ibwq)
{
	size_t page_size = to_shca_context(ibwq->context)->page_size;
	struct shca_rwq *rwq = to_shca_rwq(ibwq);
	int err;

	err = ibv_cmd_destroy_wq(ibwq);
	if (err)
		return err;
	shca_cq_purge(ibwq->cq, ibwq->wq_num);
	munmap(rwq->index, rwq->region_len);
	munmap((void *)rwq->status, page_size);
	shca_domain_put(rwq->domain);
	shca_lock_destroy(&rwq->ring.lock);
	free(rwq);
	return 0;
}

struct ibv_rwq_ind_table *
shca_create_rwq_ind_table(struct ibv_context *ibctx,
			  struct ibv_rwq_ind_table_init_attr *attr)
{
	struct ib_uverbs_ex_create_rwq_ind_table_resp resp = {};
	struct ibv_rwq_ind_table *table;
	int err = EINVAL;

	table = calloc(1, sizeof(*table));
	if (!table)
		return NULL;
	/* The command is built on the stack. */
	if (attr->log_ind_tbl_size <= SHCA_MAX_LOG_IND_TBL)
		err = ibv_cmd_create_rwq_ind_table(ibctx, attr, table, &resp,
						   sizeof(resp));
	if (err) {
		free(table);
		errno = err;
		return NULL;
	}
	return table;
}

int shca_destroy_rwq_ind_table(struct ibv_rwq_ind_table *table)
{
	int err = ibv_cmd_destroy_rwq_ind_table(table);

	if (!err)
		free(table);
	return err;
}
