/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* RAW_PACKET QPs: Ethernet frames, as they are, from the send queue. */
#ifndef SHCA_RAW_H
#define SHCA_RAW_H

#include <linux/types.h>

struct shca_dev;
struct shca_qp;

/* Bytes of the longest frame that the netdev takes now. */
u32 shca_raw_max_len(const struct shca_dev *dev);

/*
 * Part of shca_sq_send() for RAW_PACKET. Context: sq.lock held, bottom halves off.
 * Return: whether the budget is used up.
 */
bool shca_raw_transmit(struct shca_qp *qp);

#endif
