// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The data path of an InfiniBand link: address vectors with LIDs, routing headers, CRCs
 * (docs/infiniband.md). Packets leave by the netdev of the port. Those to a LID of the port
 * itself are looped back.
 */
#include "ib_path.h"

#include <linux/etherdevice.h>
#include <linux/pkt_sched.h>
#include <linux/skbuff.h>
#include <rdma/ib_verbs.h>

#include "../base/compat.h"
#include "../base/counters.h"
#include "../core/be.h"
#include "../core/headers.h"
#include "../core/opcode.h"
#include "../link/capture.h"
#include "../link/icrc.h"
#include "ib_batch.h"
#include "ib_link.h"

static_assert(SHCA_IB_BATCH_MOST * SHCA_IB_CHARGE <= SHCA_IB_REPORT);
static_assert(SHCA_IB_BATCH_MOST <= SHCA_BATCH_SEGS);
static_assert(DIV_ROUND_UP(SHCA_IB_LOWER_MAX + SHCA_HDR_MAX + 4096 +
				   SHCA_ICRC_BYTES + SHCA_IB_VCRC_BYTES,
			   SHCA_IB_BLOCK) <= SHCA_IB_CHARGE);

struct shca_ib_vcrc shca_ib_vcrc_tables __ro_after_init;

void __init shca_ib_init(void)
{
	shca_ib_vcrc_init(&shca_ib_vcrc_tables);
}

u16 shca_ib_vcrc_skb(struct sk_buff *skb, unsigned int off, unsigned int len)
{
	u16 crc = SHCA_IB_VCRC_SEED;
	struct skb_seq_state state;
	unsigned int done = 0, n;
	const u8 *data;

	if (likely(off + len <= skb_headlen(skb)))
		return shca_ib_vcrc(&shca_ib_vcrc_tables, crc, skb->data + off,
				    len);
	skb_prepare_seq_read(skb, off, off + len, &state);
	while ((n = skb_seq_read(done, &data, &state))) {
		n = min(n, len - done);
		crc = shca_ib_vcrc(&shca_ib_vcrc_tables, crc, data, n);
		done += n;
		if (done == len) {
			skb_abort_seq_read(&state);
			break;
		}
	}
	return crc;
}

/* ---- address vectors -------------------------------------------------------- */

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
	av->sl = rdma_ah_get_sl(attr) & 0xf;
	av->ib.link = dev->ib;
	av->ib.dlid = rdma_ah_get_dlid(attr);
	av->ib.path_bits = rdma_ah_get_path_bits(attr);
	av->ib.has_grh = rdma_ah_get_ah_flags(attr) & IB_AH_GRH;
	/* IBTA 10.2.2.2: a multicast packet always has one. */
	if (!av->ib.has_grh && shca_ib_is_mlid(av->ib.dlid))
		return "the path to a multicast LID has no GRH";
	if (!av->ib.has_grh)
		return NULL;
	/* A subnet manager may change it at any time. */
	if (grh->sgid_index >= SHCA_IB_GUIDS || !data_race(dev->ib->sma.guids[grh->sgid_index]))
		return "the GID of the path has no GUID";
	av->ib.tclass = grh->traffic_class;
	av->ib.hop_limit = grh->hop_limit;
	av->ib.sgid_index = grh->sgid_index;
	av->ib.flow_label = grh->flow_label & 0xfffff;
	memcpy(&av->ib.dgid, &grh->dgid, sizeof(av->ib.dgid));
	return NULL;
}

/* The source LID of packets to @av */
static u16 shca_ib_slid(const struct shca_ib_view *view,
			const struct shca_av *av)
{
	return view->lid | (av->ib.path_bits & ((1u << view->lmc) - 1));
}

static void shca_ib_sgid(const struct shca_ib_link *link, const struct shca_av *av,
			 const struct shca_ib_view *view, u8 *gid)
{
	put_be64(gid, view->gid_prefix);
	/* A subnet manager may change it: the packet is lost, as with an old LID. */
	put_be64(gid + 8, data_race(link->sma.guids[av->ib.sgid_index]));
}

/* ---- transmission ----------------------------------------------------------- */

