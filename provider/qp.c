// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Queue pairs: create, modify, query, destroy, and the posting of requests.
 *
 * The provider checks what a program must learn at once: type of QP, number of
 * segments, inline length, room. The kernel checks everything again, because
 * the process can write the ring.
 */
#include "softhca.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <ccan/minmax.h>

#include "doorbell.h"
#include "poller.h"
#include "ring.h"

/* The bit of an operation on a transport of @wanted: if it was always there, ... */
#define SHCA_OP_BIT(name, verb, feature, on, form, length, answer, ...)		\
	| (!(feature) && SHCA_ON_##on & wanted ? 1u << SHCA_WR_##name : 0)

/* ... and if it is one of @features. */
#define SHCA_EX_OP_BIT(name, verb, feature, on, form, length, answer, ...)	\
	| (features & (feature) && SHCA_ON_##on & wanted ?			\
	   1u << SHCA_WR_##name : 0)

/* SHCA_ON_* of a type of QP. */
static uint32_t shca_transport(enum ibv_qp_type type)
{
	switch (type) {
	case IBV_QPT_RC:
	case IBV_QPT_XRC_SEND:
		return SHCA_ON_RC;
	case IBV_QPT_UC:
		return SHCA_ON_UC;
	case IBV_QPT_RAW_PACKET:
		return SHCA_ON_RAW;
	case IBV_QPT_UD:
		return SHCA_ON_UD;
	default:
		return 0;
	}
}

/* Send opcodes by type of QP (IBTA table 49). */
static uint32_t shca_opcodes(const struct shca_context *ctx,
			     enum ibv_qp_type type)
{
	const uint32_t atomics = 1u << SHCA_WR_ATOMIC_CMP_AND_SWP |
				 1u << SHCA_WR_ATOMIC_FETCH_AND_ADD;
	uint32_t wanted = shca_transport(type);
	uint32_t opcodes = 0 SHCA_SEND_OPS(SHCA_OP_BIT);

	return ctx->features & SHCA_FEATURE_NO_ATOMICS ? opcodes & ~atomics :
							 opcodes;
}

/* Operations that struct ibv_send_wr cannot express; only ibv_wr_* posts them. */
static uint32_t shca_ex_opcodes(const struct shca_context *ctx,
				enum ibv_qp_type type)
{
	uint32_t wanted = shca_transport(type);
	uint64_t features = ctx->features;

	return 0 SHCA_SEND_OPS(SHCA_EX_OP_BIT);
}

#define SHCA_SEND_FLAGS	(IBV_SEND_FENCE | IBV_SEND_SIGNALED | \
			 IBV_SEND_SOLICITED | IBV_SEND_INLINE)

/* supported bits of ibv_qp_init_attr_ex.comp_mask */
#define SHCA_QP_INIT_ATTRS \
	(IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_XRCD | \
	 IBV_QP_INIT_ATTR_CREATE_FLAGS | \
	 IBV_QP_INIT_ATTR_IND_TABLE | IBV_QP_INIT_ATTR_RX_HASH | \
	 IBV_QP_INIT_ATTR_SEND_OPS_FLAGS)

/* ---- objects ------------------------------------------------------------ */

/* Return: 0 or an errno; nothing is mapped after an error. */
static int shca_qp_map(struct shca_qp *qp, struct shca_context *ctx,
		       const struct shca_create_qp_resp *resp)
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
	qp->index = region;
	qp->region_len = resp->ring_len;
	qp->status = status;
	return 0;
}

static void shca_qp_unmap(struct shca_qp *qp, struct shca_context *ctx)
{
	if (!qp->index)
		return;
	munmap(qp->index, qp->region_len);
	munmap((void *)qp->status, ctx->page_size);
}

static void shca_qp_init_rings(struct shca_qp *qp,
			       const struct shca_create_qp_resp *resp,
			       const struct ibv_qp_cap *cap)
{
	uint8_t *region = (uint8_t *)qp->index;

	qp->sq.slots = region + resp->sq_start;
	qp->sq.mask = resp->sq_entries - 1;
	qp->sq.stride = resp->sq_stride;
	qp->sq.max_wr = min(cap->max_send_wr, resp->sq_entries);
	qp->sq.max_sge = resp->max_send_sge;

	qp->rq.slots = region + resp->rq_start;
	qp->rq.mask = resp->rq_entries - 1;
	qp->rq.stride = resp->rq_stride;
	qp->rq.max_wr = min(cap->max_recv_wr, resp->rq_entries);
	qp->rq.max_sge = resp->max_recv_sge;

	qp->max_inline = resp->max_inline;
}

