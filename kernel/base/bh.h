/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Deferred work in softirq, on the CPU that scheduled it or on a given one.
 *
 * It continues a hold that has used up its budget. A kernel thread cannot take its
 * place: with two pollers on two CPUs it would wait for the next tick. On another CPU
 * than the one that sent before, it would reorder a QP's packets. It also runs the
 * completion handlers of kernel consumers, on the CPU of the completion vector.
 */
#ifndef SHCA_BH_H
#define SHCA_BH_H

#ifdef HAVE_WQ_BH

#include <linux/delay.h>
#include <linux/workqueue.h>

/* shca_bh_schedule_on() schedules on another CPU. */
#define SHCA_BH_ON_CPU	1

struct shca_bh {
	struct work_struct work;
};

/* Define a handler @fn of struct shca_bh *@bh. */
#define SHCA_BH_HANDLER(fn)						\
	static void fn##_bh(struct shca_bh *bh);			\
	static void fn(struct work_struct *work)			\
	{								\
		fn##_bh(container_of(work, struct shca_bh, work));	\
	}								\
	static void fn##_bh(struct shca_bh *bh)

#define shca_bh_init(bh, fn) INIT_WORK(&(bh)->work, fn)

/* Context: any. Has no effect if the work is scheduled already. */
static inline void shca_bh_schedule(struct shca_bh *bh)
{
	queue_work(system_bh_wq, &bh->work);
}

/* Schedules the work on @cpu, if the kernel can do that. */
static inline void shca_bh_schedule_on(int cpu, struct shca_bh *bh)
{
	queue_work_on(cpu, system_bh_wq, &bh->work);
}

/* Context: may sleep. The caller makes sure that nobody schedules the work again. */
static inline void shca_bh_cancel(struct shca_bh *bh)
{
	/* (before 6.13 cancel_work_sync() was a flush of what runs: see below) */
	while (cancel_work(&bh->work) || work_busy(&bh->work))
		usleep_range(20, 100);
	cancel_work_sync(&bh->work);
}

/*
 * Whether the work is scheduled or runs. If not, what it did is visible. Nobody waits
 * with flush_work(): a consumer may destroy its queues from a workqueue that serves
 * reclaim, as IPoIB does. Such a workqueue must not flush one of another kind.
 * Context: any.
 */
static inline bool shca_bh_is_busy(struct shca_bh *bh)
{
	return work_busy(&bh->work);
}

#else /* tasklets, which WQ_BH replaced in 6.9 */

#include <linux/interrupt.h>

#define SHCA_BH_ON_CPU	0

struct shca_bh {
	struct tasklet_struct tasklet;
};

#define SHCA_BH_HANDLER(fn)						\
	static void fn##_bh(struct shca_bh *bh);			\
	static void fn(struct tasklet_struct *t)			\
	{								\
		fn##_bh(container_of(t, struct shca_bh, tasklet));	\
	}								\
	static void fn##_bh(struct shca_bh *bh)

#define shca_bh_init(bh, fn) tasklet_setup(&(bh)->tasklet, fn)

static inline void shca_bh_schedule(struct shca_bh *bh)
{
	tasklet_schedule(&bh->tasklet);
}

static inline void shca_bh_schedule_on(int cpu, struct shca_bh *bh)
{
	tasklet_schedule(&bh->tasklet);
}

static inline void shca_bh_cancel(struct shca_bh *bh)
{
	tasklet_kill(&bh->tasklet);
}

/* (one that runs is marked so before its mark of being scheduled is taken off) */
static inline bool shca_bh_is_busy(struct shca_bh *bh)
{
	return test_bit_acquire(TASKLET_STATE_SCHED, &bh->tasklet.state) ||
	       test_bit_acquire(TASKLET_STATE_RUN, &bh->tasklet.state);
}

#endif
#endif
