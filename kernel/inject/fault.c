// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Rules of fault injection of a device. */
#include "fault.h"

#include <linux/cgroup.h>
#include <linux/ktime.h>
#include <linux/pid.h>
#include <linux/rculist.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "../base/counters.h"
#include "../base/trace.h"

/* On while any device has a rule. */
DEFINE_STATIC_KEY_FALSE(shca_faults_on);

/* Is @at of the rule's process, or of one in its cgroup? RCU read lock held. */
static bool shca_fault_is_of(const struct shca_fault *fault,
			     const struct shca_fault_at *at)
{
	/* The RDMA core has a reference to the maker's task until the object is destroyed. */
	struct task_struct *task = (struct task_struct *)at->owner;

	if (!fault->pid && !fault->cgroup)
		return true;
	if (at->stage == SHCA_FAULT_VERB)
		task = in_interrupt() ? NULL : current;
	if (!task || (fault->pid && task_tgid(task) != fault->pid))
		return false;
#ifdef CONFIG_CGROUPS
	return !fault->cgroup ||
	       task_under_cgroup_hierarchy(task, fault->cgroup);
#else
	return true;
#endif
}

/* Return: number of the hit, or 0. */
static u64 shca_fault_decide(struct shca_fault *fault,
			     struct shca_fault_hit *hit)
{
	struct shca_fault_state *state = &fault->state;
	unsigned long flags;
	u64 nr = 0;

	spin_lock_irqsave(&fault->lock, flags);
	if (shca_fault_due(&fault->rule.when, state, ktime_get_ns())) {
		nr = state->hits;
		if (fault->nr_log < SHCA_FAULT_LOG && state->fitted <= U32_MAX)
			fault->log[fault->nr_log++] = state->fitted;
		hit->random = shca_fault_random(state, U32_MAX);
		hit->delay_ns = shca_fault_wait(&fault->rule, state);
	}
	spin_unlock_irqrestore(&fault->lock, flags);
	return nr;
}

bool shca_fault_ask(struct shca_dev *dev, const struct shca_fault_at *at,
		    struct shca_fault_hit *hit)
{
	struct shca_fault *fault;
	u64 nr = 0;

	rcu_read_lock();
	list_for_each_entry_rcu(fault, &dev->faults.rules, node) {
		if (!shca_fault_fits(&fault->rule, at) ||
		    !shca_fault_is_of(fault, at))
			continue;
		nr = shca_fault_decide(fault, hit);
		if (!nr)
			continue;
		hit->rule = fault->rule;
		hit->rule.when.at = NULL;
		this_cpu_inc(dev->counters->v[SHCA_CNT_FAULT]);
		trace_shca_fault(at, fault->id, fault->rule.what, nr);
		break;
	}
	rcu_read_unlock();
	return nr;
}

int shca_fault_fail(struct shca_dev *dev, enum shca_fault_verb verb)
{
	const struct shca_fault_at at = {
		.stage = SHCA_FAULT_VERB,
		.verb = verb,
	};
	struct shca_fault_hit hit;

	return shca_fault_ask(dev, &at, &hit) ? -(int)hit.rule.err : 0;
}

bool shca_fault_overruns(const struct ib_cq *ibcq, u32 qpn, u64 wr_id)
{
	const struct shca_fault_at at = {
		.stage = SHCA_FAULT_CQ,
		.qpn = qpn,
		.cqn = ibcq->res.id,
		.wr_id = wr_id,
		.owner = shca_fault_owner(&ibcq->res),
	};
	struct shca_fault_hit hit;

	return shca_fault_ask(to_shca_dev(ibcq->device), &at, &hit);
}

bool shca_fault_is_silent(const struct ib_cq *ibcq)
{
	const struct shca_fault_at at = {
		.stage = SHCA_FAULT_NOTIFY,
		.cqn = ibcq->res.id,
		.owner = shca_fault_owner(&ibcq->res),
	};
	struct shca_fault_hit hit;

	return shca_fault_ask(to_shca_dev(ibcq->device), &at, &hit);
}

/* ---- the list ------------------------------------------------------------------ */

static void shca_fault_update(struct shca_faults *faults)
{
	const struct shca_fault *fault;
	unsigned long stages = 0;

	list_for_each_entry(fault, &faults->rules, node)
		stages |= BIT(fault->rule.stage);
	WRITE_ONCE(faults->stages, stages);
}

int shca_fault_add(struct shca_dev *dev, struct shca_fault *fault)
{
	struct shca_faults *faults = &dev->faults;

	if (faults->nr >= SHCA_FAULT_RULES)
		return -ENOSPC;
	faults->nr++;
	spin_lock_init(&fault->lock);
	shca_fault_start(&fault->state, ktime_get_ns());
	list_add_tail_rcu(&fault->node, &faults->rules);
	shca_fault_update(faults);
	static_branch_inc(&shca_faults_on);
	return 0;
}

void shca_fault_free(struct shca_fault *fault)
{
	put_pid(fault->pid);
#ifdef CONFIG_CGROUPS
	if (fault->cgroup)
		cgroup_put(fault->cgroup);
#endif
	kfree(fault->cgroup_path);
	kfree(fault);
}

static void shca_fault_free_rcu(struct rcu_head *rcu)
{
	shca_fault_free(container_of(rcu, struct shca_fault, rcu));
}

u32 shca_fault_del(struct shca_dev *dev, u32 id, const struct net *net, u32 portid)
{
	struct shca_faults *faults = &dev->faults;
	struct shca_fault *fault, *next;
	u32 nr = 0;

	list_for_each_entry_safe(fault, next, &faults->rules, node) {
		if ((id && fault->id != id) ||
		    (net && (fault->net != net || fault->portid != portid)))
			continue;
		list_del_rcu(&fault->node);
		faults->nr--;
		call_rcu(&fault->rcu, shca_fault_free_rcu);
		static_branch_dec(&shca_faults_on);
		nr++;
	}
	shca_fault_update(faults);
	return nr;
}
