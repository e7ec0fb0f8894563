// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The poller; see poller.h. It polls its slots and rings the doorbell for dirty
 * ones. It sleeps when it has found nothing for a while. Then posts ring the
 * doorbell themselves, and some of them wake the poller. So it runs while there
 * are many posts, and sleeps while there are few.
 */
#include "poller.h"

#include <linux/futex.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Rounds between two readings of the clock. */
#define SHCA_POLLER_ROUNDS	64
/* More than a second must be a mistake. */
#define SHCA_POLLER_MAX_US	1000000

static uint64_t shca_poller_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

/* Leaves the core's resources to its other hardware thread. */
static inline void shca_poller_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield" : : : "memory");
#else
	__asm__ volatile("" : : : "memory");
#endif
}

/*
 * One round over the slots. Dirty is cleared before the doorbell: a request
 * published after that makes the slot dirty again. The acquire pairs with the
 * release that set dirty, so that the kernel sees the new sq_prod (litmus: poller-dirty).
 *
 * Return: 1 if a doorbell was rung; 0 if not; or a negative errno, which ends
 * the poller.
 */
static int shca_poller_look(struct shca_poller *poller, union shca_doorbell *doorbell)
{
	uint32_t nr = __atomic_load_n(&poller->nr_slots, __ATOMIC_ACQUIRE);
	struct shca_poller_slot *slot;
	int found = 0;

	for (slot = poller->slots; slot < poller->slots + nr; slot++) {
		if (!__atomic_load_n(&slot->dirty, __ATOMIC_RELAXED) ||
		    !__atomic_exchange_n(&slot->dirty, 0, __ATOMIC_ACQ_REL))
			continue;
		found = 1;
		doorbell->hdr.attrs[0].data = __atomic_load_n(&slot->qpn,
							  __ATOMIC_RELAXED);
		/* EINVAL: the QP was destroyed meanwhile. */
		if (ioctl(poller->cmd_fd, RDMA_VERBS_IOCTL, doorbell) &&
		    errno != EINVAL && errno != EINTR)
			return -errno;
	}
	return found;
}

/* Polls until it has found nothing for a while. Return: 0 or a negative errno. */
static int shca_poller_spin(struct shca_poller *poller, union shca_doorbell *doorbell)
{
	uint64_t since = 0;
	unsigned int i;
	int found;

	for (i = 1; !__atomic_load_n(&poller->stop, __ATOMIC_RELAXED); i++) {
		found = shca_poller_look(poller, doorbell);
		if (found < 0)
			return found;
		if (found) {
			since = 0;
			continue;
		}
		shca_poller_relax();
		if (i % SHCA_POLLER_ROUNDS)
			continue;
		if (!since)
			since = shca_poller_now();
		else if (shca_poller_now() - since >= poller->spin_ns)
			return 0;
	}
	return 0;
}

static void shca_poller_futex(struct shca_poller *poller, int op, uint32_t val)
{
	syscall(SYS_futex, &poller->kicks, op | FUTEX_PRIVATE_FLAG, val, NULL);
}

static void *shca_poller_run(void *arg)
{
	struct shca_poller *poller = arg;
	union shca_doorbell doorbell;
	uint32_t kicks;
	int err = 0;

	prctl(PR_SET_NAME, "softhca-poller");
	shca_doorbell_init(&doorbell, 0);
	for (;;) {
		/* Read before @stop, so that a later kick ends the sleep. */
		kicks = __atomic_load_n(&poller->kicks, __ATOMIC_ACQUIRE);
		if (__atomic_load_n(&poller->stop, __ATOMIC_ACQUIRE))
			return NULL;
		if (!err) {
			__atomic_store_n(&poller->awake, 1, __ATOMIC_RELAXED);
			err = shca_poller_spin(poller, &doorbell);
			__atomic_store_n(&poller->awake, 0, __ATOMIC_RELAXED);
			/* See shca_post_ring() (litmus: poller-awake). */
			__atomic_thread_fence(__ATOMIC_SEQ_CST);
			if (!err) {
				err = shca_poller_look(poller, &doorbell);
				if (err > 0) {
					err = 0;
					continue;
				}
			}
		}
		/* After a final error, posts ring and learn of it. */
		if (err == -EIO)
			__atomic_store_n(&poller->gone, 1, __ATOMIC_RELAXED);
		shca_poller_futex(poller, FUTEX_WAIT, kicks);
	}
}

