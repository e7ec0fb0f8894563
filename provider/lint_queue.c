// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The verbs sanitizer: posted requests, and what is wrong with them.
 *
 * A request is outstanding until the program has polled its completion, or that of a
 * later request of the same send queue. The kernel may have retired it long before, but
 * the program cannot know that.
 */
#include "lint.h"

#include <errno.h>
#include <stdlib.h>

#include "ring.h"

void shca_lint_queue_init(struct shca_lint_queue *queue, struct shca_lint *lint,
			  struct shca_wq *wq, bool is_send)
{
	list_head_init(&queue->posted);
	queue->lint = lint;
	queue->wq = wq;
	queue->is_send = is_send;
	wq->lint = queue;
}

struct shca_lint_qp *shca_lint_qp_find(struct shca_lint *lint, uint32_t qp_num)
{
	struct shca_lint_qp *qp;

	list_for_each(&lint->qps[qp_num % SHCA_LINT_BUCKETS], qp, entry)
		if (qp->qp_num == qp_num && !qp->ending)
			return qp;
	return NULL;
}

static bool shca_lint_reads(uint8_t opcode)
{
	return opcode == SHCA_WR_RDMA_READ ||
	       opcode == SHCA_WR_ATOMIC_CMP_AND_SWP ||
	       opcode == SHCA_WR_ATOMIC_FETCH_AND_ADD;
}

/* Do the buffers of the request get data, and not give them? */
static bool shca_lint_takes(const struct shca_lint_queue *queue,
			    const struct shca_lint_post *post)
{
	return !queue->is_send || shca_lint_reads(post->opcode);
}

/* Adds it at the end, or takes it out. */
static void shca_lint_count(struct shca_lint_queue *queue,
			    const struct shca_lint_post *post, int by)
{
	queue->nr += by;
	if (post->signaled)
		queue->nr_signaled += by;
	if (queue->is_send && shca_lint_reads(post->opcode))
		queue->nr_reads += by;
	if (post->counted)
		queue->cq->outstanding += by;
}

static void shca_lint_drop(struct shca_lint_queue *queue,
			   struct shca_lint_post *post)
{
	shca_lint_count(queue, post, -1);
	list_del(&post->entry);
	free(post);
}

void shca_lint_queue_clear(struct shca_lint_queue *queue)
{
	struct shca_lint_post *post;

	while ((post = list_top(&queue->posted, struct shca_lint_post, entry)))
		shca_lint_drop(queue, post);
}

void shca_lint_queue_set_cq(struct shca_lint_queue *queue,
			    struct shca_lint_cq *cq)
{
	struct shca_lint_post *post;

	list_for_each(&queue->posted, post, entry) {
		if (post->counted)
			queue->cq->outstanding--;
		post->counted = post->signaled && cq;
		if (post->counted)
			cq->outstanding++;
	}
	queue->cq = cq;
}

/* ---- posting ------------------------------------------------------------- */

static struct shca_lint_post *shca_lint_alloc(const struct shca_sge *sge,
					      uint32_t nr_sge)
{
	struct shca_lint_post *post;
	uint32_t i;

	post = calloc(1, sizeof(*post) + nr_sge * sizeof(post->sge[0]));
	if (!post)
		return NULL;
	post->nr_sge = nr_sge;
	for (i = 0; i < nr_sge; i++) {
		post->sge[i].addr = sge[i].addr;
		post->sge[i].length = sge[i].length;
		post->sge[i].lkey = sge[i].lkey;
	}
	return post;
}

static struct shca_lint_post *shca_lint_new_send(const struct shca_lint_queue *queue,
						 const struct shca_send_wqe *wqe)
{
	struct shca_lint_post *post;

	post = shca_lint_alloc((const struct shca_sge *)(wqe + 1), wqe->num_sge);
	if (!post)
		return NULL;
	post->wr_id = wqe->wr_id;
	post->opcode = wqe->opcode;
	post->signaled = wqe->flags & SHCA_SEND_SIGNALED;
	post->ordered = wqe->flags & SHCA_SEND_FENCE;
	post->counted = post->signaled && queue->cq;
	if (wqe->opcode == SHCA_WR_BIND_MW) {
		post->mw = wqe->bind.mw_handle;
		post->mr_lkey = wqe->bind.mr_lkey;
	} else if (queue->qp->qp->vqp.qp.qp_type == IBV_QPT_UD) {
		post->ah = SHCA_LINT_AH | wqe->ud.ah;
	}
	return post;
}

