// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Events of neighbours that the RDMA core has missed.
 *
 * A connection needs the peer's hardware address. If the host does not have it, the RDMA
 * core (addr.c) makes the host ask. Then it puts its request into a list, which an event
 * of a neighbour wakes (NETEVENT_NEIGH_UPDATE). On a wire the answer takes longer than
 * these few lines. A veth, and what stands on one, delivers within the call that sends.
 * So the answer has come and its event is over before the request is in the list. The
 * request would wait for all of its time, and only then look again: 1 s in modify_qp and
 * create_ah, 2 s in rdma_cm.
 *
 * So some more events follow each one. The RDMA core wants no certain neighbour: the event
 * of any that is valid wakes all requests, which look for theirs. Other listeners act on
 * what an event says of a neighbour. So these events are of one that says nothing to
 * anybody: 0.0.0.0 on the loopback netdev, which needs no address. We hold it, and
 * nothing of those who were updated.
 *
 * There are several, because the one who asks may have lost its CPU meanwhile.
 */
#include "neigh_event.h"

#include <linux/jiffies.h>
#include <linux/netdevice.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <net/arp.h>
#include <net/neighbour.h>
#include <net/net_namespace.h>
#include <net/netevent.h>

/* Milliseconds from each to the next. */
static const u8 shca_neigh_ms[] = { 2, 10, 50, 250 };

/* Its state is NUD_NOARP, which is valid, and stays so even if it is flushed. */
static struct neighbour *shca_neigh_any;

/* Protects the number below and the delay that belongs to it. Events come in softirq, too. */
static DEFINE_SPINLOCK(shca_neigh_lock);
/* Events that have followed the last one. */
static unsigned int shca_neigh_turn;

static void shca_neigh_repeat(struct work_struct *work);
static DECLARE_DELAYED_WORK(shca_neigh_work, shca_neigh_repeat);

static void shca_neigh_next(void)
{
	lockdep_assert_held(&shca_neigh_lock);
	if (shca_neigh_turn < ARRAY_SIZE(shca_neigh_ms))
		mod_delayed_work(system_unbound_wq, &shca_neigh_work,
				 msecs_to_jiffies(shca_neigh_ms[shca_neigh_turn]));
}

static void shca_neigh_repeat(struct work_struct *work)
{
	spin_lock_bh(&shca_neigh_lock);
	shca_neigh_turn++;
	shca_neigh_next();
	spin_unlock_bh(&shca_neigh_lock);

	/* As the host does it mostly: in softirq. */
	local_bh_disable();
	call_netevent_notifiers(NETEVENT_NEIGH_UPDATE, shca_neigh_any);
	local_bh_enable();
}

static int shca_neigh_event(struct notifier_block *nb, unsigned long event, void *arg)
{
	struct neighbour *n = arg;

	if (event != NETEVENT_NEIGH_UPDATE || n == shca_neigh_any ||
	    !(READ_ONCE(n->nud_state) & NUD_VALID))
		return NOTIFY_DONE;
	spin_lock_bh(&shca_neigh_lock);
	shca_neigh_turn = 0;
	/* Events at a higher rate put it off, and wake the core themselves. */
	shca_neigh_next();
	spin_unlock_bh(&shca_neigh_lock);
	return NOTIFY_DONE;
}

static struct notifier_block shca_neigh_nb = {
	.notifier_call = shca_neigh_event,
};

int shca_neigh_event_init(void)
{
	__be32 any = htonl(INADDR_ANY);
	struct neighbour *n;
	int err;

	/* Without it (the host's table is full), connections work, and take longer. */
	n = neigh_create(&arp_tbl, &any, init_net.loopback_dev);
	if (IS_ERR(n))
		return 0;
	shca_neigh_any = n;
	err = register_netevent_notifier(&shca_neigh_nb);
	if (err)
		neigh_release(n);
	return err;
}

void shca_neigh_event_exit(void)
{
	if (!shca_neigh_any)
		return;
	unregister_netevent_notifier(&shca_neigh_nb);
	cancel_delayed_work_sync(&shca_neigh_work);
	neigh_release(shca_neigh_any);
}
