// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The InfiniBand link over Ethernet. Frames come from a packet handler of the netdev,
 * and hellos leave from a work item. The state machine is the core's
 * (core/ib_hello.c); this file has the time, the lock, and the frames.
 *
 * Packets other than hellos are not carried yet. A port that no subnet manager has
 * made active carries none on an adapter, too, except management packets.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include "ib.h"

#include <linux/etherdevice.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/pkt_sched.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <rdma/ib_mad.h>
#include <rdma/ib_verbs.h>

#include "../base/counters.h"
#include "../core/ib_wire.h"

/* ---- state ------------------------------------------------------------------ */

static bool shca_ib_has_carrier(const struct shca_dev *dev)
{
	return netif_running(dev->ndev) && netif_carrier_ok(dev->ndev) &&
	       shca_ib_mtu(READ_ONCE(dev->ndev->mtu));
}

/* Under the lock. Tells consumers; @what: SHCA_IB_SMA_*. */
static void shca_ib_tell(struct shca_ib_link *link, u32 what)
{
	static const struct {
		u32 what;
		enum ib_event_type type;
	} events[] = {
		{ SHCA_IB_SMA_INACTIVE, IB_EVENT_PORT_ERR },
		{ SHCA_IB_SMA_GID, IB_EVENT_GID_CHANGE },
		{ SHCA_IB_SMA_LID, IB_EVENT_LID_CHANGE },
		{ SHCA_IB_SMA_SM, IB_EVENT_SM_CHANGE },
		{ SHCA_IB_SMA_REREGISTER, IB_EVENT_CLIENT_REREGISTER },
		{ SHCA_IB_SMA_ACTIVE, IB_EVENT_PORT_ACTIVE },
	};
	struct ib_event ev = {
		.device = &link->dev->ibdev,
		.element.port_num = 1,
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(events); i++) {
		if (!(what & events[i].what))
			continue;
		ev.event = events[i].type;
		ib_dispatch_event(&ev);
	}
}

/* Under the lock. The subnet manager does the rest of what makes a port active. */
static void shca_ib_note(struct shca_ib_link *link, u32 events)
{
	u8 phys = link->phy.phys;

	if (events & SHCA_IB_EV_DOWN)
		shca_ib_tell(link, shca_ib_sma_link(&link->sma, phys, false));
	if (events & SHCA_IB_EV_UP)
		shca_ib_tell(link, shca_ib_sma_link(&link->sma, phys, true));
	link->sma.phys = phys;
}

/*
 * Under the lock, with which shca_ib_stop() clears @running before it cancels the
 * work. So no work is queued after that.
 */