void shca_qp_free(struct shca_qp *qp)
{
	shca_lock_destroy(&qp->sq.lock);
	shca_lock_destroy(&qp->rq.lock);
	free(qp);
}

struct shca_qp *shca_qp_alloc(bool unlocked)
{
	struct shca_qp *qp = calloc(1, sizeof(*qp));

	if (!qp)
		return NULL;
	shca_lock_init(&qp->sq.lock, unlocked);
	shca_lock_init(&qp->rq.lock, unlocked);
	return qp;
}

/*
 * Uses the command that takes create_flags; the kernel checks them. In
 * rdma-core 65 it takes driver attributes as well.
 */
static int shca_cmd_create_qp(struct ibv_context *ibctx, struct shca_qp *qp,
			      struct ibv_qp_init_attr_ex *attr,
			      struct shca_cmd_create_qp *cmd,
			      struct shca_cmd_create_qp_resp *resp)
{
#if IBVERBS_PABI_VERSION >= 65
	return ibv_cmd_create_qp_ex2(ibctx, &qp->vqp, attr, &cmd->ibv_cmd,
				     sizeof(*cmd), &resp->ibv_resp,
				     sizeof(*resp), NULL);
#else
	return ibv_cmd_create_qp_ex2(ibctx, &qp->vqp, attr, &cmd->ibv_cmd,
				     sizeof(*cmd), &resp->ibv_resp,
				     sizeof(*resp));
#endif
}

/*
 * The hash that spreads packets over work queues; the kernel checks it. Return:
 * 0 or an errno.
 */
static int shca_fill_rx_hash(const struct ibv_qp_init_attr_ex *attr,
			     struct shca_rx_hash *hash)
{
	const struct ibv_rx_hash_conf *conf = &attr->rx_hash_conf;

	if (!(attr->comp_mask & IBV_QP_INIT_ATTR_IND_TABLE) !=
	    !(attr->comp_mask & IBV_QP_INIT_ATTR_RX_HASH))
		return EINVAL;
	if (!(attr->comp_mask & IBV_QP_INIT_ATTR_RX_HASH))
		return 0;
	if (attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS)
		return EOPNOTSUPP;
	if (conf->rx_hash_key_len > sizeof(hash->key))
		return EINVAL;
	hash->fields = conf->rx_hash_fields_mask;
	hash->function = conf->rx_hash_function;
	hash->key_len = conf->rx_hash_key_len;
	if (hash->key_len)
		memcpy(hash->key, conf->rx_hash_key, hash->key_len);
	return 0;
}

static struct shca_qp *shca_qp_create(struct ibv_context *ibctx,
				      struct ibv_qp_init_attr_ex *attr)
{
	bool is_ex = attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	struct shca_context *ctx = to_shca_context(ibctx);
	uint32_t opcodes = shca_opcodes(ctx, attr->qp_type);
	struct shca_cmd_create_qp_resp resp = {};
	struct shca_cmd_create_qp cmd = {};
	struct shca_qp *qp;
	int err;