static struct shca_lint_post *shca_lint_new_recv(const struct shca_lint_queue *queue,
						 const struct shca_recv_wqe *wqe)
{
	struct shca_lint_post *post;

	post = shca_lint_alloc((const struct shca_sge *)(wqe + 1), wqe->num_sge);
	if (!post)
		return NULL;
	post->wr_id = wqe->wr_id;
	post->signaled = true;
	post->counted = queue->cq;
	return post;
}

static void shca_lint_check_sge(struct shca_lint_queue *queue,
				struct shca_lint_post *post, uint32_t i)
{
	struct shca_lint *lint = queue->lint;
	struct shca_lint_sge *sge = &post->sge[i];
	const struct shca_lint_mr *mr = shca_lint_mr_find(lint, sge->lkey);
	uint64_t address;
	int err;

	if (!mr || !sge->length)
		return;
	if (sge->addr < mr->iova || sge->addr - mr->iova > mr->length ||
	    sge->length > mr->length - (sge->addr - mr->iova)) {
		shca_lint_say(lint, SHCA_LINT_RANGE, queue, post, NULL,
			      "segment %u, %u bytes at 0x%llx, is not within the region of its lkey 0x%x, %llu bytes at 0x%llx",
			      i, sge->length, (unsigned long long)sge->addr,
			      sge->lkey, (unsigned long long)mr->length,
			      (unsigned long long)mr->iova);
		return;
	}
	if (shca_lint_takes(queue, post)) {
		if (!(mr->access & IBV_ACCESS_LOCAL_WRITE))
			shca_lint_say(lint, SHCA_LINT_ACCESS, queue, post, NULL,
				      "segment %u gets data, but its region (lkey 0x%x) is registered without IBV_ACCESS_LOCAL_WRITE",
				      i, sge->lkey);
		return;
	}
	address = shca_lint_address(lint, sge->lkey, sge->addr, sge->length);
	if (!address || post->ordered)
		return;
	err = shca_lint_sum(address, sge->length, &sge->sum);
	sge->summed = !err;
	if (err == EFAULT)
		shca_lint_say(lint, SHCA_LINT_UNMAPPED, queue, post, NULL,
			      "segment %u, %u bytes at 0x%llx, is registered, but this process has no memory there any more",
			      i, sge->length, (unsigned long long)address);
}

static bool shca_lint_overlap(const struct shca_lint_sge *a,
			      const struct shca_lint_sge *b)
{
	return a->lkey == b->lkey && a->addr < b->addr + b->length &&
	       b->addr < a->addr + a->length;
}

static void shca_lint_check_overlap(struct shca_lint_queue *queue,
				    const struct shca_lint_post *post)
{
	const struct shca_lint_post *other;
	uint32_t i, j;

	if (queue->is_send || !shca_lint_wants(SHCA_LINT_RECV_OVERLAP))
		return;
	list_for_each(&queue->posted, other, entry)
		for (i = 0; i < post->nr_sge; i++)
			for (j = 0; j < other->nr_sge; j++) {
				if (!shca_lint_overlap(&post->sge[i], &other->sge[j]))
					continue;
				shca_lint_say(queue->lint, SHCA_LINT_RECV_OVERLAP,
					      queue, post, NULL,
					      "its buffer is part of that of the receive with wr_id 0x%llx, which is still posted",
					      (unsigned long long)other->wr_id);
				return;
			}
}

