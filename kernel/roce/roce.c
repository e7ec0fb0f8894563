// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The RoCEv2 link: UDP over IPv4 and IPv6 (IBTA annex A17), with address vectors, routes and
 * the invariant CRC. Finished packets go to the IP stack, so tcpdump, tc and netfilter see
 * them.
 */
#include "roce.h"

#include <linux/if_vlan.h>
#include <linux/inetdevice.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>
#include <net/addrconf.h>
#include <net/bonding.h>
#include <net/inet_ecn.h>
#include <net/ip.h>
#include <net/ip6_route.h>
#include <net/ipv6.h>
#include <net/l3mdev.h>
#include <net/route.h>
#include <net/sock.h>
#include <net/udp.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_verbs.h>

#include "../base/compat.h"
#include "../base/counters.h"
#include "../base/dev.h"
#include "../base/netns.h"
#include "../core/headers.h"
#include "../link/capture.h"
#include "../link/icrc.h"
#include "gro.h"
#include "neigh.h"
#include "queues.h"

#define SHCA_DEFAULT_HOPS 64
/* Well below the default of net.core.netdev_max_backlog, 1000. */
#define SHCA_LO_BACKLOG 400

static enum ib_mtu shca_roce_mtu(const struct shca_dev *dev)
{
	return iboe_get_mtu(READ_ONCE(dev->ndev->mtu));
}

/* Index of the netdev that has the source GID's address. */
static int shca_gid_ifindex(struct shca_dev *dev, const struct ib_gid_attr *gid)
{
	int ifindex = -ENODEV;
	struct net_device *ndev;

	rcu_read_lock();
	ndev = rdma_read_gid_attr_ndev_rcu(gid);
	if (!IS_ERR(ndev) && net_eq(dev_net(ndev), dev->snet->net))
		ifindex = ndev->ifindex;
	rcu_read_unlock();
	return ifindex;
}

static const char *shca_roce_av_init(struct shca_dev *dev,
				     const struct rdma_ah_attr *attr,
				     u32 sport_hash, struct shca_av *av)
{
	const struct ib_global_route *grh = rdma_ah_read_grh(attr);
	const struct ib_gid_attr *sgid = grh->sgid_attr;

	if (!(rdma_ah_get_ah_flags(attr) & IB_AH_GRH) || !sgid)
		return "the path has no GRH: RoCE needs is_global, sgid_index and dgid";
	memset(av, 0, sizeof(*av));
	av->link = SHCA_LINK_ROCE;
	/*
	 * An SL has four bits, an Ethernet priority has three. The fourth bit marks the SL of
	 * a completion (shca_roce_path()) that a program uses for its answer; that SL is no
	 * priority.
	 */
	av->sl = rdma_ah_get_sl(attr);
	if (av->sl > 7)
		av->sl = 0;
	switch (rdma_gid_attr_network_type(sgid)) {
	case RDMA_NETWORK_IPV4:
		av->roce.ipv4 = true;
		break;
	case RDMA_NETWORK_IPV6:
		break;
	default:
		return "the GID at sgid_index is not of type RoCE v2";
	}
	memcpy(&av->roce.saddr, &sgid->gid, sizeof(av->roce.saddr));
	memcpy(&av->roce.daddr, &grh->dgid, sizeof(av->roce.daddr));
	if (av->roce.ipv4 != ipv6_addr_v4mapped(&av->roce.daddr))
		return "sgid_index and dgid are of different families (IPv4 and IPv6)";
	av->roce.oif = shca_gid_ifindex(dev, sgid);
	if (av->roce.oif < 0)
		return "the GID at sgid_index belongs to a netdev of another network namespace";
	if (attr->type == RDMA_AH_ATTR_TYPE_ROCE)
		memcpy(av->roce.dmac, attr->roce.dmac, ETH_ALEN);
	av->roce.tclass = grh->traffic_class;
	av->roce.hop_limit = grh->hop_limit ?: SHCA_DEFAULT_HOPS;
	av->roce.flow_label = grh->flow_label & 0xfffff;
	av->roce.sport = rdma_flow_label_to_udp_sport(
				av->roce.flow_label ?: sport_hash & 0xfffff);
	return NULL;
}