	err = shca_fill_rx_hash(attr, &cmd.drv_payload.rx_hash);
	if (err) {
		errno = err;
		return NULL;
	}
	if (is_ex) {
		err = shca_qp_ex_check(opcodes |
				       shca_ex_opcodes(ctx, attr->qp_type),
				       attr->send_ops_flags);
		if (err) {
			errno = err;
			return NULL;
		}
	}
	qp = shca_qp_alloc((attr->comp_mask & IBV_QP_INIT_ATTR_PD) &&
			   to_shca_pd(attr->pd)->td);
	if (!qp)
		return NULL;
	err = shca_cmd_create_qp(ibctx, qp, attr, &cmd, &resp);
	if (err)
		goto err_free;
	if (attr->comp_mask & IBV_QP_INIT_ATTR_PD)
		qp->domain = shca_domain_get(attr->pd);
	if (!resp.drv_payload.ring_len)
		return qp;	/* a QP of XRC or with work queues has no rings */
	err = shca_qp_map(qp, ctx, &resp.drv_payload);
	if (err)
		goto err_destroy;
	shca_qp_init_rings(qp, &resp.drv_payload, &attr->cap);
	qp->opcodes = opcodes;
	qp->sig_all = attr->sq_sig_all;
	qp->streams = ctx->features & SHCA_FEATURE_DOORBELL_INDEX;
	shca_doorbell_init(&qp->doorbell, qp->vqp.qp.qp_num);
	shca_poller_add(ctx, qp);
	if (attr->qp_type == IBV_QPT_UD)
		shca_ahs_add_qp(&ctx->ahs, qp);
	if (is_ex)
		shca_qp_ex_init(qp, attr->send_ops_flags);
	return qp;

err_destroy:
	ibv_cmd_destroy_qp(&qp->vqp.qp);
	shca_domain_put(qp->domain);
err_free:
	shca_qp_free(qp);
	errno = err;
	return NULL;
}

struct ibv_qp *shca_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	struct ibv_qp_init_attr_ex attr_ex = {
		.qp_context = attr->qp_context,
		.send_cq = attr->send_cq,
		.recv_cq = attr->recv_cq,
		.srq = attr->srq,
		.cap = attr->cap,
		.qp_type = attr->qp_type,
		.sq_sig_all = attr->sq_sig_all,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = pd,
	};
	struct shca_qp *qp;

	qp = shca_qp_create(pd->context, &attr_ex);
	if (!qp)
		return NULL;
	attr->cap = attr_ex.cap;
	return &qp->vqp.qp;
}

struct ibv_qp *shca_create_qp_ex(struct ibv_context *ibctx,
				 struct ibv_qp_init_attr_ex *attr)
{
	struct shca_qp *qp;

	if (attr->comp_mask & ~SHCA_QP_INIT_ATTRS) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	qp = shca_qp_create(ibctx, attr);
	return qp ? &qp->vqp.qp : NULL;
}

/* Drops old completions; see shca_cq_purge(). */
static void shca_qp_purge_cqs(struct ibv_qp *ibqp, uint32_t qp_num)
{
	shca_cq_purge(ibqp->recv_cq, qp_num);
	if (ibqp->send_cq != ibqp->recv_cq)
		shca_cq_purge(ibqp->send_cq, qp_num);
}

/* Empties the ring, wherever the kernel stands. Nobody reads it in RESET. */
static void shca_qp_restart_rings(struct shca_qp *qp)
{
	shca_lock(&qp->sq.lock);
	qp->sq.cons = shca_wq_read_cons(&qp->status->sq_cons);
	qp->sq.prod = qp->sq.cons;
	shca_sq_publish(qp->index, qp->sq.prod);
	shca_unlock(&qp->sq.lock);

	shca_lock(&qp->rq.lock);
	qp->rq.cons = shca_wq_read_cons(&qp->status->rq_cons);
	qp->rq.prod = qp->rq.cons;
	shca_rq_publish(qp->index, qp->rq.prod);
	shca_unlock(&qp->rq.lock);
}

int shca_modify_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr, int mask)
{
	struct ib_uverbs_ex_modify_qp_resp resp = {};
	struct shca_qp *qp = to_shca_qp(ibqp);
	struct shca_cmd_modify_qp cmd_ex = {
		.drv_payload.peer_ece = qp->ece_is_set ? qp->ece : 0,
	};
	struct ibv_modify_qp cmd = {};
	int err;

	/* Only the extended command has a rate limit and a driver's part. */
	if (mask & IBV_QP_RATE_LIMIT || cmd_ex.drv_payload.peer_ece)
		err = ibv_cmd_modify_qp_ex(ibqp, attr, mask, &cmd_ex.ibv_cmd,
					   sizeof(cmd_ex), &resp, sizeof(resp));
	else
		err = ibv_cmd_modify_qp(ibqp, attr, mask, &cmd, sizeof(cmd));
	if (err)
		return err;
	if ((mask & IBV_QP_STATE) && attr->qp_state == IBV_QPS_RESET) {
		qp->ece_is_set = false;
		shca_qp_purge_cqs(ibqp, ibqp->qp_num);
		if (qp->index)
			shca_qp_restart_rings(qp);
		if (ibqp->qp_type == IBV_QPT_UD && qp->index)
			shca_ahs_empty_qp(&to_shca_context(ibqp->context)->ahs, qp);
	}
	return 0;
}

