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
 * So the event is repeated, for neighbours of our netdevs. Each one wakes all requests, so
 * the last neighbour is enough. There are several repetitions, because the one who asks
 * may have lost its CPU meanwhile. Others who listen see an update that changes nothing.
 */
#include "neigh_event.h"

#include <linux/netdevice.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <net/neighbour.h>
#include <net/netevent.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_verbs.h>

#include "../../uapi/softhca-abi.h"

/* Ticks from each repetition to the next. */
static const u8 shca_neigh_ticks[] = { 1, 4, 16 };

/* Protects the two below: events come in any context, on any CPU. */
static DEFINE_SPINLOCK(shca_neigh_lock);
/* The last that was updated, with a reference; NULL when all is said. */
static struct neighbour *shca_neigh_last;
/* Repetitions since then. */
static unsigned int shca_neigh_turn;

static void shca_neigh_repeat(struct work_struct *work);
static DECLARE_DELAYED_WORK(shca_neigh_work, shca_neigh_repeat);
/* The task that repeats: its events are not repeated again. Only the work writes it. */
static struct task_struct *shca_neigh_teller;

static void shca_neigh_repeat(struct work_struct *work)
{
	struct neighbour *n, *done = NULL;

	spin_lock_bh(&shca_neigh_lock);
	n = shca_neigh_last;
	if (!n) {
		spin_unlock_bh(&shca_neigh_lock);
		return;
	}
	neigh_hold(n);
	if (++shca_neigh_turn < ARRAY_SIZE(shca_neigh_ticks)) {
		mod_delayed_work(system_unbound_wq, &shca_neigh_work,
				 shca_neigh_ticks[shca_neigh_turn]);
	} else {
		done = n;
		shca_neigh_last = NULL;
	}
	spin_unlock_bh(&shca_neigh_lock);

	/* As the host does it: from softirq. Some listeners count on that. */
	local_bh_disable();
	WRITE_ONCE(shca_neigh_teller, current);
	call_netevent_notifiers(NETEVENT_NEIGH_UPDATE, n);
	WRITE_ONCE(shca_neigh_teller, NULL);
	local_bh_enable();

	neigh_release(n);
	if (done)
		neigh_release(done);
}

static bool shca_neigh_is_ours(struct net_device *ndev)
{
	struct net_device *real = rdma_vlan_dev_real_dev(ndev);
	struct ib_device *ibdev;

	ibdev = ib_device_get_by_netdev(real ?: ndev, (enum rdma_driver_id)SHCA_DRIVER_ID);
	if (!ibdev)
		return false;
	ib_device_put(ibdev);
	return true;
}

static int shca_neigh_event(struct notifier_block *nb, unsigned long event, void *arg)
{
	struct neighbour *n = arg, *former;

	if (event != NETEVENT_NEIGH_UPDATE || READ_ONCE(shca_neigh_teller) == current ||
	    !(READ_ONCE(n->nud_state) & NUD_VALID) || READ_ONCE(n->dead) ||
	    !shca_neigh_is_ours(n->dev))
		return NOTIFY_DONE;
	neigh_hold(n);
	spin_lock_bh(&shca_neigh_lock);
	former = shca_neigh_last;
	shca_neigh_last = n;
	shca_neigh_turn = 0;
	/* Events at a higher rate put it off, and wake the core themselves. */
	mod_delayed_work(system_unbound_wq, &shca_neigh_work, shca_neigh_ticks[0]);
	spin_unlock_bh(&shca_neigh_lock);
	if (former)
		neigh_release(former);
	return NOTIFY_DONE;
}

static struct notifier_block shca_neigh_nb = {
	.notifier_call = shca_neigh_event,
};

int shca_neigh_event_init(void)
{
	return register_netevent_notifier(&shca_neigh_nb);
}

void shca_neigh_event_exit(void)
{
	unregister_netevent_notifier(&shca_neigh_nb);
	cancel_delayed_work_sync(&shca_neigh_work);
	if (shca_neigh_last)
		neigh_release(shca_neigh_last);
}
