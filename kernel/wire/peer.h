/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What a QP knows of its peer: SHCA_PEER_* in shca_req_attr.peer.
 *
 * The specification binds all peers alike; only a softhca can be relied upon for more. There
 * are three ways to recognise one:
 *
 *   this kernel	the QP at the other end is found by number and addresses, connected
 *		back, in any network namespace (shca_peer_learn())
 *   ECE		librdmacm and others carry it from process to process, and
 *		ibv_set_ece() hands it to the kernel (shca_peer_of_ece())
 *   Resv8a	a mark in reserved bits of its packets (SHCA_MARK in core/transport.h), for
 *		machines whose programs exchange no ECE. A QP begins only on an
 *		administrator's order (enum shca_resv8a)
 *
 * The result may be wrong: addresses of two namespaces may be the same, and a process may lie
 * about its own peer. That costs what softhca does for peers of unknown vendor, and no more,
 * because no access right depends on it.
 */
#ifndef SHCA_PEER_H
#define SHCA_PEER_H

#include "../queue/qp.h"

/* Type of the peer: the two sides of XRC are QPs of different types. */
static inline enum ib_qp_type shca_peer_type(const struct shca_qp *qp)
{
	return qp->type == IB_QPT_XRC_INI ? IB_QPT_XRC_TGT : qp->type;
}

/* SHCA_PEER_* of ECE options. */
u32 shca_peer_of_ece(u32 ece_options);

/* The requester has started; sq.lock held. */
void shca_peer_start(struct shca_qp *qp);

/* Set ECN as the peer's properties permit; sq.lock held. */
void shca_peer_ecn(struct shca_qp *qp);

/* Look for the peer among the QPs of this kernel. */
void shca_peer_look(struct shca_qp *qp, u64 now);

/*
 * A packet arrived out of order: may its sender get gap reports (SHCA_PEER_OOO)? Only a QP of
 * this kernel that knows the same of this one. Context: rq.lock held, bottom halves off.
 */
void shca_peer_look_ahead(struct shca_qp *qp, u64 now);

/* Packets are about to leave for the peer. Context: sq.lock held, bottom halves off. */
static inline void shca_peer_learn(struct shca_qp *qp, u64 now)
{
	if (unlikely(qp->sq.peer_looks) && now >= qp->sq.peer_ns)
		shca_peer_look(qp, now);
	if (unlikely(qp->sq.ecn_peer != qp->sq.req.attr.peer))
		shca_peer_ecn(qp);
}

#endif
