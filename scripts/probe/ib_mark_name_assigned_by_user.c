// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// can a device be marked as named by the user?
#include <rdma/ib_verbs.h>

void probe(struct ib_device *dev);
void probe(struct ib_device *dev)
{
	ib_mark_name_assigned_by_user(dev);
}