static void shca_ib_arm(struct shca_ib_link *link, u64 now)
{
	u64 deadline = shca_ib_port_deadline(&link->phy);

	if (!link->running || deadline == ~0ull)
		return;
	mod_delayed_work(system_highpri_wq, &link->hello,
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
	u64 now = ktime_get_ns();

	spin_lock_bh(&link->lock);
	if (link->running) {
		shca_ib_check_carrier(link, now);
		shca_ib_arm(link, now);
	}
	spin_unlock_bh(&link->lock);
}

u32 shca_ib_process_smp(struct shca_dev *dev, const void *in, void *out,
			bool trusted)
{
	struct shca_ib_link *link = dev->ib;
	u64 now = ktime_get_ns();
	u32 what;

	spin_lock_bh(&link->lock);
	what = shca_ib_smp(&link->sma, in, out, trusted);
	shca_ib_tell(link, what);
	if (what & (SHCA_IB_SMA_DISABLE | SHCA_IB_SMA_POLL))
		shca_ib_note(link, shca_ib_port_disable(&link->phy, true, now));
	if (what & SHCA_IB_SMA_POLL)
		shca_ib_note(link, shca_ib_port_disable(&link->phy, false, now));
	shca_ib_arm(link, now);
	spin_unlock_bh(&link->lock);
	return what;
}

/* ---- hellos ----------------------------------------------------------------- */

/* A hello that is lost comes again. So does one for which there is no memory. */
static void shca_ib_send_hello(struct shca_dev *dev,
			       const struct shca_ib_hello *hello, const u8 *dest)
{
	u32 room = SHCA_IB_SHIM_BYTES + SHCA_IB_HELLO_BYTES;
	struct net_device *ndev = dev->ndev;
	struct sk_buff *skb;

	skb = alloc_skb(LL_RESERVED_SPACE(ndev) + room +
			ndev->needed_tailroom, GFP_KERNEL);
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

/* Where a hello goes: a port that has a peer does not bother others. */
static void shca_ib_hello_dest(const struct shca_ib_link *link, u8 *dest)
{
	if (link->phy.has_peer)
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
	u64 now = ktime_get_ns();
	bool send;

	spin_lock_bh(&link->lock);
	shca_ib_note(link, shca_ib_port_tick(&link->phy, now));
	send = shca_ib_port_tx(&link->phy, &hello, now);
	shca_ib_hello_dest(link, dest);
	shca_ib_arm(link, now);
	spin_unlock_bh(&link->lock);
	if (send)
		shca_ib_send_hello(link->dev, &hello, dest);
}

static void shca_ib_rcv_hello(struct shca_ib_link *link,
			      const struct shca_ib_hello *hello, const u8 *mac)
{
	u64 now = ktime_get_ns();

	spin_lock_bh(&link->lock);
	if (link->running) {
		shca_ib_note(link, shca_ib_port_rx(&link->phy, hello, mac, now));
		shca_ib_arm(link, now);
	}
	spin_unlock_bh(&link->lock);
}

/* ---- reception -------------------------------------------------------------- */

/* Bytes that are copied out of a frame: its shim, and a hello or the lower headers. */
#define SHCA_IB_HEAD	(SHCA_IB_SHIM_BYTES + SHCA_IB_LOWER_MAX)

static_assert(SHCA_IB_HELLO_BYTES <= SHCA_IB_LOWER_MAX);

/* Return: the counter of a frame that is dropped, or SHCA_CNT_NR. */
static enum shca_counter shca_ib_rcv_frame(struct shca_ib_link *link,
					   const struct sk_buff *skb,
					   const u8 *mac)
{
	u32 avail = min_t(u32, skb->len, SHCA_IB_HEAD);
	struct shca_ib_hello hello;
	struct shca_ib_lower lower;
	enum shca_ib_parse parse;
	struct shca_ib_shim shim;
	u8 head[SHCA_IB_HEAD];

	if (skb_copy_bits(skb, 0, head, avail))
		return SHCA_CNT_RX_SHORT;
	parse = shca_ib_shim_parse(&shim, head, skb->len);
	if (parse)
		goto refused;
	if (shim.type == SHCA_IB_FRAME_HELLO) {
		parse = shca_ib_hello_parse(&hello, &shim,
					    head + SHCA_IB_SHIM_BYTES);
		if (parse)
			goto refused;
		shca_ib_rcv_hello(link, &hello, mac);
		return SHCA_CNT_NR;
	}
	avail = min_t(u32, avail - SHCA_IB_SHIM_BYTES, shim.len);
	parse = shca_ib_lower_parse(&lower, head + SHCA_IB_SHIM_BYTES, avail,
				    shim.len);
	/* No QP receives packets of this link yet. */
	if (!parse)
		return SHCA_CNT_RX_STATE;
refused:
	return parse == SHCA_IB_SHORT ? SHCA_CNT_RX_SHORT : SHCA_CNT_RX_HEADER;
}

static int shca_ib_rcv(struct sk_buff *skb, struct net_device *ndev,
		       struct packet_type *ptype, struct net_device *orig)
{
	struct shca_ib_link *link = container_of(ptype, struct shca_ib_link,
						 ptype);
	enum shca_counter id = SHCA_CNT_NR;
	u8 mac[ETH_ALEN] __aligned(2);

	if (skb->pkt_type == PACKET_OTHERHOST)
		goto out;
	ether_addr_copy(mac, eth_hdr(skb)->h_source);
	if (!is_valid_ether_addr(mac))
		id = SHCA_CNT_RX_HEADER;
	else
		id = shca_ib_rcv_frame(link, skb, mac);
	if (id != SHCA_CNT_NR)
		this_cpu_inc(link->dev->counters->v[id]);
out:
	consume_skb(skb);
	return NET_RX_SUCCESS;
}

/* ---- life ------------------------------------------------------------------- */

int shca_ib_init_dev(struct shca_dev *dev)
{
	u32 session, mtu = shca_ib_mtu(READ_ONCE(dev->ndev->mtu));
	u64 guid = be64_to_cpu(dev->ibdev.node_guid);
	struct shca_ib_link *link;

	link = kzalloc(sizeof(*link), GFP_KERNEL);
	if (!link)
		return -ENOMEM;
	link->dev = dev;
	spin_lock_init(&link->lock);
	INIT_DELAYED_WORK(&link->hello, shca_ib_hello_work);
	do {
		session = get_random_u32();
	} while (!session);
	shca_ib_port_init(&link->phy, guid, session, mtu);
	/* The netdev had a sufficient MTU a moment ago. */
	shca_ib_sma_init(&link->sma, guid,
			 mtu ? ib_mtu_int_to_enum(mtu) : IB_MTU_256);
	strscpy(link->sma.desc, dev->ibdev.node_desc, sizeof(link->sma.desc));
	link->sma.vendor = SHCA_VENDOR_ID;
	link->sma.partitions = SHCA_LIM_PKEYS;
	link->sma.cap_mask = IB_PORT_SYS_IMAGE_GUID_SUP | IB_PORT_CM_SUP |
			     IB_PORT_CLIENT_REG_SUP;
	link->ptype = (struct packet_type){
		.type = htons(SHCA_IB_ETHERTYPE),
		.dev = dev->ndev,
		.func = shca_ib_rcv,
	};
	dev->ib = link;
	return 0;
}

void shca_ib_exit_dev(struct shca_dev *dev)
{
	kfree(dev->ib);
	dev->ib = NULL;
}

void shca_ib_start(struct shca_dev *dev)
{
	struct shca_ib_link *link = dev->ib;

	if (!link)
		return;
	spin_lock_bh(&link->lock);
	link->running = true;
	spin_unlock_bh(&link->lock);
	dev_add_pack(&link->ptype);
	shca_ib_carrier(dev);
}

void shca_ib_stop(struct shca_dev *dev)
{
	struct shca_ib_link *link = dev->ib;
	struct shca_ib_hello bye;
	u8 dest[ETH_ALEN] __aligned(2);
	bool send;

	if (!link)
		return;
	spin_lock_bh(&link->lock);
	send = link->running && link->phy.has_peer;
	link->running = false;
	bye = shca_ib_port_bye(&link->phy);
	shca_ib_hello_dest(link, dest);
	shca_ib_note(link, shca_ib_port_carrier(&link->phy, false,
						ktime_get_ns()));
	spin_unlock_bh(&link->lock);
	/* Waits until no handler runs. */
	dev_remove_pack(&link->ptype);
	cancel_delayed_work_sync(&link->hello);
	if (send)
		shca_ib_send_hello(dev, &bye, dest);
}

/* ---- the data path ---------------------------------------------------------- */

static enum ib_mtu shca_ib_link_mtu(const struct shca_dev *dev)
{
	u32 mtu = shca_ib_mtu(READ_ONCE(dev->ndev->mtu));

	return mtu ? ib_mtu_int_to_enum(mtu) : 0;
}

static const char *shca_ib_av_init(struct shca_dev *dev,
				   const struct rdma_ah_attr *attr,
				   u32 sport_hash, struct shca_av *av)
{
	const struct ib_global_route *grh = rdma_ah_read_grh(attr);

	if (attr->type != RDMA_AH_ATTR_TYPE_IB)
		return "the path is not that of an InfiniBand port";
	memset(av, 0, sizeof(*av));
	av->link = SHCA_LINK_IB;
	av->sl = rdma_ah_get_sl(attr);
	av->ib.dlid = rdma_ah_get_dlid(attr);
	av->ib.path_bits = rdma_ah_get_path_bits(attr);
	av->ib.has_grh = rdma_ah_get_ah_flags(attr) & IB_AH_GRH;
	/* IBTA 10.2.2.2: a multicast packet has one always. */
	if (!av->ib.has_grh && av->ib.dlid >= SHCA_IB_LID_MCAST &&
	    av->ib.dlid != SHCA_IB_LID_PERMISSIVE)
		return "the path to a multicast LID has no GRH";
	if (!av->ib.has_grh)
		return NULL;
	av->ib.tclass = grh->traffic_class;
	av->ib.hop_limit = grh->hop_limit;
	av->ib.sgid_index = grh->sgid_index;
	av->ib.flow_label = grh->flow_label & 0xfffff;
	memcpy(&av->ib.dgid, &grh->dgid, sizeof(av->ib.dgid));
	return NULL;
}

/* The ICRC of a packet that does not leave. */
static __le32 shca_ib_icrc(const struct shca_av *av, struct shca_seed *seed,
			   unsigned int seg, const u8 *bth, u32 len)
{
	return 0;
}

static unsigned int shca_ib_max_batch(struct shca_dev *dev,
				      const struct shca_av *av,
				      struct shca_route *route, u32 *bytes)
{
	return 0;
}

/* Counted as a packet without a way to its destination, which is lost. */
static int shca_ib_xmit(struct shca_dev *dev, const struct shca_av *av,
			struct shca_route *route, struct sk_buff *skb,
			unsigned int segs, u32 seg_len)
{
	shca_count_n(dev, TX_NO_ROUTE, segs);
	kfree_skb(skb);
	return -ENETUNREACH;
}

/* No packet is given to the netdev, so its queues hold none of them. */
static bool shca_ib_holds(const struct shca_route *route, u64 *left)
{
	*left = 0;
	return false;
}

static void shca_ib_ecn(struct shca_av *av, bool capable)
{
}

static void shca_ib_mark(struct shca_av *av)
{
}

static bool shca_ib_local(struct shca_dev *dev, const struct shca_av *av,
			  struct shca_route *route)
{
	return false;
}

static bool shca_ib_mirrors(const struct shca_av *av, const struct shca_av *peer)
{
	return false;
}

/*
 * QPs of all links share their numbers. So RoCE packets may name one of an InfiniBand
 * port. It is not for it, whatever they contain.
 */
static bool shca_ib_check(const struct shca_av *av, const struct sk_buff *skb)
{
	return false;
}

static bool shca_ib_serves(const struct shca_dev *dev, const struct sk_buff *skb,
			   u16 *vlan)
{
	return false;
}

static void shca_ib_marks(const struct sk_buff *skb, bool *ce, u8 *sl)
{
	*ce = false;
	*sl = 0;
}

static void shca_ib_mgid(const struct sk_buff *skb, struct in6_addr *mgid)
{
	memset(mgid, 0, sizeof(*mgid));
}

static bool shca_ib_arrived_at(const struct shca_dev *dev,
			       const struct sk_buff *skb, u16 *vlan)
{
	return false;
}

static bool shca_ib_icrc_ok(struct shca_rx_skb *rx, unsigned int seg,
			    const u8 *bth, u32 off, u32 len)
{
	return false;
}

static void shca_ib_grh(const struct sk_buff *skb, u32 off, u32 len, u8 *grh)
{
	memset(grh, 0, SHCA_IB_GRH_BYTES);
}

const struct shca_link_ops shca_ib_ops = {
	.headroom = SHCA_IB_SHIM_BYTES + SHCA_IB_LOWER_MAX,
	.mtu = shca_ib_link_mtu,
	.av_init = shca_ib_av_init,
	.icrc = shca_ib_icrc,
	.max_batch = shca_ib_max_batch,
	.xmit = shca_ib_xmit,
	.holds = shca_ib_holds,
	.ecn = shca_ib_ecn,
	.mark = shca_ib_mark,
	.local = shca_ib_local,
	.mirrors = shca_ib_mirrors,
	.check = shca_ib_check,
	.serves = shca_ib_serves,
	.marks = shca_ib_marks,
	.mgid = shca_ib_mgid,
	.arrived_at = shca_ib_arrived_at,
	.icrc_ok = shca_ib_icrc_ok,
	.grh = shca_ib_grh,
};
