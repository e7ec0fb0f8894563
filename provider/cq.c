// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Completion queues: create, poll, arm, resize, destroy. The kernel writes
 * completions into pages that this process cannot write. Polling and arming
 * make no system call.
 */
#include "softhca.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "cq.h"
#include "ring.h"

static void shca_cq_unmap(struct shca_cq *cq, size_t page_size)
{
	munmap((void *)cq->ring, cq->ring_len);
	munmap(cq->index, page_size);
}

/* Return: 0 or an errno; nothing is mapped after an error. */
static int shca_cq_map(struct shca_cq *cq, struct shca_context *ctx,
		       const struct shca_create_cq_resp *resp)
{
	int fd = ctx->vctx.context.cmd_fd;
	void *ring, *index;
	int err;

	ring = mmap(NULL, resp->ring_len, PROT_READ, MAP_SHARED, fd,
		    resp->ring_off);
	if (ring == MAP_FAILED)
		return errno;
	index = mmap(NULL, ctx->page_size, PROT_READ | PROT_WRITE, MAP_SHARED,
		     fd, resp->index_off);
	if (index == MAP_FAILED) {
		err = errno;
		munmap(ring, resp->ring_len);
		return err;
	}
	cq->ring = ring;
	cq->ring_len = resp->ring_len;
	cq->index = index;
	cq->mask = resp->entries - 1;
	return 0;
}

/* @flags: SHCA_CQ_*; @unlocked: the program promises to use one thread at a time. */
static struct shca_cq *shca_cq_create(struct ibv_context *ibctx, int cqe,
				      struct ibv_comp_channel *channel,
				      int comp_vector, uint64_t flags,
				      bool unlocked)
{
	struct shca_context *ctx = to_shca_context(ibctx);
	struct shca_cmd_create_cq_resp resp = {};
	struct shca_cmd_create_cq cmd = { .drv_payload.flags = flags };
	struct shca_cq *cq;
	int err;

	cq = calloc(1, sizeof(*cq));
	if (!cq)
		return NULL;
	shca_lock_init(&cq->lock, unlocked);
	err = ibv_cmd_create_cq(ibctx, cqe, channel, comp_vector, &cq->vcq.cq,
				&cmd.ibv_cmd, sizeof(cmd), &resp.ibv_resp,
				sizeof(resp));
	if (err)
		goto err_free;
	err = shca_cq_map(cq, ctx, &resp.drv_payload);
	if (err)
		goto err_destroy;
	cq->dead = calloc(1, (cq->mask + 8) / 8);
	if (!cq->dead) {
		err = ENOMEM;
		goto err_unmap;
	}
	return cq;

err_unmap:
	shca_cq_unmap(cq, ctx->page_size);
err_destroy:
	ibv_cmd_destroy_cq(&cq->vcq.cq);
err_free:
	shca_lock_destroy(&cq->lock);
	free(cq);
	errno = err;
	return NULL;
}

struct ibv_cq *shca_create_cq(struct ibv_context *ibctx, int cqe,
			      struct ibv_comp_channel *channel,
			      int comp_vector)
{
	struct shca_cq *cq;

	cq = shca_cq_create(ibctx, cqe, channel, comp_vector, 0, false);
	return cq ? &cq->vcq.cq : NULL;
}

/* Return: 0, or an errno if the request is not supported. */
static int shca_cq_check_attr(const struct ibv_cq_init_attr_ex *attr)
{
	if (!check_comp_mask(attr->comp_mask, IBV_CQ_INIT_ATTR_MASK_FLAGS |
					      IBV_CQ_INIT_ATTR_MASK_PD))
		return EINVAL;
	if (!check_comp_mask(attr->wc_flags, SHCA_CQ_EX_WC_FLAGS))
		return EOPNOTSUPP;
	if ((attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS) &&
	    !check_comp_mask(attr->flags,
			     IBV_CREATE_CQ_ATTR_SINGLE_THREADED |
			     IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN))
		return EOPNOTSUPP;
	if ((attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD) &&
	    (!attr->parent_domain || !to_shca_pd(attr->parent_domain)->base))
		return EINVAL;
	/* The command takes an int. */
	return attr->cqe > INT_MAX ? EINVAL : 0;
}

/*
 * The options go in the driver's part of the command, which is the same in all
 * versions of rdma-core.
 */
struct ibv_cq_ex *shca_create_cq_ex(struct ibv_context *ibctx,
				    struct ibv_cq_init_attr_ex *attr)
{
	const uint64_t stamps = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
				IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK;
	struct ibv_pd *domain = NULL;
	uint64_t flags = 0;
	bool unlocked = false;
	struct shca_cq *cq;

