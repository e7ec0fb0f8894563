// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Flow steering (ibv_create_flow) for RAW_PACKET QPs.
 *
 * Operation. While a device has rules, it has a netfilter hook at the ingress
 * of its netdev. The hook sees each frame before bridges, bonds and the IP
 * stack do, and can take it. It shares the netdev with other hooks, which a
 * receive handler would not. Rules are compared in the order of an adapter's
 * tables:
 *
 *   sniffers		get a copy of each frame
 *   normal rules	by priority, the lowest number first: all rules of the
 *			first priority that match get the frame, and the host
 *			does not; a rule with DONT_TRAP gets a copy, and later
 *			rules follow
 *   default rules	get what neither those nor the host take: frames to
 *			other stations, and to groups that the host is not in
 *
 * A QP gets one copy by the rules of a table, however many of them match. At most
 * SHCA_FLOW_COPIES copies of a frame are made.
 *
 * An skb may have several frames (GRO, or a local sender with segmentation
 * offload). It is split, checksums are completed, and VLAN tags are put back.
 * So a QP sees what is on the wire.
 *
 * Rules are changed under RTNL, which the netdev's address filters need anyway.
 * They are read under RCU.
 */
#include "flow.h"

#include <linux/etherdevice.h>
#include <linux/if_vlan.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/netdevice.h>
#include <linux/netfilter.h>
#include <linux/netfilter_netdev.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <linux/udp.h>
#include <net/dsfield.h>
#include <net/ip.h>
#include <net/ipv6.h>

#include "../base/compat.h"
#include "../base/counters.h"
#include "../base/dev.h"
#include "../core/opcode.h"
#include "../inject/fault.h"
#include "../path/rq.h"
#include "../path/rss_rx.h"
#include "../path/rx.h"
#include "../queue/qp.h"
#include "../wire/payload.h"
#include "qp_verbs.h"

/* Maximum copies of a frame: more QPs would cost too much softirq time and memory. */
#define SHCA_FLOW_COPIES	64

/* Maximum waiting frames from this device to itself */
#define SHCA_LOOP_MAX	1000

/* Fields that rules compare. @l3: 4 (addresses: first 4 bytes) or 6; @l4: protocol of the ports */
struct shca_flow_key {
	union {
		struct {
			u8 dst_mac[ETH_ALEN];
			u8 src_mac[ETH_ALEN];
			__be16 ether_type;
			__be16 vlan_tci;
			u8 l3;
			u8 proto;
			u8 tos;
			u8 ttl;
			__be32 flow_label;
			u8 src_ip[16];
			u8 dst_ip[16];
			__be16 src_port;
			__be16 dst_port;
			u8 l4;
			u8 flags;
			u8 reserved[2];
		};
		u64 words[8];
	};
};

static_assert(sizeof(struct shca_flow_key) == 64);

/* @class is the kind of the rule. */
struct shca_flow {
	struct ib_flow ibflow;
	struct list_head node;
	struct rcu_head rcu;
	struct shca_qp *qp;
	enum ib_flow_attr_type type;
	unsigned int class;
	u16 priority;
	bool dont_trap;
	struct shca_flow_key val;
	struct shca_flow_key mask;
};

enum { CLASS_SNIFFER, CLASS_NORMAL, CLASS_DEFAULT };

/* Destination of a frame that is sent */
enum shca_taken {
	SHCA_TAKEN_NOT,
	SHCA_TAKEN_COPY,	/* a local QP gets a copy, and the frame leaves */
	SHCA_TAKEN_ALL,		/* only local QPs get it */
};

/* ---- keys ---------------------------------------------------------------------- */

static bool shca_key_ipv4(const struct sk_buff *skb, int off,
			  struct shca_flow_key *key, int *l4_off)
{
	const struct iphdr *ip;
	struct iphdr buf;

