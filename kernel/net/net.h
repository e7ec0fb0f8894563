/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What softhca has per network namespace: the UDP sockets that own port 4791,
 * and one space of QP numbers.
 */
#ifndef SHCA_NET_H
#define SHCA_NET_H

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/netfilter.h>
#include <linux/rhashtable.h>
#include <linux/types.h>
#include <linux/wait.h>

/* One for IPv4, one for IPv6. */
#define SHCA_NF_HOOKS 2

struct net;
struct sk_buff;
struct shca_qp;
struct socket;

/* Numbers of QPs that are not given again before so many others were freed. */
#define SHCA_FREED_QPNS		128
/* Hash chains of multicast groups. */
#define SHCA_MCAST_CHAINS	256

/**
 * struct shca_net - per network namespace
 * @node:	in the list of all, read under RCU
 * @lock:	@users and the sockets
 * @users:	devices; the sockets are open while there are any
 * @sk4: @sk6:	@sk6 is NULL where IPv6 is off
 * @hooks:	take batches at LOCAL_IN (rx.c)
 * @qps:	struct shca_qp by number; read under RCU
 * @freed: @nr_freed: numbers that QPs had lately; under @freed_lock
 * @gsi:	QP1 of each device, oldest first; changed under @gsi_lock, read
 *		under RCU
 * @groups:	struct shca_mcast_group by MGID; see mcast.c
 * @refs:	calls and devices that use this struct; it is waited for before
 *		the namespace frees it (the mutex could not tell: its unlocker
 *		may still look at it when the next owner has it already)
 */
struct shca_net {
	struct net *net;
	struct list_head node;
	struct mutex lock;
	int users;
	struct socket *sk4;
	struct socket *sk6;
	struct nf_hook_ops hooks[SHCA_NF_HOOKS];
	struct rhashtable qps;
	spinlock_t freed_lock;
	u32 freed[SHCA_FREED_QPNS];
	u32 nr_freed;
	spinlock_t gsi_lock;
	struct list_head gsi;
	struct hlist_head groups[SHCA_MCAST_CHAINS];
	atomic_t refs;
};

/** shca_net_of() - the part of a namespace, used or not */
struct shca_net *shca_net_of(struct net *net);

/**
 * shca_net_get() - use a namespace: opens its sockets for the first device
 *
 * Context: may sleep.
 * Return: the namespace's part, or ERR_PTR(-EADDRINUSE) when something else
 * owns UDP port 4791, which is also logged.
 */
struct shca_net *shca_net_get(struct net *net);
/** shca_net_put() - closes the sockets after the last device; may sleep */
void shca_net_put(struct shca_net *snet);

/**
 * shca_net_add_qp() - give a QP an unpredictable number that is free
 *
 * And was not freed just now: packets for the QP that had it may still be under
 * way, and the provider has yet to drop its completions.
 * Context: may sleep.
 */
int shca_net_add_qp(struct shca_net *snet, struct shca_qp *qp);
/** shca_net_del_qp() - look-ups that began earlier may still hold it */
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

/**
 * shca_net_peek_qp() - shca_net_find_qp() without a reference
 * @hint:	guarded by the caller, zero at first
 *
 * Context: RCU read side or bottom halves off, within which the result is valid;
 * it may be dead.
 */
struct shca_qp *shca_net_peek_qp(struct shca_net *snet, u32 qpn,
				 struct shca_qp_hint *hint);
/**
 * shca_net_peek_other() - the same in all namespaces but that of @qp
 * @fits:	whether one of that number is the right one
 */
struct shca_qp *shca_net_peek_other(const struct shca_qp *qp, u32 qpn,
				    bool (*fits)(const struct shca_qp *qp,
						 const struct shca_qp *other),
				    struct shca_qp_hint *hint);
/** shca_net_note_change() - what @fits looks at is no longer the same */
void shca_net_note_change(void);
/** shca_net_changes() - how often that was noted; as long as it is, nothing has */
u64 shca_net_changes(void);
/**
 * shca_net_has_qp() - is there a QP of this number, in any namespace, that fits?
 *
 * Nothing of it but that it is there leaves this call.  Context: any; @fits is called
 * under RCU.
 */
bool shca_net_has_qp(const struct shca_qp *qp, u32 qpn,
		     bool (*fits)(const struct shca_qp *qp,
				  const struct shca_qp *other));

/**
 * shca_net_find_qp() - a reference to a QP by number, or NULL
 *
 * Context: any.
 */
struct shca_qp *shca_net_find_qp(struct shca_net *snet, u32 qpn);

/**
 * shca_net_find_gsi() - the QP1 that a management packet is for, or NULL
 *
 * That of the device which has the destination address; of several on one
 * netdev the oldest, and when it goes the next inherits.
 * Context: softirq.  The reference is the caller's.
 */
struct shca_qp *shca_net_find_gsi(struct shca_net *snet,
				  const struct sk_buff *skb, u16 *vlan);

/**
 * shca_net_init() - know the network namespaces; undone by shca_net_exit()
 *
 * Context: may sleep.  Return: 0 or errno.
 */
int shca_net_init(void);
void shca_net_exit(void);

#endif
