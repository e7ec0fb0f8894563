/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Work in softirq: BH workqueues, or tasklets before 6.9.
 *
 * Continuations run on the CPU that used up the budget, because packets of a QP that leave
 * from two CPUs overtake each other. A kernel thread would wait for the next tick where
 * pollers occupy the CPUs. Completion handlers of kernel consumers run on the CPU of their
 * completion vector.
 */
#ifndef SHCA_BH_H
#define SHCA_BH_H

#ifdef HAVE_WQ_BH

#include <linux/delay.h>
#include <linux/workqueue.h>

/* shca_bh_schedule_on() respects its @cpu. */
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

/* Context: any. No effect if the work is scheduled already. */
static inline void shca_bh_schedule(struct shca_bh *bh)
{
	queue_work(system_bh_wq, &bh->work);
}

static inline void shca_bh_schedule_on(int cpu, struct shca_bh *bh)
{
	queue_work_on(cpu, system_bh_wq, &bh->work);
}

/* The caller has made sure that nothing schedules the work again. Context: may sleep. */
static inline void shca_bh_cancel(struct shca_bh *bh)
{
	/* Before 6.13 cancel_work_sync() flushes running work: see below. */
	while (cancel_work(&bh->work) || work_busy(&bh->work))
		usleep_range(20, 100);
	cancel_work_sync(&bh->work);
}

/*
 * Is the work scheduled or running? If not, its effects are visible. Waiting with
 * flush_work() is not possible: a consumer may destroy its queues from a workqueue that
 * serves memory reclaim, as IPoIB does, and such a workqueue must not flush one that does
 * not. Context: any.
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

/* The kernel sets TASKLET_STATE_RUN before it clears TASKLET_STATE_SCHED. */
static inline bool shca_bh_is_busy(struct shca_bh *bh)
{
	return test_bit_acquire(TASKLET_STATE_SCHED, &bh->tasklet.state) ||
	       test_bit_acquire(TASKLET_STATE_RUN, &bh->tasklet.state);
}

#endif
#endif