/* Subnet management packets go to QP0, and nothing else does. */
static bool shca_ib_is_smp(const u8 *bth)
{
	return !shca_bth_dqpn(bth);
}

/* @len: from BTH to ICRC */
static void shca_ib_fill(const struct shca_av *av,
			 const struct shca_ib_view *view, const u8 *bth,
			 u32 len, struct shca_ib_lower *lower)
{
	bool smp = shca_ib_is_smp(bth);

	lower->vl = smp ? SHCA_IB_VL_MGMT : view->lane[av->sl];
	lower->sl = av->sl;
	lower->dlid = av->ib.dlid;
	/* The port has no LID, or the route is directed from end to end. */
	if (!view->lid || av->ib.dlid == SHCA_IB_LID_PERMISSIVE)
		lower->slid = SHCA_IB_LID_PERMISSIVE;
	else
		lower->slid = shca_ib_slid(view, av);
	lower->has_grh = av->ib.has_grh;
	lower->len = shca_ib_lower_bytes(lower) + len;
	if (!lower->has_grh)
		return;
	lower->tclass = av->ib.tclass;
	lower->hop_limit = av->ib.hop_limit;
	lower->flow_label = av->ib.flow_label;
	shca_ib_sgid(av->ib.link, av, view, lower->sgid);
	memcpy(lower->dgid, &av->ib.dgid, sizeof(lower->dgid));
}

/*
 * The port's LID may change before the packet leaves. Then the ICRC is wrong, and the packet
 * is lost, as are others with the old LID.
 */
static __le32 shca_ib_icrc(const struct shca_av *av, struct shca_seed *seed,
			   unsigned int seg, const u8 *bth, u32 len)
{
	u8 pkt[SHCA_IB_LOWER_MAX], masked[SHCA_IB_LOWER_MAX];
	struct shca_ib_lower lower;
	struct shca_ib_view view;

	if (seed->len != len) {
		shca_ib_look(av->ib.link, &view);
		shca_ib_fill(av, &view, bth, len + SHCA_ICRC_BYTES, &lower);
		shca_ib_lower_build(&lower, pkt);
		seed->crc = shca_crc32(~0u, masked,
				       shca_ib_icrc_mask(pkt, masked));
		seed->len = len;
	}
	return cpu_to_le32(~shca_crc32_bth(seed->crc, bth, len));
}

/* Does the netdev pass a batch on as it is, to a kernel, whose port takes it? */
static bool shca_ib_passes_whole(const struct shca_dev *dev)
{
	return shca_ib_batch_passes(dev->ndev) && !shca_ib_flow_is_narrow(&dev->ib->flow, SHCA_IB_WINDOW);
}

/* Bytes of the largest frame of a batch, or 0: none may leave. */
static u32 shca_ib_batch_frame(const struct shca_dev *dev, const struct shca_ib_view *view)
{
	if (!view->batches || READ_ONCE(dev->path) == SHCA_PATH_WIRE || shca_ib_passes_whole(dev) ||
	    shca_ib_flow_is_narrow(&dev->ib->flow, SHCA_IB_REPORT) || shca_is_captured(dev->ndev))
		return 0;
	return READ_ONCE(dev->ndev->mtu);
}

static unsigned int shca_ib_max_batch(struct shca_dev *dev,
				      const struct shca_av *av,
				      struct shca_route *route, u32 *bytes)
{
	struct net_device *ndev = dev->ndev;
	u32 segs = min_t(u32, READ_ONCE(ndev->gso_max_segs), SHCA_IB_BATCH_MOST), size, room;
	struct shca_ib_view view;

	if (READ_ONCE(dev->path) == SHCA_PATH_WIRE || shca_ib_is_mlid(av->ib.dlid))
		return 0;
	if (shca_ib_passes_whole(dev)) {
		if (shca_is_captured(ndev))
			return 0;
		room = MAX_HEADER + SHCA_IB_SHIM_BYTES + SHCA_IB_LOWER_MAX;
		size = min_t(u32, READ_ONCE(ndev->gso_max_size), GSO_LEGACY_MAX_SIZE);
	} else {
		shca_ib_look(dev->ib, &view);
		room = SHCA_IB_SHIM_BYTES + SHCA_IB_LOWER_MAX;
		size = shca_ib_batch_frame(dev, &view);
	}
	*bytes = min(size - min(size, room), *bytes);
	/* A larger batch, and its lane, would wait for the peer's next report. */
	return size ? segs : 0;
}