/* ---- routes ------------------------------------------------------------- */

/* Is the destination of @av an address of this host, as seen from @ndev? */
static bool shca_is_local(struct net *net, const struct net_device *ndev,
			  const struct shca_av *av)
{
	if (av->roce.ipv4)
		return inet_addr_type_dev_table(net, ndev,
						av->roce.daddr.s6_addr32[3]) ==
		       RTN_LOCAL;
	/* A link-local address is valid on its own netdev only. */
	if (ipv6_addr_type(&av->roce.daddr) & IPV6_ADDR_LINKLOCAL)
		return false;
	return ipv6_chk_addr(net, &av->roce.daddr, NULL, 0);
}

/*
 * Output netdev for the route look-up. None for an address of another netdev of this host:
 * with one, the routing table would skip the local entry, and packets would leave and come
 * back as martians. The VRF is kept.
 */
static int shca_route_oif(struct shca_dev *dev, const struct shca_av *av)
{
	struct net *net = dev->snet->net;
	struct net_device *ndev;
	int oif = av->roce.oif;

	rcu_read_lock();
	ndev = dev_get_by_index_rcu(net, oif);
	if (ndev && shca_is_local(net, ndev, av))
		oif = l3mdev_master_ifindex_rcu(ndev);
	rcu_read_unlock();
	return oif;
}

static struct dst_entry *shca_route4(struct shca_dev *dev,
				     const struct shca_av *av)
{
	struct flowi4 fl4;
	struct rtable *rt;

	/* Routing uses the DSCP; the rest of the traffic class is ECN. */
	flowi4_init_output(&fl4, shca_route_oif(dev, av), 0,
			   av->roce.tclass & ~INET_ECN_MASK,
			   RT_SCOPE_UNIVERSE, IPPROTO_UDP, 0,
			   av->roce.daddr.s6_addr32[3],
			   av->roce.saddr.s6_addr32[3],
			   htons(ROCE_V2_UDP_DPORT), htons(av->roce.sport),
			   GLOBAL_ROOT_UID);
	rt = ip_route_output_key(dev->snet->net, &fl4);
	return IS_ERR(rt) ? NULL : &rt->dst;
}

static struct dst_entry *shca_route6(struct shca_dev *dev,
				     const struct shca_av *av, u32 *cookie)
{
	struct flowi6 fl6 = {
		.flowi6_oif = shca_route_oif(dev, av),
		.flowi6_proto = IPPROTO_UDP,
		.flowlabel = ip6_make_flowinfo(av->roce.tclass,
					       htonl(av->roce.flow_label)),
		.saddr = av->roce.saddr,
		.daddr = av->roce.daddr,
		.fl6_sport = htons(av->roce.sport),
		.fl6_dport = htons(ROCE_V2_UDP_DPORT),
	};
	struct dst_entry *dst;

	if (!dev->snet->sk6)
		return NULL;
	dst = ip6_dst_lookup_flow(dev->snet->net, dev->snet->sk6->sk, &fl6,
				  NULL);
	if (IS_ERR(dst))
		return NULL;
	*cookie = rt6_get_cookie((struct rt6_info *)dst);
	return dst;
}

static bool shca_is_multicast(const struct shca_av *av)
{
	if (av->roce.ipv4)
		return ipv4_is_multicast(av->roce.daddr.s6_addr32[3]);
	return ipv6_addr_is_multicast(&av->roce.daddr);
}

static struct dst_entry *shca_route_get(struct shca_dev *dev,
					const struct shca_av *av,
					struct shca_route *route)
{
	/* A cached route to an IPv4 group depends on membership, and no change invalidates it. */
	if (likely(route->dst && route->tag == av->tag &&
		   dst_check(route->dst, route->cookie) &&
		   !(av->roce.ipv4 && shca_is_multicast(av))))
		return route->dst;
	shca_route_drop(route);
	/* A confirmation is for the former next hop. */
	route->heard = false;
	route->tag = av->tag;
	route->cookie = 0;
	route->dst = av->roce.ipv4 ? shca_route4(dev, av) :
				     shca_route6(dev, av, &route->cookie);
	return route->dst;
}

/* ---- invariant CRC (IBTA A17.3.3, 7.8.1) --------------------------------- */

