/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The poller: a thread of the process that rings the doorbell in place of the
 * posting threads. So posts make no system call. It exists only on request
 * (SOFTHCA_POLLER).
 *
 * It is a thread of the process and not of the kernel. Its cost belongs to the
 * process: its cgroup, its priority, its CPUs. It ends with the process. It is
 * in the kernel for one doorbell at most. So it delays neither the destruction
 * of a QP nor the removal of a device.
 */
#ifndef SOFTHCA_POLLER_H
#define SOFTHCA_POLLER_H

#include "doorbell.h"
#include "ring.h"
#include "softhca.h"

/* Slots of a context; posts to further QPs ring themselves. */
#define SHCA_POLLER_QPS		128
/* While the poller sleeps, one in this many posts wakes it. */
#define SHCA_POLLER_WAKE	32

/*
 * A QP, alone in its cache line.
 * @dirty:	it has requests without a doorbell
 * @qpn:	number of the QP, or 0
 */
struct shca_poller_slot {
	uint32_t dirty;
	uint32_t qpn;
	uint32_t reserved[14];
};

/*
 * State of the poller. It has pages of its own, which a child finds full of zeros. So a child
 * has no poller, and no thread to wait for.
 * @awake:	a post that has set @dirty need not ring; only the thread writes
 *		it
 * @gone:	the device is gone: posts report it, although the poller may be
 *		awake and not know it yet
 * @kicks:	the thread sleeps on it; each change wakes it
 * @stop:	the thread must end
 * @runs:	@thread exists
 * @spin_ns:	how long it polls in vain before it sleeps
 * @asleep_posts:	number of posts that rang themselves
 * @lock:	protects @qpn of the slots, and @nr_slots
 * @nr_slots:	number of slots used so far
 */
struct shca_poller {
	uint32_t awake;
	uint32_t gone;
	uint32_t kicks;
	uint32_t asleep_posts;
	bool stop;
	bool runs;
	int cmd_fd;
	uint64_t spin_ns;
	pthread_t thread;
	pthread_mutex_t lock;
	uint32_t nr_slots;
	struct shca_poller_slot slots[SHCA_POLLER_QPS]
		__attribute__((aligned(64)));
};

/*
 * Start the poller if the process asks for it. Without a poller, for whatever reason, posts ring
 * the doorbell themselves.
 */
void shca_poller_start(struct shca_context *ctx);
/* End the poller when the context is closed. */
void shca_poller_stop(struct shca_context *ctx);

/* From here on posts to @qp need not ring. */
void shca_poller_add(struct shca_context *ctx, struct shca_qp *qp);
/* Forget @qp, whose number may soon be another's. */
void shca_poller_del(struct shca_context *ctx, struct shca_qp *qp);

/* Count a post that rang itself; see SHCA_POLLER_WAKE. */
void shca_poller_kick(struct shca_poller *poller);

static inline bool shca_poller_serves(const struct shca_poller *poller)
{
	return __atomic_load_n(&poller->awake, __ATOMIC_RELAXED) &&
	       !__atomic_load_n(&poller->gone, __ATOMIC_RELAXED);
}

static inline int shca_poller_ring_self(struct shca_poller *poller,
					const struct shca_qp *qp)
{
	int err = shca_doorbell_ring(qp);

	if (unlikely(err == EIO))
		__atomic_store_n(&poller->gone, 1, __ATOMIC_RELAXED);
	return err;
}

/* Does a post of requests up to @prod have to ring, without a poller? */
static inline bool shca_post_must_ring(const struct shca_qp *qp, uint32_t prod,
				       bool urgent)
{
	return urgent || !__atomic_load_n(&qp->streams, __ATOMIC_RELAXED) ||
	       shca_sq_must_ring(qp, prod);
}

static inline int shca_post_ring_self(struct shca_qp *qp)
{
	int err = shca_doorbell_ring(qp);

	/* Later posts report it, too: the kernel only takes sq_doorbell back
	 * when it comes to this QP.
	 */
	if (unlikely(err == EIO))
		__atomic_store_n(&qp->streams, false, __ATOMIC_RELAXED);
	return err;
}

/*
 * Tell the kernel or the poller about published requests of @qp.
 * @prod:	number of published requests
 * @urgent:	a program may wait for some of the last ones
 *
 * Full barrier: sq_prod and dirty are stored before awake is read. It pairs with the poller's
 * barrier between storing awake = 0 and its last look at the slots. Either the poller sees the
 * dirty slot, or this post sees that the poller sleeps (litmus: poller-awake). The store of
 * dirty is a release for the poller's acquire (litmus: poller-dirty).
 * Return: 0 or an errno; EIO once the device is gone.
 */
static SHCA_ALWAYS_INLINE int shca_post_ring(struct shca_qp *qp, uint32_t prod,
					     bool urgent)
{
	struct shca_poller *poller;

	if (likely(!qp->slot))
		return shca_post_must_ring(qp, prod, urgent) ?
		       shca_post_ring_self(qp) : 0;
	poller = to_shca_context(qp->vqp.qp.context)->poller;
	__atomic_store_n(&qp->slot->dirty, 1, __ATOMIC_RELEASE);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (likely(shca_poller_serves(poller)))
		return 0;
	shca_poller_kick(poller);
	return __atomic_load_n(&poller->gone, __ATOMIC_RELAXED) ||
	       shca_post_must_ring(qp, prod, urgent) ?
	       shca_poller_ring_self(poller, qp) : 0;
}

/*
 * Report why there is no room. If posts ring, a doorbell tells whether the device is gone, and
 * the kernel retires requests of a stream. If the poller rings, the ring may be full of requests
 * that it has not seen yet.
 */
static inline int shca_post_full(struct shca_qp *qp)
{
	struct shca_poller *poller;
	int err = 0;

	if (likely(!qp->slot))
		return ENOMEM;
	poller = to_shca_context(qp->vqp.qp.context)->poller;
	if (!shca_poller_serves(poller))
		err = shca_poller_ring_self(poller, qp);
	return err ? err : ENOMEM;
}

#endif
