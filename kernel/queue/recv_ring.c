// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Rings of receive requests: see recv_ring.h. */
#include "recv_ring.h"

#include "../base/compat.h"
#include "../base/counters.h"
#include "../base/dev.h"
#include "../core/requester/decode.h"

void shca_recv_ring_size(struct shca_recv_ring *ring, u32 *max_wr, u32 *max_sge)
{
	ring->max_wr = *max_wr = max(*max_wr, 1u);
	ring->max_sge = *max_sge = max(*max_sge, 1u);
	ring->entries = roundup_pow_of_two(ring->max_wr);
	ring->stride = sizeof(struct shca_recv_wqe) +
		       ring->max_sge * sizeof(struct shca_sge);
}

u32 shca_recv_ring_count(const struct shca_recv_ring *ring)
{
	u32 count = READ_ONCE(*ring->user_prod) - ring->fetched;

	return count > ring->entries ? 0 : count;
}

enum shca_recv_status shca_recv_ring_fetch(struct shca_dev *dev,
					   struct shca_recv_ring *ring,
					   struct shca_recv_wr *wr)
{
	struct shca_recv_wqe wqe __uninitialized;
	const void *slot;
	u32 prod;
	bool ok;

	/* Pairs with the producer's release of its index after the slots (litmus: rq-prod). */
	prod = smp_load_acquire(ring->user_prod);
	if (prod == ring->fetched)
		return SHCA_RECV_EMPTY;
	wr->wr_id = 0;
	wr->num_sge = 0;
	wr->length = 0;
	if (prod - ring->fetched > ring->entries) {
		shca_count(dev, BAD_RING);
		WRITE_ONCE(*ring->user_prod, ring->seen);
		return SHCA_RECV_BROKEN;
	}
	ring->seen = prod;
	slot = shca_recv_slot(ring, ring->fetched);
	memcpy(&wqe, slot, sizeof(wqe));
	barrier();	/* @wqe is a copy, not re-read from the slot */
	ok = shca_recv_decode(ring->max_sge, &wqe, slot + sizeof(wqe), wr);
	ring->fetched++;
	/* Our reads are done: the slot may be overwritten (litmus: wq-cons). */
	smp_store_release(ring->user_cons, ring->fetched);
	return ok ? SHCA_RECV_OK : SHCA_RECV_BAD;
}

static int shca_recv_write_one(struct shca_recv_ring *ring,
			       const struct ib_recv_wr *wr)
{
	struct shca_recv_wqe *wqe;
	struct shca_sge *sge;
	int i;

	/* Pairs with the release in shca_recv_ring_fetch() (litmus: wq-cons). */
	if (ring->prod - smp_load_acquire(ring->user_cons) >= ring->max_wr)
		return -ENOMEM;
	if (wr->num_sge < 0 || wr->num_sge > ring->max_sge)
		return -EINVAL;
	wqe = shca_recv_slot(ring, ring->prod);
	wqe->wr_id = wr->wr_id;
	wqe->num_sge = wr->num_sge;
	wqe->reserved = 0;
	sge = (struct shca_sge *)(wqe + 1);
	for (i = 0; i < wr->num_sge; i++, sge++) {
		sge->addr = wr->sg_list[i].addr;
		sge->length = wr->sg_list[i].length;
		sge->lkey = wr->sg_list[i].lkey;
	}
	ring->prod++;
	return 0;
}

int shca_recv_ring_post(struct shca_recv_ring *ring, spinlock_t *lock,
			const struct ib_recv_wr *wr,
			const struct ib_recv_wr **bad_wr)
{
	unsigned long flags;
	int err = 0;

	spin_lock_irqsave(lock, flags);
	for (; wr; wr = wr->next) {
		err = shca_recv_write_one(ring, wr);
		if (err) {
			*bad_wr = wr;
			break;
		}
	}
	/* Pairs with the acquire in shca_recv_ring_fetch() (litmus: rq-prod). */
	smp_store_release(ring->user_prod, ring->prod);
	spin_unlock_irqrestore(lock, flags);
	return err;
}

void shca_recv_ring_reset(struct shca_recv_ring *ring)
{
	ring->fetched = 0;
	ring->seen = 0;
	ring->prod = 0;
	WRITE_ONCE(*ring->user_prod, 0);
	WRITE_ONCE(*ring->user_cons, 0);
}