/* The kernel's command has only the rate. */
int shca_modify_qp_rate_limit(struct ibv_qp *ibqp,
			      struct ibv_qp_rate_limit_attr *attr)
{
	struct ibv_qp_attr qp_attr = { .rate_limit = attr->rate_limit };
	struct ib_uverbs_ex_modify_qp_resp resp = {};
	struct ibv_modify_qp_ex cmd = {};

	if (attr->comp_mask)
		return EINVAL;
	if (attr->max_burst_sz || attr->typical_pkt_sz)
		return EOPNOTSUPP;
	return ibv_cmd_modify_qp_ex(ibqp, &qp_attr, IBV_QP_RATE_LIMIT, &cmd,
				    sizeof(cmd), &resp, sizeof(resp));
}

int shca_query_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr, int mask,
		  struct ibv_qp_init_attr *init_attr)
{
	struct ibv_query_qp cmd;

	return ibv_cmd_query_qp(ibqp, attr, mask, init_attr, &cmd,
				sizeof(cmd));
}

/*
 * The number is free for another QP once the command returns, and completions
 * are dropped only then. A new QP cannot get the number and complete something
 * in between: the kernel does not hand out numbers that were freed lately.
 */
int shca_destroy_qp(struct ibv_qp *ibqp)
{
	struct shca_context *ctx = to_shca_context(ibqp->context);
	struct shca_qp *qp = to_shca_qp(ibqp);
	int err;

	err = ibv_cmd_destroy_qp(ibqp);
	if (err)
		return err;
	shca_poller_del(ctx, qp);
	if (ibqp->qp_type == IBV_QPT_UD && qp->index)
		shca_ahs_del_qp(&ctx->ahs, qp);
	shca_qp_purge_cqs(ibqp, ibqp->qp_num);
	shca_qp_unmap(qp, ctx);
	shca_domain_put(qp->domain);
	shca_qp_free(qp);
	return 0;
}

/*
 * Returns the offer of this end. Once the other end's offer is set, returns the
 * common options, which are the answer to it.
 */
int shca_query_ece(struct ibv_qp *ibqp, struct ibv_ece *ece)
{
	const struct shca_qp *qp = to_shca_qp(ibqp);

	*ece = (struct ibv_ece){
		.vendor_id = SHCA_VENDOR_ID,
		.options = qp->ece_is_set ? qp->ece : SHCA_ECE_OPTIONS,
	};
	return 0;
}

/*
 * Sets the other end's offer or its answer. The next modify passes it to the
 * kernel. Options that both ends share are returned. Options of a later softhca
 * that this one lacks are dropped, as are all options of other vendors. That is
 * no error: the QP works without them.
 */
int shca_set_ece(struct ibv_qp *ibqp, struct ibv_ece *ece)
{
	struct shca_qp *qp = to_shca_qp(ibqp);

	if (ece->comp_mask)
		return EINVAL;
	if (ece->vendor_id == SHCA_VENDOR_ID &&
	    (ece->options & SHCA_ECE_SIGNATURE_MASK) == SHCA_ECE_SIGNATURE)
		ece->options &= SHCA_ECE_OPTIONS;
	else
		ece->options = 0;
	qp->ece_is_set = true;
	qp->ece = ece->options;
	return 0;
}

/* ---- posting ------------------------------------------------------------ */

/* Return: bytes of all segments. */
static uint64_t shca_sge_length(const struct ibv_sge *sge, int num_sge)
{
	uint64_t length = 0;
	int i;

	for (i = 0; i < num_sge; i++)
		length += sge[i].length;
	return length;
}

static void shca_copy_inline(void *data, const struct ibv_sge *sge, int num_sge)
{
	uint8_t *p = data;
	int i;

	for (i = 0; i < num_sge; i++) {
		memcpy(p, (const void *)(uintptr_t)sge[i].addr, sge[i].length);
		p += sge[i].length;
	}
}

