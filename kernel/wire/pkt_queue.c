// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Received packets of a side that wait.
 *
 * The backlog has packets whose memory is not present (page_wait.c), and those behind them, in
 * the order of arrival. Beyond the bounds below packets are lost, as on a wire. A peer of RC
 * gets an RNR NAK when its first packet begins to wait, and for each retransmission of it.
 * Older packets are answered as usual. A requester whose answer waits does not time out. On the
 * direct path the sender goes back instead.
 *
 * The out-of-order queue is a list by PSN. Most packets join its end. With the first one that
 * does not, the queue becomes a tree, too: a peer may send in any order, and each packet is to
 * cost the same.
 *
 * Bounds. A side queues a limited number of packets. Their bytes are limited to a share of what
 * is left of the device's total, so sides that make no progress leave room for one that does.
 * Each kind of queue has a total of its own: a long path needs megabytes of out-of-order
 * packets for one side, and a peer that leaves gaps takes no room from packets that wait for
 * memory.
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
 * @share:	a side may have this part of the bytes that are left
 */
struct shca_pkt_queue_bound {
	unsigned int nr;
	long bytes;
	long share;
};

/* Backlog: two windows of a short path. */
static const struct shca_pkt_queue_bound shca_backlog_bound = {
	.nr = 256,
	.bytes = 16l << 20,
	.share = 8,
};

/* Out-of-order queue: two of the widest windows, and bytes for one of them. */
static const struct shca_pkt_queue_bound shca_ooo_bound = {
	.nr = SHCA_OOO_PSNS,
	.bytes = 64l << 20,
	.share = 4,
};

/* A device uses at most this part of the machine's memory for them. */
#define SHCA_PKT_QUEUE_OF_RAM	32

/*
 * struct shca_queued_pkt - a queued packet
 * @by_psn:	in the tree of an out-of-order queue, if there is one
 * @in:		its skb, with a reference; @pkt.data points here
 * @bytes:	bytes charged; those of an skb are charged to its first packet
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

/* Bytes charged for one more packet behind @before. */
static u32 shca_pkt_queue_bytes(const struct shca_pkt_queue *queue,
				struct list_head *before, const struct sk_buff *skb)
{
	if (shca_pkt_queue_is_in(queue, before, skb))
		return sizeof(struct shca_queued_pkt);
	return sizeof(struct shca_queued_pkt) + skb->truesize;
}

/* CPUs check and add without a lock, so the bound may be exceeded a little. */
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

/* Add @pkt behind @before. Return: NULL: the packet is lost. */
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
	/*
	 * Give up what others own: socket, route, conntrack. (An skb of RAW_PACKET is a clone,
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
	/* Two packets of one skb are no longer neighbours: both are charged for it. */
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

/* Add @p to the tree, behind its last packet. */
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

/* Append @pkt, which has the latest PSN. Return: as shca_pkt_queue_add_ooo(). */
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
	/* Build the tree: once until the queue is empty, so each packet joins it once. */
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
