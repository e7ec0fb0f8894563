/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The driver's part of a verbs command, request and response.
 *
 * A request shorter than expected is zero-extended. A longer one must be zero beyond the
 * known part. A response is cut to a shorter buffer, and zero-extended in a longer one.
 */
#ifndef SHCA_UDATA_H
#define SHCA_UDATA_H

#include <rdma/ib_verbs.h>

static inline int shca_udata_in(struct ib_udata *udata, void *req, size_t size)
{
	memset(req, 0, size);
	if (udata->inlen > size &&
	    !ib_is_udata_cleared(udata, size, udata->inlen - size))
		return -EINVAL;
	return ib_copy_from_udata(req, udata, min(size, udata->inlen));
}

static inline int shca_udata_out(struct ib_udata *udata, const void *resp,
				 size_t size)
{
	int err;

	err = ib_copy_to_udata(udata, (void *)resp, min(size, udata->outlen));
	if (!err && udata->outlen > size &&
	    clear_user(udata->outbuf + size, udata->outlen - size))
		err = -EFAULT;
	return err;
}

#endif