	ip = skb_header_pointer(skb, off, sizeof(buf), &buf);
	if (!ip || ip->version != 4 || ip->ihl < 5)
		return false;
	key->l3 = 4;
	key->proto = ip->protocol;
	key->tos = ip->tos;
	key->ttl = ip->ttl;
	if (ip->frag_off & htons(IP_DF))
		key->flags |= IB_IPV4_DONT_FRAG;
	if (ip->frag_off & htons(IP_MF))
		key->flags |= IB_IPV4_MORE_FRAG;
	memcpy(key->src_ip, &ip->saddr, sizeof(ip->saddr));
	memcpy(key->dst_ip, &ip->daddr, sizeof(ip->daddr));
	*l4_off = off + ip->ihl * 4;
	return !(ip->frag_off & htons(IP_OFFSET));
}

static bool shca_key_ipv6(const struct sk_buff *skb, int off,
			  struct shca_flow_key *key, int *l4_off)
{
	const struct ipv6hdr *ip;
	struct ipv6hdr buf;

	ip = skb_header_pointer(skb, off, sizeof(buf), &buf);
	if (!ip || ip->version != 6)
		return false;
	key->l3 = 6;
	key->proto = ip->nexthdr;
	key->tos = ipv6_get_dsfield(ip);
	key->ttl = ip->hop_limit;
	key->flow_label = ip6_flowlabel(ip);
	memcpy(key->src_ip, &ip->saddr, sizeof(ip->saddr));
	memcpy(key->dst_ip, &ip->daddr, sizeof(ip->daddr));
	*l4_off = off + sizeof(buf);
	return true;
}

/* Both TCP and UDP begin with the ports. */
static void shca_key_ports(const struct sk_buff *skb, int off,
			   struct shca_flow_key *key)
{
	const __be16 *ports;
	__be16 buf[2];

	if (key->proto != IPPROTO_TCP && key->proto != IPPROTO_UDP)
		return;
	ports = skb_header_pointer(skb, off, sizeof(buf), buf);
	if (!ports)
		return;
	key->l4 = key->proto;
	key->src_port = ports[0];
	key->dst_port = ports[1];
}

/*
 * @skb->data is the network header of a received frame. For a frame that is sent, @off is the
 * length of the Ethernet header before it.
 */
static void shca_flow_key_of(const struct sk_buff *skb, int off,
			     struct shca_flow_key *key)
{
	const struct ethhdr *eth = eth_hdr(skb);
	const struct vlan_hdr *vlan;
	struct vlan_hdr buf;
	int l4_off;

	memset(key, 0, sizeof(*key));
	ether_addr_copy(key->dst_mac, eth->h_dest);
	ether_addr_copy(key->src_mac, eth->h_source);
	key->ether_type = eth->h_proto;
	if (skb_vlan_tag_present(skb)) {
		key->vlan_tci = htons(skb_vlan_tag_get(skb));
		key->ether_type = skb->protocol;
	} else if (eth_type_vlan(eth->h_proto)) {
		vlan = skb_header_pointer(skb, off, sizeof(buf), &buf);
		if (vlan) {
			key->vlan_tci = vlan->h_vlan_TCI;
			key->ether_type = vlan->h_vlan_encapsulated_proto;
			off += VLAN_HLEN;
		}
	}
	if (key->ether_type == htons(ETH_P_IP) ?
	    shca_key_ipv4(skb, off, key, &l4_off) :
	    key->ether_type == htons(ETH_P_IPV6) &&
	    shca_key_ipv6(skb, off, key, &l4_off))
		shca_key_ports(skb, l4_off, key);
}

static bool shca_flow_matches(const struct shca_flow *flow,
			      const struct shca_flow_key *key)
{
	u64 differs = 0;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(key->words); i++)
		differs |= (key->words[i] ^ flow->val.words[i]) &
			   flow->mask.words[i];
	return !differs;
}

/* ---- delivery ------------------------------------------------------------------- */