/*
 * CRC of the lower headers of one packet, as they are on the wire. Fields that routers change
 * count as ones, and so do the eight bytes in place of the LRH.
 */
static u32 shca_icrc_lower4(struct iphdr ip, struct udphdr udp, u32 udp_len)
{
	struct {
		u8 lrh[8];
		struct iphdr ip;
		struct udphdr udp;
	} __packed m;

	memset(m.lrh, 0xff, sizeof(m.lrh));
	m.ip = ip;
	m.ip.tos = 0xff;
	m.ip.ttl = 0xff;
	m.ip.check = (__force __sum16)0xffff;
	m.ip.tot_len = htons(udp_len + sizeof(ip));
	m.udp = udp;
	m.udp.len = htons(udp_len);
	m.udp.check = (__force __sum16)0xffff;
	return shca_crc32(~0u, &m, sizeof(m));
}

static u32 shca_icrc_lower6(struct ipv6hdr ip, struct udphdr udp, u32 udp_len)
{
	struct {
		u8 lrh[8];
		struct ipv6hdr ip;
		struct udphdr udp;
	} __packed m;

	memset(m.lrh, 0xff, sizeof(m.lrh));
	m.ip = ip;
	*(__be32 *)&m.ip |= htonl(0x0fffffff);	/* traffic class, flow label */
	m.ip.payload_len = htons(udp_len);
	m.ip.hop_limit = 0xff;
	m.udp = udp;
	m.udp.len = htons(udp_len);
	m.udp.check = (__force __sum16)0xffff;
	return shca_crc32(~0u, &m, sizeof(m));
}

/* Cached CRCs: lower headers are twice as long as the rest of a small packet. */
#define SHCA_LOWER_KEPT	16

/*
 * A CRC over lower headers.
 * @key:	addresses; ports, identifier, fragment; length, never 0
 * @crc:	CRC state after them
 */
struct shca_lower4 {
	u64 key[3];
	u32 crc;
};

/*
 * Those that are kept, per CPU; bottom halves off.
 * @lock:	of them; on PREEMPT_RT bottom halves that are off protect nothing per CPU
 */
struct shca_lowers4 {
	local_lock_t lock;
	struct shca_lower4 kept[SHCA_LOWER_KEPT];
};

static DEFINE_PER_CPU(struct shca_lowers4, shca_lowers4) = {
	.lock = INIT_LOCAL_LOCK(lock),
};

/* shca_icrc_lower4() of a header of 20 bytes, cached */
static u32 shca_icrc_kept4(const struct iphdr *ip, const struct udphdr *udp,
			   u32 udp_len)
{
	const u64 key[] = {
		(__force u64)ip->saddr << 32 | (__force u32)ip->daddr,
		(__force u64)udp->source << 48 |
		(__force u64)udp->dest << 32 |
		(__force u32)ip->id << 16 | (__force u16)ip->frag_off,
		udp_len,
	};
	/* Hash the fields that differ most between packets. */
	u32 slot = (udp_len / 4 ^ (__force u16)udp->source / 256) %
		   SHCA_LOWER_KEPT;
	struct shca_lower4 *kept;
	u32 crc;

	local_lock_nested_bh(&shca_lowers4.lock);
	kept = this_cpu_ptr(&shca_lowers4.kept[slot]);
	if (kept->key[0] != key[0] || kept->key[1] != key[1] ||
	    kept->key[2] != key[2]) {
		kept->crc = shca_icrc_lower4(*ip, *udp, udp_len);
		memcpy(kept->key, key, sizeof(key));
	}
	crc = kept->crc;
	local_unlock_nested_bh(&shca_lowers4.lock);
	return crc;
}

/* Packets of a batch whose CRC of lower headers is derived from that of the first one */
#define SHCA_SEED_SEGS	64

/* CRC of a packet's number in a batch, which GSO adds to the IPv4 identifier: a CRC is linear. */
static u32 shca_seg_crc[SHCA_SEED_SEGS] __ro_after_init;

void __init shca_roce_init(void)
{
	u8 rest[sizeof(struct iphdr) + sizeof(struct udphdr) -
		offsetof(struct iphdr, id)] = {};
	unsigned int seg;

	for (seg = 0; seg < SHCA_SEED_SEGS; seg++) {
		rest[1] = seg;
		shca_seg_crc[seg] = shca_crc32(0, rest, sizeof(rest));
	}
}

