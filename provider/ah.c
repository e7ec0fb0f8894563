// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Address handles.
 *
 * A program may destroy a handle as soon as it has posted, because an adapter has a
 * copy of the address by then. Here the kernel reads the address with the request. That
 * may be later: in a stream without doorbells, at a static rate, behind a full queue of
 * the network. A section of ibv_wr_* shows its requests only at its end. So a handle lives
 * on until the queues that used it have no request left from before its end.
 *
 * A program that makes or destroys a handle looks after those that still live. The end of
 * a queue or of the protection domain is the end of what waits for it.
 */
#include "softhca.h"

#include <stdlib.h>

#include "doorbell.h"
#include "ring.h"

/*
 * A handle that the program has destroyed, and that lives on.
 * @pd_handle:	its protection domain
 * @nr_queues:	queues that may still use it, in @queue
 * @prod:	the queue has read the handle when it has retired requests up to this
 */
struct shca_late_ah {
	struct list_node entry;
	struct shca_ah *ah;
	uint32_t pd_handle;
	unsigned int nr_queues;
	struct {
		struct shca_qp *qp;
		uint32_t prod;
	} queue[];
};

void shca_ahs_init(struct shca_ahs *ahs)
{
	pthread_mutex_init(&ahs->lock, NULL);
	list_head_init(&ahs->qps);
	list_head_init(&ahs->late);
	ahs->nr_qps = 0;
}

static int shca_ah_end(struct shca_ah *ah)
{
	int err = ibv_cmd_destroy_ah(&ah->ah);

	if (!err)
		free(ah);
	return err;
}

/* Nobody is there to be told of an error: the device has gone, and the handle with it. */
static void shca_late_end(struct shca_late_ah *late)
{
	list_del(&late->entry);
	if (shca_ah_end(late->ah))
		free(late->ah);
	free(late);
}

static uint32_t shca_sq_retired(const struct shca_qp *qp)
{
	return shca_wq_read_cons(&qp->status->sq_cons);
}

/*
 * The index behind the last request, with those of a section of ibv_wr_*, which the
 * kernel does not see yet.
 *
 * Acquire: pairs with the release in shca_ex_set_wqe(). The end of the section publishes
 * its requests before there is no current one. A program that destroys a handle in
 * another thread than the section's has seen the handle used, and so the request.
 */
static uint32_t shca_sq_end(const struct shca_qp *qp)
{
	if (__atomic_load_n(&qp->ex.wqe, __ATOMIC_ACQUIRE))
		return __atomic_load_n(&qp->ex.prod, __ATOMIC_RELAXED);
	return __atomic_load_n(&qp->index->sq_prod, __ATOMIC_RELAXED);
}

/*
 * Has @qp requests left from before @prod? In an empty queue there are none: those of a
 * section that has failed are never posted.
 */
static bool shca_sq_is_behind(const struct shca_qp *qp, uint32_t prod)
{
	uint32_t retired = shca_sq_retired(qp);

	return (int32_t)(retired - prod) < 0 && retired != shca_sq_end(qp);
}

/* Without those queues that have passed it, and without @gone. */
static void shca_late_look(struct shca_late_ah *late, const struct shca_qp *gone)
{
	unsigned int i, left = 0;

	for (i = 0; i < late->nr_queues; i++)
		if (late->queue[i].qp != gone &&
		    shca_sq_is_behind(late->queue[i].qp, late->queue[i].prod))
			late->queue[left++] = late->queue[i];
	late->nr_queues = left;
	if (!left)
		shca_late_end(late);
}

static void shca_ahs_look(struct shca_ahs *ahs, const struct shca_qp *gone)
{
	struct shca_late_ah *late, *next;

	list_for_each_safe(&ahs->late, late, next, entry)
		shca_late_look(late, gone);
}

void shca_ahs_add_qp(struct shca_ahs *ahs, struct shca_qp *qp)
{
	pthread_mutex_lock(&ahs->lock);
	list_add(&ahs->qps, &qp->ah_entry);
	ahs->nr_qps++;
	pthread_mutex_unlock(&ahs->lock);
}

void shca_ahs_empty_qp(struct shca_ahs *ahs, struct shca_qp *qp)
{
	pthread_mutex_lock(&ahs->lock);
	shca_ahs_look(ahs, qp);
	pthread_mutex_unlock(&ahs->lock);
}

