/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The poller: a thread of the process that rings the doorbell in place of the
 * threads that post, so that these make no system call.  Only where it was asked
 * for (SOFTHCA_POLLER).
 *
 * A thread of the process and not one of the kernel: what it costs is the
 * process's in its cgroup, at its priority and on its CPUs; it ends with the
 * process, and is in the kernel no longer than one doorbell takes, so that it delays
 * neither the destruction of a QP nor the removal of a device.
 */
#ifndef SOFTHCA_POLLER_H
#define SOFTHCA_POLLER_H

#include "doorbell.h"
#include "ring.h"
#include "softhca.h"

/* QPs of a context that it looks after; the others ring for themselves. */
#define SHCA_POLLER_QPS		128
/* While it sleeps, one post in so many wakes it up. */
#define SHCA_POLLER_WAKE	32

/**
 * struct shca_poller_slot - a QP, alone in its cache line
 * @dirty:	it has requests that no doorbell was rung for
 * @qpn:	0: no QP
 */
struct shca_poller_slot {
	uint32_t dirty;
	uint32_t qpn;
	uint32_t reserved[14];
};

/**
 * struct shca_poller - memory of its own, which a child finds full of zeros: so
 * it has no poller, and no thread to wait for
 * @awake:	who has set @dirty need not ring; the thread alone writes it
 * @gone:	the device is: who posts is to be told, though the thread may be awake
 *		and not know it yet
 * @kicks:	what it sleeps on; each change wakes it up
 * @stop:	it has to end
 * @runs:	@thread exists
 * @spin_ns:	how long it looks at rings in vain
 * @asleep_posts: how often somebody had to ring
 * @lock:	of @qpn of the slots, and @nr_slots
 * @nr_slots:	slots from here on were never used
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

/**
 * shca_poller_start() - if the process asks for it
 *
 * Without one, for whatever reason, posts ring for themselves.
 */
void shca_poller_start(struct shca_context *ctx);
/** shca_poller_stop() - the context is closed */
void shca_poller_stop(struct shca_context *ctx);

/** shca_poller_add() - from here on posts to @qp need not ring */
void shca_poller_add(struct shca_context *ctx, struct shca_qp *qp);
/** shca_poller_del() - @qp is gone: its number may soon be another's */
void shca_poller_del(struct shca_context *ctx, struct shca_qp *qp);

/** shca_poller_kick() - somebody had to ring; see SHCA_POLLER_WAKE */
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

/* Is a doorbell due for requests up to @prod, if there is no poller? */
static inline bool shca_post_must_ring(const struct shca_qp *qp, uint32_t prod,
				       bool urgent)
{
	return urgent || !__atomic_load_n(&qp->streams, __ATOMIC_RELAXED) ||
	       shca_sq_must_ring(qp, prod);
}

static inline int shca_post_ring_self(struct shca_qp *qp)
{
	int err = shca_doorbell_ring(qp);

	/* Whoever posts from now on is told, too: the kernel takes sq_doorbell back
	 * only when it comes to this queue pair.
	 */
	if (unlikely(err == EIO))
		__atomic_store_n(&qp->streams, false, __ATOMIC_RELAXED);
	return err;
}

/**
 * shca_post_ring() - have the kernel look at what has been published to @qp
 * @prod:	so many requests
 * @urgent:	there are some among the last that somebody waits for
 *
 * Full barrier: sq_prod and dirty are stored before awake is read.  Pairs with
 * that of the poller between storing awake = 0 and its last look at the slots:
 * either it sees the slot dirty, or we see that it sleeps.
 *
 * Return: 0; else an errno, EIO once the device is gone.
 */
static inline int shca_post_ring(struct shca_qp *qp, uint32_t prod,
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

/**
 * shca_post_full() - why there is no room
 *
 * Where posts ring, one tells that the device is gone; the kernel makes room for the
 * few that did not.  Requests that only the
 * poller would have rung for may have filled the ring since.
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