static void shca_fill_udp(const struct shca_av *av, struct udphdr *udp, u32 len)
{
	udp->source = htons(av->roce.sport);
	udp->dest = htons(ROCE_V2_UDP_DPORT);
	udp->len = htons(len);
	udp->check = 0;	/* the ICRC protects; allowed for IPv6 by A17.3.1 */
}

/* Both sides of a QP send to its address vector, each under its own lock. */
static bool shca_roce_ecn(struct shca_av *av, bool capable)
{
	if (av->roce.tclass & INET_ECN_MASK)
		return true;
	WRITE_ONCE(av->roce.ecn, capable ? INET_ECN_ECT_0 : INET_ECN_NOT_ECT);
	return capable;
}

static void shca_roce_mark(struct shca_av *av)
{
	av->roce.ecn = INET_ECN_CE;
}

static u8 shca_tos(const struct shca_av *av)
{
	return av->roce.tclass | READ_ONCE(av->roce.ecn);
}

static void shca_fill_ip4(const struct shca_av *av, struct iphdr *ip, u32 len)
{
	ip->version = 4;
	ip->ihl = 5;
	ip->tos = shca_tos(av);
	ip->tot_len = htons(len);
	ip->id = 0;	/* never fragmented (RFC 6864, 4.1) */
	ip->frag_off = htons(IP_DF);
	ip->ttl = av->roce.hop_limit;
	ip->protocol = IPPROTO_UDP;
	ip->check = 0;
	ip->saddr = av->roce.saddr.s6_addr32[3];
	ip->daddr = av->roce.daddr.s6_addr32[3];
}

static void shca_fill_ip6(const struct shca_av *av, struct ipv6hdr *ip, u32 len)
{
	ip6_flow_hdr(ip, shca_tos(av), htonl(av->roce.flow_label));
	ip->payload_len = htons(len - sizeof(*ip));
	ip->nexthdr = IPPROTO_UDP;
	ip->hop_limit = av->roce.hop_limit;
	ip->saddr = av->roce.saddr;
	ip->daddr = av->roce.daddr;
}

static u32 shca_seed_tx(const struct shca_av *av, u32 udp_len)
{
	struct udphdr udp;
	struct ipv6hdr ip6;
	struct iphdr ip4;

	shca_fill_udp(av, &udp, udp_len);
	if (av->roce.ipv4) {
		shca_fill_ip4(av, &ip4, 0);
		return shca_icrc_kept4(&ip4, &udp, udp_len);
	}
	shca_fill_ip6(av, &ip6, sizeof(ip6));
	return shca_icrc_lower6(ip6, udp, udp_len);
}

static __le32 shca_roce_icrc(const struct shca_av *av, struct shca_seed *seed,
			     unsigned int seg, const u8 *bth, u32 len)
{
	u32 crc;

	BUILD_BUG_ON(SHCA_BATCH_SEGS > SHCA_SEED_SEGS);
	if (seed->len != len) {
		seed->len = len;
		seed->crc = shca_seed_tx(av, sizeof(struct udphdr) + len +
					     SHCA_ICRC_BYTES);
	}
	crc = seed->crc;
	if (av->roce.ipv4)
		crc ^= shca_seg_crc[seg];
	return cpu_to_le32(~shca_crc32_bth(crc, bth, len));
}

static u32 shca_seed_rx(struct shca_rx_skb *rx, unsigned int seg, u32 len)
{
	const struct sk_buff *skb = rx->skb;
	const struct udphdr *udp = udp_hdr(skb);
	const struct iphdr *ip = ip_hdr(skb);
	u32 udp_len = sizeof(*udp) + len;
	struct iphdr numbered;

	if (skb->protocol != htons(ETH_P_IP)) {
		if (rx->seed.len != len)
			rx->seed.crc = shca_icrc_lower6(*ipv6_hdr(skb), *udp,
							udp_len);
		rx->seed.len = len;
		return rx->seed.crc;
	}
	/* GRO has joined packets with the same identifier. */
	if (unlikely(skb_shinfo(skb)->gso_type & SKB_GSO_TCP_FIXEDID))
		seg = 0;
	/* The number must not carry into other bits of the identifier. */
	if (unlikely(ntohs(ip->id) % SHCA_SEED_SEGS || seg >= SHCA_SEED_SEGS)) {
		numbered = *ip;
		numbered.id = htons(ntohs(ip->id) + seg);
		return shca_icrc_lower4(numbered, *udp, udp_len);
	}
	if (rx->seed.len != len)
		rx->seed.crc = shca_icrc_kept4(ip, udp, udp_len);
	rx->seed.len = len;
	return rx->seed.crc ^ shca_seg_crc[seg];
}

