// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The state of an InfiniBand port: a work item sends hellos, and the RDMA core passes subnet
 * management packets. The state machines are those of ib/core/ib_hello.c and
 * ib/core/ib_sma.c; this file adds time, the lock, and events.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include "ib_link.h"

#include <linux/etherdevice.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/pkt_sched.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <rdma/ib_mad.h>
#include <rdma/ib_verbs.h>

#include "../base/counters.h"
#include "ib_trap_send.h"

static_assert(SHCA_LIM_PKEYS <= SHCA_IB_PKEYS);

/* ---- state ------------------------------------------------------------------ */

static bool shca_ib_has_carrier(const struct shca_dev *dev)
{
	return netif_running(dev->ndev) && netif_carrier_ok(dev->ndev) &&
	       shca_ib_mtu(READ_ONCE(dev->ndev->mtu));
}

/* Report events to consumers. @what: SHCA_IB_SMA_* */
static void shca_ib_tell(struct shca_ib_link *link, u32 what)
{
	static const struct {
		u32 what;
		enum ib_event_type type;
	} events[] = {
		{ SHCA_IB_SMA_INACTIVE, IB_EVENT_PORT_ERR },
		{ SHCA_IB_SMA_GID, IB_EVENT_GID_CHANGE },
		{ SHCA_IB_SMA_PKEYS, IB_EVENT_PKEY_CHANGE },
		{ SHCA_IB_SMA_LID, IB_EVENT_LID_CHANGE },
		{ SHCA_IB_SMA_SM, IB_EVENT_SM_CHANGE },
		{ SHCA_IB_SMA_REREGISTER, IB_EVENT_CLIENT_REREGISTER },
		{ SHCA_IB_SMA_ACTIVE, IB_EVENT_PORT_ACTIVE },
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(events); i++)
		if (what & events[i].what)
			shca_event(&link->dev->events, events[i].type);
}

/* Publish the view for packets, and unlock. */
static void shca_ib_unlock(struct shca_ib_link *link)
{
	struct shca_ib_view view = {
		.up = link->running && link->phy.phys == SHCA_IB_PHYS_LINK_UP,
		.state = link->sma.state,
		.lmc = link->sma.lmc,
		.lanes = shca_ib_lanes_nr(link->sma.lanes.code),
		.lid = link->sma.lid,
		.gid_prefix = link->sma.gid_prefix,
		.peer_session = link->phy.peer.session,
	};
	const struct shca_ib_lanes *lanes = &link->sma.lanes;
	u32 sl;

	for (sl = 0; sl < SHCA_IB_SLS; sl++)
		view.lane[sl] = shca_ib_lane_of(&lanes->sl2vl, lanes->code, sl);
	view.credits = view.up && link->flow.credits.on;
	view.batches = view.up && link->phy.peer.batches;
	ether_addr_copy(view.peer_mac, link->phy.peer_mac);
	write_seqcount_begin(&link->seq);
	link->view = view;
	write_seqcount_end(&link->seq);
	spin_unlock_bh(&link->lock);
}

/* Under the lock. The subnet manager does the rest of activating a port. */
static void shca_ib_note(struct shca_ib_link *link, u32 events)
{
	u8 phys = link->phy.phys;

	if (events & SHCA_IB_EV_DOWN) {
		shca_ib_flow_reset(link, false);
		atomic_inc(&link->dev->port.downed);
		shca_ib_tell(link, shca_ib_sma_link(&link->sma, phys, false));
	}
	link->sma.peer_lanes = link->phy.peer.lanes;
	link->sma.peer_mtu = link->phy.peer.mtu;
	if (events & SHCA_IB_EV_UP) {
		shca_ib_tell(link, shca_ib_sma_link(&link->sma, phys, true));
		shca_ib_flow_set(&link->flow, &link->sma);
		shca_ib_flow_reset(link, link->running && link->phy.peer.credits);
	}
	link->sma.phys = phys;
}

/* Under the lock, where shca_ib_stop() clears @running: no work is queued after that. */
static void shca_ib_arm(struct shca_ib_link *link, u64 now)
{
	u64 deadline = shca_ib_port_deadline(&link->phy);

	if (!link->running || deadline == ~0ull)
		return;
	mod_delayed_work(link->wq, &link->hello,
			 deadline > now ?
			 nsecs_to_jiffies(deadline - now) + 1 : 0);
}