/* Return: the work queue that gets the frame. */
static struct shca_qp *shca_flow_spread(const struct shca_rss *rss,
					const struct sk_buff *skb)
{
	struct shca_rss_flow flow = {};
	struct shca_flow_key key;

	shca_flow_key_of(skb, ETH_HLEN, &key);
	if (key.l3)
		flow.addr_len = key.l3 == 4 ? sizeof(struct in_addr) :
					      sizeof(struct in6_addr);
	flow.src = key.src_ip;
	flow.dst = key.dst_ip;
	/* Only the first fragment has ports, so fragments are hashed without. */
	if (!(key.flags & IB_IPV4_MORE_FRAG)) {
		flow.proto = key.l4;
		flow.src_port = key.src_port;
		flow.dst_port = key.dst_port;
	}
	return shca_rss_select(rss, &flow);
}

/* @skb->data is the Ethernet header. */
static void shca_flow_to_qp(struct shca_qp *qp, struct sk_buff *skb)
{
	struct shca_rx_skb in = { .skb = skb };
	struct shca_pkt pkt = {
		.opcode = SHCA_TRANSPORT_RAW | SHCA_OP_SEND_ONLY,
		.paylen = skb->len,
		.data = &in,
		.path = { .port = 1, .vlan = SHCA_VLAN_NONE },
	};

	shca_count(qp, RX_PKTS);
	shca_count_n(qp, RX_BYTES, skb->len);
	if (qp->rss)
		qp = shca_flow_spread(qp->rss, skb);
	shca_rq_rx(qp, &pkt, 1, true);
	shca_mem_forget(&in.mr);
}

/* Return: a list of the frames in @skb, as on the wire; or NULL. @skb stays the caller's. */
static struct sk_buff *shca_flow_frames(const struct sk_buff *skb)
{
	struct sk_buff *frame, *segs;

	frame = skb_clone((struct sk_buff *)skb, GFP_ATOMIC);
	if (!frame)
		return NULL;
	skb_push(frame, frame->data - skb_mac_header(frame));
	if (skb_vlan_tag_present(frame)) {
		frame = __vlan_hwaccel_push_inside(frame);
		if (!frame)
			return NULL;
		skb_reset_mac_header(frame);
		frame->mac_len += VLAN_HLEN;
	}
	if (skb_is_gso(frame)) {
		segs = skb_gso_segment(frame, 0);
		if (IS_ERR_OR_NULL(segs)) {
			kfree_skb(frame);
			return NULL;
		}
		consume_skb(frame);
		return segs;
	}
	if (frame->ip_summed == CHECKSUM_PARTIAL && skb_checksum_help(frame)) {
		kfree_skb(frame);
		return NULL;
	}
	return frame;
}

/* Is the frame neither for this host nor for a group of it? */
static bool shca_flow_is_strange(struct net_device *ndev,
				 const struct sk_buff *skb)
{
	const struct netdev_hw_addr *ha;
	bool known = false;

	if (skb->pkt_type == PACKET_OTHERHOST)
		return true;
	if (skb->pkt_type != PACKET_MULTICAST)
		return false;
	netif_addr_lock(ndev);
	netdev_for_each_mc_addr(ha, ndev)
		known |= ether_addr_equal(ha->addr, eth_hdr(skb)->h_dest);
	netif_addr_unlock(ndev);
	return !known;
}

static bool shca_flow_default_wants(const struct shca_flow *flow,
				    struct shca_dev *dev,
				    const struct sk_buff *skb)
{
	if (flow->type == IB_FLOW_ATTR_MC_DEFAULT &&
	    !is_multicast_ether_addr(eth_hdr(skb)->h_dest))
		return false;
	return shca_flow_is_strange(dev->ndev, skb);
}

/*
 * State of the walk along the rules. Once a rule of @priority has @taken the frame, rules of
 * later priorities do not see it. @frames are made for the first rule that gets the frame.
 * @given has the QPs that got it, those of @class from @of_class on.
 */
struct shca_flow_walk {
	struct shca_dev *dev;
	const struct sk_buff *skb;
	struct shca_flow_key key;
	bool taken;
	u16 priority;
	struct sk_buff *frames;
	unsigned int class;
	unsigned int of_class;
	unsigned int nr_given;
	const struct shca_qp *given[SHCA_FLOW_COPIES];
};