/* Return: 0, or EINVAL if a window of type 2 would be bound to nothing. */
static int shca_check_bind(const struct ibv_send_wr *wr)
{
	const struct ibv_mw_bind_info *info = &wr->bind_mw.bind_info;

	if (!wr->bind_mw.mw || wr->num_sge)
		return EINVAL;
	if (wr->bind_mw.mw->type == IBV_MW_TYPE_1)
		return !info->mr && info->length ? EINVAL : 0;
	return info->mr ? 0 : EINVAL;
}

/* Return: 0 or EINVAL; see the top of the file. */
static SHCA_ALWAYS_INLINE int shca_check_send(const struct shca_qp *qp,
					      const struct ibv_send_wr *wr)
{
	if (unlikely((unsigned int)wr->opcode >= 32 ||
		     !(qp->opcodes & (1u << wr->opcode))))
		return EINVAL;
	if (unlikely(wr->num_sge < 0 ||
		     (uint32_t)wr->num_sge > qp->sq.max_sge))
		return EINVAL;
	if (wr->opcode == IBV_WR_BIND_MW && shca_check_bind(wr))
		return EINVAL;
	if (!(wr->send_flags & IBV_SEND_INLINE))
		return 0;
	/* Inline has no meaning without outgoing data. */
	if (!shca_op_may_inline(wr->opcode))
		return wr->num_sge ? EINVAL : 0;
	if (shca_sge_length(wr->sg_list, wr->num_sge) > qp->max_inline)
		return EINVAL;
	return 0;
}

void shca_fill_bind(struct shca_send_wqe *wqe, const struct ibv_mw *mw,
		    const struct ibv_mw_bind_info *info, uint32_t rkey)
{
	wqe->bind.addr = info->addr;
	wqe->bind.length = info->length;
	wqe->bind.mw_handle = mw->rkey;
	wqe->bind.mw_key = rkey;
	wqe->bind.mr_lkey = info->mr ? info->mr->lkey : 0;
	wqe->bind.access = info->mw_access_flags;
}

/* Fills in the part that depends on the type of QP and the opcode. */
static SHCA_ALWAYS_INLINE void shca_fill_remote(struct shca_qp *qp,
						struct shca_send_wqe *wqe,
						const struct ibv_send_wr *wr)
{
	memset(wqe->room, 0, sizeof(wqe->room));
	if (qp->vqp.qp.qp_type == IBV_QPT_UD) {
		shca_ah_used(qp, to_shca_ah(wr->wr.ud.ah));
		wqe->ud.ah = to_shca_ah(wr->wr.ud.ah)->handle;
		wqe->ud.remote_qpn = wr->wr.ud.remote_qpn;
		wqe->ud.remote_qkey = wr->wr.ud.remote_qkey;
		return;
	}
	switch (wr->opcode) {
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
	case IBV_WR_RDMA_READ:
		wqe->rdma.remote_addr = wr->wr.rdma.remote_addr;
		wqe->rdma.rkey = wr->wr.rdma.rkey;
		break;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		wqe->rdma.remote_addr = wr->wr.atomic.remote_addr;
		wqe->rdma.compare_add = wr->wr.atomic.compare_add;
		wqe->rdma.swap = wr->wr.atomic.swap;
		wqe->rdma.rkey = wr->wr.atomic.rkey;
		break;
	case IBV_WR_BIND_MW:
		shca_fill_bind(wqe, wr->bind_mw.mw, &wr->bind_mw.bind_info,
			       wr->bind_mw.rkey);
		shca_mw_set_key(wr->bind_mw.mw, wr->bind_mw.rkey);
		break;
	default:
		break;
	}
}

static SHCA_ALWAYS_INLINE void shca_fill_send(struct shca_qp *qp,
					      struct shca_send_wqe *wqe,
					      const struct ibv_send_wr *wr)
{
	wqe->wr_id = wr->wr_id;
	wqe->opcode = wr->opcode;
	/* Flags without a meaning here are ignored, as by other adapters. */
	wqe->flags = (wr->send_flags & SHCA_SEND_FLAGS) |
		     (qp->sig_all ? IBV_SEND_SIGNALED : 0);
	/* or invalidate_rkey, which shares its place; BIND_MW has neither */
	wqe->imm_data = wr->opcode == IBV_WR_BIND_MW ? 0 : wr->imm_data;
	wqe->xrc_srqn = qp->vqp.qp.qp_type == IBV_QPT_XRC_SEND ?
			wr->qp_type.xrc.remote_srqn : 0;
	shca_fill_remote(qp, wqe, wr);
	if (unlikely(wr->send_flags & IBV_SEND_INLINE &&
		     !shca_op_may_inline(wr->opcode))) {
		wqe->flags &= ~SHCA_SEND_INLINE;
		wqe->num_sge = 0;
		wqe->inline_len = 0;
	} else if (wr->send_flags & IBV_SEND_INLINE) {
		wqe->num_sge = 0;
		wqe->inline_len = shca_sge_length(wr->sg_list, wr->num_sge);
		shca_copy_inline(wqe + 1, wr->sg_list, wr->num_sge);
	} else {
		wqe->num_sge = wr->num_sge;
		wqe->inline_len = 0;
		memcpy(wqe + 1, wr->sg_list, wr->num_sge * sizeof(*wr->sg_list));
	}
}

