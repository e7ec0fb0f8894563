// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Packets whose memory is not present (mem/odp.c).
 *
 * A packet to be sent does not wait: the side goes back to it, as when the queue below is full.
 * A received packet waits in the backlog (pkt_queue.c), and so does all behind it for that
 * side. Meanwhile a worker fetches the pages. A side executes in order, so it waits for one
 * fetch at a time. If the fetch fails, the side gets the error when it asks for the same memory
 * again.
 *
 * Lifetime. A fetch may last for ever (mem/pager.h), and destruction of a QP does not wait for
 * it. So the fetch is an object of its own, made when a side asks for the first time. The side
 * and the worker each hold a reference. When the fetch ends, the worker checks that the side
 * still exists.
 */
#include "page_wait.h"

#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/slab.h>

/* enum shca_fetch_state - state of the memory that a side has asked for */
enum shca_fetch_state {
	SHCA_FETCH_IDLE,
	SHCA_FETCH_BUSY,
	SHCA_FETCH_FAILED,
};

/*
 * struct shca_fetch - a fetch of a side
 * @ref:	of the side, and of @work while it is queued or runs
 * @lock:	held while the side is resumed; guards @mem
 * @mem:	the side's; NULL: it is gone
 * @state: @want: @status: @aim: changed under the side's lock, and by @work while busy
 */
struct shca_fetch {
	refcount_t ref;
	struct mutex lock;
	struct shca_mem_ctx *mem;
	enum shca_fetch_state state;
	enum shca_mem_status status;
	struct shca_odp_want want;
	struct shca_odp_aim aim;
	struct work_struct work;
};

static void shca_fetch_put(struct shca_fetch *fetch)
{
	if (refcount_dec_and_test(&fetch->ref))
		kfree(fetch);
}

static void shca_fetch_done(struct shca_fetch *fetch, struct shca_odp *odp)
{
	if (odp)
		shca_odp_put(odp);
	shca_fetch_put(fetch);
}

static void shca_fetch_work(struct work_struct *work)
{
	struct shca_fetch *fetch = container_of(work, struct shca_fetch, work);
	struct shca_odp *odp = fetch->aim.odp;
	enum shca_mem_status status;

	status = shca_odp_fetch(&fetch->aim);
	mutex_lock(&fetch->lock);
	if (fetch->mem) {
		fetch->status = status;
		/*
		 * Pairs with the acquire in shca_fetch_status() (litmus: fetch-state). From
		 * here on the side may ask, and queue this work, again.
		 */
		smp_store_release(&fetch->state, status == SHCA_MEM_OK ?
				  SHCA_FETCH_IDLE : SHCA_FETCH_FAILED);
		fetch->mem->resume(fetch->mem->qp);
	}
	mutex_unlock(&fetch->lock);
	shca_fetch_done(fetch, odp);
}

static struct shca_fetch *shca_fetch_make(struct shca_mem_ctx *mem,
					  const struct shca_odp_aim *aim)
{
	struct shca_fetch *fetch = shca_odp_alloc(aim, sizeof(*fetch));

	if (!fetch)
		return NULL;
	refcount_set(&fetch->ref, 1);
	mutex_init(&fetch->lock);
	fetch->mem = mem;
	INIT_WORK(&fetch->work, shca_fetch_work);
	return fetch;
}

static bool shca_fetch_same(const struct shca_odp_want *a,
			    const struct shca_odp_want *b)
{
	return a->key == b->key && a->va == b->va && a->len == b->len &&
	       a->access == b->access && a->who.pd == b->who.pd;
}

/* Return: SHCA_MEM_OK: a fetch may begin; SHCA_MEM_RETRY: one goes on; else its error. */
static enum shca_mem_status shca_fetch_status(struct shca_fetch *fetch,
					      const struct shca_odp_want *want)
{
	/* Pairs with the release in shca_fetch_work(), after @status (litmus: fetch-state). */
	switch (smp_load_acquire(&fetch->state)) {
	case SHCA_FETCH_BUSY:
		return SHCA_MEM_RETRY;
	case SHCA_FETCH_FAILED:
		fetch->state = SHCA_FETCH_IDLE;
		if (shca_fetch_same(&fetch->want, want))
			return fetch->status;
		break;
	case SHCA_FETCH_IDLE:
		break;
	}
	return SHCA_MEM_OK;
}

enum shca_mem_status shca_page_wait(struct shca_mem_ctx *mem,
				   const struct shca_odp_want *want)
{
	enum shca_mem_status status = SHCA_MEM_OK;
	struct shca_odp_aim aim;

	if (mem->fetch)
		status = shca_fetch_status(mem->fetch, want);
	if (status != SHCA_MEM_OK)
		return status;
	if (mem->qp->dead)
		return SHCA_MEM_RETRY;
	status = shca_odp_aim(want, &aim);
	if (status != SHCA_MEM_OK)
		return status;
	if (!mem->fetch)
		mem->fetch = shca_fetch_make(mem, &aim);
	mem->starved = !mem->fetch;
	if (mem->starved) {
		if (aim.odp)
			shca_odp_put(aim.odp);
		return SHCA_MEM_RETRY;
	}
	mem->fetch->want = *want;
	mem->fetch->aim = aim;
	mem->fetch->state = SHCA_FETCH_BUSY;
	refcount_inc(&mem->fetch->ref);
	shca_odp_queue(&aim, &mem->fetch->work);
	return SHCA_MEM_RETRY;
}

void shca_mem_ctx_init(struct shca_mem_ctx *mem, struct shca_qp *qp,
		    void (*resume)(struct shca_qp *qp))
{
	mem->qp = qp;
	mem->resume = resume;
}

void shca_mem_ctx_stop(struct shca_mem_ctx *mem)
{
	struct shca_fetch *fetch = mem->fetch;

	if (!fetch)
		return;
	/* The worker either is in resume(), or finds @mem gone. */
	mutex_lock(&fetch->lock);
	fetch->mem = NULL;
	mutex_unlock(&fetch->lock);
	if (cancel_work(&fetch->work))
		shca_fetch_done(fetch, fetch->aim.odp);
	mem->fetch = NULL;
	shca_fetch_put(fetch);
}
