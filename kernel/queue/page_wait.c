// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Packets whose memory is not present (odp.c).
 *
 * A packet that is being sent does not wait: the side goes back to it, as when the
 * queue below is full.
 *
 * A received packet waits, and so does what comes behind it for that side, in
 * order.  Beyond the bounds below packets are lost, as on a wire.  A peer of RC
 * gets an RNR NAK when its first packet begins to wait, and each time that it comes
 * again.  Older packets are answered as usual.  A requester of ours that has an
 * answer waiting does not time out.  Between two QPs of this machine the sender
 * goes back.
 *
 * Meanwhile a worker fetches.  Each side of a QP executes in order, so it wants one
 * thing at a time.  When the fetch fails, the side learns that as it asks for the
 * same memory again.
 *
 * Lifetime.  A fetch may last for ever (pager.h), and a QP is destroyed without
 * waiting for it.  So the fetch is an object of its own, made when a side asks for
 * the first time.  The side and the worker each hold a reference to it.  When the
 * worker has the memory, or has failed, it checks that the side still exists.
 *
 * Bounds.  Packets wait in the kernel's memory.  A side keeps a limited number of
 * packets.  Their bytes are limited to a share of what is still free of the
 * device's total. So many sides that make no progress leave room for one that does.
 */
#include "page_wait.h"

#include <linux/mutex.h>
#include <linux/netfilter.h>
#include <linux/refcount.h>
#include <linux/skbuff.h>
#include <linux/slab.h>

#include "../core/psn.h"
#include "rx.h"

/* Packets of one side that wait: two windows of ours. */
#define SHCA_PARK_MAX	256
/* Bytes of a device that wait, and what part of those left a side may have. */
#define SHCA_PARK_BYTES	(16l << 20)
#define SHCA_PARK_SHARE	8

/* ---- fetching ------------------------------------------------------------ */

/* enum shca_fetch_state - memory that a side has asked for */
enum shca_fetch_state {
	SHCA_FETCH_IDLE,
	SHCA_FETCH_BUSY,	/* is being fetched */
	SHCA_FETCH_FAILED,	/* cannot be had */
};

/*
 * struct shca_fetch - what a side has asked for
 * @ref:	of the side, and of @work where it is to be done
 * @lock:	held while the side is told; guards @mem
 * @mem:	the side's; NULL: it is gone
 * @state: @want: @status: @aim: changed under the side's lock, and by @work while
 *		busy
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
		/* Pairs with the acquire in shca_page_wait().  From here on we may
		 * be asked, and queued, again.
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

/* Has it been fetched?  Return: SHCA_MEM_OK: it was not yet asked for. */
static enum shca_mem_status shca_fetch_status(struct shca_fetch *fetch,
					      const struct shca_odp_want *want)
{
	/* Pairs with the release in shca_fetch_work(): @status is there. */
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
	/* The worker is telling us, or will find that we are gone. */
	mutex_lock(&fetch->lock);
	fetch->mem = NULL;
	mutex_unlock(&fetch->lock);
	if (cancel_work(&fetch->work))
		shca_fetch_done(fetch, fetch->aim.odp);
	mem->fetch = NULL;
	shca_fetch_put(fetch);
}

/* ---- waiting ------------------------------------------------------------- */

/*
 * struct shca_parked - a packet that waits
 * @in:	the skb that it is in, with a reference; @pkt.data points here
 * @bytes: what it takes; those of an skb count for the first packet in it
 */
struct shca_parked {
	struct list_head node;
	struct shca_rx_skb in;
	struct shca_pkt pkt;
	u32 bytes;
};

static struct shca_parked *shca_park_at(struct list_head *node)
{
	return list_entry(node, struct shca_parked, node);
}

/* Is @node, which may be the head of the list, a packet in @skb? */
static bool shca_park_is_in(const struct shca_park *park,
			    struct list_head *node, const struct sk_buff *skb)
{
	return park->nr && node != &park->list &&
	       shca_park_at(node)->in.skb == skb;
}

/* Bytes that one more packet takes, behind @before. */
static u32 shca_park_bytes(const struct shca_park *park,
			   struct list_head *before, const struct sk_buff *skb)
{
	if (shca_park_is_in(park, before, skb))
		return sizeof(struct shca_parked);
	return sizeof(struct shca_parked) + skb->truesize;
}