/* Return: does @flow get the frame? */
static bool shca_flow_asks(struct shca_flow_walk *walk,
			   const struct shca_flow *flow)
{
	switch (flow->class) {
	case CLASS_SNIFFER:
		return true;
	case CLASS_NORMAL:
		if ((walk->taken && flow->priority != walk->priority) ||
		    !shca_flow_matches(flow, &walk->key))
			return false;
		if (!flow->dont_trap) {
			walk->taken = true;
			walk->priority = flow->priority;
		}
		return true;
	default:
		return !walk->taken &&
		       shca_flow_default_wants(flow, walk->dev, walk->skb);
	}
}

/* Return: does the QP of @flow get a copy by this rule? It is then noted. */
static bool shca_flow_is_new(struct shca_flow_walk *walk,
			     const struct shca_flow *flow)
{
	unsigned int i;

	if (walk->class != flow->class) {
		walk->class = flow->class;
		walk->of_class = walk->nr_given;
	}
	for (i = walk->of_class; i < walk->nr_given; i++)
		if (walk->given[i] == flow->qp)
			return false;
	if (walk->nr_given == SHCA_FLOW_COPIES) {
		shca_count(walk->dev, RX_BACKLOG);
		return false;
	}
	walk->given[walk->nr_given++] = flow->qp;
	return true;
}

static void shca_flow_give(struct shca_flow_walk *walk,
			   const struct shca_flow *flow)
{
	struct sk_buff *frame;

	if (!shca_flow_is_new(walk, flow))
		return;
	if (!walk->frames)
		walk->frames = shca_flow_frames(walk->skb);
	if (!walk->frames) {
		shca_count(walk->dev, RX_NO_MEM);
		return;
	}
	if (!refcount_inc_not_zero(&flow->qp->ref))
		return;
	for (frame = walk->frames; frame; frame = frame->next)
		shca_flow_to_qp(flow->qp, frame);
	shca_qp_put(flow->qp);
}

/* Return: has a rule taken the frame from the host? */
static bool shca_flow_receive(struct shca_dev *dev, const struct sk_buff *skb,
			      int off, unsigned int first_class)
{
	struct shca_flow_walk walk;
	bool by_default = false;
	struct shca_flow *flow;

	walk.dev = dev;
	walk.skb = skb;
	walk.taken = false;
	walk.frames = NULL;
	walk.class = CLASS_SNIFFER;
	walk.of_class = 0;
	walk.nr_given = 0;
	shca_flow_key_of(skb, off, &walk.key);
	rcu_read_lock();
	list_for_each_entry_rcu(flow, &dev->flows.rules, node) {
		if (flow->class < first_class || !shca_flow_asks(&walk, flow))
			continue;
		by_default |= flow->class == CLASS_DEFAULT;
		shca_flow_give(&walk, flow);
	}
	rcu_read_unlock();
	kfree_skb_list(walk.frames);
	return walk.taken || by_default;
}

static unsigned int shca_flow_ingress(void *priv, struct sk_buff *skb,
				      const struct nf_hook_state *state)
{
	if (!skb_mac_header_was_set(skb) ||
	    !shca_flow_receive(priv, skb, skb_network_offset(skb),
			       CLASS_SNIFFER))
		return NF_ACCEPT;
	consume_skb(skb);
	return NF_STOLEN;
}

/* ---- loopback ---------------------------------------------------------------------- */

