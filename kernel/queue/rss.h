/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Receive side scaling: a QP without a receive queue of its own.  It spreads what
 * it receives over work queues, by a hash of the packet's addresses.
 */
#ifndef SHCA_RSS_H
#define SHCA_RSS_H

#include <linux/types.h>
#include <rdma/ib_verbs.h>

#include "../../uapi/softhca-abi.h"

struct shca_pkt;
struct shca_qp;

/**
 * struct shca_rss - how a QP spreads packets; fixed
 * @table:	work queues, a power of two of them; the RDMA core keeps them
 *		while the QP exists
 * @mask:	how many, less one
 * @fields:	as in struct shca_rx_hash
 * @key:	as in struct shca_rx_hash
 */
struct shca_rss {
	struct ib_wq **table;
	u32 mask;
	u32 fields;
	u8 key[SHCA_RX_HASH_KEY_LEN];
};

/**
 * struct shca_rss_flow - what of a packet may be hashed
 * @src:	IP address of the sender
 * @dst:	IP address of the receiver
 * @addr_len:	their bytes, 4 or 16; 0: there are none
 * @proto:	IPPROTO_TCP or IPPROTO_UDP, else there are no ports
 * @src_port:	of the sender
 * @dst_port:	of the receiver
 */
struct shca_rss_flow {
	const void *src;
	const void *dst;
	u8 addr_len;
	u8 proto;
	__be16 src_port;
	__be16 dst_port;
};

/* May there be such a QP with an indirection table? */
int shca_rss_check(const struct ib_qp_init_attr *init, bool is_user);

/*
 * Make it from what a process asks for.
 * @table:	NULL: @hash must be all zero
 * Return: to be freed by kfree(); NULL without @table; ERR_PTR: -EINVAL, -EOPNOTSUPP (function
 * or fields that are not known), -ENOMEM.
 */
struct shca_rss *shca_rss_make(const struct ib_rwq_ind_table *table,
			       const struct shca_rx_hash *hash);

/*
 * The receive side of the work queue that gets a packet.
 * Context: any; a reference to the QP that has @rss keeps it.
 */
struct shca_qp *shca_rss_select(const struct shca_rss *rss,
				const struct shca_rss_flow *flow);

/*
 * @nr datagrams of one skb arrived for a UD QP with @qp->rss.
 * Context: softirq; a reference to @qp held.
 */
void shca_rss_rx(struct shca_qp *qp, const struct shca_pkt *pkt,
		 unsigned int nr);

#endif
