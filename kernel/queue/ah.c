// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Common part of address vectors; address handles, made in any context (core_locking.rst). */
#include "ah.h"

#include <linux/slab.h>
#include <linux/xarray.h>

#include "../base/dev.h"
#include "../base/refuse.h"
#include "../base/udata.h"
#include "../inject/fault.h"
#include "../../uapi/softhca-abi.h"

/* Handles have 24 bits, and are used again after all others. */
#define SHCA_AH_HANDLES XA_LIMIT(1, 0xffffff)

void shca_ah_table_init(struct shca_dev *dev)
{
	xa_init_flags(&dev->ahs.table, XA_FLAGS_ALLOC | XA_FLAGS_LOCK_IRQ |
				 XA_FLAGS_ACCOUNT);
}

bool shca_ah_find(struct shca_dev *dev, struct ib_pd *pd, u32 handle,
		  struct shca_av *av)
{
	const struct shca_ah_entry *entry;
	bool found;

	rcu_read_lock();
	entry = xa_load(&dev->ahs.table, handle);
	found = entry && entry->pd == pd;
	if (found)
		*av = entry->av;
	rcu_read_unlock();
	return found;
}

const char *shca_av_init(struct shca_dev *dev, const struct rdma_ah_attr *attr,
			 u32 sport_hash, struct shca_av *av)
{
	const char *why = dev->link->av_init(dev, attr, sport_hash, av);
	u8 rate = rdma_ah_get_static_rate(attr);
	u32 port_mbps = READ_ONCE(dev->port.mbps);
	int mbps;

	if (why || rate == IB_RATE_PORT_CURRENT)
		return why;
	mbps = ib_rate_to_mbps(rate);
	if (mbps < 0)
		return "static_rate is none of enum ibv_rate";
	if (!port_mbps || mbps < port_mbps)
		av->rate_kbps = mbps * 1000;
	return NULL;
}

static struct shca_ah_entry *shca_ah_entry_alloc(struct shca_dev *dev,
						 struct ib_pd *pd,
						 const struct rdma_ah_attr *attr,
						 gfp_t gfp)
{
	struct shca_ah_entry *entry;
	const char *why;

	entry = kzalloc(sizeof(*entry), gfp);
	if (!entry)
		return ERR_PTR(-ENOMEM);
	entry->pd = pd;
	/* Without a flow label, each handle is a flow of its own. */
	why = shca_av_init(dev, attr, get_random_u32(), &entry->av);
	if (why) {
		kfree(entry);
		return ERR_PTR(shca_refuse(dev, 0, -EINVAL, why));
	}
	entry->av.tag = atomic_inc_return(&dev->ahs.tag) ?: 1;
	return entry;
}

int shca_create_ah(struct ib_ah *ibah, struct rdma_ah_init_attr *init,
		   struct ib_udata *udata)
{
	gfp_t gfp = init->flags & RDMA_CREATE_AH_SLEEPABLE ?
		    GFP_KERNEL_ACCOUNT : GFP_ATOMIC;
	struct shca_dev *dev = to_shca_dev(ibah->device);
	struct shca_create_ah_resp resp = {};
	struct shca_ah *ah = to_shca_ah(ibah);
	struct shca_ah_entry *entry;
	unsigned long flags;
	int err;

	err = shca_fault_verb(ibah->device, SHCA_FAULT_VERB_CREATE_AH);
	if (err)
		return err;
	ah->is_user = udata;
	if (!shca_limit_get(dev, SHCA_LIMIT_AH, ah->is_user))
		return -ENOMEM;
	entry = shca_ah_entry_alloc(dev, ibah->pd, init->ah_attr, gfp);
	if (IS_ERR(entry)) {
		err = PTR_ERR(entry);
		goto err_count;
	}
	xa_lock_irqsave(&dev->ahs.table, flags);
	err = __xa_alloc_cyclic(&dev->ahs.table, &ah->handle, entry, SHCA_AH_HANDLES,
				&dev->ahs.next, GFP_ATOMIC);
	xa_unlock_irqrestore(&dev->ahs.table, flags);
	if (err < 0)
		goto err_entry;
	ah->entry = entry;
	ah->attr = *init->ah_attr;
	ah->attr.grh.sgid_attr = NULL;	/* valid during this call only */
	if (udata) {
		resp.handle = ah->handle;
		err = shca_udata_out(udata, &resp, sizeof(resp));
		if (err) {
			shca_destroy_ah(ibah, 0);
			return err;
		}
	}
	return 0;

err_entry:
	kfree(entry);
err_count:
	shca_limit_put(dev, SHCA_LIMIT_AH, ah->is_user);
	return err;
}

int shca_modify_ah(struct ib_ah *ibah, struct rdma_ah_attr *attr)
{
	struct shca_dev *dev = to_shca_dev(ibah->device);
	struct shca_ah *ah = to_shca_ah(ibah);
	struct shca_ah_entry *entry, *old;
	unsigned long flags;

	entry = shca_ah_entry_alloc(dev, ibah->pd, attr, GFP_ATOMIC);
	if (IS_ERR(entry))
		return PTR_ERR(entry);
	xa_lock_irqsave(&dev->ahs.table, flags);
	/* The slot exists, so the store allocates nothing. */
	__xa_store(&dev->ahs.table, ah->handle, entry, GFP_ATOMIC);
	old = ah->entry;
	ah->entry = entry;
	ah->attr = *attr;
	ah->attr.grh.sgid_attr = NULL;
	xa_unlock_irqrestore(&dev->ahs.table, flags);
	kfree_rcu(old, rcu);
	return 0;
}

int shca_query_ah(struct ib_ah *ibah, struct rdma_ah_attr *attr)
{
	*attr = to_shca_ah(ibah)->attr;
	return 0;
}

int shca_destroy_ah(struct ib_ah *ibah, u32 flags)
{
	struct shca_dev *dev = to_shca_dev(ibah->device);
	struct shca_ah *ah = to_shca_ah(ibah);
	unsigned long irqflags;

	xa_lock_irqsave(&dev->ahs.table, irqflags);
	__xa_erase(&dev->ahs.table, ah->handle);
	xa_unlock_irqrestore(&dev->ahs.table, irqflags);
	kfree_rcu(ah->entry, rcu);
	shca_limit_put(dev, SHCA_LIMIT_AH, ah->is_user);
	return 0;
}
