// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Queries of a process that imports a context by its file, and the context's
 * objects. They are methods of uverbs' ioctl interface.
 */
#include "import.h"

#define UVERBS_MODULE_NAME softhca
#include <rdma/uverbs_named_ioctl.h>

#include "../../uapi/softhca-abi.h"
#include "../base/dev.h"

/* An enum, because names that are pasted must not be macros. */
enum {
	shca_attr_context_resp = SHCA_ATTR_CONTEXT_RESP,
	shca_method_pd_query = SHCA_METHOD_PD_QUERY,
	shca_attr_pd_handle = SHCA_ATTR_PD_HANDLE,
};

static_assert(SHCA_ATTR_CONTEXT_RESP == 1 << UVERBS_ID_NS_SHIFT);
static_assert(SHCA_METHOD_PD_QUERY == 1 << UVERBS_ID_NS_SHIFT);
static_assert(SHCA_ATTR_PD_HANDLE == 1 << UVERBS_ID_NS_SHIFT);

int shca_query_ucontext(struct ib_ucontext *uctx,
			struct uverbs_attr_bundle *attrs)
{
	struct shca_alloc_ucontext_resp resp;

	shca_ucontext_resp(container_of(uctx, struct shca_ucontext, ibuc),
			   &resp);
	return uverbs_copy_to_struct_or_zero(attrs, shca_attr_context_resp,
					     &resp, sizeof(resp));
}

ADD_UVERBS_ATTRIBUTES_SIMPLE(
	shca_query_context, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_CONTEXT,
	UVERBS_ATTR_PTR_OUT(shca_attr_context_resp,
			    UVERBS_ATTR_STRUCT(struct shca_alloc_ucontext_resp,
					       reserved),
			    UA_MANDATORY));

/* Does the protection domain exist? The uverbs look-up before this answers. */
static int UVERBS_HANDLER(shca_method_pd_query)(struct uverbs_attr_bundle *attrs)
{
	return PTR_ERR_OR_ZERO(uverbs_attr_get_obj(attrs, shca_attr_pd_handle));
}

DECLARE_UVERBS_NAMED_METHOD(
	shca_method_pd_query,
	UVERBS_ATTR_IDR(shca_attr_pd_handle, UVERBS_OBJECT_PD,
			UVERBS_ACCESS_READ, UA_MANDATORY));

ADD_UVERBS_METHODS(shca_pd_methods, UVERBS_OBJECT_PD,
		   &UVERBS_METHOD(shca_method_pd_query));

const struct uapi_definition shca_import_defs[] = {
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_DEVICE, &shca_query_context),
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_PD, &shca_pd_methods),
	{},
};
