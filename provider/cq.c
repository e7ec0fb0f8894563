// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Completion queues: create, poll, arm, destroy.  The kernel writes the
 * completions into pages that this process cannot write; polling and arming
 * make no system call.
 */
#include "softhca.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "ring.h"

static void shca_cq_unmap(struct shca_cq *cq, size_t page_size)
{
	munmap((void *)cq->ring, cq->ring_len);
	munmap(cq->index, page_size);
}

/* Return: 0 or an errno; nothing is mapped in case of an error. */
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

struct ibv_cq *shca_create_cq(struct ibv_context *ibctx, int cqe,
			      struct ibv_comp_channel *channel,
			      int comp_vector)
{
	struct shca_context *ctx = to_shca_context(ibctx);
	struct shca_cmd_create_cq_resp resp = {};
	struct shca_cmd_create_cq cmd = {};
	struct shca_cq *cq;
	int err;

	cq = calloc(1, sizeof(*cq));
	if (!cq)
		return NULL;
	err = pthread_spin_init(&cq->lock, PTHREAD_PROCESS_PRIVATE);
	if (err)
		goto err_free;
	err = ibv_cmd_create_cq(ibctx, cqe, channel, comp_vector, &cq->vcq.cq,
				&cmd.ibv_cmd, sizeof(cmd), &resp.ibv_resp,
				sizeof(resp));
	if (err)
		goto err_lock;
	err = shca_cq_map(cq, ctx, &resp.drv_payload);
	if (err)
		goto err_destroy;
	cq->dead = calloc(1, (cq->mask + 8) / 8);
	if (!cq->dead) {
		err = ENOMEM;
		goto err_unmap;
	}
	return &cq->vcq.cq;

err_unmap:
	shca_cq_unmap(cq, ctx->page_size);
err_destroy:
	ibv_cmd_destroy_cq(&cq->vcq.cq);
err_lock:
	pthread_spin_destroy(&cq->lock);
err_free:
	free(cq);
	errno = err;
	return NULL;
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
	pthread_spin_destroy(&cq->lock);
	free(cq->dead);
	free(cq);
	return 0;
}

/* The completion @index, or NULL: not there yet. */
static inline const struct shca_cqe *shca_cq_peek(const struct shca_cq *cq,
						  uint32_t index)
{
	const struct shca_cqe *cqe = &cq->ring[index & cq->mask];

	return shca_cqe_is_valid(cqe, index) ? cqe : NULL;
}

static inline bool shca_cq_is_dead(const struct shca_cq *cq, uint32_t index)
{
	uint32_t slot = index & cq->mask;

	return cq->dead[slot / 8] & (1u << slot % 8);
}

static inline void shca_cq_set_dead(struct shca_cq *cq, uint32_t index)
{
	uint32_t slot = index & cq->mask;

	cq->dead[slot / 8] |= 1u << slot % 8;
	cq->nr_dead++;
}

static inline void shca_cq_clear_dead(struct shca_cq *cq, uint32_t index)
{
	uint32_t slot = index & cq->mask;

	cq->dead[slot / 8] &= ~(1u << slot % 8);
	cq->nr_dead--;
}

static inline void shca_wc_fill(struct ibv_wc *wc, const struct shca_cqe *cqe)
{
	wc->wr_id = cqe->wr_id;
	wc->status = cqe->status;
	wc->opcode = cqe->opcode;
	wc->vendor_err = cqe->vendor_err;
	wc->byte_len = cqe->byte_len;
	wc->imm_data = cqe->imm_data;	/* or invalidated_rkey, same place */
	wc->qp_num = cqe->qp_num;
	wc->src_qp = cqe->src_qp;
	wc->wc_flags = cqe->wc_flags;
	wc->pkey_index = cqe->pkey_index;
	wc->slid = cqe->slid;
	wc->sl = cqe->sl;
	wc->dlid_path_bits = cqe->dlid_path_bits;
}

int shca_poll_cq(struct ibv_cq *ibcq, int num_entries, struct ibv_wc *wc)
{
	struct shca_cq *cq = to_shca_cq(ibcq);
	const struct shca_cqe *cqe;
	uint32_t cons;
	int n = 0;

	pthread_spin_lock(&cq->lock);
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
	pthread_spin_unlock(&cq->lock);
	return n;
}

/*
 * A request for any completion is not weakened by a later one for solicited
 * completions (IBTA 11.4.2.2).  Whether the first has fired is known for sure
 * only when its event has been read; until then the stronger request is
 * repeated, which costs at most an event too many.
 */
int shca_req_notify_cq(struct ibv_cq *ibcq, int solicited_only)
{
	struct shca_cq *cq = to_shca_cq(ibcq);
	uint32_t kind = SHCA_CQ_ARM_SOLICITED;

	pthread_spin_lock(&cq->lock);
	if (!solicited_only || cq->next_armed) {
		kind = SHCA_CQ_ARM_NEXT;
		cq->next_armed = true;
	}
	cq->arm = ((cq->arm & ~SHCA_CQ_ARM_KIND) + SHCA_CQ_ARM_SEQ) | kind;
	shca_cq_publish_arm(cq->index, cq->arm);
	pthread_spin_unlock(&cq->lock);
	return 0;
}

/* Called by ibv_get_cq_event() when it has read an event of this CQ. */
void shca_cq_event(struct ibv_cq *ibcq)
{
	struct shca_cq *cq = to_shca_cq(ibcq);

	pthread_spin_lock(&cq->lock);
	cq->next_armed = false;
	pthread_spin_unlock(&cq->lock);
}

/**
 * shca_cq_purge() - drop the completions of a QP that was reset or destroyed
 * @ibcq:	its CQ; NULL is allowed
 * @qp_num:	the QP, which produces none any more
 *
 * A program that reuses the QP, or gets a new QP of the same number, must not
 * meet completions of the old life.  Providers of hardware take them out of
 * the ring; ours is not writable here, so the slots are marked and polling
 * passes over them.  Dead completions at the head are retired at once, the
 * others hold their slot until they are passed.
 */
void shca_cq_purge(struct ibv_cq *ibcq, uint32_t qp_num)
{
	const struct shca_cqe *cqe;
	struct shca_cq *cq;
	uint32_t i;

	if (!ibcq)
		return;
	cq = to_shca_cq(ibcq);
	pthread_spin_lock(&cq->lock);
	for (i = cq->cons; i - cq->cons <= cq->mask; i++) {
		cqe = shca_cq_peek(cq, i);
		if (!cqe)
			break;
		if (cqe->qp_num == qp_num && !shca_cq_is_dead(cq, i))
			shca_cq_set_dead(cq, i);
	}
	for (i = cq->cons; cq->nr_dead && shca_cq_is_dead(cq, i); i++)
		shca_cq_clear_dead(cq, i);
	if (i != cq->cons) {
		cq->cons = i;
		shca_cq_publish_cons(cq->index, i);
	}
	pthread_spin_unlock(&cq->lock);
}
