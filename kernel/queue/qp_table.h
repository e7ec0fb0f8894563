/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The QPs of a network namespace by number: one space of numbers each. */
#ifndef SHCA_QP_TABLE_H
#define SHCA_QP_TABLE_H

#include <linux/types.h>

struct ib_udata;
struct shca_link_ops;
struct shca_net;
struct shca_qp;
struct sk_buff;

/*
 * shca_qp_table_init() - a namespace with no QPs; looks into all find it from now on
 * shca_qp_table_hide() - they do so no longer; a grace period passes before
 * shca_qp_table_exit() - the end, with no QP left
 *
 * Context: may sleep.  Return: 0 or ENOMEM.
 */
int shca_qp_table_init(struct shca_net *snet);
void shca_qp_table_hide(struct shca_net *snet);
void shca_qp_table_exit(struct shca_net *snet);

/*
 * Give a QP an unpredictable number that is free. The number was not freed just now either:
 * packets for the QP that had it may still be under way.  The provider, too, has yet to drop
 * the completions of that QP.
 * @udata:	of the process that it is for; NULL: the kernel
 * Context: may sleep.
 */
int shca_net_add_qp(struct shca_net *snet, struct shca_qp *qp,
		    struct ib_udata *udata);
/* Withdraw a QP; look-ups that began earlier may still hold it. */
void shca_net_del_qp(struct shca_net *snet, struct shca_qp *qp);

/**
 * struct shca_qp_hint - the outcome of a search for a QP, remembered
 * @qp:		NULL: there is none
 * @snet:	where it was searched; NULL: outside of the searcher's namespace
 * @qpn:	by this number
 * @changed:	how often something that such a search finds had changed; if that
 *		is still so, it would find the same
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
 * Context: RCU read side or bottom halves off, within which the result is valid; it may be
 * dead.
 */
struct shca_qp *shca_net_peek_qp(struct shca_net *snet, u32 qpn,
				 struct shca_qp_hint *hint);
/*
 * shca_net_peek_qp() in all namespaces but that of @qp.
 * @fits:	whether one of that number is the right one
 */
struct shca_qp *shca_net_peek_other(const struct shca_qp *qp, u32 qpn,
				    bool (*fits)(const struct shca_qp *qp,
						 const struct shca_qp *other),
				    struct shca_qp_hint *hint);
/* What @fits looks at is no longer the same. */
void shca_net_note_change(void);
/* How often that was noted; as long as it is, nothing has. */
u64 shca_net_changes(void);
/*
 * Is there a QP of this number, in any namespace, that fits? Nothing of it but that it is there
 * leaves this call.  Context: any; @fits is called under RCU.
 */
bool shca_net_has_qp(const struct shca_qp *qp, u32 qpn,
		     bool (*fits)(const struct shca_qp *qp,
				  const struct shca_qp *other));

/* A reference to a QP by number, or NULL. Context: any. */
struct shca_qp *shca_net_find_qp(struct shca_net *snet, u32 qpn);

/*
 * Call @fn for each QP of a namespace, QP1s apart. A QP may be visited twice, or not at all, if
 * the table grows or shrinks meanwhile.
 * @fn:		returns 0, or an error that ends the walk. Context: RCU read side; the
 *		QP is kept meanwhile
 * Context: process.
 */
int shca_net_walk_qps(struct shca_net *snet,
		      int (*fn)(struct shca_qp *qp, void *arg), void *arg);

/*
 * The QP that a management packet is for, or NULL. It is the one of the device which has the
 * destination address.  If several devices share a netdev, it is that of the oldest; when that
 * goes, the next inherits.
 * @link:	which the packet came by
 * @qpn:	0 or 1
 * Context: softirq.  The reference is the caller's.
 */
struct shca_qp *shca_net_find_mgmt(const struct shca_link_ops *link,
				   struct shca_net *snet, u32 qpn,
				   const struct sk_buff *skb, u16 *vlan);

/* Drop a reference of shca_net_find_qp() and its like. Context: any. */
void shca_qp_put(struct shca_qp *qp);

#endif
