// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Module init, and module exit in the reverse order. */
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
	rdma_link_register(&shca_rdma_link_ops);
	if (IS_ENABLED(CONFIG_SOFTHCA_IB)) {
		shca_ib_init();
		shca_ib_batch_init();
		rdma_link_register(&shca_rdma_link_ib_ops);
	}
	return 0;

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
