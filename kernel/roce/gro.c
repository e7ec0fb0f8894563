// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Joins packets that arrive one by one, from an adapter or another machine.
 * Each skb costs a way through the IP stack, a look-up of its QP, and perhaps
 * an answer. A batch costs that once.
 *
 * UDP joins packets for sockets, too (UDP_GRO), but only those with a checksum.
 * RoCEv2 packets have none as a rule (IBTA A17.3.1).
 *
 * The result is what a local sender's batch is: a GSO packet of UDP. So the hook
 * in udp.c takes it, and whoever else gets it, a router for example, splits it
 * into the same packets. Only their UDP checksums are filled in then, which the
 * ICRC allows.
 */
#include "gro.h"

#include <linux/etherdevice.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/netdevice.h>
#include <linux/skbuff.h>
#include <linux/udp.h>
#include <net/gro.h>
#include <net/ip6_checksum.h>
#include <net/sock.h>
#include <net/udp.h>

#include "../base/compat.h"
#include "../core/headers.h"

/* Maximum packets of a batch; UDP has the same limit. */
#define SHCA_GRO_SEGS	64

/*
 * In gso_segs of a packet that waits, once another one has joined it: all of them
 * have the same IPv4 identifier. GSO sets gso_segs at the end only.
 */
#define SHCA_GRO_FIXED_ID	BIT(15)

static int shca_gro_nit_walk(struct net_device *ndev,
			     struct netdev_nested_priv *priv)
{
	return dev_nit_active(ndev);
}

/* A capture on @ndev, or on what is built upon it, is to show packets. */
static bool shca_gro_is_captured(struct net_device *ndev)
{
	struct netdev_nested_priv priv = {};

	return dev_nit_active(ndev) ||
	       (!list_empty(&ndev->adj_list.upper) &&
		netdev_walk_all_upper_dev_rcu(ndev, shca_gro_nit_walk, &priv));
}

static bool shca_gro_is_ipv4(const struct sock *sk)
{
	return sk->sk_family == AF_INET;
}

/*
 * The first packet after @p tells whether identifiers count or stay. They may stay only
 * in what nobody fragments: GSO would not split the batch otherwise, and drop it.
 */
static bool shca_gro_id_follows(const struct sk_buff *p, u16 first, u16 id,
				bool df)
{
	u16 *segs = &skb_shinfo(p)->gso_segs;
	u16 count = NAPI_GRO_CB(p)->count;

	if (count == 1)
		*segs = df && id == first ? SHCA_GRO_FIXED_ID : 0;
	return id == (u16)(*segs & SHCA_GRO_FIXED_ID ? first : first + count);
}

/*
 * Are the IP headers alike? The addresses are: GRO has compared them. It has also
 * refused headers of IPv4 with options, and fragments.
 */
static bool shca_gro_ip_follows(const struct sk_buff *p,
				const struct iphdr *first,
				const struct iphdr *ip)
{
	return ip->tos == first->tos && ip->ttl == first->ttl &&
	       ip->frag_off == first->frag_off &&
	       shca_gro_id_follows(p, ntohs(first->id), ntohs(ip->id),
				   ip->frag_off & htons(IP_DF));
}

static bool shca_gro_ip6_follows(const struct ipv6hdr *first,
				 const struct ipv6hdr *ip)
{
	/* version, traffic class, flow label */
	return *(const __be32 *)ip == *(const __be32 *)first &&
	       ip->hop_limit == first->hop_limit;
}

/* Bytes of the IP header; only plain ones are joined (shca_plain_ip()). */
static unsigned int shca_gro_ip_len(const struct sock *sk)
{
	return shca_gro_is_ipv4(sk) ? sizeof(struct iphdr) :
				      sizeof(struct ipv6hdr);
}

/*
 * Does @p have a packet of the same flow, although UDP says no? UDP takes packets
 * with and without a checksum for two flows. But the kernel of a sender without
 * segmentation offload fills in the checksums of batches only. So one flow has
 * both, and its order must stay.
 */