void shca_ahs_del_qp(struct shca_ahs *ahs, struct shca_qp *qp)
{
	pthread_mutex_lock(&ahs->lock);
	list_del(&qp->ah_entry);
	ahs->nr_qps--;
	shca_ahs_look(ahs, qp);
	pthread_mutex_unlock(&ahs->lock);
}

bool shca_ahs_del_pd(struct shca_ahs *ahs, uint32_t pd_handle)
{
	struct shca_late_ah *late, *next;
	struct shca_qp *qp;
	bool busy = false;

	pthread_mutex_lock(&ahs->lock);
	list_for_each(&ahs->qps, qp, ah_entry)
		busy |= qp->vqp.qp.pd->handle == pd_handle;
	/* (what is refused changes nothing) */
	list_for_each_safe(&ahs->late, late, next, entry)
		if (!busy && late->pd_handle == pd_handle)
			shca_late_end(late);
	pthread_mutex_unlock(&ahs->lock);
	return !busy;
}

void shca_ahs_uninit(struct shca_ahs *ahs)
{
	struct shca_late_ah *late, *next;

	list_for_each_safe(&ahs->late, late, next, entry)
		shca_late_end(late);
	pthread_mutex_destroy(&ahs->lock);
}

struct ibv_ah *shca_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	struct shca_ahs *ahs = &to_shca_context(pd->context)->ahs;
	struct shca_cmd_create_ah_resp resp = {};
	struct shca_ah *ah;

	/* (those that could have gone count among the device's handles) */
	pthread_mutex_lock(&ahs->lock);
	shca_ahs_look(ahs, NULL);
	pthread_mutex_unlock(&ahs->lock);
	ah = calloc(1, sizeof(*ah));
	if (!ah)
		return NULL;
	if (ibv_cmd_create_ah(pd, &ah->ah, attr, &resp.ibv_resp,
			      sizeof(resp))) {
		free(ah);
		return NULL;
	}
	ah->handle = resp.drv_payload.handle;
	ah->pd_handle = pd->handle;
	return &ah->ah;
}

static bool shca_ah_is_of(const struct shca_ah *ah, const struct shca_qp *qp)
{
	return ah->shared || ah->qpn == qp->vqp.qp.qp_num;
}

/* Return: whether @qp has requests left. *@prod: it has none from before that one. */
static bool shca_sq_needs_time(const struct shca_qp *qp, uint32_t *prod)
{
	*prod = shca_sq_end(qp);
	if (!shca_sq_is_behind(qp, *prod))
		return false;
	/* In most cases it has read them after this. */
	shca_doorbell_ring(qp);
	return shca_sq_is_behind(qp, *prod);
}

/* Return: NULL: no queue needs @ah any more, or there is no memory to remember those. */
static struct shca_late_ah *shca_late_make(struct shca_ahs *ahs, struct shca_ah *ah)
{
	struct shca_late_ah *late = NULL;
	struct shca_qp *qp;
	uint32_t prod;

	list_for_each(&ahs->qps, qp, ah_entry) {
		if (!shca_ah_is_of(ah, qp) || !shca_sq_needs_time(qp, &prod))
			continue;
		if (!late) {
			late = calloc(1, sizeof(*late) +
					 ahs->nr_qps * sizeof(late->queue[0]));
			if (!late)
				return NULL;
			late->ah = ah;
			late->pd_handle = ah->pd_handle;
		}
		late->queue[late->nr_queues].qp = qp;
		late->queue[late->nr_queues++].prod = prod;
	}
	return late;
}

int shca_destroy_ah(struct ibv_ah *ibah)
{
	struct shca_ahs *ahs = &to_shca_context(ibah->context)->ahs;
	struct shca_ah *ah = to_shca_ah(ibah);
	struct shca_late_ah *late = NULL;

	/* (the queues cannot go meanwhile: the lock is held over their doorbells) */
	pthread_mutex_lock(&ahs->lock);
	shca_ahs_look(ahs, NULL);
	if (ah->qpn)
		late = shca_late_make(ahs, ah);
	if (late)
		list_add(&ahs->late, &late->entry);
	pthread_mutex_unlock(&ahs->lock);
	return late ? 0 : shca_ah_end(ah);
}