/* Sides of many CPUs look and add: a little more than the bound may wait. */
static bool shca_park_has_room(const struct shca_park *park, u32 bytes)
{
	long left = SHCA_PARK_BYTES - atomic_long_read(park->total);

	return park->nr < SHCA_PARK_MAX &&
	       (long)(park->bytes + bytes) <= left / SHCA_PARK_SHARE;
}

static void shca_park_account(struct shca_park *park, long bytes)
{
	park->bytes += bytes;
	atomic_long_add(bytes, park->total);
}

/* Adds @pkt behind @before. Return: false: it is lost. */
static bool shca_park_insert(struct shca_mem_ctx *mem, struct shca_park *park,
			     struct list_head *before,
			     const struct shca_pkt *pkt)
{
	const struct shca_rx_skb *in = pkt->data;
	struct shca_parked *p, *next;
	u32 bytes;

	park->total = &mem->qp->dev->parked;
	bytes = shca_park_bytes(park, before, in->skb);
	if (mem->starved || !shca_park_has_room(park, bytes))
		return false;
	p = kmalloc(sizeof(*p), GFP_ATOMIC | __GFP_NOWARN);
	if (!p)
		return false;
	/* As when it changes CPUs (rps.c): nothing of others' is kept. (What
	 * RAW_PACKET gets is a clone of the host's, see net/flow.c.)
	 */
	skb_orphan(in->skb);
	skb_dst_drop(in->skb);
	nf_reset_ct(in->skb);
	p->in = (struct shca_rx_skb){ .skb = skb_get(in->skb) };
	p->pkt = *pkt;
	p->pkt.data = &p->in;
	p->bytes = bytes;
	shca_park_account(park, bytes);
	if (!park->nr++)
		INIT_LIST_HEAD(&park->list);
	list_add(&p->node, before);
	if (list_is_last(&p->node, &park->list))
		return true;
	/* Two of one skb that are no longer beside each other: it counts for both. */
	next = shca_park_at(p->node.next);
	if (next->in.skb != in->skb &&
	    shca_park_is_in(park, before, next->in.skb)) {
		next->bytes += next->in.skb->truesize;
		shca_park_account(park, next->in.skb->truesize);
	}
	return true;
}

bool shca_park_add(struct shca_mem_ctx *mem, struct shca_park *park,
		   const struct shca_pkt *pkt)
{
	return shca_park_insert(mem, park,
				park->nr ? park->list.prev : &park->list, pkt);
}

bool shca_park_hold(struct shca_mem_ctx *mem, struct shca_park *park,
		    const struct shca_pkt *pkt)
{
	struct list_head *before;
	struct shca_parked *at;
	s32 ahead;

	if (!park->nr)
		return shca_park_add(mem, park, pkt);
	/* Most of them come in order among themselves. */
	before = &park->list;
	list_for_each_entry_reverse(at, &park->list, node) {
		ahead = shca_psn_diff(pkt->psn, at->pkt.psn);
		if (!ahead)
			return true;
		if (ahead > 0) {
			before = &at->node;
			break;
		}
	}
	return shca_park_insert(mem, park, before, pkt);
}

const struct shca_pkt *shca_park_first(struct shca_park *park)
{
	if (!park->nr)
		return NULL;
	return &list_first_entry(&park->list, struct shca_parked, node)->pkt;
}

const struct shca_pkt *shca_park_last(const struct shca_park *park)
{
	return &list_last_entry(&park->list, struct shca_parked, node)->pkt;
}

void shca_park_drop(struct shca_park *park)
{
	struct shca_parked *p = shca_park_at(park->list.next), *next;
	u32 shared = p->bytes - sizeof(*p);

	shca_mem_forget(&p->in.mr);
	list_del(&p->node);
	shca_park_account(park, -(long)p->bytes);
	if (--park->nr) {
		next = shca_park_at(park->list.next);
		if (next->in.skb == p->in.skb) {
			next->bytes += shared;
			shca_park_account(park, shared);
		}
	}
	consume_skb(p->in.skb);
	kfree(p);
}

void shca_park_purge(struct shca_park *park)
{
	while (park->nr)
		shca_park_drop(park);
}
