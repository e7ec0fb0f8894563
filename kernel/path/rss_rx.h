/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Receive side scaling: a QP without a receive queue of its own spreads received packets over
 * work queues, by a hash of their addresses.
 */
#ifndef SHCA_RSS_RX_H
#define SHCA_RSS_RX_H

#include <linux/types.h>

#include "../../uapi/softhca-abi.h"

struct ib_wq;
struct shca_pkt;
struct shca_qp;
struct shca_rss_flow;

/**
 * struct shca_rss - how a QP spreads packets; constant
 * @table:	work queues, a power of two of them; the RDMA core keeps them
 *		while the QP exists
 * @mask:	their number, less one
 * @fields:	as in struct shca_rx_hash
 * @key:	as in struct shca_rx_hash
 */
struct shca_rss {
	struct ib_wq **table;
	u32 mask;
	u32 fields;
	u8 key[SHCA_RX_HASH_KEY_LEN];
};

/* Return: the QP of a work queue for a packet. Context: any; @rss does not go meanwhile. */
struct shca_qp *shca_rss_select(const struct shca_rss *rss,
				const struct shca_rss_flow *flow);

/* Receive datagrams of one skb for a UD QP with @qp->rss. Context: softirq; @qp referenced. */
void shca_rss_rx(struct shca_qp *qp, const struct shca_pkt *pkt,
		 unsigned int nr);

#endif