/* ---- transmit ----------------------------------------------------------- */

/*
 * Batches are GSO packets. Packets leave one by one in path mode "wire", and while a capture
 * is attached at either end of the link; captures behind a bridge are not detected. The
 * netdev limits batches, too (netem users set gso_max_segs to 1).
 */
static unsigned int shca_roce_max_batch(struct shca_dev *dev,
					const struct shca_av *av,
					struct shca_route *route, u32 *bytes)
{
	struct dst_entry *dst = shca_route_get(dev, av, route);
	struct net_device *ndev;
	u32 size;

	if (!dst || READ_ONCE(dev->path) == SHCA_PATH_WIRE)
		return 0;
	/* A switch may multiply each packet of a group: no batches. */
	if (shca_is_multicast(av))
		return 0;
	ndev = dst->dev;
	if (shca_is_captured(ndev) ||
	    (ndev != dev->ndev && dev_nit_active(dev->ndev)))
		return 0;
	size = min_t(u32, READ_ONCE(ndev->gso_max_size), GSO_LEGACY_MAX_SIZE);
	if (av->roce.ipv4)
		size = min(shca_gso_max_size4(ndev), size);
	size -= min_t(u32, size, MAX_HEADER + sizeof(struct ipv6hdr) +
			   sizeof(struct udphdr));
	*bytes = min(size, *bytes);
	return min_t(u32, READ_ONCE(ndev->gso_max_segs), SHCA_BATCH_SEGS);
}

static void shca_push_headers(const struct shca_av *av, struct sk_buff *skb)
{
	struct udphdr *udp;

	/* For qdiscs, and for a VLAN's egress-qos-map, which sets the PCP. */
	skb->priority = av->sl;
	udp = skb_push(skb, sizeof(*udp));
	skb_reset_transport_header(skb);
	shca_fill_udp(av, udp, skb->len);
	if (av->roce.ipv4) {
		struct iphdr *ip = skb_push(skb, sizeof(*ip));

		skb_reset_network_header(skb);
		shca_fill_ip4(av, ip, skb->len);
		skb->protocol = htons(ETH_P_IP);
		memset(IPCB(skb), 0, sizeof(*IPCB(skb)));
	} else {
		struct ipv6hdr *ip = skb_push(skb, sizeof(*ip));

		skb_reset_network_header(skb);
		shca_fill_ip6(av, ip, skb->len);
		skb->protocol = htons(ETH_P_IPV6);
		memset(IP6CB(skb), 0, sizeof(*IP6CB(skb)));
	}
}

static void shca_make_gso(const struct shca_av *av, struct sk_buff *skb,
			  unsigned int segs, u32 seg_len)
{
	skb_shinfo(skb)->gso_size = seg_len;
	skb_shinfo(skb)->gso_segs = segs;
	skb_shinfo(skb)->gso_type = SKB_GSO_UDP_L4;
	shca_gso_partial(skb, udp_hdr(skb), av->roce.ipv4);
}

/* A full backlog: unlike veth, `lo` drops without a report. */
static bool shca_backlog_full(const struct dst_entry *dst)
{
	return READ_ONCE(dst->dev->flags) & IFF_LOOPBACK &&
	       READ_ONCE(this_cpu_ptr(&softnet_data)->input_pkt_queue.qlen) >
	       SHCA_LO_BACKLOG;
}

/*
 * Has the netdev's MTU shrunk below the packet? Then the packet is lost, as on any link. The
 * IP layer would send "packet too big" to this host, which would use the smaller path MTU for
 * ten minutes.
 */