static bool shca_gro_is_other_kind(const struct sock *sk, struct sk_buff *p,
				   const struct sk_buff *skb, const void *udp,
				   unsigned int udp_off)
{
	unsigned int ip_len = shca_gro_ip_len(sk);
	/* from the addresses on, which are at the end of the IP header, to the ports */
	unsigned int len = (shca_gro_is_ipv4(sk) ? 8 : 32) + 4;

	return p->protocol == skb->protocol &&
	       skb_headlen(p) >= udp_off + sizeof(struct udphdr) &&
	       !memcmp(p->data + udp_off + 4 - len, udp + 4 - len, len) &&
	       !compare_ether_header(skb_mac_header(p), skb_mac_header(skb)) &&
	       (shca_gro_is_ipv4(sk) ?
			((struct iphdr *)(p->data + udp_off - ip_len))->protocol :
			((struct ipv6hdr *)(p->data + udp_off - ip_len))->nexthdr) ==
		       IPPROTO_UDP;
}

static bool shca_gro_follows(const struct sock *sk, struct sk_buff *p,
			     struct sk_buff *skb, const void *udp,
			     unsigned int udp_off)
{
	unsigned int ip_len = shca_gro_ip_len(sk);
	const struct ipv6hdr *ip6 = udp - ip_len;
	const void *first;

	if (NAPI_GRO_CB(skb)->flush || NAPI_GRO_CB(p)->flush)
		return false;
	first = p->data + udp_off - ip_len;
	if (shca_gro_is_ipv4(sk))
		return shca_gro_ip_follows(p, first, udp - ip_len);
	/* Something between the two headers would be taken for an IPv6 header. */
	return ip6->version == 6 && ip6->nexthdr == IPPROTO_UDP &&
	       shca_gro_ip6_follows(first, ip6);
}

/* Can the bytes of @skb after @off, all in fragments, become fragments of @p? */
static bool shca_gro_frags_fit(const struct sk_buff *p,
			       const struct sk_buff *skb, unsigned int off)
{
	return skb_headlen(skb) <= off && NAPI_GRO_CB(p)->last == p &&
	       skb_shinfo(p)->nr_frags + skb_shinfo(skb)->nr_frags <=
		       MAX_SKB_FRAGS;
}

/* Removes the bytes before @off of the first fragment. */
static void shca_gro_trim_frag(struct sk_buff *skb, unsigned int off)
{
	skb_frag_off_add(&skb_shinfo(skb)->frags[0], off);
	skb_frag_size_sub(&skb_shinfo(skb)->frags[0], off);
}

/* The fragments of @skb become those of @p. Return: memory that moves. */
static unsigned int shca_gro_move_frags(struct sk_buff *p, struct sk_buff *skb,
					unsigned int off)
{
	struct skb_shared_info *from = skb_shinfo(skb), *to = skb_shinfo(p);
	unsigned int stays = SKB_TRUESIZE(skb_end_offset(skb));
	unsigned int moves = skb->truesize - stays;

	shca_gro_trim_frag(skb, off - skb_headlen(skb));
	memcpy(&to->frags[to->nr_frags], from->frags,
	       from->nr_frags * sizeof(from->frags[0]));
	to->nr_frags += from->nr_frags;
	from->nr_frags = 0;
	skb->truesize = stays;
	skb->len -= skb->data_len;
	skb->data_len = 0;
	NAPI_GRO_CB(skb)->free = NAPI_GRO_FREE;
	return moves;
}

/* @skb becomes the last one in the list of @p. Return: memory that moves. */
static unsigned int shca_gro_chain(struct sk_buff *p, struct sk_buff *skb,
				   unsigned int off)
{
	unsigned int head = skb_headlen(skb);

	if (off > head) {
		shca_gro_trim_frag(skb, off - head);
		skb->data_len -= off - head;
		skb->len -= off - head;
		off = head;
	}
	__skb_pull(skb, off);
	if (NAPI_GRO_CB(p)->last == p)
		skb_shinfo(p)->frag_list = skb;
	else
		NAPI_GRO_CB(p)->last->next = skb;
	NAPI_GRO_CB(p)->last = skb;
	__skb_header_release(skb);
	return skb->truesize;
}

/*
 * Appends what follows the UDP header of @skb. GRO has a function for this,
 * skb_gro_receive(), but does not export it.
 *
 * Return: false: they cannot be one, and nothing was changed.
 */