/*
 * QP0 sends as soon as the link is up. Only QP0 sends to a QP0 or to the permissive LID.
 * Other QPs wait for the subnet manager.
 */
static bool shca_ib_may_send(const struct shca_ib_view *view,
			     const struct shca_av *av, const struct sk_buff *skb,
			     const u8 *bth)
{
	u16 dlid = av->ib.dlid;

	if (!view->up || !dlid)
		return false;
	if (!shca_ib_is_smp(bth))
		return view->state == SHCA_IB_STATE_ACTIVE &&
		       dlid != SHCA_IB_LID_PERMISSIVE &&
		       view->lane[av->sl] != SHCA_IB_NO_LANE;
	/* The DETH ends with the number of the sending QP. No batches here. */
	return shca_opcode_info(bth[0])->flags & SHCA_OPF_DETH &&
	       !shca_ib_is_mlid(dlid) &&
	       skb_headlen(skb) >= SHCA_BTH_BYTES + SHCA_DETH_BYTES &&
	       !get_be24(bth + SHCA_BTH_BYTES + SHCA_DETH_BYTES - 3);
}

/*
 * Add all headers but Ethernet's, and the VCRC of a single packet.
 * @skb:	from the BTH on
 * @segs:	packets of a batch for a kernel; 0: a single one
 * @frame:	it leaves as the frame of a batch
 */
static void shca_ib_push(const struct shca_ib_link *link,
			 const struct shca_ib_lower *lower, struct sk_buff *skb,
			 unsigned int segs, u32 seg_len, bool frame)
{
	struct shca_ib_shim shim = {
		.type = SHCA_IB_FRAME_DATA,
		.len = lower->len + SHCA_IB_VCRC_BYTES,
		.session = link->session,
	};
	u16 vcrc;

	skb_reset_transport_header(skb);
	shca_ib_lower_build(lower, skb_push(skb, shca_ib_lower_bytes(lower)));
	if (frame) {
		shim.type = SHCA_IB_FRAME_BATCH;
		shim.len = skb->len;
	} else if (segs) {
		shca_ib_batch_make(skb, segs, seg_len);
	} else {
		vcrc = shca_ib_vcrc_skb(skb, 0, skb->len);
		shca_ib_vcrc_put(vcrc, skb_put(skb, SHCA_IB_VCRC_BYTES));
	}
	shca_ib_shim_build(&shim, skb_push(skb, SHCA_IB_SHIM_BYTES));
	skb_reset_network_header(skb);
	skb->dev = link->dev->ndev;
	skb->protocol = htons(SHCA_IB_ETHERTYPE);
	skb->priority = lower->vl == SHCA_IB_VL_MGMT ? TC_PRIO_CONTROL :
						       lower->sl;
}

/*
 * No capture sees the packet, as none would on a cable. netif_rx() checks that the netdev is
 * up.
 */
static int shca_ib_loop(struct sk_buff *skb)
{
	const u8 *mac = skb->dev->dev_addr;

	if (dev_hard_header(skb, skb->dev, SHCA_IB_ETHERTYPE, mac, mac,
			    skb->len) < 0) {
		kfree_skb(skb);
		return -EINVAL;
	}
	skb_reset_mac_header(skb);
	skb_pull(skb, ETH_HLEN);
	skb->pkt_type = PACKET_LOOPBACK;
	return netif_rx(skb) == NET_RX_SUCCESS ? 0 : -EBUSY;
}

int shca_ib_leave(struct shca_dev *dev, const struct shca_ib_view *view,
		  struct sk_buff *skb, unsigned int segs)
{
	/* Of a batch for a kernel, the shim is that of the first packet, the longest one. */
	u32 len = SHCA_IB_SHIM_BYTES + shca_ib_shim_len(skb_network_header(skb));
	struct net_device *ndev = skb->dev;
	int err;

