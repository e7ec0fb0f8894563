/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Flow steering: which Ethernet frames go to which RAW_PACKET QPs, past the
 * host's own stack or beside it.
 */
#ifndef SHCA_FLOW_H
#define SHCA_FLOW_H

#include <rdma/ib_verbs.h>

struct shca_dev;
struct sk_buff;

/** enum shca_taken - what rules say of a frame that is to be sent */
enum shca_taken {
	SHCA_TAKEN_NOT,
	SHCA_TAKEN_COPY,	/* it is for a QP here, and leaves as well */
	SHCA_TAKEN_ALL,		/* it does not leave */
};

/**
 * shca_flow_loop() - may a frame that a QP sends be for a QP of this device?
 * @skb:	@skb->data is at its Ethernet header; kept, unless taken whole
 *
 * As with an adapter, whose switch knows its own rules.  Delivered later, since
 * the caller holds a lock of the sending QP.
 * Context: softirq or bottom halves off.
 */
enum shca_taken shca_flow_loop(struct shca_dev *dev, struct sk_buff *skb);

/** shca_flow_init_dev() - no rules yet */
void shca_flow_init_dev(struct shca_dev *dev);
/** shca_flow_exit_dev() - the device is unregistered: no rule is left */
void shca_flow_exit_dev(struct shca_dev *dev);

/* struct ib_device_ops */
struct ib_flow *shca_create_flow(struct ib_qp *ibqp, struct ib_flow_attr *attr,
				 struct ib_udata *udata);
int shca_destroy_flow(struct ib_flow *ibflow);

#endif
