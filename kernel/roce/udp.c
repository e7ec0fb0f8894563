// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Receives RoCEv2 packets.
 *
 * Single packets come through the UDP socket. Batches of a local sender are unsplit GSO
 * packets, which UDP would split before they reach such a socket. So a netfilter hook takes
 * them, the last one at LOCAL_IN. By then the firewall has accepted them, and the socket owns
 * the port.
 */
#include "udp.h"

#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/netfilter.h>
#include <linux/skbuff.h>
#include <linux/udp.h>
#include <net/ip.h>
#include <net/ipv6.h>
#if IS_ENABLED(CONFIG_NF_CONNTRACK)
#include <net/netfilter/nf_conntrack.h>
#endif
#include <net/route.h>
#include <net/sock.h>
#include <net/udp.h>
#include <net/xfrm.h>
#include <rdma/ib_verbs.h>

#include "../base/compat.h"
#include "../base/netns.h"
#include "../core/headers.h"
#include "../path/rx.h"
#include "roce.h"

/* The ICRC is defined for plain headers: no IPv4 options, no IPv6 extension headers. */
static bool shca_plain_ip(const struct sk_buff *skb)
{
	int l3 = skb_transport_offset(skb) - skb_network_offset(skb);

	if (skb->protocol == htons(ETH_P_IP))
		return l3 == sizeof(struct iphdr);
	return l3 == sizeof(struct ipv6hdr);
}

int shca_udp_rcv(struct sock *sk, struct sk_buff *skb)
{
	struct shca_net *snet = rcu_dereference_sk_user_data(sk);

	if (!snet || !pskb_may_pull(skb, sizeof(struct udphdr))) {
		kfree_skb(skb);
		return 0;
	}
	if (!shca_plain_ip(skb)) {
		shca_rx_stray(&shca_roce_ops, snet, skb, SHCA_CNT_RX_HEADER);
		kfree_skb(skb);
		return 0;
	}
	__skb_pull(skb, sizeof(struct udphdr));
	shca_rx(&shca_roce_ops, snet, skb, skb->len);
	return 0;
}

/*
 * Is this the first packet of a tracked connection? It must reach the end of
 * the hooks, where conntrack confirms it. Otherwise each batch would be the
 * first one forever. Conntrack confirms at our own priority, so the order of the
 * two hooks depends on their registration.
 */
static bool shca_is_unconfirmed(const struct sk_buff *skb)
{
#if IS_ENABLED(CONFIG_NF_CONNTRACK)
	enum ip_conntrack_info info;
	struct nf_conn *ct = nf_ct_get(skb, &info);

	return ct && !nf_ct_is_confirmed(ct);
#else
	return false;
#endif
}

/* Does a BPF program select sockets (BPF_SK_LOOKUP)? */
static bool shca_sockets_are_picked(const struct net *net)
{
#ifdef CONFIG_BPF_SYSCALL
	return rcu_access_pointer(net->bpf.run_array[NETNS_BPF_SK_LOOKUP]);
#else
	return false;
#endif
}

/*
 * Would our socket get the packets of this batch? UDP splits it and checks each packet; they
 * have the same addresses, so one check is enough. Uncertain cases are left to UDP, which
 * refuses, counts and answers as it should.
 *
 * Netfilter and the routing table have decided already. UDP does not ask a socket's filter,
 * the BPF of its cgroup or security_sock_rcv_skb(): encap_rcv() is before them and takes
 * everything. Our sockets belong to no process, are bound to no netdev and have no policy of
 * their own. No other socket can have the port.
 */
static bool shca_udp_would_take(const struct shca_net *snet, struct sk_buff *skb)
{
	/* All sockets of a group get a copy, and sources may be filtered. */
	if (skb->sk || shca_sockets_are_picked(snet->net) ||
	    skb->pkt_type != PACKET_HOST)
		return false;
	if (skb->protocol == htons(ETH_P_IP))
		return !(skb_rtable(skb)->rt_flags &
			 (RTCF_BROADCAST | RTCF_MULTICAST)) &&
		       udp_sk_bound_dev_eq(snet->net, 0, inet_iif(skb),
					   inet_sdif(skb)) &&
		       xfrm4_policy_check(NULL, XFRM_POLICY_IN, skb);
	return !ipv6_addr_is_multicast(&ipv6_hdr(skb)->daddr) &&
	       udp_sk_bound_dev_eq(snet->net, 0, inet6_iif(skb),
				   inet6_sdif(skb)) &&
	       xfrm6_policy_check(NULL, XFRM_POLICY_IN, skb);
}

/* Is this a batch of packets to our port, with consistent headers and lengths? */
static bool shca_is_batch(struct sk_buff *skb)
{
	const struct skb_shared_info *info = skb_shinfo(skb);
	int off = skb_transport_offset(skb);
	const struct udphdr *udp;

	if (!(info->gso_type & SKB_GSO_UDP_L4) ||
	    info->gso_type & SKB_GSO_FRAGLIST || !info->gso_size ||
	    !skb_csum_unnecessary(skb) || !shca_plain_ip(skb) ||
	    !pskb_may_pull(skb, off + sizeof(*udp)))
		return false;
	udp = udp_hdr(skb);
	return udp->dest == htons(ROCE_V2_UDP_DPORT) &&
	       ntohs(udp->len) == skb->len - off &&
	       skb->len - off - sizeof(*udp) > info->gso_size;
}

unsigned int shca_nf_rcv(void *priv, struct sk_buff *skb,
			 const struct nf_hook_state *state)
{
	struct shca_net *snet = priv;
	u32 seg_len;

	if (!skb_is_gso(skb) || !shca_is_batch(skb) ||
	    shca_is_unconfirmed(skb) || !shca_udp_would_take(snet, skb))
		return NF_ACCEPT;
	seg_len = skb_shinfo(skb)->gso_size;
	__skb_pull(skb, skb_transport_offset(skb));
	/* The system call of an NFQUEUE verdict has bottom halves off only around okfn(). */
	local_bh_disable();
	/* The sender chose the length: do not examine 64k segments of a byte each. */
	if (seg_len < SHCA_BTH_BYTES + SHCA_ICRC_BYTES) {
		shca_rx_stray(&shca_roce_ops, snet, skb, SHCA_CNT_RX_SHORT);
		consume_skb(skb);
	} else {
		__skb_pull(skb, sizeof(struct udphdr));
		shca_rx(&shca_roce_ops, snet, skb, seg_len);
	}
	local_bh_enable();
	return NF_STOLEN;
}
