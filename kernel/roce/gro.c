// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Joins packets that arrive one by one, from an adapter or another machine, because each skb
 * costs a pass through the IP stack, a look-up of its QP, and perhaps an answer.
 *
 * UDP joins packets for sockets, too (UDP_GRO), but only those with a checksum. RoCEv2
 * packets usually have none (IBTA A17.3.1).
 *
 * The result is a GSO packet of UDP, as a local sender's batch is. The hook in udp.c takes
 * it, and any other receiver, a router for example, splits it into the same packets, except
 * that they get UDP checksums, which the ICRC allows.
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
#include "../link/capture.h"

/* Maximum packets of a batch; UDP has the same limit. */
#define SHCA_GRO_SEGS	64

/* Flag in gso_segs of a packet held for GRO: all have the same IPv4 identifier. */
#define SHCA_GRO_FIXED_ID	BIT(15)

static bool shca_gro_is_ipv4(const struct sock *sk)
{
	return sk->sk_family == AF_INET;
}

/* @p's second packet decides whether identifiers count or stay. They may stay only with DF. */
static bool shca_gro_id_follows(const struct sk_buff *p, u16 first, u16 id,
				bool df)
{
	u16 *segs = &skb_shinfo(p)->gso_segs;
	u16 count = NAPI_GRO_CB(p)->count;

	if (count == 1)
		*segs = df && id == first ? SHCA_GRO_FIXED_ID : 0;
	return id == (u16)(*segs & SHCA_GRO_FIXED_ID ? first : first + count);
}

/* GRO has compared addresses, and refused IPv4 options and fragments. */
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

/* Only plain headers are joined (shca_plain_ip()). */
static unsigned int shca_gro_ip_len(const struct sock *sk)
{
	return shca_gro_is_ipv4(sk) ? sizeof(struct iphdr) :
				      sizeof(struct ipv6hdr);
}

/*
 * Does @p have a packet of the same flow, although UDP denies it? UDP takes packets with and
 * without a checksum for two flows. But a sending kernel without segmentation offload fills
 * in checksums of batches only. So one flow has both, and must stay in order.
 */
static bool shca_gro_is_other_kind(const struct sock *sk, struct sk_buff *p,
				   const struct sk_buff *skb, const void *udp,
				   unsigned int udp_off)
{
	unsigned int ip_len = shca_gro_ip_len(sk);
	/* from the addresses, at the end of the IP header, to the ports */
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
	/* Otherwise an extension header would be read as part of the IPv6 header. */
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

/* Remove the bytes before @off of the first fragment. */
static void shca_gro_trim_frag(struct sk_buff *skb, unsigned int off)
{
	skb_frag_off_add(&skb_shinfo(skb)->frags[0], off);
	skb_frag_size_sub(&skb_shinfo(skb)->frags[0], off);
}

/* Move the fragments of @skb to @p. Return: truesize that moves. */
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

/* Append @skb to the list of @p. Return: truesize that moves. */
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
 * Append what follows the UDP header of @skb. GRO's skb_gro_receive() does this, but is not
 * exported.
 * Return: false: they cannot be joined, and nothing has changed.
 */
static bool shca_gro_append(struct sk_buff *p, struct sk_buff *skb)
{
	unsigned int off = skb_gro_offset(skb), len = skb_gro_len(skb);
	unsigned int max = min_t(u32, READ_ONCE(p->dev->gro_max_size),
				 GRO_LEGACY_MAX_SIZE);

	/* Memory of page pools or devices must not mix with other memory. */
	if (p->len + len >= max || p->pp_recycle != skb->pp_recycle ||
	    skb_zcopy(p) || skb_zcopy(skb) ||
	    !skb_frags_readable(p) || !skb_frags_readable(skb) ||
	    (off > skb_headlen(skb) &&
	     skb_frag_size(&skb_shinfo(skb)->frags[0]) < off - skb_headlen(skb)))
		return false;
	/* A local sender's socket was charged by truesize, which changes here. */
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

/* Return: has @skb been appended, and @p waits for more? */
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

	/* Not one RoCEv2 packet; or a capture must see single packets. */
	if (!udp || ntohs(udp->len) != skb_gro_len(skb) + sizeof(*udp) ||
	    skb_gro_len(skb) < SHCA_BTH_BYTES + SHCA_ICRC_BYTES ||
	    shca_is_captured_above(skb->dev))
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
		/* In order: @p goes first. As a single packet, it is no GSO packet. */
		if (NAPI_GRO_CB(p)->count == 1)
			skb_shinfo(p)->gso_segs = 0;
		return p;
	}
	return NULL;
}

void shca_gso_partial(struct sk_buff *skb, struct udphdr *udp, bool ipv4)
{
	const struct ipv6hdr *ip6 = (void *)udp - sizeof(*ip6);
	const struct iphdr *ip = (void *)udp - sizeof(*ip);
	unsigned int len = ntohs(udp->len);

	skb->ip_summed = CHECKSUM_PARTIAL;
	skb->csum_start = (unsigned char *)udp - skb->head;
	skb->csum_offset = offsetof(struct udphdr, check);
	udp->check = ipv4 ? ~udp_v4_check(len, ip->saddr, ip->daddr, 0) :
			    ~udp_v6_check(len, &ip6->saddr, &ip6->daddr, 0);
}

int shca_gro_complete(struct sock *sk, struct sk_buff *skb, int nhoff)
{
	struct udphdr *udp = (void *)(skb->data + nhoff - sizeof(*udp));
	struct skb_shared_info *info = skb_shinfo(skb);

	info->gso_type = SKB_GSO_UDP_L4;
	if (info->gso_segs & SHCA_GRO_FIXED_ID && shca_gro_is_ipv4(sk))
		info->gso_type |= SKB_GSO_TCP_FIXEDID;
	info->gso_segs = NAPI_GRO_CB(skb)->count;
	/* UDP's GRO marks it as a tunnel's. */
	skb->encapsulation = 0;
	shca_gso_partial(skb, udp, shca_gro_is_ipv4(sk));
	return 0;
}
