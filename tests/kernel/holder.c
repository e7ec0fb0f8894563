// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Somebody in the kernel who has looked a device up and does not let it go: a reference,
 * and no object. It is held while this module is loaded.
 */
#include <linux/module.h>
#include <rdma/ib_verbs.h>

static char *device = "shca_a";
module_param(device, charp, 0444);
MODULE_PARM_DESC(device, "the device to be held");

static struct ib_device *held;

/* A client, because devices cannot be looked up by name from Linux 7.2 on. */
static int holder_add(struct ib_device *ibdev)
{
	if (!strcmp(dev_name(&ibdev->dev), device) && ib_device_try_get(ibdev))
		held = ibdev;
	return 0;
}

static struct ib_client holder_client = {
	.name = "softhca_holder",
	.add = holder_add,
};

static int __init holder_init(void)
{
	int err = ib_register_client(&holder_client);

	if (err)
		return err;
	ib_unregister_client(&holder_client);
	return held ? 0 : -ENODEV;
}

static void __exit holder_exit(void)
{
	ib_device_put(held);
}

module_init(holder_init);
module_exit(holder_exit);

MODULE_AUTHOR("The softhca developers");
MODULE_DESCRIPTION("Holds a reference to an RDMA device");
MODULE_LICENSE("Dual BSD/GPL");
