/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Address vectors and address handles. A work request names a handle by number; the kernel
 * copies the address vector when it fetches the request. An address handle may therefore be
 * destroyed while requests that used it are in progress.
 */
#ifndef SHCA_AH_H
#define SHCA_AH_H

#include <rdma/ib_verbs.h>

#include "../link/link.h"

struct shca_dev;

/* Entry of a handle. Once published it is not changed: modify_ah replaces it (RCU). */
struct shca_ah_entry {
	struct rcu_head rcu;
	struct ib_pd *pd;
	struct shca_av av;
};

/*
 * An address handle.
 * @attr:	attributes for query_ah
 */
struct shca_ah {
	struct ib_ah ibah;
	bool is_user;
	struct shca_ah_entry *entry;
	u32 handle;
	struct rdma_ah_attr attr;
};

static inline struct shca_ah *to_shca_ah(struct ib_ah *ibah)
{
	return container_of(ibah, struct shca_ah, ibah);
}

/**
 * shca_av_init() - make an address vector from verbs attributes
 * @dev:	device that packets leave by
 * @attr:	of an address handle, or of a QP
 * @sport_hash:	spreads flows
 * @av:		result
 *
 * A static rate above the present rate of the port is no limit.
 * Context: any, like that of the address handle.
 * Return: NULL, or the reason for EINVAL.
 */
const char *shca_av_init(struct shca_dev *dev, const struct rdma_ah_attr *attr,
			 u32 sport_hash, struct shca_av *av);

/* Create the empty table of handles. */
void shca_ah_table_init(struct shca_dev *dev);

/**
 * shca_ah_find() - copy the address vector of a handle
 * @dev:	device of the handle
 * @pd:		PD of the QP; handles of other PDs are not found
 * @handle:	as a work request names it
 * @av:		result
 *
 * Context: any.
 * Return: false: there is no such handle.
 */
bool shca_ah_find(struct shca_dev *dev, struct ib_pd *pd, u32 handle,
		  struct shca_av *av);

/* operations in struct ib_device_ops */
int shca_create_ah(struct ib_ah *ibah, struct rdma_ah_init_attr *init,
		   struct ib_udata *udata);
int shca_modify_ah(struct ib_ah *ibah, struct rdma_ah_attr *attr);
int shca_query_ah(struct ib_ah *ibah, struct rdma_ah_attr *attr);
int shca_destroy_ah(struct ib_ah *ibah, u32 flags);

#endif