	/* The MTU has shrunk: lost, as on any link. */
	if (len > READ_ONCE(ndev->mtu) ||
	    dev_hard_header(skb, ndev, SHCA_IB_ETHERTYPE, view->peer_mac, NULL,
			    skb->len) < 0) {
		shca_count_n(dev, TX_DROP, segs);
		kfree_skb(skb);
		return -EMSGSIZE;
	}
	err = dev_queue_xmit(skb);
	if (likely(!net_xmit_eval(err)))
		return 0;
	/* A full queue drains; a link without carrier is loss. */
	if (err == NET_XMIT_DROP && netif_carrier_ok(ndev))
		return -EBUSY;
	shca_count_n(dev, TX_DROP, segs);
	return err;
}

/* QPs of this port that are attached to the group get its packets, too. */
static void shca_ib_loop_group(struct shca_dev *dev, const struct sk_buff *skb)
{
	struct sk_buff *copy;

	if (!READ_ONCE(dev->mcast.nr_groups))
		return;
	copy = skb_copy(skb, GFP_ATOMIC | __GFP_NOWARN);
	if (!copy || shca_ib_loop(copy))
		shca_count_n(dev, TX_DROP, 1);
}

static int shca_ib_xmit(struct shca_dev *dev, const struct shca_av *av,
			struct shca_route *route, struct sk_buff *skb,
			unsigned int segs, u32 seg_len)
{
	/* A batch of one has its bytes in pages, without room for a VCRC. */
	bool batch = skb_is_nonlinear(skb) || segs > 1;
	u32 len = segs > 1 ? seg_len : skb->len, all = skb->len;
	struct shca_ib_load load;
	struct shca_ib_lower lower;
	struct shca_ib_view view;
	u8 buf[SHCA_BTH_BYTES];
	bool loop, frame;
	const u8 *bth;

	bth = skb_header_pointer(skb, 0, sizeof(buf), buf);
	shca_ib_look(dev->ib, &view);
	if (unlikely(!bth || !shca_ib_may_send(&view, av, skb, bth))) {
		shca_count_n(dev, TX_NO_ROUTE, segs);
		kfree_skb(skb);
		return -ENETUNREACH;
	}
	/* Packets of tx.c have room; copies of them may not. */
	if (unlikely(!batch && skb_tailroom(skb) < SHCA_IB_VCRC_BYTES)) {
		shca_count_n(dev, TX_NO_MEM, 1);
		kfree_skb(skb);
		return -ENOMEM;
	}
	loop = shca_ib_is_own(&view, av->ib.dlid);
	shca_ib_fill(av, &view, bth, len, &lower);
	/* A single packet is one of its own, without a VCRC. What fits no longer is split by the kernel. */
	frame = !loop && lower.vl != SHCA_IB_VL_MGMT && !shca_ib_is_mlid(lower.dlid) &&
		all + SHCA_IB_SHIM_BYTES + lower.len - len <= shca_ib_batch_frame(dev, &view);
	shca_ib_push(dev->ib, &lower, skb, batch ? segs : 0, len, frame);
	if (unlikely(shca_ib_is_mlid(lower.dlid)))
		shca_ib_loop_group(dev, skb);
	if (loop)
		return shca_ib_loop(skb);
	if (!view.credits || lower.vl == SHCA_IB_VL_MGMT)
		return shca_ib_leave(dev, &view, skb, segs);
	route->lane = lower.vl;
	shca_ib_load(&load, lower.vl, lower.len - len, all, len);
	return shca_ib_flow_xmit(dev->ib, &view, skb, &load);
}

/* The lane's queue only: a queue below that stays full for long is loss. */
static bool shca_ib_holds(struct shca_dev *dev, const struct shca_route *route,
			  u64 *left)
{
	return shca_ib_flow_holds(dev->ib, route->lane, left);
}

/* ---- reception -------------------------------------------------------------- */

/* Routing headers of a received packet, checked by ib/ib_rx.c */
static const u8 *shca_ib_lrh(const struct sk_buff *skb)
{
	return skb_network_header(skb);
}

static bool shca_ib_has_grh(const struct sk_buff *skb)
{
	return skb_network_offset(skb) == -SHCA_IB_LOWER_MAX;
}