static bool shca_too_long(const struct shca_av *av, const struct dst_entry *dst,
			  u32 len)
{
	len += sizeof(struct udphdr);
	len += av->roce.ipv4 ? sizeof(struct iphdr) : sizeof(struct ipv6hdr);
	return len > READ_ONCE(dst->dev->mtu);
}

static int shca_roce_xmit(struct shca_dev *dev, const struct shca_av *av,
			  struct shca_route *route, struct sk_buff *skb,
			  unsigned int segs, u32 seg_len)
{
	struct net *net = dev->snet->net;
	struct dst_entry *dst;
	int err;

	dst = shca_route_get(dev, av, route);
	if (!dst) {
		shca_count_n(dev, TX_NO_ROUTE, segs);
		kfree_skb(skb);
		return -EHOSTUNREACH;
	}
	if (unlikely(shca_backlog_full(dst))) {
		kfree_skb(skb);
		return -EBUSY;
	}
	if (unlikely(shca_too_long(av, dst, segs > 1 ? seg_len : skb->len))) {
		shca_count_n(dev, TX_DROP, segs);
		kfree_skb(skb);
		return -EMSGSIZE;
	}
	shca_neigh_keep(dev, av, dst);
	skb_dst_set(skb, dst_clone(dst));
	/* The peer has answered: the neighbour is reachable (RFC 4861 7.3.1), as with TCP. */
	if (route->heard) {
		route->heard = false;
		skb_set_dst_pending_confirm(skb, 1);
	}
	/* Even if the MTU shrinks from here on, no "packet too big". */
	skb->ignore_df = 1;
	shca_push_headers(av, skb);
	if (segs > 1)
		shca_make_gso(av, skb, segs, seg_len);

	err = av->roce.ipv4 ? ip_local_out(net, dev->snet->sk4->sk, skb) :
			      ip6_local_out(net, dev->snet->sk6->sk, skb);
	if (likely(!net_xmit_eval(err)))
		return 0;
	/* A full queue drains. A link without carrier is loss, although veth reports the same. */
	if (err == NET_XMIT_DROP && netif_carrier_ok(dst->dev))
		return -EBUSY;
	shca_count_n(dev, TX_DROP, segs);
	return err;
}

static bool shca_roce_holds(struct shca_dev *dev, const struct shca_route *route,
			    u64 *left)
{
	return route->dst && shca_queues_hold(route->dst->dev, left);
}

/*
 * Packets to an address of this namespace cross its `lo`. The routing table decides, so
 * removal of the address, or a netdev that is down, affects the direct path as it does
 * packets.
 */
static bool shca_roce_local(struct shca_dev *dev, const struct shca_av *av,
			    struct shca_route *route)
{
	const struct dst_entry *dst = shca_route_get(dev, av, route);

	return dst && READ_ONCE(dst->dev->flags) & IFF_LOOPBACK;
}

static bool shca_roce_mirrors(const struct shca_av *av,
			      const struct shca_av *peer)
{
	return ipv6_addr_equal(&av->roce.saddr, &peer->roce.daddr) &&
	       ipv6_addr_equal(&av->roce.daddr, &peer->roce.saddr);
}

/* ---- receive ------------------------------------------------------------ */

static bool shca_roce_check(const struct shca_dev *dev, const struct shca_av *av,
			    const struct sk_buff *skb)
{
	if (av->roce.ipv4) {
		const struct iphdr *ip = ip_hdr(skb);

		return skb->protocol == htons(ETH_P_IP) &&
		       ip->saddr == av->roce.daddr.s6_addr32[3] &&
		       ip->daddr == av->roce.saddr.s6_addr32[3];
	}
	return skb->protocol == htons(ETH_P_IPV6) &&
	       ipv6_addr_equal(&ipv6_hdr(skb)->saddr, &av->roce.daddr) &&
	       ipv6_addr_equal(&ipv6_hdr(skb)->daddr, &av->roce.saddr);
}

/* In an active-backup bond, only the active slave's device has the bond's GIDs. */
static bool shca_is_backup_slave(struct net_device *ndev)
{
	struct net_device *bond = netdev_master_upper_dev_get_rcu(ndev);
	struct net_device *active;

	if (!bond || !netif_is_bond_master(bond))
		return false;
	active = bond_option_active_slave_get_rcu(netdev_priv(bond));
	return active && active != ndev;
}

