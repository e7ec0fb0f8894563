// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "rss.h"

#include <linux/slab.h>
#include <linux/string.h>

#include "../path/rss_rx.h"

#define SHCA_RSS_IPV4	(SHCA_RX_HASH_SRC_IPV4 | SHCA_RX_HASH_DST_IPV4)
#define SHCA_RSS_IPV6	(SHCA_RX_HASH_SRC_IPV6 | SHCA_RX_HASH_DST_IPV6)
#define SHCA_RSS_TCP	(SHCA_RX_HASH_SRC_PORT_TCP | SHCA_RX_HASH_DST_PORT_TCP)
#define SHCA_RSS_UDP	(SHCA_RX_HASH_SRC_PORT_UDP | SHCA_RX_HASH_DST_PORT_UDP)

int shca_rss_check(const struct ib_qp_init_attr *init, bool is_user)
{
	if (!is_user)	/* no kernel consumer has work queues */
		return -EOPNOTSUPP;
	if (init->qp_type != IB_QPT_RAW_PACKET && init->qp_type != IB_QPT_UD)
		return -EOPNOTSUPP;
	if (init->recv_cq || init->srq || init->cap.max_recv_wr)
		return -EINVAL;
	/* The QP only receives, as on ConnectX. */
	if (init->send_cq || init->cap.max_send_wr)
		return -EOPNOTSUPP;
	return 0;
}

/* As strict as ConnectX: a packet has one kind of addresses and one of ports. */
static int shca_rss_check_hash(const struct ib_rwq_ind_table *table,
			       const struct shca_rx_hash *hash)
{
	u64 fields = hash->fields;

	if (memchr_inv(hash->reserved, 0, sizeof(hash->reserved)))
		return -EINVAL;
	if (hash->function != SHCA_RX_HASH_TOEPLITZ)
		return -EOPNOTSUPP;
	if (hash->key_len != SHCA_RX_HASH_KEY_LEN)
		return -EINVAL;
	if (fields & ~(u64)(SHCA_RSS_IPV4 | SHCA_RSS_IPV6 | SHCA_RSS_TCP |
			    SHCA_RSS_UDP))
		return -EOPNOTSUPP;
	if ((fields & SHCA_RSS_IPV4 && fields & SHCA_RSS_IPV6) ||
	    (fields & SHCA_RSS_TCP && fields & SHCA_RSS_UDP))
		return -EINVAL;
	/* A table with one entry needs no hash. */
	if (!fields && table->log_ind_tbl_size)
		return -EINVAL;
	return 0;
}

struct shca_rss *shca_rss_make(const struct ib_rwq_ind_table *table,
			       const struct shca_rx_hash *hash)
{
	struct shca_rss *rss;
	int err;

	if (!table)
		return memchr_inv(hash, 0, sizeof(*hash)) ? ERR_PTR(-EINVAL) :
							    NULL;
	err = shca_rss_check_hash(table, hash);
	if (err)
		return ERR_PTR(err);
	rss = kzalloc(sizeof(*rss), GFP_KERNEL_ACCOUNT);
	if (!rss)
		return ERR_PTR(-ENOMEM);
	rss->table = table->ind_tbl;
	rss->mask = (1u << table->log_ind_tbl_size) - 1;
	rss->fields = hash->fields;
	memcpy(rss->key, hash->key, sizeof(rss->key));
	return rss;
}
