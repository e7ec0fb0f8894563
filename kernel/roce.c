// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The RoCEv2 link: UDP over IPv4 and IPv6 (IBTA annex A17).  Address vectors,
 * routes, the invariant CRC, and the hand-over of finished packets to the IP
 * stack, so that tcpdump, tc and netfilter see them.
 */
#include "link.h"

#include <linux/if_vlan.h>
#include <linux/inetdevice.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>
#include <net/addrconf.h>
#include <net/ip.h>
#include <net/ip6_route.h>
#include <net/ipv6.h>
#include <net/route.h>
#include <net/sock.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_verbs.h>

#include "core/headers.h"
#include "counters.h"
#include "dev.h"
#include "icrc.h"
#include "net.h"

#define SHCA_DEFAULT_HOPS 64

/* The netdev whose address the source GID is. */
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

static int shca_roce_av_init(struct shca_dev *dev,
			     const struct rdma_ah_attr *attr, u32 sport_hash,
			     struct shca_av *av)
{
	const struct ib_global_route *grh = rdma_ah_read_grh(attr);
	const struct ib_gid_attr *sgid = grh->sgid_attr;

	if (!(rdma_ah_get_ah_flags(attr) & IB_AH_GRH) || !sgid)
		return -EINVAL;
	memset(av, 0, sizeof(*av));
	av->link = SHCA_LINK_ROCE;
	av->sl = rdma_ah_get_sl(attr);
	switch (rdma_gid_attr_network_type(sgid)) {
	case RDMA_NETWORK_IPV4:
		av->roce.ipv4 = true;
		break;
	case RDMA_NETWORK_IPV6:
		break;
	default:
		return -EINVAL;	/* RoCEv1, InfiniBand */
	}
	memcpy(&av->roce.saddr, &sgid->gid, sizeof(av->roce.saddr));
	memcpy(&av->roce.daddr, &grh->dgid, sizeof(av->roce.daddr));
	if (av->roce.ipv4 != ipv6_addr_v4mapped(&av->roce.daddr))
		return -EINVAL;
	av->roce.oif = shca_gid_ifindex(dev, sgid);
	if (av->roce.oif < 0)
		return -EINVAL;
	av->roce.tclass = grh->traffic_class;
	av->roce.hop_limit = grh->hop_limit ?: SHCA_DEFAULT_HOPS;
	av->roce.flow_label = grh->flow_label & 0xfffff;
	av->roce.sport = rdma_flow_label_to_udp_sport(
				av->roce.flow_label ?: sport_hash & 0xfffff);
	return 0;
}

/* ---- routes ------------------------------------------------------------- */

void shca_route_drop(struct shca_route *route)
{
	dst_release(route->dst);
	route->dst = NULL;
}

