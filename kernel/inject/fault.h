/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Rules of fault injection of a device (core/fault_rule.h). Without any rule in the module,
 * asking is patched out; without CONFIG_SOFTHCA_FAULT_INJECTION, it is compiled out.
 */
#ifndef SHCA_FAULT_H
#define SHCA_FAULT_H

#include <linux/jump_label.h>
#include <linux/rcupdate.h>
#include <linux/spinlock.h>

#include "../base/dev.h"
#include "../core/fault_rule.h"

struct cgroup;
struct net;
struct pid;
struct task_struct;

/**
 * struct shca_fault - a rule of a device
 * @node:	in struct shca_faults.rules
 * @rcu:	defers the free: the data path reads rules under RCU
 * @id:		unique in the module
 * @pid:	only what belongs to this process; NULL: to any
 * @cgroup:	only what belongs to processes of it; NULL: to any
 * @cgroup_path: its path as given, or NULL
 * @net:	only compared: namespace of the netlink socket that holds the rule; NULL: none
 * @portid:	number of that socket
 * @rule:	constant
 * @given:	bits of SHCA_FA_*: the words that set something in @rule
 * @lock:	protects what follows; any context, interrupts off; alone
 * @state:	progress of @rule
 * @nr_log:	entries of @log
 * @log:	the first hits, as numbers from 1 on among those that fitted
 * @at:		list of @rule, if it has one
 */
struct shca_fault {
	struct list_head node;
	struct rcu_head rcu;
	u32 id;
	struct pid *pid;
	struct cgroup *cgroup;
	char *cgroup_path;
	const struct net *net;
	u32 portid;
	struct shca_fault_rule rule;
	u64 given;
	spinlock_t lock;
	struct shca_fault_state state;
	u32 nr_log;
	u32 log[SHCA_FAULT_LOG];
	u32 at[];
};

/**
 * struct shca_fault_hit - a fault that happens now
 * @rule:	a copy without its list, since the rule may be deleted
 * @delay_ns:	delay, with its random part
 * @random:	for details that the rule does not fix
 */
struct shca_fault_hit {
	struct shca_fault_rule rule;
	u64 delay_ns;
	u32 random;
};

DECLARE_STATIC_KEY_FALSE(shca_faults_on);

/* Does any device have rules? */
static inline bool shca_fault_is_any(void)
{
	return IS_ENABLED(CONFIG_SOFTHCA_FAULT_INJECTION) &&
	       static_branch_unlikely(&shca_faults_on);
}

/* Does @dev have rules of one of these @stages (a bit for each)? */
static inline bool shca_fault_is_on(const struct shca_dev *dev,
				    unsigned long stages)
{
	return shca_fault_is_any() && READ_ONCE(dev->faults.stages) & stages;
}

/**
 * shca_fault_ask() - does a fault happen here and now?
 * @dev:	device that has the rules
 * @at:		its @owner is a struct task_struct, or NULL: no process; ignored for a verb,
 *		which belongs to its caller
 * @hit:	result, if one happens
 *
 * The first rule that is due decides. It is counted and traced. Context: any.
 * Return: whether a fault happens.
 */
bool shca_fault_ask(struct shca_dev *dev, const struct shca_fault_at *at,
		    struct shca_fault_hit *hit);

/* Process that made an object; the RDMA core keeps it as long as the object. */
static inline const void *shca_fault_owner(const struct rdma_restrack_entry *res)
{
	return rdma_is_kernel_res(res) ? NULL : res->task;
}

/* Does a CQ overflow with this completion? Context: any. */
bool shca_fault_overruns(const struct ib_cq *ibcq, u32 qpn, u64 wr_id);
/* Does a process get no event for a completion? Context: any. */
bool shca_fault_is_silent(const struct ib_cq *ibcq);

/* Out-of-line part of shca_fault_verb(). */
int shca_fault_fail(struct shca_dev *dev, enum shca_fault_verb verb);

/* Return: 0, or the errno with which a verb fails now. Context: process. */
static inline int shca_fault_verb(struct ib_device *ibdev,
				  enum shca_fault_verb verb)
{
	struct shca_dev *dev = to_shca_dev(ibdev);

	return shca_fault_is_on(dev, BIT(SHCA_FAULT_VERB)) ?
	       shca_fault_fail(dev, verb) : 0;
}

/**
 * shca_fault_add() - add a rule
 * @dev:	device that gets it
 * @fault:	taken over, with its references
 *
 * Context: process, as shca_fault_del(); the caller serialises.
 * Return: 0, or -ENOSPC with SHCA_FAULT_RULES rules; then @fault stays the caller's.
 */
int shca_fault_add(struct shca_dev *dev, struct shca_fault *fault);

#if IS_ENABLED(CONFIG_SOFTHCA_FAULT_INJECTION)
/*
 * Delete rule @id, or with 0 all; with @net only those that the netlink socket @portid of this
 * namespace holds. Return: number of deleted rules.
 */
u32 shca_fault_del(struct shca_dev *dev, u32 id, const struct net *net, u32 portid);
#else
static inline u32 shca_fault_del(struct shca_dev *dev, u32 id, const struct net *net,
				 u32 portid)
{
	return 0;
}
#endif

/* Free a rule that was never added. */
void shca_fault_free(struct shca_fault *fault);

#endif