	errno = shca_cq_check_attr(attr);
	if (errno)
		return NULL;
	if (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD) {
		domain = attr->parent_domain;
		unlocked = to_shca_pd(domain)->td;
	}
	if (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS) {
		if (attr->flags & IBV_CREATE_CQ_ATTR_SINGLE_THREADED)
			unlocked = true;
		if (attr->flags & IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN)
			flags |= SHCA_CQ_IGNORE_OVERRUN;
	}
	if (attr->wc_flags & stamps)
		flags |= SHCA_CQ_TIMESTAMPS;
	cq = shca_cq_create(ibctx, attr->cqe, attr->channel, attr->comp_vector,
			    flags, unlocked);
	if (!cq)
		return NULL;
	cq->domain = shca_domain_get(domain);
	shca_cq_ex_init(cq, attr->wc_flags);
	return &cq->vcq.cq_ex;
}

/* Maps the ring that the kernel has moved to. Return: 0 or an errno. */
static int shca_cq_remap(struct shca_cq *cq,
			 const struct shca_resize_cq_resp *resp)
{
	int fd = cq->vcq.cq.context->cmd_fd;
	uint32_t i, mask = resp->entries - 1;
	uint8_t *dead;
	void *ring;

	dead = calloc(1, (mask + 8) / 8);
	if (!dead)
		return ENOMEM;
	ring = mmap(NULL, resp->ring_len, PROT_READ, MAP_SHARED, fd,
		    resp->ring_off);
	if (ring == MAP_FAILED) {
		free(dead);
		return errno;
	}
	for (i = cq->cons; cq->nr_dead && i - cq->cons <= cq->mask; i++)
		if (shca_cq_is_dead(cq, i))
			dead[(i & mask) / 8] |= 1u << (i & mask) % 8;
	munmap((void *)cq->ring, cq->ring_len);
	free(cq->dead);
	cq->dead = dead;
	cq->ring = ring;
	cq->ring_len = resp->ring_len;
	cq->mask = mask;
	return 0;
}

/*
 * The lock is held across the command, because the kernel moves unpolled
 * completions to the new ring meanwhile.
 */
int shca_resize_cq(struct ibv_cq *ibcq, int cqe)
{
	struct shca_cmd_resize_cq_resp resp = {};
	struct shca_cq *cq = to_shca_cq(ibcq);
	struct ibv_resize_cq cmd = {};
	int err;

	shca_lock(&cq->lock);
	err = ibv_cmd_resize_cq(ibcq, cqe, &cmd, sizeof(cmd), &resp.ibv_resp,
				sizeof(resp));
	if (!err)
		err = cq->lost = shca_cq_remap(cq, &resp.drv_payload);
	shca_unlock(&cq->lock);
	return err;
}

int shca_modify_cq(struct ibv_cq *ibcq, struct ibv_modify_cq_attr *attr)
{
	struct ibv_modify_cq cmd = {};

	return ibv_cmd_modify_cq(ibcq, attr, &cmd, sizeof(cmd));
}

int shca_destroy_cq(struct ibv_cq *ibcq)
{
	size_t page_size = to_shca_context(ibcq->context)->page_size;
	struct shca_cq *cq = to_shca_cq(ibcq);
	int err;

	err = ibv_cmd_destroy_cq(ibcq);
	if (err)
		return err;
	shca_cq_unmap(cq, page_size);
	shca_domain_put(cq->domain);
	shca_lock_destroy(&cq->lock);
	free(cq->dead);
	free(cq);
	return 0;
}

static inline void shca_wc_fill(struct ibv_wc *wc, const struct shca_cqe *cqe)
{
	wc->wr_id = cqe->wr_id;
	wc->status = cqe->status;
	wc->opcode = cqe->opcode;
	wc->vendor_err = cqe->vendor_err;
	wc->byte_len = cqe->byte_len;
	wc->imm_data = cqe->imm_data;	/* or invalidated_rkey, which shares its place */
	wc->qp_num = cqe->qp_num;
	wc->src_qp = cqe->src_qp;
	wc->wc_flags = cqe->wc_flags;
	wc->pkey_index = cqe->pkey_index;
	wc->slid = cqe->slid;
	wc->sl = cqe->sl;
	wc->dlid_path_bits = cqe->dlid_path_bits;
	if (unlikely(shca_cqe_is_tm(cqe))) {
		wc->slid = 0;
		wc->sl = 0;
		wc->dlid_path_bits = 0;
	}
}