/* Under the lock. */
static void shca_ib_check_carrier(struct shca_ib_link *link, u64 now)
{
	u32 mtu = shca_ib_mtu(READ_ONCE(link->dev->ndev->mtu));

	link->phy.mtu = mtu;
	if (mtu)
		link->sma.mtu_cap = ib_mtu_int_to_enum(mtu);
	shca_ib_note(link, shca_ib_port_carrier(&link->phy,
						shca_ib_has_carrier(link->dev),
						now));
}

void shca_ib_carrier(struct shca_dev *dev)
{
	struct shca_ib_link *link = dev->ib;
	u64 now;

	spin_lock_bh(&link->lock);
	now = ktime_get_ns();
	if (link->running) {
		shca_ib_check_carrier(link, now);
		shca_ib_arm(link, now);
	}
	shca_ib_unlock(link);
}

/* Under the lock. @what: SHCA_IB_SMA_* */
static void shca_ib_trapped(struct shca_ib_link *link, u32 what)
{
	if (what & SHCA_IB_SMA_TRAP)
		shca_ib_trap_arm(link);
}

/* Before the lock: the sums take locks of their own. */
void shca_ib_lock_tallies(struct shca_ib_link *link)
{
	u64 pkeys = shca_counter_total(link->dev, SHCA_CNT_RX_PKEY);
	u64 qkeys = shca_counter_total(link->dev, SHCA_CNT_RX_QKEY);

	spin_lock_bh(&link->lock);
	/* Another caller may have read later sums and been faster. */
	link->sma.bad_pkeys.seen = max(pkeys, link->sma.bad_pkeys.seen);
	link->sma.bad_qkeys.seen = max(qkeys, link->sma.bad_qkeys.seen);
}

u32 shca_ib_process_smp(struct shca_dev *dev, const void *in, void *out,
			u16 slid, bool trusted)
{
	struct shca_ib_smp_from from = {
		.slid = slid,
		.trusted = trusted,
	};
	struct shca_ib_link *link = dev->ib;
	u32 what, i;

	shca_ib_lock_tallies(link);
	from.now = ktime_get_ns();
	what = shca_ib_smp(&link->sma, in, out, &from);
	if (what & SHCA_IB_SMA_PKEYS)
		for (i = 0; i < SHCA_LIM_PKEYS; i++)
			WRITE_ONCE(dev->pkeys[i], link->sma.pkeys[i]);
	if (what & SHCA_IB_SMA_LANES)
		shca_ib_flow_set(&link->flow, &link->sma);
	shca_ib_tell(link, what);
	/* After that event the link still carries the response. */
	if (what & (SHCA_IB_SMA_DISABLE | SHCA_IB_SMA_POLL))
		shca_ib_note(link, shca_ib_port_ask(&link->phy, what & SHCA_IB_SMA_DISABLE,
						    from.now));
	/* A changed attribute may permit a trap that waits, or an earlier one. */
	shca_ib_trap_arm(link);
	shca_ib_arm(link, from.now);
	shca_ib_unlock(link);
	return what;
}

void shca_ib_describe(struct shca_dev *dev, const void *desc)
{
	struct shca_ib_link *link = dev->ib;

	spin_lock_bh(&link->lock);
	shca_ib_trapped(link, shca_ib_sma_describe(&link->sma, desc));
	memcpy(dev->ibdev.node_desc, desc, SHCA_IB_DESC_BYTES);
	spin_unlock_bh(&link->lock);
}

void shca_ib_change_caps(struct shca_dev *dev, u32 set, u32 clear)
{
	struct shca_ib_link *link = dev->ib;

	spin_lock_bh(&link->lock);
	shca_ib_trapped(link, shca_ib_sma_caps(&link->sma,
					       (link->sma.cap_mask | set) &
					       ~clear));
	spin_unlock_bh(&link->lock);
}

void shca_ib_arrived(struct shca_ib_link *link, bool damaged)
{
	if (likely(!damaged && !READ_ONCE(link->sma.phys_errors)))
		return;
	spin_lock(&link->lock);
	shca_ib_trapped(link, shca_ib_sma_arrived(&link->sma, damaged));
	spin_unlock(&link->lock);
}

