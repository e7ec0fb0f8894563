// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What becomes of a packet whose memory is not present (odp.c).
 *
 * One that is being sent is not: the side goes back to it, as when the queue
 * below is full.  One that was received waits, and so does what comes behind it
 * for that side, in order, unless there are too many: the rest is lost, as on a
 * wire.  A peer of RC is told by an RNR NAK when the first one begins to wait, and
 * each time that it comes again; what is older is answered as ever.  A requester of
 * ours that has an answer waiting is not impatient.  Between two QPs of this
 * machine the sender goes back.
 *
 * Meanwhile a worker fetches.  Each side of a QP executes in order, so it wants
 * one thing at a time.  That it cannot be had is told to the side when it asks
 * for the same again.
 */
#include "fault.h"

#include <linux/netfilter.h>
#include <linux/skbuff.h>
#include <linux/slab.h>

#include "rx.h"

/* Packets of one side that wait: two windows of ours. */
#define SHCA_PARK_MAX	256

/* ---- fetching ------------------------------------------------------------ */

static void shca_door_work(struct work_struct *work)
{
	struct shca_door *door = container_of(work, struct shca_door, work);
	struct shca_qp *qp = door->qp;

	door->status = shca_odp_fetch(&door->want);
	/* Pairs with the acquire in shca_door_ask(). */
	smp_store_release(&door->state, door->status == SHCA_MEM_OK ?
			  SHCA_DOOR_IDLE : SHCA_DOOR_FAILED);
	door->resume(qp);
}

static bool shca_door_same(const struct shca_odp_want *a,
			   const struct shca_odp_want *b)
{
	return a->key == b->key && a->va == b->va && a->len == b->len &&
	       a->access == b->access && a->who.pd == b->who.pd;
}

enum shca_mem_status shca_door_ask(struct shca_door *door,
				   const struct shca_odp_want *want)
{
	/* Pairs with the release in shca_door_work(): @status is there. */
	switch (smp_load_acquire(&door->state)) {
	case SHCA_DOOR_BUSY:
		return SHCA_MEM_RETRY;
	case SHCA_DOOR_FAILED:
		door->state = SHCA_DOOR_IDLE;
		if (shca_door_same(&door->want, want))
			return door->status;
		break;
	case SHCA_DOOR_IDLE:
		break;
	}
	if (door->qp->dead)
		return SHCA_MEM_RETRY;
	door->want = *want;
	door->state = SHCA_DOOR_BUSY;
	shca_odp_queue(&door->work);
	return SHCA_MEM_RETRY;
}

void shca_door_init(struct shca_door *door, struct shca_qp *qp,
		    void (*resume)(struct shca_qp *qp))
{
	door->qp = qp;
	door->state = SHCA_DOOR_IDLE;
	door->resume = resume;
	INIT_WORK(&door->work, shca_door_work);
}

void shca_door_stop(struct shca_door *door)
{
	cancel_work_sync(&door->work);
}

/* ---- waiting ------------------------------------------------------------- */

/*
 * struct shca_parked - a packet that waits
 * @in:	the skb that it is in, with a reference; @pkt.data points here
 */
struct shca_parked {
	struct list_head node;
	struct shca_rx_skb in;
	struct shca_pkt pkt;
};

bool shca_park_add(struct shca_park *park, const struct shca_pkt *pkt)
{
	const struct shca_rx_skb *in = pkt->data;
	struct shca_parked *p;

	if (park->nr == SHCA_PARK_MAX)
		return false;
	p = kmalloc(sizeof(*p), GFP_ATOMIC | __GFP_NOWARN);
	if (!p)
		return false;
	/* As when it changes CPUs (steer.c): nothing of others' is kept. (What
	 * RAW_PACKET gets is a clone of the host's, see flow.c.)
	 */
	skb_orphan(in->skb);
	skb_dst_drop(in->skb);
	nf_reset_ct(in->skb);
	p->in = (struct shca_rx_skb){ .skb = skb_get(in->skb) };
	p->pkt = *pkt;
	p->pkt.data = &p->in;
	if (!park->nr++)
		INIT_LIST_HEAD(&park->list);
	list_add_tail(&p->node, &park->list);
	return true;
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
	struct shca_parked *p;

	p = list_first_entry(&park->list, struct shca_parked, node);
	shca_mem_forget(&p->in.mr);
	list_del(&p->node);
	park->nr--;
	consume_skb(p->in.skb);
	kfree(p);
}

void shca_park_purge(struct shca_park *park)
{
	while (park->nr)
		shca_park_drop(park);
}