/*
 * A failed doorbell means that the device is gone, or the kernel has no memory.
 * The requests stay in the ring, because the kernel may have read them. The
 * first of them is reported.
 */
static SHCA_ALWAYS_INLINE int shca_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr,
				   struct ibv_send_wr **bad_wr,
				   shca_watch_fn *watch)
{
	struct shca_qp *qp = to_shca_qp(ibqp);
	struct ibv_send_wr *first = wr;
	struct shca_wq *sq = &qp->sq;
	bool posted, urgent = false;
	struct shca_send_wqe *wqe;
	uint32_t prod;
	int err = 0;

	/* IBTA 10.3.1: an immediate error before RTS. */
	if (unlikely(ibqp->state < IBV_QPS_RTS || !qp->index)) {
		*bad_wr = wr;
		return EINVAL;
	}
	shca_lock(&sq->lock);
	for (prod = sq->prod; wr; wr = wr->next, prod++) {
		if (unlikely(shca_wq_is_full(sq, prod, &qp->status->sq_cons)))
			err = ENOMEM;
		else
			err = shca_check_send(qp, wr);
		if (unlikely(err)) {
			*bad_wr = wr;
			break;
		}
		wqe = shca_wq_slot(sq, prod);
		shca_fill_send(qp, wqe, wr);
		urgent |= shca_send_is_urgent(wqe);
	}
	posted = prod != sq->prod;
	if (posted) {
		if (watch)
			watch(sq, prod);
		sq->prod = prod;
		shca_sq_publish(qp->index, prod);
	}
	shca_unlock(&sq->lock);

	if (posted) {
		int doorbell_err = shca_post_ring(qp, prod, urgent);

		if (unlikely(doorbell_err)) {
			*bad_wr = first;
			return doorbell_err;
		}
	} else if (err == ENOMEM) {
		err = shca_post_full(qp);
	}
	return err;
}

int shca_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr,
		   struct ibv_send_wr **bad_wr)
{
	return shca_send(ibqp, wr, bad_wr, NULL);
}

int shca_lint_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr,
			struct ibv_send_wr **bad_wr)
{
	return shca_send(ibqp, wr, bad_wr, shca_lint_posted);
}

static SHCA_ALWAYS_INLINE int shca_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr,
				   struct ibv_recv_wr **bad_wr,
				   shca_watch_fn *watch)
{
	struct shca_qp *qp = to_shca_qp(ibqp);
	int err, doorbell_err;
	bool must_ring;

	/* IBTA 10.3.1: an immediate error in RESET. A QP with an SRQ, or of
	 * XRC, has no receive ring.
	 */
	if (unlikely(ibqp->state == IBV_QPS_RESET || !qp->rq.max_wr)) {
		*bad_wr = wr;
		return EINVAL;
	}
	err = shca_rq_post(&qp->rq, qp->index, qp->status, wr, bad_wr,
			   &must_ring, watch);
	if (likely(!must_ring))
		return err;
	doorbell_err = shca_doorbell_ring(qp);
	if (likely(!doorbell_err))
		return err;
	*bad_wr = wr;
	return doorbell_err;
}

int shca_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr,
		   struct ibv_recv_wr **bad_wr)
{
	return shca_recv(ibqp, wr, bad_wr, NULL);
}

int shca_lint_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr,
			struct ibv_recv_wr **bad_wr)
{
	return shca_recv(ibqp, wr, bad_wr, shca_lint_posted);
}
