// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Protection domains, thread domains, and parent domains, which join the two.
 *
 * The kernel sees a parent domain as its protection domain: both have the same
 * handle. The rest is done here: objects of a parent domain with a thread
 * domain take no locks. Its allocators are stored but never called, because
 * rings are kernel memory that the process maps (see uapi).
 */
#include "softhca.h"

#include <errno.h>
#include <stdlib.h>

#include <infiniband/cmd_ioctl.h>
#include <rdma/ib_user_ioctl_cmds.h>

struct ibv_pd *shca_alloc_pd(struct ibv_context *ibctx)
{
	struct ib_uverbs_alloc_pd_resp resp;
	struct ibv_alloc_pd cmd;
	struct shca_pd *pd;

	pd = calloc(1, sizeof(*pd));
	if (!pd)
		return NULL;
	if (ibv_cmd_alloc_pd(ibctx, &pd->pd, &cmd, sizeof(cmd), &resp,
			     sizeof(resp))) {
		free(pd);
		return NULL;
	}
	return &pd->pd;
}

struct ibv_pd *shca_import_pd(struct ibv_context *ibctx, uint32_t handle)
{
	DECLARE_COMMAND_BUFFER(cmd, UVERBS_OBJECT_PD, SHCA_METHOD_PD_QUERY, 1);
	struct shca_pd *pd;

	pd = calloc(1, sizeof(*pd));
	if (!pd)
		return NULL;
	fill_attr_in_obj(cmd, SHCA_ATTR_PD_HANDLE, handle);
	if (execute_ioctl(ibctx, cmd)) {
		free(pd);
		return NULL;
	}
	pd->pd.context = ibctx;
	pd->pd.handle = handle;
	return &pd->pd;
}

/* The domain itself stays. No object of the imported one may be left (ibv_import_pd). */
void shca_unimport_pd(struct ibv_pd *ibpd)
{
	shca_ahs_del_pd(&to_shca_context(ibpd->context)->ahs, ibpd->handle);
	free(to_shca_pd(ibpd));
}

struct ibv_td *shca_alloc_td(struct ibv_context *ibctx,
			     struct ibv_td_init_attr *attr)
{
	struct shca_td *td;

	if (attr->comp_mask) {
		errno = EINVAL;
		return NULL;
	}
	td = calloc(1, sizeof(*td));
	if (!td)
		return NULL;
	td->td.context = ibctx;
	return &td->td;
}

int shca_dealloc_td(struct ibv_td *ibtd)
{
	struct shca_td *td = container_of(ibtd, struct shca_td, td);

	if (atomic_load(&td->users))
		return EBUSY;
	free(td);
	return 0;
}

/*
 * ..._ALLOW_CC_UNPROTECTED_ALLOC of rdma-core 65: permits memory that the host
 * can read. It has no effect, because this device is in the guest itself.
 */
#define SHCA_PARENT_DOMAIN_CC	(1 << 2)

#define SHCA_PARENT_DOMAIN_ATTRS \
	(IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS | \
	 IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT | SHCA_PARENT_DOMAIN_CC)

struct ibv_pd *shca_alloc_parent_domain(struct ibv_context *ibctx,
					struct ibv_parent_domain_init_attr *attr)
{
	struct shca_pd *pd;

	if (ibv_check_alloc_parent_domain(attr))
		return NULL;
	if (!check_comp_mask(attr->comp_mask, SHCA_PARENT_DOMAIN_ATTRS)) {
		errno = EINVAL;
		return NULL;
	}
	/* A parent domain of a parent domain is refused. */
	if (to_shca_pd(attr->pd)->base) {
		errno = EINVAL;
		return NULL;
	}
	pd = calloc(1, sizeof(*pd));
	if (!pd)
		return NULL;
	ibv_initialize_parent_domain(&pd->pd, attr->pd);
	pd->base = to_shca_pd(attr->pd);
	atomic_fetch_add(&pd->base->users, 1);
	if (attr->td) {
		pd->td = container_of(attr->td, struct shca_td, td);
		atomic_fetch_add(&pd->td->users, 1);
	}
	return &pd->pd;
}

int shca_dealloc_pd(struct ibv_pd *ibpd)
{
	struct shca_pd *pd = to_shca_pd(ibpd);
	int err;

	if (atomic_load(&pd->users))
		return EBUSY;
	if (pd->base) {
		atomic_fetch_sub(&pd->base->users, 1);
		if (pd->td)
			atomic_fetch_sub(&pd->td->users, 1);
	} else {
		if (!shca_ahs_del_pd(&to_shca_context(ibpd->context)->ahs,
				     ibpd->handle))
			return EBUSY;
		err = ibv_cmd_dealloc_pd(ibpd);
		if (err)
			return err;
	}
	free(pd);
	return 0;
}