static void shca_lint_check_reads(struct shca_lint_queue *queue,
				  const struct shca_lint_post *post)
{
	const struct shca_lint_qp *qp = queue->qp;

	if (!queue->is_send || !qp->has_read_depth || !shca_lint_reads(post->opcode))
		return;
	if (!qp->read_depth)
		shca_lint_say(queue->lint, SHCA_LINT_NO_READ_DEPTH, queue, post,
			      NULL, "the QP has max_rd_atomic 0, so it may have no READ or atomic");
	else if (queue->nr_reads >= qp->read_depth)
		shca_lint_say(queue->lint, SHCA_LINT_READ_DEPTH, queue, post,
			      NULL, "more READs and atomics are posted than max_rd_atomic, %u: it waits for them",
			      qp->read_depth);
}

/* After it was added. */
static void shca_lint_check_room(struct shca_lint_queue *queue,
				 const struct shca_lint_post *post)
{
	struct shca_lint *lint = queue->lint;
	struct shca_lint_cq *cq = queue->cq;

	if (queue->is_send && queue->nr >= queue->wq->max_wr &&
	    !queue->nr_signaled)
		shca_lint_say(lint, SHCA_LINT_NEVER_RETIRES, queue, post, NULL,
			      "the queue is full (%u requests), and none of them is signalled: no completion will ever tell that there is room",
			      queue->nr);
	if (post->counted && !cq->may_overrun &&
	    cq->outstanding > (uint32_t)cq->ibcq->cqe)
		shca_lint_say(lint, SHCA_LINT_CQ_SMALL, queue, post, NULL,
			      "%u requests are posted that complete to a CQ of %d entries",
			      cq->outstanding, cq->ibcq->cqe);
}

void shca_lint_posted(struct shca_wq *wq, uint32_t prod)
{
	struct shca_lint_queue *queue = wq->lint;
	struct shca_lint_stack stack;
	struct shca_lint_post *post;
	uint32_t index, i;

	if (!queue)
		return;
	shca_lint_stack_get(&stack);
	pthread_mutex_lock(&queue->lint->lock);
	for (index = wq->prod; index != prod; index++) {
		post = queue->is_send ?
		       shca_lint_new_send(queue, shca_wq_slot(wq, index)) :
		       shca_lint_new_recv(queue, shca_wq_slot(wq, index));
		if (!post)
			break;
		post->index = index;
		post->stack = stack;
		for (i = 0; i < post->nr_sge; i++)
			shca_lint_check_sge(queue, post, i);
		shca_lint_check_overlap(queue, post);
		shca_lint_check_reads(queue, post);
		list_add_tail(&queue->posted, &post->entry);
		shca_lint_count(queue, post, 1);
		shca_lint_check_room(queue, post);
		/* The real queue had room, so the oldest is retired. */
		if (queue->nr > wq->mask + 1)
			shca_lint_drop(queue, list_top(&queue->posted,
						       struct shca_lint_post,
						       entry));
	}
	pthread_mutex_unlock(&queue->lint->lock);
}

/* ---- completions --------------------------------------------------------- */

/* Have the buffers of a request that sends data kept them? */
static void shca_lint_check_sent(struct shca_lint_queue *queue,
				 struct shca_lint_post *post)
{
	uint64_t address, sum;
	uint32_t i;
	int err;

	if (post->checked)
		return;
	post->checked = true;
	for (i = 0; i < post->nr_sge; i++) {
		const struct shca_lint_sge *sge = &post->sge[i];

		address = shca_lint_address(queue->lint, sge->lkey, sge->addr,
					    sge->length);
		if (!sge->summed || !address)
			continue;
		err = shca_lint_sum(address, sge->length, &sum);
		if (err == EFAULT)
			shca_lint_say(queue->lint, SHCA_LINT_UNMAPPED, queue, post,
				      NULL, "segment %u, %u bytes at 0x%llx, was unmapped between post and completion",
				      i, sge->length,
				      (unsigned long long)address);
		else if (!err && sum != sge->sum)
			shca_lint_say(queue->lint, SHCA_LINT_SEND_CHANGED, queue,
				      post, NULL,
				      "segment %u, %u bytes at 0x%llx, was changed between post and completion",
				      i, sge->length,
				      (unsigned long long)address);
	}
}

