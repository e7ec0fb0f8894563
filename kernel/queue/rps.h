/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The receiving half of large batches on a CPU of its own.
 *
 * By default, packets of a sender on this machine are received in softirq on the
 * sender's own CPU, within its posting call.  One CPU then copies and sums up
 * everything twice.  Batches are large enough for handing over half of the work to
 * pay; small packets stay where they are.
 */
#ifndef SHCA_RPS_H
#define SHCA_RPS_H

#include <linux/atomic.h>
#include <linux/types.h>

struct shca_qp;
struct sk_buff;

/**
 * struct shca_rps - where packets for one side of a QP are received
 * @pending:	skbs that wait on @cpu; all later ones follow them there, so that
 *		none overtakes
 * @cpu:	the last choice
 */
struct shca_rps {
	atomic_t pending;
	int cpu;
};

/**
 * shca_rps() - let @skb be received elsewhere, if that is worth while
 * @qp:		of its first packet, connected; a reference of its own is taken
 * @response:	which of the QP's sides it is for
 * @seg_len:	length of its packets, for shca_rx_steered()
 *
 * @skb->data is at the first BTH.  Context: softirq.
 * Return: whether @skb has been taken; it may also have been dropped.
 */
bool shca_rps(struct shca_qp *qp, bool response, struct sk_buff *skb,
		u32 seg_len);

/** shca_rps_init() - empty queues; nothing to undo before the first QP */
void shca_rps_init(void);
/** shca_rps_exit() - there is no QP any more */
void shca_rps_exit(void);

#endif
