/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Ring of receive requests. Producer: a process or kernel consumers; consumer: responders. */
#ifndef SHCA_RECV_RING_H
#define SHCA_RECV_RING_H

#include <rdma/ib_verbs.h>

#include "../core/mem_ops.h"

struct shca_dev;

/**
 * struct shca_recv_ring - a ring of receive requests
 * @slots:	shared memory
 * @entries:	slots, a power of two
 * @stride:	bytes of a slot
 * @max_wr:	requests that the consumer was granted
 * @max_sge:	segments of each that it was granted
 * @user_prod:	producer index; written by the process, read once per use
 * @user_cons:	consumer index; written by the kernel
 * @fetched:	requests taken, guarded by the lock of the owner
 * @seen:	producer index when it was read last; likewise
 * @prod:	kernel consumers: requests written, guarded by their post lock
 */
struct shca_recv_ring {
	void *slots;
	u32 entries;
	u32 stride;
	u32 max_wr;
	u32 max_sge;
	u32 *user_prod;
	u32 *user_cons;
	u32 fetched;
	u32 seen;
	u32 prod;
};

static inline void *shca_recv_slot(const struct shca_recv_ring *ring, u32 idx)
{
	return ring->slots + (size_t)(idx & (ring->entries - 1)) * ring->stride;
}

/* Set the geometry for attributes of verbs, at least 1 each; returns them corrected. */
void shca_recv_ring_size(struct shca_recv_ring *ring, u32 *max_wr,
			 u32 *max_sge);

/*
 * Take the next request by a bounded copy. A malformed request is SHCA_RECV_BAD.
 * SHCA_RECV_BROKEN is a producer index beyond the ring: it is reset to its last good value, so
 * that it is found once, and requests posted by then can be flushed. Context: any, the owner's
 * lock held.
 */
enum shca_recv_status shca_recv_ring_fetch(struct shca_dev *dev,
					   struct shca_recv_ring *ring,
					   struct shca_recv_wr *wr);

/* Return: requests posted and not taken; 0 if the producer index is broken. */
u32 shca_recv_ring_count(const struct shca_recv_ring *ring);

/*
 * Post a list of requests of a kernel consumer.
 * @lock:	the owner's post lock
 * Context: any; takes @lock.
 * Return: 0; ENOMEM (full) or EINVAL with @bad_wr set.
 */
int shca_recv_ring_post(struct shca_recv_ring *ring, spinlock_t *lock,
			const struct ib_recv_wr *wr,
			const struct ib_recv_wr **bad_wr);

/* Drop all requests, and reset the indices. */
void shca_recv_ring_reset(struct shca_recv_ring *ring);

#endif