int shca_poll_cq(struct ibv_cq *ibcq, int num_entries, struct ibv_wc *wc)
{
	struct shca_cq *cq = to_shca_cq(ibcq);
	const struct shca_cqe *cqe;
	uint32_t cons;
	int n = 0;

	shca_lock(&cq->lock);
	if (unlikely(cq->lost)) {
		shca_unlock(&cq->lock);
		return -1;
	}
	cons = cq->cons;
	while (n < num_entries && (cqe = shca_cq_peek(cq, cons))) {
		if (unlikely(cq->nr_dead) && shca_cq_is_dead(cq, cons))
			shca_cq_clear_dead(cq, cons);
		else
			shca_wc_fill(&wc[n++], cqe);
		cons++;
	}
	if (cons != cq->cons) {
		cq->cons = cons;
		shca_cq_publish_cons(cq->index, cons);
	}
	shca_unlock(&cq->lock);
	return n;
}

/*
 * Was the last request, @arm, for any completion, and may it still be waiting?
 *
 * Relaxed: a thread that has not seen the newest @told only repeats a request.
 */
static bool shca_cq_next_is_armed(const struct shca_cq *cq, uint32_t arm)
{
	return (arm & SHCA_CQ_ARM_KIND) == SHCA_CQ_ARM_NEXT &&
	       arm != __atomic_load_n(&cq->told, __ATOMIC_RELAXED);
}

/*
 * A request for solicited completions does not weaken an earlier one for any
 * completion (IBTA 11.4.2.2). Whether the earlier one has fired is certain only
 * when its event has been read. Until then the stronger request is repeated. It
 * costs at most one extra event.
 *
 * Without cq->lock: a program may arm between ibv_start_poll() and ibv_end_poll(),
 * which hold it.
 */
int shca_req_notify_cq(struct ibv_cq *ibcq, int solicited_only)
{
	struct shca_cq *cq = to_shca_cq(ibcq);
	uint32_t was = shca_cq_read_arm(cq->index), kind;

	do {
		if (!solicited_only || shca_cq_next_is_armed(cq, was))
			kind = SHCA_CQ_ARM_NEXT;
		else
			kind = SHCA_CQ_ARM_SOLICITED;
	} while (!shca_cq_publish_arm(cq->index, &was,
				      ((was & ~SHCA_CQ_ARM_KIND) + SHCA_CQ_ARM_SEQ) |
				      kind));
	return 0;
}

/*
 * ibv_get_cq_event() calls this after it has read an event of this CQ. It may be
 * between ibv_start_poll() and ibv_end_poll(), too.
 */
void shca_cq_event(struct ibv_cq *ibcq)
{
	struct shca_cq *cq = to_shca_cq(ibcq);

	__atomic_store_n(&cq->told, shca_cq_read_arm(cq->index), __ATOMIC_RELAXED);
}

/*
 * Drop the completions of a QP that was reset or destroyed.
 * @ibcq:	its CQ; may be NULL
 * @qp_num:	number of the QP, which completes nothing more
 *
 * A program that reuses the QP, or gets a new QP of the same number, must not see old
 * completions. Providers of hardware remove them from the ring. Our ring is read-only, so the
 * slots are marked and polling skips them. Dead completions at the head are retired at once;
 * others keep their slots until polling passes them.
 *
 * A CQ without a lock may be between ibv_start_poll() and ibv_end_poll(). Then the head is the
 * current completion, which the program still reads. It stays, and the iterator retires it.
 */
void shca_cq_purge(struct ibv_cq *ibcq, uint32_t qp_num)
{
	const struct shca_cqe *cqe;
	struct shca_cq *cq;
	uint32_t i;

	if (!ibcq)
		return;
	cq = to_shca_cq(ibcq);
	shca_lock(&cq->lock);
	if (unlikely(cq->lost))
		goto out;	/* the completions stay in the ring that cannot be mapped */
	for (i = cq->cons + !!cq->cur; i - cq->cons <= cq->mask; i++) {
		cqe = shca_cq_peek(cq, i);
		if (!cqe)
			break;
		if (cqe->qp_num == qp_num && !shca_cq_is_dead(cq, i))
			shca_cq_set_dead(cq, i);
	}
	if (cq->cur)
		goto out;
	for (i = cq->cons; cq->nr_dead && shca_cq_is_dead(cq, i); i++)
		shca_cq_clear_dead(cq, i);
	if (i != cq->cons) {
		cq->cons = i;
		shca_cq_publish_cons(cq->index, i);
	}
out:
	shca_unlock(&cq->lock);
}
