/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Where the data path of a QP asks for faults. A device with rules about packets builds no
 * batches.
 */
#ifndef SHCA_FAULT_POINTS_H
#define SHCA_FAULT_POINTS_H

#include "../core/responder/responder.h"
#include "../inject/held.h"

struct shca_qp;
struct shca_pkt;
struct shca_send_wr;

/*
 * Is a fault injected into a packet? An event of the port is raised here, and then @pkt has no
 * fault.
 * @stage:	SHCA_FAULT_TX, SHCA_FAULT_RX or SHCA_FAULT_RESPOND
 * Context: softirq or bottom halves off.
 */
bool shca_fault_packet(struct shca_qp *qp, enum shca_fault_stage stage,
		       const struct shca_pkt *pkt, struct shca_fault_hit *hit);

/*
 * Transmit one packet with a fault, as shca_link_ops.xmit.
 * @skb:	begins with the BTH; consumed
 * @hdr_len:	bytes before the payload
 */
int shca_fault_xmit(struct shca_qp *qp, const struct shca_av *av,
		    struct shca_route *route, struct sk_buff *skb, u32 hdr_len,
		    const struct shca_fault_hit *hit);

/* Inject a fault into a request. Return: false: the queue fails without a completion. */
bool shca_fault_send(struct shca_qp *qp, struct shca_send_wr *wr);

/*
 * Does the responder refuse the expected request? A request whose key is revoked here is
 * executed as any, which refuses it.
 * @out: @verdict: if it does, as of shca_resp_rx()
 * Context: rq.lock held.
 */
bool shca_fault_respond(struct shca_qp *qp, const struct shca_pkt *pkt,
			struct shca_resp_out *out, enum shca_verdict *verdict);

/*
 * Is a fault injected into a doorbell?
 * @delay_ns:	if so, its delay; 0: it is lost
 * Context: process.
 */
bool shca_fault_doorbell(struct shca_qp *qp, u64 *delay_ns);

#endif