/* By the rules, where does a frame go that @dev sends? */
static enum shca_taken shca_flow_takes(struct shca_dev *dev,
				       const struct sk_buff *skb)
{
	enum shca_taken taken = SHCA_TAKEN_NOT;
	struct shca_flow_key key;
	struct shca_flow *flow;

	if (list_empty(&dev->flows.rules))
		return SHCA_TAKEN_NOT;
	shca_flow_key_of(skb, ETH_HLEN, &key);
	rcu_read_lock();
	list_for_each_entry_rcu(flow, &dev->flows.rules, node) {
		if (flow->class != CLASS_NORMAL ||
		    !shca_flow_matches(flow, &key))
			continue;
		taken = SHCA_TAKEN_COPY;
		if (!flow->dont_trap && !is_multicast_ether_addr(key.dst_mac)) {
			taken = SHCA_TAKEN_ALL;
			break;
		}
	}
	rcu_read_unlock();
	return taken;
}

/* As an adapter's switch does. Deferred, because the caller holds a lock of the sending QP. */
static bool shca_flow_loop(struct shca_dev *dev, struct sk_buff *skb)
{
	enum shca_taken taken = shca_flow_takes(dev, skb);
	struct sk_buff *copy;

	if (taken == SHCA_TAKEN_NOT)
		return false;
	copy = taken == SHCA_TAKEN_ALL ? skb : skb_clone(skb, GFP_ATOMIC);
	if (!copy || skb_queue_len_lockless(&dev->flows.loop) >= SHCA_LOOP_MAX) {
		shca_count(dev, RX_BACKLOG);
		kfree_skb(copy);
		return taken == SHCA_TAKEN_ALL;
	}
	skb_queue_tail(&dev->flows.loop, copy);
	shca_bh_schedule(&dev->flows.loop_bh);
	return taken == SHCA_TAKEN_ALL;
}

SHCA_BH_HANDLER(shca_flow_looped)
{
	struct shca_dev *dev = container_of(bh, struct shca_dev, flows.loop_bh);
	unsigned int budget = 64;
	struct sk_buff *skb;

	while (budget && (skb = skb_dequeue(&dev->flows.loop))) {
		budget--;
		shca_flow_receive(dev, skb, ETH_HLEN, CLASS_NORMAL);
		consume_skb(skb);
	}
	if (!budget)
		shca_bh_schedule(bh);
}

/* ---- rules ---------------------------------------------------------------------------- */

static void shca_spec_ipv4(const struct ib_flow_ipv4_filter *f,
			   struct shca_flow_key *key)
{
	key->proto = f->proto;
	key->tos = f->tos;
	key->ttl = f->ttl;
	key->flags = f->flags;
	memcpy(key->src_ip, &f->src_ip, sizeof(f->src_ip));
	memcpy(key->dst_ip, &f->dst_ip, sizeof(f->dst_ip));
}

static void shca_spec_ipv6(const struct ib_flow_ipv6_filter *f,
			   struct shca_flow_key *key)
{
	key->proto = f->next_hdr;
	key->tos = f->traffic_class;
	key->ttl = f->hop_limit;
	key->flow_label = f->flow_label;
	memcpy(key->src_ip, f->src_ip, sizeof(f->src_ip));
	memcpy(key->dst_ip, f->dst_ip, sizeof(f->dst_ip));
}

static void shca_spec_eth(const struct ib_flow_eth_filter *f,
			  struct shca_flow_key *key)
{
	ether_addr_copy(key->dst_mac, f->dst_mac);
	ether_addr_copy(key->src_mac, f->src_mac);
	key->ether_type = f->ether_type;
	key->vlan_tci = f->vlan_tag;
}

