// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* QPs by number, per network namespace. Received packets find them under RCU. */
#include "qp_table.h"

#include <linux/random.h>
#include <linux/rculist.h>
#include <linux/rhashtable.h>

#include "../base/dev.h"
#include "../base/netns.h"
#include "qp.h"

#define SHCA_QPN_NR	(1u << 24)

/* All namespaces, by struct shca_net.node. */
static LIST_HEAD(shca_nets);
static DEFINE_SPINLOCK(shca_nets_lock);

/* Not 0, which is the value of an empty struct shca_qp_hint. */
static atomic64_t shca_qps_changed = ATOMIC64_INIT(1);

void shca_net_note_change(void)
{
	/* Pairs with the acquire in shca_hint_holds(). */
	atomic64_inc_return_release(&shca_qps_changed);
}

u64 shca_net_changes(void)
{
	/* Pairs with the release in shca_net_note_change(). */
	return atomic64_read_acquire(&shca_qps_changed);
}

/* Numbers are random already, and packets to unknown numbers make no chain longer. */
static u32 shca_qp_hash(const void *key, u32 len, u32 seed)
{
	return *(const u32 *)key ^ seed;
}

static int shca_qp_cmp(struct rhashtable_compare_arg *arg, const void *obj)
{
	return ((const struct shca_qp *)obj)->qpn != *(const u32 *)arg->key;
}

static const struct rhashtable_params shca_qp_params = {
	.hashfn = shca_qp_hash,
	.obj_cmpfn = shca_qp_cmp,
	.key_len = sizeof(u32),
	.key_offset = offsetof(struct shca_qp, qpn),
	.head_offset = offsetof(struct shca_qp, node),
	.automatic_shrinking = true,
};

static void shca_net_note_freed(struct shca_net *snet, u32 qpn)
{
	spin_lock_bh(&snet->freed_lock);
	snet->freed[snet->nr_freed++ % SHCA_FREED_QPNS] = qpn;
	spin_unlock_bh(&snet->freed_lock);
}

static bool shca_net_was_freed(struct shca_net *snet, u32 qpn)
{
	bool found = false;
	int i;

	spin_lock_bh(&snet->freed_lock);
	for (i = 0; i < SHCA_FREED_QPNS && !found; i++)
		found = snet->freed[i] == qpn;
	spin_unlock_bh(&snet->freed_lock);
	return found;
}

/*
 * The next number of a process follows its last one up to a multiple of 64; the one after that
 * is random. The RDMA core keeps all QPs in an xarray by number, whose nodes have 64 entries
 * and are charged to nobody. If all numbers were random, each QP would cost such a node, or
 * two. An outsider still has 24 bits to guess.
 */
static u32 shca_next_qpn(struct ib_udata *udata)
{
	struct shca_ucontext *uctx;
	u32 qpn;

	if (!udata)
		return get_random_u32_below(SHCA_QPN_NR);
	uctx = rdma_udata_to_drv_context(udata, struct shca_ucontext, ibuc);
	qpn = atomic_inc_return(&uctx->last_qpn);
	/* If two threads draw at once, the numbers of one are followed. */
	if (!(qpn % 64) || qpn == 1) {
		qpn = get_random_u32_below(SHCA_QPN_NR);
		atomic_set(&uctx->last_qpn, qpn);
	}
	return qpn;
}

int shca_net_add_qp(struct shca_net *snet, struct shca_qp *qp,
		    struct ib_udata *udata)
{
	int tries, err;

	/* Each port has its own. */
	if (qp->type == IB_QPT_SMI || qp->type == IB_QPT_GSI) {
		qp->qpn = qp->type == IB_QPT_GSI;
		spin_lock_bh(&snet->mgmt_lock);
		list_add_tail_rcu(&qp->mgmt_node, &snet->mgmt);
		spin_unlock_bh(&snet->mgmt_lock);
		return 0;
	}

	for (tries = 0; tries < 64; tries++) {
		qp->qpn = shca_next_qpn(udata);
		/* SMI, GSI, multicast; or beyond, while another thread draws */
		if (qp->qpn < 2 || qp->qpn >= SHCA_QPN_NR - 1)
			continue;
		err = rhashtable_lookup_insert_fast(&snet->qps, &qp->node,
						    shca_qp_params);
		if (err == -EEXIST)
			continue;
		/* A number is noted as freed before it can be inserted again. */
		if (err || !shca_net_was_freed(snet, qp->qpn)) {
			shca_net_note_change();
			return err;
		}
		rhashtable_remove_fast(&snet->qps, &qp->node, shca_qp_params);
		/* A reader that has found the QP must not cache it. */
		shca_net_note_change();
	}
	return -ENOSPC;
}

void shca_net_del_qp(struct shca_net *snet, struct shca_qp *qp)
{
	if (qp->type == IB_QPT_SMI || qp->type == IB_QPT_GSI) {
		spin_lock_bh(&snet->mgmt_lock);
		list_del_rcu(&qp->mgmt_node);
		spin_unlock_bh(&snet->mgmt_lock);
		return;
	}
	shca_net_note_freed(snet, qp->qpn);
	rhashtable_remove_fast(&snet->qps, &qp->node, shca_qp_params);
	shca_net_note_change();
}