static bool shca_gro_append(struct sk_buff *p, struct sk_buff *skb)
{
	unsigned int off = skb_gro_offset(skb), len = skb_gro_len(skb);
	unsigned int max = min_t(u32, READ_ONCE(p->dev->gro_max_size),
				 GRO_LEGACY_MAX_SIZE);

	/* Pages of a page pool must not mix with others, nor a device's memory. */
	if (p->len + len >= max || p->pp_recycle != skb->pp_recycle ||
	    skb_zcopy(p) || skb_zcopy(skb) ||
	    !skb_frags_readable(p) || !skb_frags_readable(skb) ||
	    (off > skb_headlen(skb) &&
	     skb_frag_size(&skb_shinfo(skb)->frags[0]) < off - skb_headlen(skb)))
		return false;
	/*
	 * Senders on this machine may have charged them to their sockets, by a truesize
	 * that changes here. The socket would be given back what it was not charged.
	 */
	skb_orphan(p);
	skb_orphan(skb);
	if (shca_gro_frags_fit(p, skb, off))
		p->truesize += shca_gro_move_frags(p, skb, off);
	else
		p->truesize += shca_gro_chain(p, skb, off);
	p->data_len += len;
	p->len += len;
	NAPI_GRO_CB(p)->count++;
	NAPI_GRO_CB(skb)->same_flow = 1;
	return true;
}

/* Return: whether @skb was appended, and @p waits for more. */
static bool shca_gro_join(struct sk_buff *p, struct sk_buff *skb)
{
	unsigned int unit = skb_shinfo(p)->gso_size, len = skb_gro_len(skb);

	return len <= unit && shca_gro_append(p, skb) && len == unit &&
	       NAPI_GRO_CB(p)->count < SHCA_GRO_SEGS;
}

struct sk_buff *shca_gro_receive(struct sock *sk, struct list_head *head,
				 struct sk_buff *skb)
{
	unsigned int off = skb_gro_offset(skb);
	unsigned int udp_off = off - sizeof(struct udphdr);
	const struct udphdr *udp = skb_gro_header(skb, off, udp_off);
	struct sk_buff *p;

	/* Not one RoCEv2 packet; or packets are to be seen one by one. */
	if (!udp || ntohs(udp->len) != skb_gro_len(skb) + sizeof(*udp) ||
	    skb_gro_len(skb) < SHCA_BTH_BYTES + SHCA_ICRC_BYTES ||
	    shca_gro_is_captured(skb->dev))
		NAPI_GRO_CB(skb)->flush = 1;
	if (unlikely(!udp))
		return NULL;
	/* UDP has compared ports, and whether there are checksums. */
	list_for_each_entry(p, head, list) {
		if (!NAPI_GRO_CB(p)->same_flow) {
			if (shca_gro_is_other_kind(sk, p, skb, udp, udp_off))
				return p;
			continue;
		}
		if (shca_gro_follows(sk, p, skb, udp, udp_off) &&
		    shca_gro_join(p, skb))
			return NULL;
		/* In its order: what waits goes first. Alone, it is no GSO packet. */
		if (NAPI_GRO_CB(p)->count == 1)
			skb_shinfo(p)->gso_segs = 0;
		return p;
	}
	return NULL;
}

int shca_gro_complete(struct sock *sk, struct sk_buff *skb, int nhoff)
{
	struct udphdr *udp = (void *)(skb->data + nhoff - sizeof(*udp));
	struct skb_shared_info *info = skb_shinfo(skb);
	unsigned int len = ntohs(udp->len);
	const void *ip = (void *)udp - shca_gro_ip_len(sk);
	const struct ipv6hdr *ip6 = ip;
	const struct iphdr *ip4 = ip;

	info->gso_type = SKB_GSO_UDP_L4;
	if (info->gso_segs & SHCA_GRO_FIXED_ID && shca_gro_is_ipv4(sk))
		info->gso_type |= SKB_GSO_TCP_FIXEDID;
	info->gso_segs = NAPI_GRO_CB(skb)->count;
	/* UDP's GRO takes it for a tunnel's. */
	skb->encapsulation = 0;
	/* as GSO wants it (shca_make_gso()) */
	skb->ip_summed = CHECKSUM_PARTIAL;
	skb->csum_start = (unsigned char *)udp - skb->head;
	skb->csum_offset = offsetof(struct udphdr, check);
	if (shca_gro_is_ipv4(sk))
		udp->check = ~udp_v4_check(len, ip4->saddr, ip4->daddr, 0);
	else
		udp->check = ~udp_v6_check(len, &ip6->saddr, &ip6->daddr, 0);
	return 0;
}
