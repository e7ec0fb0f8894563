// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Methods of uverbs for a process that imports a context by its file, and the context's objects */
#include "import.h"

#define UVERBS_MODULE_NAME softhca
#include <rdma/uverbs_named_ioctl.h>

#include "../../uapi/softhca-abi.h"
#include "../base/dev.h"

int shca_query_ucontext(struct ib_ucontext *uctx,
			struct uverbs_attr_bundle *attrs)
{
	struct shca_alloc_ucontext_resp resp;

	shca_ucontext_resp(container_of(uctx, struct shca_ucontext, ibuc),
			   &resp);
	return uverbs_copy_to_struct_or_zero(attrs, SHCA_ATTR_CONTEXT_RESP,
					     &resp, sizeof(resp));
}

ADD_UVERBS_ATTRIBUTES_SIMPLE(
	shca_query_context, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_CONTEXT,
	UVERBS_ATTR_PTR_OUT(SHCA_ATTR_CONTEXT_RESP,
			    UVERBS_ATTR_STRUCT(struct shca_alloc_ucontext_resp,
					       reserved),
			    UA_MANDATORY));

/* The look-up by uverbs has answered whether the protection domain exists. */
static int UVERBS_HANDLER(SHCA_METHOD_PD_QUERY)(struct uverbs_attr_bundle *attrs)
{
	return PTR_ERR_OR_ZERO(uverbs_attr_get_obj(attrs, SHCA_ATTR_PD_HANDLE));
}

DECLARE_UVERBS_NAMED_METHOD(
	SHCA_METHOD_PD_QUERY,
	UVERBS_ATTR_IDR(SHCA_ATTR_PD_HANDLE, UVERBS_OBJECT_PD,
			UVERBS_ACCESS_READ, UA_MANDATORY));

ADD_UVERBS_METHODS(shca_pd_methods, UVERBS_OBJECT_PD,
		   &UVERBS_METHOD(SHCA_METHOD_PD_QUERY));

const struct uapi_definition shca_import_defs[] = {
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_DEVICE, &shca_query_context),
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_PD, &shca_pd_methods),
	{},
};
