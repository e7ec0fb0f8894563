// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Neighbour events that the RDMA core has missed.
 *
 * A connection needs the peer's hardware address. If the host does not have it, the RDMA core
 * (addr.c) makes the host ask, and then puts its request into a list, which a neighbour event
 * wakes (NETEVENT_NEIGH_UPDATE). On a wire the answer takes longer than these few lines. A
 * veth, and netdevs stacked on one, deliver within the call that sends, so the event is over
 * before the request is in the list. The request would then wait for its whole time-out: 1 s
 * in modify_qp and create_ah, 2 s in rdma_cm.
 *
 * Therefore some more events follow each one. An event of any valid neighbour wakes all
 * requests of the RDMA core, which look for theirs. Other listeners use what an event says of
 * its neighbour. So these events are of a neighbour that means nothing to them, and to which
 * this module has a reference: 0.0.0.0 on the loopback netdev, which needs no address.
 *
 * There are several events, because the process that asks may be preempted before it is in
 * the list.
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

/* Milliseconds from each event to the next */
static const u8 shca_neigh_ms[] = { 2, 10, 50, 250 };

/* In state NUD_NOARP, which is valid and survives a flush */
static struct neighbour *shca_neigh_any;

/* Protects shca_neigh_turn and the timing of shca_neigh_work. Events come in softirq, too. */
static DEFINE_SPINLOCK(shca_neigh_lock);
/* Events that have followed the last update */
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

	/* In softirq, as most events of the host. */
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
	/* Updates at a higher rate postpone it, and wake the RDMA core themselves. */
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

	/* If the host's table is full, connections still work, but take longer. */
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