static void shca_poller_wake(struct shca_poller *poller)
{
	__atomic_fetch_add(&poller->kicks, 1, __ATOMIC_RELEASE);
	shca_poller_futex(poller, FUTEX_WAKE, 1);
}

void shca_poller_kick(struct shca_poller *poller)
{
	if (__atomic_add_fetch(&poller->asleep_posts, 1, __ATOMIC_RELAXED) %
	    SHCA_POLLER_WAKE == 0)
		shca_poller_wake(poller);
}

/* ---- lifetime ------------------------------------------------------------ */

/* Microseconds, or 0 for no poller. */
static uint64_t shca_poller_wanted(void)
{
	const char *text = getenv("SOFTHCA_POLLER");
	unsigned long us;
	char *end;

	if (!text || *text < '0' || *text > '9')
		return 0;
	us = strtoul(text, &end, 10);
	return *end || us > SHCA_POLLER_MAX_US ? 0 : us;
}

void shca_poller_start(struct shca_context *ctx)
{
	uint64_t spin_us = shca_poller_wanted();
	struct shca_poller *poller;
	sigset_t all, before;
	int err;

	if (!spin_us || !(ctx->features & SHCA_FEATURE_DOORBELL))
		return;
	poller = mmap(NULL, sizeof(*poller), PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (poller == MAP_FAILED)
		return;
	/* Otherwise a child would wait for a thread that it does not have. */
	if (madvise(poller, sizeof(*poller), MADV_WIPEONFORK)) {
		munmap(poller, sizeof(*poller));
		return;
	}
	poller->cmd_fd = ctx->vctx.context.cmd_fd;
	poller->spin_ns = spin_us * 1000;
	pthread_mutex_init(&poller->lock, NULL);
	/* The program's own threads handle signals. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&poller->thread, NULL, shca_poller_run, poller);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (err) {
		munmap(poller, sizeof(*poller));
		return;
	}
	poller->runs = true;
	ctx->poller = poller;
}

void shca_poller_stop(struct shca_context *ctx)
{
	struct shca_poller *poller = ctx->poller;

	if (!poller)
		return;
	if (poller->runs) {
		__atomic_store_n(&poller->stop, true, __ATOMIC_RELEASE);
		shca_poller_wake(poller);
		pthread_join(poller->thread, NULL);
	}
	munmap(poller, sizeof(*poller));
	ctx->poller = NULL;
}

void shca_poller_add(struct shca_context *ctx, struct shca_qp *qp)
{
	struct shca_poller *poller = ctx->poller;
	struct shca_poller_slot *slot;
	uint32_t i;

	if (!poller)
		return;
	pthread_mutex_lock(&poller->lock);
	for (i = 0; i < SHCA_POLLER_QPS && poller->slots[i].qpn; i++)
		;
	if (i < SHCA_POLLER_QPS) {
		slot = &poller->slots[i];
		__atomic_store_n(&slot->qpn, qp->vqp.qp.qp_num,
				 __ATOMIC_RELAXED);
		if (i >= poller->nr_slots)
			__atomic_store_n(&poller->nr_slots, i + 1,
					 __ATOMIC_RELEASE);
		qp->slot = slot;
	}
	pthread_mutex_unlock(&poller->lock);
}

void shca_poller_del(struct shca_context *ctx, struct shca_qp *qp)
{
	if (!qp->slot)
		return;
	pthread_mutex_lock(&ctx->poller->lock);
	__atomic_store_n(&qp->slot->dirty, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&qp->slot->qpn, 0, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&ctx->poller->lock);
	qp->slot = NULL;
}
