/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* QPs by number: each network namespace has its own numbers. */
#ifndef SHCA_QP_TABLE_H
#define SHCA_QP_TABLE_H

#include <linux/types.h>

struct ib_udata;
struct shca_link_ops;
struct shca_net;
struct shca_qp;
struct sk_buff;

/*
 * shca_qp_table_init() - initialise a namespace without QPs; look-ups in all namespaces find it
 * shca_qp_table_hide() - take it out of these look-ups; a grace period must pass before the table
 * is freed
 *
 * Context: may sleep. Return: 0 or ENOMEM.
 */
int shca_qp_table_init(struct shca_net *snet);
void shca_qp_table_hide(struct shca_net *snet);

/*
 * Give a QP a free, unpredictable number, which was not freed lately either: packets to the QP
 * that had it may be in flight, and the provider has yet to drop the completions of that QP.
 * @udata:	of the process that it is for; NULL: the kernel
 * Context: may sleep.
 */
int shca_net_add_qp(struct shca_net *snet, struct shca_qp *qp,
		    struct ib_udata *udata);
/* Withdraw a QP; look-ups that began earlier may still use it. */
void shca_net_del_qp(struct shca_net *snet, struct shca_qp *qp);

/**
 * struct shca_qp_hint - cached result of a look-up
 * @qp:		NULL: there is none
 * @snet:	namespace that was searched; NULL: all but the searcher's
 * @qpn:	number that was looked up
 * @changed:	shca_net_changes() at that time: the result is valid while it stays
 */
struct shca_qp_hint {
	struct shca_qp *qp;
	struct shca_net *snet;
	u32 qpn;
	u64 changed;
};

/*
 * shca_net_find_qp() without a reference.
 * @hint:	guarded by the caller, zero at first
 * Context: RCU read side or bottom halves off, within which the result is valid; it may be dead.
 */
struct shca_qp *shca_net_peek_qp(struct shca_net *snet, u32 qpn,
				 struct shca_qp_hint *hint);
/*
 * shca_net_peek_qp() in all namespaces but that of @qp.
 * @fits:	whether a QP of that number is the right one
 */
struct shca_qp *shca_net_peek_other(const struct shca_qp *qp, u32 qpn,
				    bool (*fits)(const struct shca_qp *qp,
						 const struct shca_qp *other),
				    struct shca_qp_hint *hint);
/* Invalidate all hints. */
void shca_net_note_change(void);
/* How often hints were invalidated. */
u64 shca_net_changes(void);
/*
 * Is there a QP of this number, in any namespace, that fits? Nothing else about it is
 * disclosed. Context: any; @fits is called under RCU.
 */
bool shca_net_has_qp(const struct shca_qp *qp, u32 qpn,
		     bool (*fits)(const struct shca_qp *qp,
				  const struct shca_qp *other));

/* Return: the QP of a number, with a reference, or NULL. Context: any. */
struct shca_qp *shca_net_find_qp(struct shca_net *snet, u32 qpn);

/*
 * Call @fn for each QP of a namespace, except QP0s and QP1s. A QP may be visited twice, or not
 * at all, if the table grows or shrinks meanwhile.
 * @fn:		returns 0, or an error that ends the walk. Context: RCU read side; the
 *		QP has a reference
 * Context: process.
 */
int shca_net_walk_qps(struct shca_net *snet,
		      int (*fn)(struct shca_qp *qp, void *arg), void *arg);

/*
 * Return: the QP that a management packet is for, with a reference, or NULL: that of the device
 * which has the destination address. If several devices share a netdev, it is that of the
 * oldest one.
 * @link:	link that the packet came by
 * @qpn:	0 or 1
 * Context: softirq.
 */
struct shca_qp *shca_net_find_mgmt(const struct shca_link_ops *link,
				   struct shca_net *snet, u32 qpn,
				   const struct sk_buff *skb, u16 *vlan);

/* Drop a reference of a look-up. Context: any. */
void shca_qp_put(struct shca_qp *qp);

#endif