/* The GID table has addresses of the netdev and of VLANs, bonds, bridges, macvlans on it. */
static bool shca_netdev_of(const struct shca_dev *dev, struct net_device *ndev,
			   u16 *vlan)
{
	*vlan = SHCA_VLAN_NONE;
	if (!ndev)
		return false;
	if (ndev == dev->ndev)
		return true;
	if (!netdev_has_upper_dev_all_rcu(dev->ndev, ndev) ||
	    shca_is_backup_slave(dev->ndev))
		return false;
	if (is_vlan_dev(ndev))
		*vlan = vlan_dev_vlan_id(ndev);
	return true;
}

/* Of a VLAN and its parent with the same link-local address, @in (or NULL) decides. */
static bool shca_has_addr4(const struct shca_dev *dev, __be32 addr, u16 *vlan)
{
	return shca_netdev_of(dev, __ip_dev_find(dev->snet->net, addr, false), vlan);
}

static bool shca_has_addr6(const struct shca_dev *dev, const struct in6_addr *addr,
			   struct net_device *in, u16 *vlan)
{
	struct net *net = dev->snet->net;
	struct net_device *ndev = in;

	if (!ndev || !ipv6_chk_addr(net, addr, ndev, 1))
		ndev = dev->ndev;
	if (!ipv6_chk_addr(net, addr, ndev, 1))
		ndev = ipv6_dev_find(net, addr, NULL);
	return shca_netdev_of(dev, ndev, vlan);
}

static bool shca_roce_serves(const struct shca_dev *dev,
			     const struct sk_buff *skb, u16 *vlan)
{
	bool serves;

	rcu_read_lock();
	if (skb->protocol == htons(ETH_P_IP))
		serves = shca_has_addr4(dev, ip_hdr(skb)->daddr, vlan);
	else
		serves = shca_has_addr6(dev, &ipv6_hdr(skb)->daddr, skb->dev,
					vlan);
	rcu_read_unlock();
	return serves;
}

/*
 * RoCE packets have no SL. ConnectX reports the packet type there: 8 for a UDP header, plus 1
 * for IPv6 or 2 for IPv4. UCX uses it to find the destination address in the first 40 bytes.
 */
#define SHCA_SL_IPV4	(8 | 2)
#define SHCA_SL_IPV6	(8 | 1)

static void shca_roce_path(const struct sk_buff *skb,
			   struct shca_path_info *path)
{
	*path = (struct shca_path_info){ .port = 1, .grh_present = true };
	if (skb->protocol == htons(ETH_P_IP)) {
		path->ecn_ce = INET_ECN_is_ce(ip_hdr(skb)->tos);
		path->sl = SHCA_SL_IPV4;
	} else {
		path->ecn_ce = INET_ECN_is_ce(ipv6_get_dsfield(ipv6_hdr(skb)));
		path->sl = SHCA_SL_IPV6;
	}
}

/* Packets that their sender marks with CE take the wire path, which counts the mark. */
static bool shca_roce_meets(struct shca_dev *dev, const struct shca_av *av,
			    struct shca_route *route, const struct shca_dev *to,
			    struct shca_path_info *path)
{
	bool meets;

	if (!shca_roce_local(dev, av, route) ||
	    shca_is_captured(route->dst->dev) || INET_ECN_is_ce(shca_tos(av)))
		return false;
	*path = (struct shca_path_info){ .port = 1, .grh_present = true };
	path->sl = av->roce.ipv4 ? SHCA_SL_IPV4 : SHCA_SL_IPV6;
	rcu_read_lock();
	if (av->roce.ipv4)
		meets = shca_has_addr4(to, av->roce.daddr.s6_addr32[3],
				       &path->vlan);
	else
		meets = shca_has_addr6(to, &av->roce.daddr, route->dst->dev,
				       &path->vlan);
	rcu_read_unlock();
	return meets;
}