void shca_ib_overrun(struct shca_ib_link *link)
{
	u64 now = ktime_get_ns();

	/*
	 * In a flood, all but the first of a period are cheap. A racing one counts as one of
	 * the flood.
	 */
	if (data_race(link->sma.overruns.at) == shca_ib_sma_period(now))
		return;
	spin_lock(&link->lock);
	shca_ib_trapped(link, shca_ib_sma_overrun(&link->sma, now));
	spin_unlock(&link->lock);
}

void shca_ib_watchdog(struct shca_ib_link *link)
{
	spin_lock(&link->lock);
	shca_ib_trapped(link, shca_ib_sma_watchdog(&link->sma));
	spin_unlock(&link->lock);
}

void shca_ib_bad_key(struct shca_ib_link *link, enum shca_ib_trap kind,
		     const struct shca_ib_bad_key *bad)
{
	/* In a flood, all but the first are cheap. A racing one counts as one of the flood. */
	if (data_race(link->sma.traps.pending) & BIT(kind))
		return;
	spin_lock(&link->lock);
	shca_ib_trapped(link, shca_ib_sma_bad_key(&link->sma, kind, bad));
	spin_unlock(&link->lock);
}

/* ---- hellos ----------------------------------------------------------------- */

/* Lost hellos are repeated, so none waits for memory, which would delay the next one. */
static void shca_ib_send_hello(struct shca_dev *dev,
			       const struct shca_ib_hello *hello, const u8 *dest)
{
	u32 room = SHCA_IB_SHIM_BYTES + SHCA_IB_HELLO_BYTES;
	struct net_device *ndev = dev->ndev;
	struct sk_buff *skb;

	skb = alloc_skb(LL_RESERVED_SPACE(ndev) + room +
			ndev->needed_tailroom, GFP_ATOMIC | __GFP_NOWARN);
	if (!skb)
		return;
	skb_reserve(skb, LL_RESERVED_SPACE(ndev));
	skb_reset_network_header(skb);
	shca_ib_hello_build(hello, skb_put(skb, room));
	skb->dev = ndev;
	skb->protocol = htons(SHCA_IB_ETHERTYPE);
	skb->priority = TC_PRIO_CONTROL;
	if (dev_hard_header(skb, ndev, SHCA_IB_ETHERTYPE, dest, NULL,
			    skb->len) < 0) {
		kfree_skb(skb);
		return;
	}
	dev_queue_xmit(skb);
}

/* A port with a peer sends hellos to that only. */
static void shca_ib_hello_dest(const struct shca_ib_link *link, u8 *dest)
{
	if (shca_ib_port_has_peer(&link->phy))
		ether_addr_copy(dest, link->phy.peer_mac);
	else
		eth_broadcast_addr(dest);
}

static void shca_ib_hello_work(struct work_struct *work)
{
	struct shca_ib_link *link = container_of(to_delayed_work(work),
						 struct shca_ib_link, hello);
	u8 dest[ETH_ALEN] __aligned(2);
	struct shca_ib_hello hello;
	bool send;
	u64 now;

	spin_lock_bh(&link->lock);
	/* Under the lock, so that times under the lock never go back. */
	now = ktime_get_ns();
	shca_ib_note(link, shca_ib_port_tick(&link->phy, now));
	send = shca_ib_port_tx(&link->phy, &hello, now);
	shca_ib_hello_dest(link, dest);
	shca_ib_arm(link, now);
	shca_ib_unlock(link);
	if (send)
		shca_ib_send_hello(link->dev, &hello, dest);
}

void shca_ib_rcv_hello(struct shca_ib_link *link,
		       const struct shca_ib_hello *hello, const u8 *mac)
{
	u64 now;

	spin_lock_bh(&link->lock);
	now = ktime_get_ns();
	if (link->running) {
		shca_ib_note(link, shca_ib_port_rx(&link->phy, hello, mac, now));
		shca_ib_arm(link, now);
	}
	shca_ib_unlock(link);
}

/* ---- life ------------------------------------------------------------------- */

int shca_ib_init_dev(struct shca_dev *dev,
		     int (*rcv)(struct sk_buff *skb, struct net_device *ndev,
				struct packet_type *ptype,
				struct net_device *orig))
{
	u32 session, mtu = shca_ib_mtu(READ_ONCE(dev->ndev->mtu));
	u64 guid = be64_to_cpu(dev->ibdev.node_guid);
	struct shca_ib_link *link;

