// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A device is made anew. The RDMA core reads limits, operations and the port's tables at
 * registration only. So a device of another personality is another ib_device. It is made
 * beside the former one, which is unregistered only when nothing else can fail but the
 * registration itself.
 *
 * Nobody else may delete the device meanwhile: it would come back after a successful
 * `rdma link delete`. The RDMA core asks IBK_ALLOW_USER_UNREG with a reference held. So
 * with that flag cleared, and without another reference, no such request is under way.
 * A netdev that goes away may also remove it. Then another task calls shca_renew_take(),
 * which finds that out: only the task that makes the device anew takes it over.
 */
#include "renew.h"

#include <linux/delay.h>
#include <linux/netlink.h>
#include <linux/sched.h>
#include <net/net_namespace.h>

#include "../base/fault.h"
#include "../base/trust.h"
#include "device.h"

/* Others hold a reference for the time of a request. */
#define SHCA_RENEW_TRIES	200
/* References of a registered device, besides those of clients: the RDMA core's and ours. */
#define SHCA_RENEW_REFS		2
/* Clients have small numbers, the first ones that are free. */
#define SHCA_RENEW_CLIENTS	256

/**
 * struct shca_renewal - a device that is being made anew
 * @task:	who does it
 * @heir:	not registered yet
 * @net:	RDMA network namespace of both, with a reference
 * @name:	once @done
 * @done:	@heir has taken over
 */
struct shca_renewal {
	struct task_struct *task;
	struct shca_dev *heir;
	struct net *net;
	char name[IB_DEVICE_NAME_MAX];
	bool done;
};

/* No packet and no request asks the old device any more, so rules may change the list. */
static void shca_renew_faults(struct shca_dev *dev, struct shca_dev *heir)
{
	struct shca_faults *from = &dev->faults, *to = &heir->faults;

	if (list_empty(&from->rules))
		return;
	/* Readers of the old list have left it: they would not find its end in the new one. */
	synchronize_rcu();
	list_splice_init(&from->rules, &to->rules);
	to->nr = from->nr;
	WRITE_ONCE(to->stages, from->stages);
	from->nr = 0;
	WRITE_ONCE(from->stages, 0);
}

void shca_renew_take(struct shca_dev *dev)
{
	struct shca_renewal *renewal = dev->renewal;
	struct shca_dev *heir;

	if (!renewal || renewal->task != current)
		return;
	heir = renewal->heir;
	strscpy(renewal->name, dev->ibdev.name, sizeof(renewal->name));
	memcpy(heir->ibdev.node_desc, dev->ibdev.node_desc,
	       sizeof(heir->ibdev.node_desc));
	heir->id = dev->id;
	heir->path = dev->path;
	heir->resv8a = dev->resv8a;
	heir->cc_mode = dev->cc_mode;
	heir->cc_algo = dev->cc_algo;
	heir->lint = dev->lint;
	heir->cc_params = dev->cc_params;
	if (!heir->ib)	/* there they are the subnet manager's */
		memcpy(heir->pkeys, dev->pkeys, sizeof(heir->pkeys));
	RCU_INIT_POINTER(heir->trust, rcu_replace_pointer(dev->trust, NULL, true));
	atomic_set(&heir->link_downed, atomic_read(&dev->link_downed));
	/* (It may have been given to another one in the meantime, by a namespace's end.) */
	if (renewal->net && read_pnet(&dev->ibdev.coredev.rdma_net) == renewal->net)
		write_pnet(&heir->ibdev.coredev.rdma_net, renewal->net);
	shca_renew_faults(dev, heir);
	renewal->done = true;
}

static void shca_renew_allow_unreg(struct shca_dev *dev, bool allow)
{
	if (allow)
		dev->ibdev.attrs.kernel_cap_flags |= IBK_ALLOW_USER_UNREG;
	else
		dev->ibdev.attrs.kernel_cap_flags &= ~IBK_ALLOW_USER_UNREG;
	/* The flag before the references are counted, see the top of the file. */
	smp_mb();
}

/*
 * Each client of the RDMA core holds a reference while it has the device, which this mark
 * says (CLIENT_DATA_REGISTERED). Were it another mark, the device would be busy for ever.
 */
static u32 shca_renew_refs(struct shca_dev *dev)
{
	u32 refs = SHCA_RENEW_REFS, i;

	for (i = 0; i < SHCA_RENEW_CLIENTS; i++)
		refs += xa_get_mark(&dev->ibdev.client_data, i, XA_MARK_1);
	return refs;
}

/* Return: whether nobody but us is about to do anything with the device. */
static bool shca_renew_is_alone(struct shca_dev *dev)
{
	int tries = SHCA_RENEW_TRIES;

	while (refcount_read(&dev->ibdev.refcount) > shca_renew_refs(dev)) {
		if (!tries-- || fatal_signal_pending(current))
			return false;
		usleep_range(1000, 2000);
	}
	return true;
}

/* The former device is registered still: as before. */
static void shca_renew_reopen(struct shca_dev *dev)
{
	shca_renew_allow_unreg(dev, true);
	atomic_set(&dev->users, 0);
}

int shca_renew(struct shca_dev *dev, const struct shca_personality *personality,
	       struct netlink_ext_ack *extack)
{
	struct shca_renewal renewal = { .task = current };
	int err = 0;

	/* From here on nobody can begin to use it. */
	if (atomic_cmpxchg(&dev->users, 0, SHCA_DEV_CLOSED))
		goto busy;
	renewal.heir = shca_dev_make(dev->ndev, dev->link, personality, dev);
	if (IS_ERR(renewal.heir)) {
		if (PTR_ERR(renewal.heir) == -ENODEV)
			NL_SET_ERR_MSG(extack,
				       "the netdev is being removed, or moved to another network namespace");
		shca_renew_reopen(dev);
		ib_device_put(&dev->ibdev);
		return PTR_ERR(renewal.heir);
	}
	shca_renew_allow_unreg(dev, false);
	if (!shca_renew_is_alone(dev)) {
		shca_renew_reopen(dev);
		ib_dealloc_device(&renewal.heir->ibdev);
		NL_SET_ERR_MSG(extack,
			       "others look the device up all the time: try again");
		ib_device_put(&dev->ibdev);
		return -EBUSY;
	}
	/* A namespace that ends hands its devices on, and is freed after a grace period. */
	rcu_read_lock();
	renewal.net = maybe_get_net(read_pnet(&dev->ibdev.coredev.rdma_net));
	rcu_read_unlock();
	dev->renewal = &renewal;
	ib_unregister_device_and_put(&dev->ibdev);
	if (!renewal.done) {
		NL_SET_ERR_MSG(extack, "the device was deleted meanwhile");
		ib_dealloc_device(&renewal.heir->ibdev);
		err = -ENODEV;
	} else {
		err = shca_dev_register(renewal.heir, renewal.name);
		if (err)
			NL_SET_ERR_MSG(extack,
				       "the device could not be registered again, and is gone");
	}
	if (renewal.net)
		put_net(renewal.net);
	return err;

busy:
	NL_SET_ERR_MSG(extack,
		       "the device is in use: end the programs that have it open, and the kernel clients with objects on it ('rdma resource show pd' names them)");
	ib_device_put(&dev->ibdev);
	return -EBUSY;
}