static void shca_roce_mgid(const struct sk_buff *skb, struct in6_addr *mgid)
{
	if (skb->protocol == htons(ETH_P_IP))
		ipv6_addr_set_v4mapped(ip_hdr(skb)->daddr, mgid);
	else
		*mgid = ipv6_hdr(skb)->daddr;
}

static void shca_roce_flow(const struct sk_buff *skb, struct shca_rss_flow *flow)
{
	const struct udphdr *udp = udp_hdr(skb);

	flow->proto = IPPROTO_UDP;
	flow->src_port = udp->source;
	flow->dst_port = udp->dest;
	if (skb->protocol == htons(ETH_P_IP)) {
		flow->addr_len = sizeof(struct in_addr);
		flow->src = &ip_hdr(skb)->saddr;
		flow->dst = &ip_hdr(skb)->daddr;
	} else {
		flow->addr_len = sizeof(struct in6_addr);
		flow->src = &ipv6_hdr(skb)->saddr;
		flow->dst = &ipv6_hdr(skb)->daddr;
	}
}

static bool shca_roce_arrived_at(const struct shca_dev *dev,
				 const struct sk_buff *skb, u16 *vlan)
{
	return shca_netdev_of(dev, skb->dev, vlan);
}

/* The IPv4 header is in the last 20 of the 40 bytes (IBTA A17.4.5.2). */
static void shca_grh_of_ip4(const struct iphdr *ip, u8 *grh)
{
	memset(grh, 0, SHCA_GRH_BYTES - sizeof(*ip));
	memcpy(grh + SHCA_GRH_BYTES - sizeof(*ip), ip, sizeof(*ip));
}

static void shca_roce_grh_sent(const struct shca_av *av, u32 len, u8 *grh)
{
	u32 udp_len = sizeof(struct udphdr) + len;

	if (av->roce.ipv4) {
		struct iphdr ip;

		shca_fill_ip4(av, &ip, sizeof(ip) + udp_len);
		ip_send_check(&ip);
		shca_grh_of_ip4(&ip, grh);
	} else {
		struct ipv6hdr ip;

		shca_fill_ip6(av, &ip, sizeof(ip) + udp_len);
		memcpy(grh, &ip, sizeof(ip));
	}
}

/* For a packet of an unsplit batch, build the header that GSO would have built. */
static void shca_roce_grh(const struct sk_buff *skb, u32 off, u32 len, u8 *grh)
{
	u32 udp_len = sizeof(struct udphdr) + len;

	if (skb->protocol == htons(ETH_P_IP)) {
		struct iphdr ip = *ip_hdr(skb);

		if (skb_is_gso(skb)) {
			ip.tot_len = htons(sizeof(ip) + udp_len);
			if (!(skb_shinfo(skb)->gso_type & SKB_GSO_TCP_FIXEDID))
				ip.id = htons(ntohs(ip.id) +
					      off / skb_shinfo(skb)->gso_size);
			ip_send_check(&ip);
		}
		shca_grh_of_ip4(&ip, grh);
	} else {
		struct ipv6hdr ip = *ipv6_hdr(skb);

		if (skb_is_gso(skb))
			ip.payload_len = htons(udp_len);
		memcpy(grh, &ip, sizeof(ip));
	}
}

/* Without @bad_key, as there is no subnet manager, and @keep: no buffer is reserved. */
const struct shca_link_ops shca_roce_ops = {
	.headroom = LL_MAX_HEADER + sizeof(struct ipv6hdr) +
		    sizeof(struct udphdr),
	.mtu = shca_roce_mtu,
	.av_init = shca_roce_av_init,
	.icrc = shca_roce_icrc,
	.max_batch = shca_roce_max_batch,
	.xmit = shca_roce_xmit,
	.holds = shca_roce_holds,
	.ecn = shca_roce_ecn,
	.mark = shca_roce_mark,
	.local = shca_roce_local,
	.mirrors = shca_roce_mirrors,
	.check = shca_roce_check,
	.serves = shca_roce_serves,
	.path = shca_roce_path,
	.mgid = shca_roce_mgid,
	.flow = shca_roce_flow,
	.arrived_at = shca_roce_arrived_at,
	.meets = shca_roce_meets,
	.grh_sent = shca_roce_grh_sent,
	.grh = shca_roce_grh,
	.seed_rx = shca_seed_rx,
};