/*
 * A program that got an answer to an unsignalled request may use its buffer again, and
 * many do. So such a request is compared when the kernel has retired it.
 */
static void shca_lint_check_retired(struct shca_lint_queue *queue)
{
	uint32_t cons = shca_wq_read_cons(&queue->qp->qp->status->sq_cons);
	struct shca_lint_post *post;

	list_for_each(&queue->posted, post, entry) {
		if ((int32_t)(cons - post->index) <= 0)
			break;
		if (!post->signaled)
			shca_lint_check_sent(queue, post);
	}
}

static void shca_lint_send_completed(struct shca_lint_queue *queue,
				     uint64_t wr_id, enum ibv_wc_status status)
{
	bool success = status == IBV_WC_SUCCESS, last;
	struct shca_lint_post *post;

	list_for_each(&queue->posted, post, entry)
		if (post->wr_id == wr_id && (post->signaled || !success))
			goto found;
	return;	/* it was posted before, or forgotten */
found:
	do {
		struct shca_lint_post *first =
			list_top(&queue->posted, struct shca_lint_post, entry);

		last = first == post;
		if (success)
			shca_lint_check_sent(queue, first);
		shca_lint_drop(queue, first);
	} while (!last);
}

/* Are the buffers of a completed receive still there, and whose data did it overwrite? */
static void shca_lint_check_received(struct shca_lint_queue *queue,
				     const struct shca_lint_post *post,
				     uint32_t left)
{
	uint64_t address, sum;
	uint32_t i, length;

	for (i = 0; i < post->nr_sge && left; i++, left -= length) {
		const struct shca_lint_sge *sge = &post->sge[i];

		length = sge->length < left ? sge->length : left;
		address = shca_lint_address(queue->lint, sge->lkey, sge->addr,
					    length);
		if (!address)
			continue;
		if (shca_lint_sum(address, 1, &sum) == EFAULT ||
		    shca_lint_sum(address + length - 1, 1, &sum) == EFAULT)
			shca_lint_say(queue->lint, SHCA_LINT_UNMAPPED, queue, post,
				      NULL, "segment %u, %u bytes at 0x%llx, was unmapped between post and completion",
				      i, sge->length,
				      (unsigned long long)address);
	}
	if (post->again_length &&
	    !shca_lint_sum(post->again_addr, post->again_length, &sum) &&
	    sum != post->again_sum)
		shca_lint_say(queue->lint, SHCA_LINT_RECV_OVERWRITTEN, queue, post,
			      NULL, "it was posted before the receive with wr_id 0x%llx had completed, whose data at 0x%llx it has overwritten",
			      (unsigned long long)post->again_wr_id,
			      (unsigned long long)post->again_addr);
}

/* If a posted receive has a part of its first buffer, notes what it will overwrite. */
static void shca_lint_note_again(struct shca_lint_queue *queue,
				 const struct shca_lint_post *done,
				 uint32_t length)
{
	const struct shca_lint_sge *from = &done->sge[0], *to;
	struct shca_lint_post *post;
	uint64_t start, end;

	/* perftest posts slots of datagrams that overlap, and means it. */
	if (!done->nr_sge ||
	    (queue->qp && queue->qp->qp->vqp.qp.qp_type == IBV_QPT_UD))
		return;
	if (length > from->length)
		length = from->length;
	list_for_each(&queue->posted, post, entry) {
		to = &post->sge[0];
		if (!post->nr_sge || !shca_lint_overlap(from, to))
			continue;
		start = from->addr > to->addr ? from->addr : to->addr;
		end = from->addr + length < to->addr + to->length ?
		      from->addr + length : to->addr + to->length;
		if (start >= end)
			return;
		post->again_addr = shca_lint_address(queue->lint, from->lkey,
						     start, end - start);
		if (!post->again_addr ||
		    shca_lint_sum(post->again_addr, end - start, &post->again_sum))
			return;
		post->again_length = end - start;
		post->again_wr_id = done->wr_id;
		return;
	}
}

