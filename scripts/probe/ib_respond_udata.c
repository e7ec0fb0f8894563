// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// are the checked udata helpers there (ib_respond_udata and kin)?
#include <rdma/ib_verbs.h>
#include <rdma/uverbs_ioctl.h>

int probe(struct ib_udata *udata, u64 *response);
int probe(struct ib_udata *udata, u64 *response)
{
	return ib_respond_udata(udata, *response);
}
