/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Captures of a link's packets (tcpdump and others). */
#ifndef SHCA_LINK_CAPTURE_H
#define SHCA_LINK_CAPTURE_H

#include <linux/types.h>

struct net_device;

/* Is there a capture on @ndev, or on a netdev stacked on it? Context: RCU read lock. */
bool shca_is_captured_above(struct net_device *ndev);

/*
 * Is there a capture on @ndev, or on a netdev below it? Of a pair, the other end counts, too. A
 * capture behind a bridge is not found. Context: softirq or bottom halves off.
 */
bool shca_is_captured(struct net_device *ndev);

#endif
