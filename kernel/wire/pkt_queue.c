// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Received packets that wait, of a side of a QP.
 *
 * Some wait for memory that is not present (page_wait.c), in the order in which they
 * came.  Beyond the bounds below packets are lost, as on a wire.  A peer of RC gets an
 * RNR NAK when its first packet begins to wait, and each time that it comes again.
 * Older packets are answered as usual.  A requester of ours that has an answer waiting
 * does not time out.  Between two QPs of this machine the sender goes back.
 *
 * Others came out of order, and wait for those before them.  They are a list by PSN.  Most
 * come in order among themselves, and join its end.  From the first one that does not they
 * are a tree, too.  A peer may send them in any order, and each is to cost the same.
 *
 * Bounds.  Packets wait in the kernel's memory.  A side keeps a limited number of
 * packets.  Their bytes are limited to a share of what is still free of the device's
 * total.  So many sides that make no progress leave room for one that does.  Packets
 * out of order have a total of their own: a long path needs megabytes for one side.  And
 * a peer that leaves gaps takes no room from those that wait for memory.
 */
#include "pkt_queue.h"

#include <linux/mm.h>
#include <linux/netfilter.h>
#include <linux/skbuff.h>
#include <linux/slab.h>

#include "../core/psn.h"
#include "../link/link.h"
#include "payload.h"

/*
 * struct shca_pkt_queue_bound - how many packets may wait
 * @nr:		of one side
 * @bytes:	of a device
 * @share:	what part of those left a side may have
 */
struct shca_pkt_queue_bound {
	unsigned int nr;
	long bytes;
	long share;
};

/* For memory: two windows of ours, as they are on a short path. */
static const struct shca_pkt_queue_bound shca_backlog_bound = {
	.nr = 256,
	.bytes = 16l << 20,
	.share = 8,
};

/* Out of order: two of the widest windows, and bytes enough for one of them. */
static const struct shca_pkt_queue_bound shca_ooo_bound = {
	.nr = SHCA_OOO_PSNS,
	.bytes = 64l << 20,
	.share = 4,
};

/* A device has no more for them than this part of the machine's memory. */
#define SHCA_PKT_QUEUE_OF_RAM	32

/*
 * struct shca_queued_pkt - a packet that waits
 * @by_psn: in the tree of those that are out of order, if there is one
 * @in:	the skb that it is in, with a reference; @pkt.data points here
 * @bytes: what it takes; those of an skb count for the first packet in it
 */
struct shca_queued_pkt {
	struct list_head node;
	struct rb_node by_psn;
	struct shca_rx_skb in;
	struct shca_pkt pkt;
	u32 bytes;
};

static struct shca_queued_pkt *shca_pkt_queue_at(struct list_head *node)
{
	return list_entry(node, struct shca_queued_pkt, node);
}

/* Is @node, which may be the head of the list, a packet in @skb? */
static bool shca_pkt_queue_is_in(const struct shca_pkt_queue *queue,
			    struct list_head *node, const struct sk_buff *skb)
{
	return queue->nr && node != &queue->list &&
	       shca_pkt_queue_at(node)->in.skb == skb;
}

/* Bytes that one more packet takes, behind @before. */
static u32 shca_pkt_queue_bytes(const struct shca_pkt_queue *queue,
			   struct list_head *before, const struct sk_buff *skb)
{
	if (shca_pkt_queue_is_in(queue, before, skb))
		return sizeof(struct shca_queued_pkt);
	return sizeof(struct shca_queued_pkt) + skb->truesize;
}

/* Sides of many CPUs look and add: a little more than the bound may wait. */
static bool shca_pkt_queue_has_room(const struct shca_pkt_queue *queue,
			       const struct shca_pkt_queue_bound *bound, u32 bytes)
{
	unsigned long ram = totalram_pages() / SHCA_PKT_QUEUE_OF_RAM;
	long most = min_t(unsigned long, bound->bytes >> PAGE_SHIFT, ram) << PAGE_SHIFT;
	long left = most - atomic_long_read(queue->total);

	return queue->nr < bound->nr &&
	       (long)(queue->bytes + bytes) <= left / bound->share;
}

static void shca_pkt_queue_account(struct shca_pkt_queue *queue, long bytes)
{
	queue->bytes += bytes;
	atomic_long_add(bytes, queue->total);
}

/* Adds @pkt behind @before. Return: NULL: it is lost. */
static struct shca_queued_pkt *
shca_pkt_queue_insert(struct shca_pkt_queue *queue, const struct shca_pkt_queue_bound *bound,
		 struct list_head *before, const struct shca_pkt *pkt)
{
	const struct shca_rx_skb *in = pkt->data;
	struct shca_queued_pkt *p, *next;
	u32 bytes;

	bytes = shca_pkt_queue_bytes(queue, before, in->skb);
	if (!shca_pkt_queue_has_room(queue, bound, bytes))
		return NULL;
	p = kmalloc(sizeof(*p), GFP_ATOMIC | __GFP_NOWARN);
	if (!p)
		return NULL;
	/* Nothing of others' is kept. (What RAW_PACKET gets is a clone of the host's,
	 * see verbs/flow.c.)
	 */
	skb_orphan(in->skb);
	skb_dst_drop(in->skb);
	nf_reset_ct(in->skb);
	p->in = (struct shca_rx_skb){ .skb = skb_get(in->skb) };
	p->pkt = *pkt;
	p->pkt.data = &p->in;
	p->bytes = bytes;
	RB_CLEAR_NODE(&p->by_psn);
	shca_pkt_queue_account(queue, bytes);
	if (!queue->nr++)
		INIT_LIST_HEAD(&queue->list);
	list_add(&p->node, before);
	if (list_is_last(&p->node, &queue->list))
		return p;
	/* Two of one skb that are no longer beside each other: it counts for both. */
	next = shca_pkt_queue_at(p->node.next);
	if (next->in.skb != in->skb &&
	    shca_pkt_queue_is_in(queue, before, next->in.skb)) {
		next->bytes += next->in.skb->truesize;
		shca_pkt_queue_account(queue, next->in.skb->truesize);
	}
	return p;
}