/* Several ports of a network namespace share QP numbers: did the packet come by this one? */
static bool shca_ib_came_by(const struct shca_ib_link *link,
			    const struct shca_ib_view *view,
			    const struct sk_buff *skb)
{
	struct shca_ib_shim shim;

	if (skb->protocol != htons(SHCA_IB_ETHERTYPE) ||
	    shca_ib_shim_parse(&shim, shca_ib_lrh(skb) - SHCA_IB_SHIM_BYTES,
			       U16_MAX))
		return false;
	return shim.session == (skb->pkt_type == PACKET_LOOPBACK ?
				link->session : view->peer_session);
}

/*
 * IBTA 9.6.1.5: both LIDs, and GIDs if there are any, are those of the connection. The first
 * vector of a QP may be half written, without a link yet.
 */
static bool shca_ib_check(const struct shca_dev *dev, const struct shca_av *av,
			  const struct sk_buff *skb)
{
	const struct shca_ib_link *link = dev->ib;
	const u8 *lrh = shca_ib_lrh(skb), *grh = lrh + SHCA_IB_LRH_BYTES;
	struct shca_ib_view view;
	u8 gid[16];

	if (av->link != SHCA_LINK_IB)
		return false;
	shca_ib_look(link, &view);
	if (!shca_ib_came_by(link, &view, skb) ||
	    get_be16(lrh + 6) != av->ib.dlid ||
	    get_be16(lrh + 2) != shca_ib_slid(&view, av) ||
	    shca_ib_has_grh(skb) != av->ib.has_grh)
		return false;
	if (!av->ib.has_grh)
		return true;
	shca_ib_sgid(link, av, &view, gid);
	return !memcmp(grh + 8, &av->ib.dgid, sizeof(gid)) &&
	       !memcmp(grh + 24, gid, sizeof(gid));
}

static bool shca_ib_serves(const struct shca_dev *dev, const struct sk_buff *skb,
			   u16 *vlan)
{
	struct shca_ib_view view;
	u16 dlid;

	*vlan = SHCA_VLAN_NONE;
	shca_ib_look(dev->ib, &view);
	if (!shca_ib_came_by(dev->ib, &view, skb))
		return false;
	dlid = get_be16(shca_ib_lrh(skb) + 2);
	return dlid == SHCA_IB_LID_PERMISSIVE || shca_ib_is_own(&view, dlid);
}

static void shca_ib_path_of(const struct sk_buff *skb,
			    struct shca_path_info *path)
{
	const u8 *lrh = shca_ib_lrh(skb);
	u16 dlid = get_be16(lrh + 2);

	*path = (struct shca_path_info){
		.port = 1,
		.slid = get_be16(lrh + 6),
		.dlid = dlid,
		.sl = lrh[1] >> 4,
		/* The lowest bits, as on ConnectX; the LMC says how many count. */
		.dlid_path_bits = dlid < SHCA_IB_LID_MCAST ? dlid & 0x7f : 0,
		.grh_present = shca_ib_has_grh(skb),
	};
}

static void shca_ib_mgid(const struct sk_buff *skb, struct in6_addr *mgid)
{
	memset(mgid, 0, sizeof(*mgid));
	if (shca_ib_has_grh(skb))
		memcpy(mgid, shca_ib_lrh(skb) + SHCA_IB_LRH_BYTES + 24,
		       sizeof(*mgid));
}

/* Flows have no ports. GIDs serve as IPv6 addresses; without a GRH, all is one flow. */
static void shca_ib_flow_of(const struct sk_buff *skb, struct shca_rss_flow *flow)
{
	const u8 *lrh = shca_ib_lrh(skb);

	if (!shca_ib_has_grh(skb))
		return;
	flow->addr_len = sizeof(struct in6_addr);
	flow->src = lrh + SHCA_IB_LRH_BYTES + 8;
	flow->dst = lrh + SHCA_IB_LRH_BYTES + 24;
}

static bool shca_ib_arrived_at(const struct shca_dev *dev,
			       const struct sk_buff *skb, u16 *vlan)
{
	struct shca_ib_view view;

	*vlan = SHCA_VLAN_NONE;
	shca_ib_look(dev->ib, &view);
	return shca_ib_came_by(dev->ib, &view, skb);
}