struct shca_qp *shca_net_find_mgmt(const struct shca_link_ops *link,
				   struct shca_net *snet, u32 qpn,
				   const struct sk_buff *skb, u16 *vlan)
{
	struct shca_qp *qp, *found = NULL;

	rcu_read_lock();
	list_for_each_entry_rcu(qp, &snet->mgmt, mgmt_node) {
		if (qp->qpn == qpn && qp->link == link &&
		    link->serves(qp->dev, skb, vlan) &&
		    refcount_inc_not_zero(&qp->ref)) {
			found = qp;
			break;
		}
	}
	rcu_read_unlock();
	return found;
}

struct shca_qp *shca_net_find_qp(struct shca_net *snet, u32 qpn)
{
	struct shca_qp *qp;

	rcu_read_lock();
	qp = rhashtable_lookup(&snet->qps, &qpn, shca_qp_params);
	/* A QP being destroyed stays for a grace period, but gives no new reference. */
	if (qp && !refcount_inc_not_zero(&qp->ref))
		qp = NULL;
	rcu_read_unlock();
	return qp;
}

/* A reader of the new value cannot find a deleted QP; others began before its grace period. */
static bool shca_hint_holds(struct shca_qp_hint *hint, struct shca_net *snet,
			    u32 qpn)
{
	u64 changed = atomic64_read_acquire(&shca_qps_changed);

	if (likely(hint->changed == changed && hint->snet == snet &&
		   hint->qpn == qpn))
		return true;
	hint->changed = changed;
	hint->snet = snet;
	hint->qpn = qpn;
	return false;
}

struct shca_qp *shca_net_peek_qp(struct shca_net *snet, u32 qpn,
				 struct shca_qp_hint *hint)
{
	if (likely(shca_hint_holds(hint, snet, qpn)))
		return hint->qp;
	rcu_read_lock();
	hint->qp = rhashtable_lookup(&snet->qps, &qpn, shca_qp_params);
	rcu_read_unlock();
	return hint->qp;
}

/* Find the QP that @fits in any namespace but @except. */
static struct shca_qp *shca_nets_find(const struct shca_qp *qp, u32 qpn,
				      const struct shca_net *except,
				      bool (*fits)(const struct shca_qp *qp,
						   const struct shca_qp *other))
{
	struct shca_qp *other, *found = NULL;
	struct shca_net *snet;

	rcu_read_lock();
	list_for_each_entry_rcu(snet, &shca_nets, node) {
		if (snet == except)
			continue;
		other = rhashtable_lookup(&snet->qps, &qpn, shca_qp_params);
		if (other && fits(qp, other)) {
			found = other;
			break;
		}
	}
	rcu_read_unlock();
	return found;
}

struct shca_qp *shca_net_peek_other(const struct shca_qp *qp, u32 qpn,
				    bool (*fits)(const struct shca_qp *qp,
						 const struct shca_qp *other),
				    struct shca_qp_hint *hint)
{
	if (unlikely(!shca_hint_holds(hint, NULL, qpn)))
		hint->qp = shca_nets_find(qp, qpn, qp->dev->snet, fits);
	return hint->qp;
}

bool shca_net_has_qp(const struct shca_qp *qp, u32 qpn,
		     bool (*fits)(const struct shca_qp *qp,
				  const struct shca_qp *other))
{
	return shca_nets_find(qp, qpn, NULL, fits);
}

int shca_net_walk_qps(struct shca_net *snet,
		      int (*fn)(struct shca_qp *qp, void *arg), void *arg)
{
	struct rhashtable_iter iter;
	struct shca_qp *qp;
	int err = 0;

	rhashtable_walk_enter(&snet->qps, &iter);
	rhashtable_walk_start(&iter);
	while (!err && (qp = rhashtable_walk_next(&iter))) {
		/* EAGAIN: the table was resized, and the walk goes on. */
		if (IS_ERR(qp) || !refcount_inc_not_zero(&qp->ref))
			continue;
		err = fn(qp, arg);
		shca_qp_put(qp);
	}
	rhashtable_walk_stop(&iter);
	rhashtable_walk_exit(&iter);
	return err;
}

int shca_qp_table_init(struct shca_net *snet)
{
	int err;

	spin_lock_init(&snet->freed_lock);
	spin_lock_init(&snet->mgmt_lock);
	INIT_LIST_HEAD(&snet->mgmt);
	err = rhashtable_init(&snet->qps, &shca_qp_params);
	if (err)
		return err;
	spin_lock(&shca_nets_lock);
	list_add_tail_rcu(&snet->node, &shca_nets);
	spin_unlock(&shca_nets_lock);
	return 0;
}

void shca_qp_table_hide(struct shca_net *snet)
{
	spin_lock(&shca_nets_lock);
	list_del_rcu(&snet->node);
	spin_unlock(&shca_nets_lock);
}

void shca_qp_put(struct shca_qp *qp)
{
	/* The last put needs @qp for complete(): the grace period before the free covers that. */
	rcu_read_lock();
	if (refcount_dec_and_test(&qp->ref))
		complete(&qp->unused);
	rcu_read_unlock();
}