static struct dst_entry *shca_route4(struct shca_dev *dev,
				     const struct shca_av *av)
{
	struct flowi4 fl4;
	struct rtable *rt;

	flowi4_init_output(&fl4, av->roce.oif, 0, av->roce.tclass,
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
		.flowi6_oif = av->roce.oif,
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

static struct dst_entry *shca_route_get(struct shca_dev *dev,
					const struct shca_av *av,
					struct shca_route *route)
{
	if (likely(route->dst && route->tag == av->tag &&
		   dst_check(route->dst, route->cookie)))
		return route->dst;
	shca_route_drop(route);
	route->tag = av->tag;
	route->cookie = 0;
	route->dst = av->roce.ipv4 ? shca_route4(dev, av) :
				     shca_route6(dev, av, &route->cookie);
	return route->dst;
}

/* ---- invariant CRC (IBTA A17.3.3, 7.8.1) --------------------------------- */

/* Fields that change on the way are taken as ones; the LRH is eight of them. */
static u32 shca_icrc_start4(const struct iphdr *ip, const struct udphdr *udp)
{
	struct {
		u8 lrh[8];
		struct iphdr ip;
		struct udphdr udp;
	} __packed m;

	memset(m.lrh, 0xff, sizeof(m.lrh));
	m.ip = *ip;
	m.ip.tos = 0xff;
	m.ip.ttl = 0xff;
	m.ip.check = (__force __sum16)0xffff;
	m.udp = *udp;
	m.udp.check = (__force __sum16)0xffff;
	return shca_crc32(~0u, &m, sizeof(m));
}

static u32 shca_icrc_start6(const struct ipv6hdr *ip, const struct udphdr *udp)
{
	struct {
		u8 lrh[8];
		struct ipv6hdr ip;
		struct udphdr udp;
	} __packed m;

	memset(m.lrh, 0xff, sizeof(m.lrh));
	m.ip = *ip;
	*(__be32 *)&m.ip |= htonl(0x0fffffff);	/* traffic class, flow label */
	m.ip.hop_limit = 0xff;
	m.udp = *udp;
	m.udp.check = (__force __sum16)0xffff;
	return shca_crc32(~0u, &m, sizeof(m));
}

/* ICRC of an skb whose data is at the BTH, @len bytes without the ICRC. */
static __le32 shca_icrc(const struct sk_buff *skb, bool ipv4, u32 len)
{
	u8 bth[SHCA_BTH_BYTES];
	u32 crc;

	crc = ipv4 ? shca_icrc_start4(ip_hdr(skb), udp_hdr(skb)) :
		     shca_icrc_start6(ipv6_hdr(skb), udp_hdr(skb));
	memcpy(bth, skb->data, sizeof(bth));
	bth[4] = 0xff;	/* FECN, BECN, reserved */
	crc = shca_crc32(crc, bth, sizeof(bth));
	crc = shca_crc32_skb(crc, skb, sizeof(bth), len - sizeof(bth));
	return cpu_to_le32(~crc);
}

static bool shca_roce_icrc_ok(const struct sk_buff *skb)
{
	u32 len = skb->len - SHCA_ICRC_BYTES;
	__le32 icrc;

	if (skb_copy_bits(skb, len, &icrc, sizeof(icrc)))
		return false;
	return icrc == shca_icrc(skb, skb->protocol == htons(ETH_P_IP), len);
}

/* ---- transmit ----------------------------------------------------------- */

static void shca_build_udp(const struct shca_av *av, struct sk_buff *skb)
{
	struct udphdr *udp;

	udp = skb_push(skb, sizeof(*udp));
	skb_reset_transport_header(skb);
	udp->source = htons(av->roce.sport);
	udp->dest = htons(ROCE_V2_UDP_DPORT);
	udp->len = htons(skb->len);
	udp->check = 0;	/* the ICRC protects; allowed for IPv6 by A17.3.1 */
}

static void shca_build_ip4(const struct shca_av *av, struct sk_buff *skb)
{
	struct iphdr *ip;

	ip = skb_push(skb, sizeof(*ip));
	skb_reset_network_header(skb);
	ip->version = 4;
	ip->ihl = 5;
	ip->tos = av->roce.tclass;
	ip->tot_len = htons(skb->len);
	ip->id = 0;	/* never fragmented (RFC 6864, 4.1) */
	ip->frag_off = htons(IP_DF);
	ip->ttl = av->roce.hop_limit;
	ip->protocol = IPPROTO_UDP;
	ip->check = 0;
	ip->saddr = av->roce.saddr.s6_addr32[3];
	ip->daddr = av->roce.daddr.s6_addr32[3];
	skb->protocol = htons(ETH_P_IP);
	memset(IPCB(skb), 0, sizeof(*IPCB(skb)));
}

static void shca_build_ip6(const struct shca_av *av, struct sk_buff *skb)
{
	struct ipv6hdr *ip;

	ip = skb_push(skb, sizeof(*ip));
	skb_reset_network_header(skb);
	ip6_flow_hdr(ip, av->roce.tclass, htonl(av->roce.flow_label));
	ip->payload_len = htons(skb->len - sizeof(*ip));
	ip->nexthdr = IPPROTO_UDP;
	ip->hop_limit = av->roce.hop_limit;
	ip->saddr = av->roce.saddr;
	ip->daddr = av->roce.daddr;
	skb->protocol = htons(ETH_P_IPV6);
	memset(IP6CB(skb), 0, sizeof(*IP6CB(skb)));
}

static int shca_roce_xmit(struct shca_dev *dev, const struct shca_av *av,
			  struct shca_route *route, struct sk_buff *skb)
{
	unsigned int len = skb->len - SHCA_ICRC_BYTES;
	struct net *net = dev->snet->net;
	struct dst_entry *dst;
	__le32 icrc;
	int err;

	dst = shca_route_get(dev, av, route);
	if (!dst) {
		shca_count(dev, TX_NO_ROUTE);
		kfree_skb(skb);
		return -EHOSTUNREACH;
	}
	skb_dst_set(skb, dst_clone(dst));
	shca_build_udp(av, skb);
	if (av->roce.ipv4)
		shca_build_ip4(av, skb);
	else
		shca_build_ip6(av, skb);

	skb_pull(skb, skb_transport_offset(skb) + sizeof(struct udphdr));
	icrc = shca_icrc(skb, av->roce.ipv4, len);
	memcpy(skb->data + len, &icrc, sizeof(icrc));
	skb_push(skb, skb->data - skb_network_header(skb));

	err = av->roce.ipv4 ? ip_local_out(net, dev->snet->sk4->sk, skb) :
			      ip6_local_out(net, dev->snet->sk6->sk, skb);
	if (likely(!net_xmit_eval(err)))
		return 0;
	shca_count(dev, TX_DROP);
	return err == NET_XMIT_DROP ? -EBUSY : err;
}

/* ---- receive ------------------------------------------------------------ */

static bool shca_roce_check(const struct shca_av *av, const struct sk_buff *skb)
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

/* Is @ndev the device's netdev, a VLAN on it, or the bond that it is in? */
static bool shca_netdev_of(const struct shca_dev *dev, struct net_device *ndev,
			   u16 *vlan)
{
	*vlan = SHCA_VLAN_NONE;
	if (!ndev)
		return false;
	if (ndev == dev->ndev ||
	    netdev_master_upper_dev_get_rcu(dev->ndev) == ndev)
		return true;
	if (!is_vlan_dev(ndev) || vlan_dev_real_dev(ndev) != dev->ndev)
		return false;
	*vlan = vlan_dev_vlan_id(ndev);
	return true;
}

static bool shca_roce_serves(const struct shca_dev *dev,
			     const struct sk_buff *skb, u16 *vlan)
{
	struct net *net = dev->snet->net;
	struct net_device *ndev;
	bool serves;

	rcu_read_lock();
	if (skb->protocol == htons(ETH_P_IP)) {
		ndev = __ip_dev_find(net, ip_hdr(skb)->daddr, false);
	} else {
		/* A link-local address may be on several netdevs. */
		ndev = dev->ndev;
		if (!ipv6_chk_addr(net, &ipv6_hdr(skb)->daddr, ndev, 1))
			ndev = ipv6_dev_find(net, &ipv6_hdr(skb)->daddr, NULL);
	}
	serves = shca_netdev_of(dev, ndev, vlan);
	rcu_read_unlock();
	return serves;
}

/* An IPv4 header stands in the last 20 of the 40 bytes (IBTA A17.4.5.2). */
static void shca_roce_grh(const struct sk_buff *skb, u8 *grh)
{
	if (skb->protocol == htons(ETH_P_IP)) {
		memset(grh, 0, SHCA_GRH_BYTES - sizeof(struct iphdr));
		memcpy(grh + SHCA_GRH_BYTES - sizeof(struct iphdr),
		       ip_hdr(skb), sizeof(struct iphdr));
	} else {
		memcpy(grh, ipv6_hdr(skb), sizeof(struct ipv6hdr));
	}
}

const struct shca_link_ops shca_roce_ops = {
	.headroom = LL_MAX_HEADER + sizeof(struct ipv6hdr) +
		    sizeof(struct udphdr),
	.av_init = shca_roce_av_init,
	.xmit = shca_roce_xmit,
	.check = shca_roce_check,
	.serves = shca_roce_serves,
	.grh = shca_roce_grh,
	.icrc_ok = shca_roce_icrc_ok,
};
