// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Module init, and module exit in the reverse order. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/module.h>
#include <rdma/rdma_netlink.h>

#include "../base/trace_payload.h"
#include "../ib/ib_batch.h"
#include "../ib/ib_path.h"
#include "../link/icrc.h"
#include "../mem/odp.h"
#include "../roce/neigh_event.h"
#include "../roce/net.h"
#include "../roce/roce.h"
#include "../wire/tx.h"
#include "../../uapi/softhca-abi.h"
#include "device.h"
#include "lo.h"
#include "netlink.h"

static struct rdma_link_ops shca_rdma_link_ops = {
	.type = "softhca",
	.newlink = shca_newlink,
};

static struct rdma_link_ops shca_rdma_link_ib_ops = {
	.type = "softhca_ib",
	.newlink = shca_newlink_ib,
};

static struct rdma_link_ops shca_rdma_link_rxe_ops = {
	.type = "rxe",
	.newlink = shca_newlink,
};

static bool shca_as_rxe;
module_param_named(as_rxe, shca_as_rxe, bool, 0444);
MODULE_PARM_DESC(as_rxe,
		 "`rdma link add` with type rxe makes a softhca device, too; excludes rdma_rxe");

/*
 * Keep rdma_rxe from loading while its link type is ours: rdma_link_register() warns about a
 * type that is registered, and rdma_rxe's exit would then remove an entry that is in no list.
 * EBUSY, since modprobe takes EEXIST for success.
 */
static int shca_rxe_notify(struct notifier_block *nb, unsigned long state, void *data)
{
	const struct module *module = data;

	if (state != MODULE_STATE_COMING || strcmp(module->name, "rdma_rxe"))
		return NOTIFY_DONE;
	pr_err("rdma_rxe is refused: this module has link type rxe (as_rxe=1)\n");
	return notifier_from_errno(-EBUSY);
}

static struct notifier_block shca_rxe_notifier = {
	.notifier_call = shca_rxe_notify,
};

/*
 * A module has its folder in /sys/module from before its init until after its exit. An rdma_rxe
 * that loads at this moment, between its notifiers and that folder, is not found.
 */
static bool __init shca_rxe_is_loaded(void)
{
#ifdef MODULE
	struct kobject *rxe = kset_find_obj(THIS_MODULE->mkobj.kobj.kset, "rdma_rxe");

	kobject_put(rxe);
	return rxe;
#else
	return IS_BUILTIN(CONFIG_RDMA_RXE);
#endif
}

static int __init shca_rxe_init(void)
{
	int err;

	if (!shca_as_rxe)
		return 0;
	err = register_module_notifier(&shca_rxe_notifier);
	if (err)
		return err;
	/* After the notifier, which refuses the rdma_rxe that comes from now on */
	if (shca_rxe_is_loaded()) {
		pr_err("as_rxe=1 is refused: rdma_rxe is loaded and has link type rxe (try 'rmmod rdma_rxe')\n");
		unregister_module_notifier(&shca_rxe_notifier);
		return -EBUSY;
	}
	rdma_link_register(&shca_rdma_link_rxe_ops);
	return 0;
}

static void __exit shca_rxe_exit(void)
{
	if (!shca_as_rxe)
		return;
	rdma_link_unregister(&shca_rdma_link_rxe_ops);
	unregister_module_notifier(&shca_rxe_notifier);
}

static int __init shca_init(void)
{
	int err;

	err = shca_icrc_init();
	if (err)
		return err;
	shca_payload_init();
	shca_roce_init();
	err = shca_odp_module_init();
	if (err)
		goto err_icrc;
	err = shca_net_init();
	if (err)
		goto err_odp;
	err = shca_dev_init();
	if (err)
		goto err_net;
	err = shca_lo_init();
	if (err)
		goto err_dev;
	err = shca_neigh_event_init();
	if (err)
		goto err_lo;
	err = shca_netlink_init();
	if (err)
		goto err_neigh;
	err = shca_rxe_init();
	if (err)
		goto err_netlink;
	rdma_link_register(&shca_rdma_link_ops);
	if (IS_ENABLED(CONFIG_SOFTHCA_IB)) {
		shca_ib_init();
		shca_ib_batch_init();
		rdma_link_register(&shca_rdma_link_ib_ops);
	}
	return 0;

err_netlink:
	shca_netlink_exit();
err_neigh:
	shca_neigh_event_exit();
err_lo:
	shca_lo_exit();
err_dev:
	shca_dev_exit();
err_net:
	shca_net_exit();
err_odp:
	shca_odp_module_exit();
err_icrc:
	shca_icrc_exit();
	return err;
}

static void __exit shca_exit(void)
{
	shca_rxe_exit();
	if (IS_ENABLED(CONFIG_SOFTHCA_IB))
		rdma_link_unregister(&shca_rdma_link_ib_ops);
	rdma_link_unregister(&shca_rdma_link_ops);
	shca_netlink_exit();
	ib_unregister_driver((enum rdma_driver_id)SHCA_DRIVER_ID);
	shca_neigh_event_exit();
	shca_lo_exit();
	shca_dev_exit();
	if (IS_ENABLED(CONFIG_SOFTHCA_IB))
		shca_ib_batch_exit();
	shca_net_exit();
	shca_odp_module_exit();
	shca_tx_exit();
	shca_icrc_exit();
	/* Wait for call_rcu() callbacks, which are code of this module. */
	rcu_barrier();
}

module_init(shca_init);
module_exit(shca_exit);

MODULE_AUTHOR("The softhca developers");
MODULE_DESCRIPTION("Software RDMA host channel adapter over Ethernet (RoCEv2)");
MODULE_LICENSE("Dual BSD/GPL");
MODULE_VERSION("0.2.0");
MODULE_ALIAS_RDMA_LINK("softhca");
#if IS_ENABLED(CONFIG_SOFTHCA_IB)
MODULE_ALIAS_RDMA_LINK("softhca_ib");
#endif
MODULE_SOFTDEP("pre: crc32");