static u32 shca_ib_seed_rx(struct shca_rx_skb *rx, unsigned int seg, u32 len)
{
	u8 pkt[SHCA_IB_LOWER_MAX], masked[SHCA_IB_LOWER_MAX];
	const struct sk_buff *skb = rx->skb;

	if (rx->seed.len == len)
		return rx->seed.crc;
	memcpy(pkt, shca_ib_lrh(skb), -skb_network_offset(skb));
	shca_ib_lower_set_len(pkt, len);
	rx->seed.crc = shca_crc32(~0u, masked, shca_ib_icrc_mask(pkt, masked));
	rx->seed.len = len;
	return rx->seed.crc;
}

static void shca_ib_bad_key_of(const struct shca_dev *dev,
			       const struct shca_pkt *pkt, bool is_qkey)
{
	/* Without a direct path, it came as a packet. */
	const struct shca_rx_skb *in = pkt->data;
	const struct shca_ib_bad_key bad = {
		.key = is_qkey ? pkt->deth.qkey : pkt->pkey,
		.sl = pkt->path.sl,
		.slid = pkt->path.slid,
		.dlid = pkt->path.dlid,
		.sqpn = shca_opcode_info(pkt->opcode)->flags & SHCA_OPF_DETH ?
			pkt->deth.sqpn : 0,
		.dqpn = pkt->dqpn,
		.gids = shca_ib_has_grh(in->skb) ?
			shca_ib_lrh(in->skb) + SHCA_IB_LRH_BYTES + 8 : NULL,
	};

	shca_ib_bad_key(dev->ib, is_qkey ? SHCA_IB_TRAP_QKEY : SHCA_IB_TRAP_PKEY,
			&bad);
}

/* Without a GRH, the bytes are undefined (IBTA 11.4.1.2); zeros leak nothing. */
static void shca_ib_grh(const struct sk_buff *skb, u32 off, u32 len, u8 *grh)
{
	u8 pkt[SHCA_IB_LOWER_MAX];

	if (!shca_ib_has_grh(skb)) {
		memset(grh, 0, SHCA_IB_GRH_BYTES);
		return;
	}
	memcpy(pkt, shca_ib_lrh(skb), sizeof(pkt));
	shca_ib_lower_set_len(pkt, len);
	memcpy(grh, pkt + SHCA_IB_LRH_BYTES, SHCA_IB_GRH_BYTES);
}

/* Charge the packet to its lane's buffer, or free it. Looped packets had no credit. */
static bool shca_ib_keep(struct shca_dev *dev, const struct sk_buff *skb,
			 bool keeps)
{
	u8 lane = shca_ib_lrh(skb)[0] >> 4;

	if (lane >= SHCA_IB_LANES || skb->pkt_type == PACKET_LOOPBACK)
		return true;
	if (keeps)
		return shca_ib_flow_keep(dev->ib, lane);
	shca_ib_flow_free(dev->ib, lane);
	return true;
}

static const struct shca_cct *shca_ib_cct(const struct shca_dev *dev)
{
	return &dev->ib->cong.cct;
}

/*
 * Without @ecn and @mark, as switches mark packets of each sender (@cct); and without @local and
 * @mirrors: only packets reach QPs of this machine.
 */
const struct shca_link_ops shca_ib_ops = {
	.headroom = LL_MAX_HEADER + SHCA_IB_SHIM_BYTES + SHCA_IB_LOWER_MAX,
	.tailroom = SHCA_IB_VCRC_BYTES,
	.is_lossless = true,
	.has_sm = true,
	.mtu = shca_ib_link_mtu,
	.av_init = shca_ib_av_init,
	.icrc = shca_ib_icrc,
	.max_batch = shca_ib_max_batch,
	.xmit = shca_ib_xmit,
	.holds = shca_ib_holds,
	.check = shca_ib_check,
	.serves = shca_ib_serves,
	.path = shca_ib_path_of,
	.mgid = shca_ib_mgid,
	.flow = shca_ib_flow_of,
	.arrived_at = shca_ib_arrived_at,
	.seed_rx = shca_ib_seed_rx,
	.bad_key = shca_ib_bad_key_of,
	.cct = shca_ib_cct,
	.keep = shca_ib_keep,
	.grh = shca_ib_grh,
};