	link = kzalloc(sizeof(*link), GFP_KERNEL);
	if (!link)
		return -ENOMEM;
	/*
	 * The peer takes the port down after a second without hellos. So hellos and credits
	 * need no memory and have a high priority; unbound, because a CPU may be busy for
	 * that long.
	 */
	link->wq = alloc_workqueue("softhca_ib",
				   WQ_UNBOUND | WQ_HIGHPRI | WQ_MEM_RECLAIM, 0);
	if (!link->wq)
		goto err_link;
	if (shca_ib_flow_init(link))
		goto err_wq;
	link->dev = dev;
	link->guid = guid;
	spin_lock_init(&link->lock);
	seqcount_spinlock_init(&link->seq, &link->lock);
	INIT_DELAYED_WORK(&link->hello, shca_ib_hello_work);
	do {
		session = get_random_u32();
	} while (!session);
	link->session = session;
	shca_ib_port_init(&link->phy, guid, session, mtu);
	link->phy.lanes = SHCA_IB_VL_CAP;
	link->phy.credits = true;
	link->phy.batches = true;
	/* The MTU was sufficient when the device was created. */
	shca_ib_sma_init(&link->sma, guid,
			 mtu ? ib_mtu_int_to_enum(mtu) : IB_MTU_256);
	strscpy(link->sma.desc, dev->ibdev.node_desc, sizeof(link->sma.desc));
	link->sma.vendor = SHCA_VENDOR_ID;
	link->sma.partitions = shca_limit(dev, PKEYS);
	link->sma.cap_mask = IB_PORT_SYS_IMAGE_GUID_SUP | IB_PORT_CM_SUP |
			     IB_PORT_CLIENT_REG_SUP | IB_PORT_NOTICE_SUP |
			     IB_PORT_SL_MAP_SUP |
			     IB_PORT_TRAP_SUP | IB_PORT_DR_NOTICE_SUP |
			     IB_PORT_AUTO_MIGR_SUP | IB_PORT_CAP_MASK_NOTICE_SUP |
			     IB_PORT_OTHER_LOCAL_CHANGES_SUP;
	shca_ib_trap_init_dev(link);
	link->ptype = (struct packet_type){
		.type = htons(SHCA_IB_ETHERTYPE),
		.dev = dev->ndev,
		.func = rcv,
	};
	dev->ib = link;
	return 0;

err_wq:
	destroy_workqueue(link->wq);
err_link:
	kfree(link);
	return -ENOMEM;
}

void shca_ib_exit_dev(struct shca_dev *dev)
{
	struct shca_ib_link *link = dev->ib;

	destroy_workqueue(link->wq);
	free_percpu(link->flow.turns);
	/*
	 * A packet for another port of the namespace may have found a QP or group of this one
	 * before it was unlinked, and reads the view through dev->ib.
	 */
	kfree_rcu(link, rcu);
}

void shca_ib_start(struct shca_dev *dev)
{
	struct shca_ib_link *link = dev->ib;

	spin_lock_bh(&link->lock);
	link->running = true;
	spin_unlock_bh(&link->lock);
	dev_add_pack(&link->ptype);
	shca_ib_trap_start(link);
	shca_ib_carrier(dev);
}

void shca_ib_stop(struct shca_dev *dev)
{
	struct shca_ib_link *link = dev->ib;
	struct shca_ib_hello bye;
	u8 dest[ETH_ALEN] __aligned(2);
	bool send;

	spin_lock_bh(&link->lock);
	send = link->running && shca_ib_port_has_peer(&link->phy);
	link->running = false;
	bye = shca_ib_port_bye(&link->phy);
	shca_ib_hello_dest(link, dest);
	shca_ib_note(link, shca_ib_port_carrier(&link->phy, false,
						ktime_get_ns()));
	shca_ib_unlock(link);
	dev_remove_pack(&link->ptype);
	cancel_delayed_work_sync(&link->hello);
	shca_ib_flow_stop(link);
	shca_ib_trap_stop(link);
	if (send)
		shca_ib_send_hello(dev, &bye, dest);
}