bool shca_pkt_queue_add(struct shca_mem_ctx *mem, struct shca_pkt_queue *queue,
		   const struct shca_pkt *pkt)
{
	queue->total = &mem->qp->dev->backlog_bytes;
	return shca_pkt_queue_insert(queue, &shca_backlog_bound,
				queue->nr ? queue->list.prev : &queue->list, pkt);
}

/* @p, the one behind the last of the tree, joins it. */
static void shca_pkt_queue_grow(struct shca_pkt_queue *queue, struct shca_queued_pkt *p)
{
	struct rb_node *parent = NULL, **link = &queue->by_psn.rb_node;

	if (*link) {
		parent = &shca_pkt_queue_at(p->node.prev)->by_psn;
		link = &parent->rb_right;
	}
	rb_link_node(&p->by_psn, parent, link);
	rb_insert_color(&p->by_psn, &queue->by_psn);
}

/* @pkt has the latest PSN. Return: as shca_pkt_queue_add_ooo(). */
static bool shca_pkt_queue_append(struct shca_pkt_queue *queue, const struct shca_pkt *pkt)
{
	struct list_head *before = queue->nr ? queue->list.prev : &queue->list;
	struct shca_queued_pkt *p = shca_pkt_queue_insert(queue, &shca_ooo_bound, before, pkt);

	if (p && !RB_EMPTY_ROOT(&queue->by_psn))
		shca_pkt_queue_grow(queue, p);
	return p;
}

bool shca_pkt_queue_add_ooo(struct shca_mem_ctx *mem, struct shca_pkt_queue *queue,
		    const struct shca_pkt *pkt)
{
	struct list_head *before = &queue->list;
	struct rb_node *parent = NULL, **link;
	struct shca_queued_pkt *at;
	s32 ahead;

	queue->total = &mem->qp->dev->ooo_bytes;
	if (!queue->nr)
		queue->by_psn = RB_ROOT;
	if (!queue->nr || shca_psn_diff(pkt->psn, shca_pkt_queue_last(queue)->psn) > 0)
		return shca_pkt_queue_append(queue, pkt);
	/* (once until none is kept: each of them joins it once) */
	if (RB_EMPTY_ROOT(&queue->by_psn)) {
		list_for_each_entry(at, &queue->list, node)
			shca_pkt_queue_grow(queue, at);
	}
	link = &queue->by_psn.rb_node;
	while (*link) {
		parent = *link;
		at = rb_entry(parent, struct shca_queued_pkt, by_psn);
		ahead = shca_psn_diff(pkt->psn, at->pkt.psn);
		if (!ahead)
			return true;
		link = ahead > 0 ? &parent->rb_right : &parent->rb_left;
		if (ahead > 0)
			before = &at->node;
	}
	at = shca_pkt_queue_insert(queue, &shca_ooo_bound, before, pkt);
	if (!at)
		return false;
	rb_link_node(&at->by_psn, parent, link);
	rb_insert_color(&at->by_psn, &queue->by_psn);
	return true;
}

const struct shca_pkt *shca_pkt_queue_first(struct shca_pkt_queue *queue)
{
	if (!queue->nr)
		return NULL;
	return &list_first_entry(&queue->list, struct shca_queued_pkt, node)->pkt;
}

const struct shca_pkt *shca_pkt_queue_last(const struct shca_pkt_queue *queue)
{
	return &list_last_entry(&queue->list, struct shca_queued_pkt, node)->pkt;
}

void shca_pkt_queue_drop(struct shca_pkt_queue *queue)
{
	struct shca_queued_pkt *p = shca_pkt_queue_at(queue->list.next), *next;
	u32 shared = p->bytes - sizeof(*p);

	shca_mem_forget(&p->in.mr);
	list_del(&p->node);
	if (!RB_EMPTY_NODE(&p->by_psn))
		rb_erase(&p->by_psn, &queue->by_psn);
	shca_pkt_queue_account(queue, -(long)p->bytes);
	if (--queue->nr) {
		next = shca_pkt_queue_at(queue->list.next);
		if (next->in.skb == p->in.skb) {
			next->bytes += shared;
			shca_pkt_queue_account(queue, shared);
		}
	}
	consume_skb(p->in.skb);
	kfree(p);
}

void shca_pkt_queue_take(struct shca_pkt_queue *queue, struct list_head *lost)
{
	if (!queue->nr)
		return;
	list_splice_tail(&queue->list, lost);
	shca_pkt_queue_account(queue, -(long)queue->bytes);
	queue->nr = 0;
}

void shca_pkt_queue_free(struct list_head *lost)
{
	struct shca_queued_pkt *p, *next;

	list_for_each_entry_safe(p, next, lost, node) {
		consume_skb(p->in.skb);
		kfree(p);
	}
}