static void shca_lint_recv_completed(struct shca_lint_queue *queue,
				     uint64_t wr_id, enum ibv_wc_status status,
				     uint32_t byte_len)
{
	struct shca_lint_post *post;

	list_for_each(&queue->posted, post, entry)
		if (post->wr_id == wr_id)
			goto found;
	return;
found:
	list_del(&post->entry);
	if (status == IBV_WC_SUCCESS) {
		shca_lint_check_received(queue, post, byte_len);
		shca_lint_note_again(queue, post, byte_len);
	}
	list_add(&queue->posted, &post->entry);
	shca_lint_drop(queue, post);
}

void shca_lint_completed(struct shca_lint *lint, uint64_t wr_id,
			 enum ibv_wc_status status, unsigned int opcode,
			 uint32_t qp_num, uint32_t byte_len)
{
	struct shca_lint_qp *qp;

	pthread_mutex_lock(&lint->lock);
	qp = shca_lint_qp_find(lint, qp_num);
	if (!qp)
		goto out;
	if (!(opcode & IBV_WC_RECV)) {
		shca_lint_send_completed(&qp->send, wr_id, status);
		goto out;
	}
	shca_lint_check_retired(&qp->send);
	if (opcode <= IBV_WC_RECV_RDMA_WITH_IMM)
		shca_lint_recv_completed(qp->srq ? &qp->srq->queue : &qp->recv,
					 wr_id, status,
					 opcode == IBV_WC_RECV ? byte_len : 0);
out:
	pthread_mutex_unlock(&lint->lock);
}

/* ---- what goes while it is used ------------------------------------------- */

/* May the requests of a queue still be executed? */
static bool shca_lint_is_live(const struct shca_lint_qp *qp, bool is_send)
{
	enum ibv_qp_state state = qp->qp->vqp.qp.state;

	if (qp->ending ||
	    __atomic_load_n(&qp->qp->status->flags, __ATOMIC_RELAXED) & SHCA_QPS_ERR)
		return false;
	return is_send ? state == IBV_QPS_RTS || state == IBV_QPS_SQD :
			 state >= IBV_QPS_RTR && state < IBV_QPS_ERR;
}

struct shca_lint_search {
	enum shca_lint_finding finding;
	shca_lint_uses_fn *uses;
	uint64_t key;
	const char *what;
	struct shca_lint_stack stack;
};

static void shca_lint_search(struct shca_lint_queue *queue,
			     const struct shca_lint_search *search)
{
	const struct shca_lint_post *post;

	list_for_each(&queue->posted, post, entry)
		if (!post->checked && search->uses(post, search->key)) {
			shca_lint_say(queue->lint, search->finding, queue, post,
				      &search->stack, "%s", search->what);
			return;
		}
}

void shca_lint_used(struct shca_lint *lint, enum shca_lint_finding finding,
		    shca_lint_uses_fn *uses, uint64_t key, const char *what)
{
	struct shca_lint_search search = { finding, uses, key, what };
	struct shca_lint_srq *srq;
	struct shca_lint_qp *qp;
	int i;

	shca_lint_stack_get(&search.stack);
	pthread_mutex_lock(&lint->lock);
	list_for_each(&lint->srqs, srq, entry)
		srq->used = false;
	for (i = 0; i < SHCA_LINT_BUCKETS; i++)
		list_for_each(&lint->qps[i], qp, entry) {
			if (shca_lint_is_live(qp, true)) {
				shca_lint_check_retired(&qp->send);
				shca_lint_search(&qp->send, &search);
			}
			if (!shca_lint_is_live(qp, false))
				continue;
			shca_lint_search(&qp->recv, &search);
			if (qp->srq)
				qp->srq->used = true;
		}
	list_for_each(&lint->srqs, srq, entry)
		if (srq->used)
			shca_lint_search(&srq->queue, &search);
	pthread_mutex_unlock(&lint->lock);
}