/* A layer may appear once. */
static int shca_flow_add_spec(struct shca_flow *flow,
			      const union ib_flow_spec *spec, bool *has_eth)
{
	struct shca_flow_key *val = &flow->val, *mask = &flow->mask;

	switch (spec->type) {
	case IB_FLOW_SPEC_ETH:
		if (*has_eth)
			return -EINVAL;
		*has_eth = true;
		shca_spec_eth(&spec->eth.val, val);
		shca_spec_eth(&spec->eth.mask, mask);
		return 0;
	case IB_FLOW_SPEC_IPV4:
	case IB_FLOW_SPEC_IPV6:
		if (mask->l3)
			return -EINVAL;
		if (spec->type == IB_FLOW_SPEC_IPV4) {
			val->l3 = 4;
			shca_spec_ipv4(&spec->ipv4.val, val);
			shca_spec_ipv4(&spec->ipv4.mask, mask);
		} else {
			val->l3 = 6;
			shca_spec_ipv6(&spec->ipv6.val, val);
			shca_spec_ipv6(&spec->ipv6.mask, mask);
		}
		mask->l3 = 0xff;
		return 0;
	case IB_FLOW_SPEC_TCP:
	case IB_FLOW_SPEC_UDP:
		if (mask->l4)
			return -EINVAL;
		val->l4 = spec->type == IB_FLOW_SPEC_TCP ? IPPROTO_TCP :
							   IPPROTO_UDP;
		mask->l4 = 0xff;
		val->src_port = spec->tcp_udp.val.src_port;
		val->dst_port = spec->tcp_udp.val.dst_port;
		mask->src_port = spec->tcp_udp.mask.src_port;
		mask->dst_port = spec->tcp_udp.mask.dst_port;
		return 0;
	default:
		return -EOPNOTSUPP;	/* tunnels, actions */
	}
}

static int shca_flow_parse(struct shca_flow *flow,
			   const struct ib_flow_attr *attr)
{
	const void *spec = attr->flows;
	bool has_eth = false;
	int i, err;

	for (i = 0; i < attr->num_of_specs; i++) {
		err = shca_flow_add_spec(flow, spec, &has_eth);
		if (err)
			return err;
		spec += ((const union ib_flow_spec *)spec)->size;
	}
	for (i = 0; i < ARRAY_SIZE(flow->val.words); i++)
		flow->val.words[i] &= flow->mask.words[i];
	return 0;
}

static int shca_flow_classify(struct shca_flow *flow,
			      const struct ib_flow_attr *attr)
{
	flow->type = attr->type;
	flow->priority = attr->priority;
	flow->dont_trap = attr->flags & IB_FLOW_ATTR_FLAGS_DONT_TRAP;
	if (attr->flags & ~IB_FLOW_ATTR_FLAGS_DONT_TRAP)
		return -EOPNOTSUPP;	/* egress */
	switch (attr->type) {
	case IB_FLOW_ATTR_NORMAL:
		flow->class = CLASS_NORMAL;
		return shca_flow_parse(flow, attr);
	case IB_FLOW_ATTR_ALL_DEFAULT:
	case IB_FLOW_ATTR_MC_DEFAULT:
		flow->class = CLASS_DEFAULT;
		break;
	case IB_FLOW_ATTR_SNIFFER:
		flow->class = CLASS_SNIFFER;
		break;
	default:
		return -EOPNOTSUPP;
	}
	return attr->num_of_specs ? -EINVAL : 0;
}

/* Widen the netdev's address filter, so that the rule's frames arrive; without @on, undo that. */
static int shca_flow_filter(const struct shca_flow *flow, struct net_device *ndev,
			    bool on)
{
	const u8 *mac = flow->val.dst_mac;
	int change = on ? 1 : -1;

	ASSERT_RTNL();
	if (flow->type == IB_FLOW_ATTR_MC_DEFAULT)
		return dev_set_allmulti(ndev, change);
	if (flow->class != CLASS_NORMAL)
		return dev_set_promiscuity(ndev, change);
	if (!is_broadcast_ether_addr(flow->mask.dst_mac) ||
	    is_zero_ether_addr(mac) || is_broadcast_ether_addr(mac))
		return 0;
	if (is_multicast_ether_addr(mac))
		return on ? dev_mc_add(ndev, mac) : dev_mc_del(ndev, mac);
	return on ? dev_uc_add(ndev, mac) : dev_uc_del(ndev, mac);
}

/* Without CONFIG_NETFILTER_INGRESS, netfilter refuses the hook. */
static int shca_flow_hook(struct shca_dev *dev)
{
	dev->flows.hook = (struct nf_hook_ops){
		.hook = shca_flow_ingress,
		.priv = dev,
		.dev = dev->ndev,
		.pf = NFPROTO_NETDEV,
		.hooknum = NF_NETDEV_INGRESS,
		.priority = INT_MIN,	/* before all other hooks, as an adapter */
	};
	return nf_register_net_hook(dev_net(dev->ndev), &dev->flows.hook);
}

static void shca_flow_unhook(struct shca_dev *dev)
{
	/* The netdev's current namespace, as it may be moving. */
	nf_unregister_net_hook(dev_net(dev->ndev), &dev->flows.hook);
}

static void shca_flow_insert(struct shca_dev *dev, struct shca_flow *flow)
{
	struct list_head *before = &dev->flows.rules;
	struct shca_flow *it;

	list_for_each_entry(it, &dev->flows.rules, node) {
		if (it->class < flow->class ||
		    (it->class == flow->class && it->priority <= flow->priority))
			continue;
		before = &it->node;
		break;
	}
	list_add_tail_rcu(&flow->node, before);
}

static int shca_flow_add(struct shca_dev *dev, struct shca_flow *flow)
{
	int err;

	ASSERT_RTNL();
	if (dev->flows.nr >= shca_limit(dev, FLOW))
		return -ENOMEM;
	if (dev->ndev->reg_state != NETREG_REGISTERED)
		return -ENODEV;
	if (!dev->flows.nr) {
		err = shca_flow_hook(dev);
		if (err)
			return err;
	}
	err = shca_flow_filter(flow, dev->ndev, true);
	if (err) {
		if (!dev->flows.nr)
			shca_flow_unhook(dev);
		return err;
	}
	shca_flow_insert(dev, flow);
	dev->flows.nr++;
	return 0;
}

struct ib_flow *shca_create_flow(struct ib_qp *ibqp, struct ib_flow_attr *attr,
				 struct ib_udata *udata)
{
	struct shca_qp *qp = to_shca_qp(ibqp);
	struct shca_flow *flow;
	int err;

	err = shca_fault_verb(ibqp->device, SHCA_FAULT_VERB_CREATE_FLOW);
	if (err)
		return ERR_PTR(err);
	/* QP numbers select UD QPs. */
	if (qp->type != IB_QPT_RAW_PACKET)
		return ERR_PTR(-EOPNOTSUPP);
	/* The context of the QP's process may have been passed to one with fewer rights. */
	if (!shca_qp_may_be_raw(qp->dev))
		return ERR_PTR(-EPERM);
	flow = kzalloc(sizeof(*flow), GFP_KERNEL_ACCOUNT);
	if (!flow)
		return ERR_PTR(-ENOMEM);
	flow->qp = qp;
	err = shca_flow_classify(flow, attr);
	if (!err) {
		rtnl_lock();
		err = shca_flow_add(qp->dev, flow);
		rtnl_unlock();
	}
	if (err) {
		kfree(flow);
		return ERR_PTR(err);
	}
	return &flow->ibflow;
}

int shca_destroy_flow(struct ib_flow *ibflow)
{
	struct shca_flow *flow = container_of(ibflow, struct shca_flow, ibflow);
	struct shca_dev *dev = flow->qp->dev;

	rtnl_lock();
	list_del_rcu(&flow->node);
	shca_flow_filter(flow, dev->ndev, false);
	if (!--dev->flows.nr)
		shca_flow_unhook(dev);
	rtnl_unlock();
	kfree_rcu(flow, rcu);
	return 0;
}

void shca_flow_init_dev(struct shca_dev *dev)
{
	INIT_LIST_HEAD(&dev->flows.rules);
	skb_queue_head_init(&dev->flows.loop);
	shca_bh_init(&dev->flows.loop_bh, shca_flow_looped);
	dev->flows.loop_frame = shca_flow_loop;
}

void shca_flow_exit_dev(struct shca_dev *dev)
{
	shca_bh_cancel(&dev->flows.loop_bh);
	skb_queue_purge(&dev->flows.loop);
}
