/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The link of a port as a table of operations: everything below the base
 * transport header.  Requester, responder and engines know no IP, UDP or
 * neighbour.  RoCEv2 over UDP is the one link so far (roce.c).
 * A device has the one that it was made with (struct shca_dev.link).
 */
#ifndef SHCA_LINK_H
#define SHCA_LINK_H

#include <linux/if_ether.h>
#include <linux/in6.h>
#include <linux/skbuff.h>
#include <linux/types.h>
#include <net/dst.h>
#include <rdma/ib_verbs.h>

#include "../base/dev.h"
#include "../core/mem_ops.h"

struct rdma_ah_attr;
struct shca_mr;

/** enum shca_link_type - tag of an address vector */
enum shca_link_type {
	SHCA_LINK_ROCE,
};

/**
 * struct shca_av - address vector, in the terms of its link
 * @tag:	0 for the peer of a connected QP, else differs between any two
 *		address handles of a device: tells whether a remembered route is
 *		for this vector
 * @roce:	IPv4 addresses are held mapped; @sport in host order; @oif is the
 *		netdev that has the source address: the device's own, or a VLAN
 *		on it, so that its packets leave tagged; @dmac is the next hop's
 */
struct shca_av {
	enum shca_link_type link;
	u8 sl;
	u32 tag;
	union {
		struct {
			bool ipv4;
			u8 tclass;
			u8 hop_limit;
			u16 sport;
			int oif;
			u32 flow_label;
			struct in6_addr saddr;
			struct in6_addr daddr;
			u8 dmac[ETH_ALEN];
		} roce;
	};
};

/**
 * struct shca_route - a route remembered for one address vector
 *
 * @busy: transmissions in a row that found the queue below full.
 * Guarded by the lock of the side that owns it.  Revalidated per packet.
 */
struct shca_route {
	struct dst_entry *dst;
	u32 cookie;
	u32 tag;
	u32 busy;
};

/**
 * struct shca_seed - the CRC over lower headers, with which an ICRC begins
 * @len:	of the packets that it is for, from BTH to ICRC; 0: of none yet
 */
struct shca_seed {
	u32 len;
	u32 crc;
};

/* Most packets of a batch: what the kernel splits without question. */
#define SHCA_BATCH_SEGS	62

/**
 * struct shca_rx_skb - an skb that is being received; struct shca_pkt.data
 * @seed:	of its packets' ICRCs; kept by the link
 * @mr:		a region that one packet of it has reached, and the next one
 *		probably will; kept by queue/payload.c
 * @frag: @frag_off: where the last packet was found
 */
struct shca_rx_skb {
	struct sk_buff *skb;
	struct shca_seed seed;
	struct shca_mr *mr;
	int frag;
	u32 frag_off;
};

/**
 * struct shca_link_ops - operations of a link
 * @headroom:	bytes to reserve in front of the BTH
 * @mtu:	the largest path MTU that @dev can carry now; 0: not even the least
 * @av_init:	an address vector from verbs attributes; @sport_hash spreads
 *		flows.  May sleep.  Returns NULL, or why there is none (EINVAL).
 * @icrc:	the ICRC of outgoing packet number @seg of a batch: @len bytes at
 *		@bth, without the ICRC; @seed is for @av
 * @max_batch:	bytes and packets that may go out as one batch now; 0 packets:
 *		one by one
 * @xmit:	consume @skb, one packet or a batch: @segs packets of @seg_len
 *		bytes from BTH to ICRC, the last may be shorter; add lower
 *		headers, transmit.  Returns 0; EBUSY: the queue below is full,
 *		so that the sender can wait; or an error that counts as loss.
 * @local:	does the route of @av end in the sender's own namespace?
 * @mirrors:	do two address vectors lead to each other?
 * @check:	does a received packet come from the peer of @av, and to us?
 * @serves:	is a received packet for an address of this device, and in which
 *		VLAN is that?
 * @marks:	what the lower headers of a received packet say: it has met congestion;
 *		the SL that a datagram's completion shows
 * @mgid:	the multicast GID that a received packet is for, or one that is none
 * @arrived_at:	did a received packet come in by this device's netdev or what is
 *		built upon it, and in which VLAN was that?
 * @icrc_ok:	is the ICRC right of received packet number @seg of a batch: @len
 *		bytes, with the ICRC, at @off?  @bth: where they are, if that is
 *		one piece of memory
 * @grh:	the SHCA_GRH_BYTES that UD shows of a received packet's headers; it
 *		is @len bytes at @off of @skb, from BTH to ICRC
 *
 * All but @mtu and @av_init: softirq or bottom halves off.  From @check on: @skb->data is
 * at the first BTH, lower headers are in the linear part before it.
 */
struct shca_link_ops {
	unsigned int headroom;
	enum ib_mtu (*mtu)(const struct shca_dev *dev);
	const char *(*av_init)(struct shca_dev *dev,
			       const struct rdma_ah_attr *attr,
			       u32 sport_hash, struct shca_av *av);
	__le32 (*icrc)(const struct shca_av *av, struct shca_seed *seed,
		       unsigned int seg, const u8 *bth, u32 len);
	unsigned int (*max_batch)(struct shca_dev *dev,
				  const struct shca_av *av,
				  struct shca_route *route, u32 *bytes);
	int (*xmit)(struct shca_dev *dev, const struct shca_av *av,
		    struct shca_route *route, struct sk_buff *skb,
		    unsigned int segs, u32 seg_len);
	bool (*local)(struct shca_dev *dev, const struct shca_av *av,
		      struct shca_route *route);
	bool (*mirrors)(const struct shca_av *av, const struct shca_av *peer);
	bool (*check)(const struct shca_av *av, const struct sk_buff *skb);
	bool (*serves)(const struct shca_dev *dev, const struct sk_buff *skb,
		       u16 *vlan);
	void (*marks)(const struct sk_buff *skb, bool *ce, u8 *sl);
	void (*mgid)(const struct sk_buff *skb, struct in6_addr *mgid);
	bool (*arrived_at)(const struct shca_dev *dev,
			   const struct sk_buff *skb, u16 *vlan);
	bool (*icrc_ok)(struct shca_rx_skb *rx, unsigned int seg,
			const u8 *bth, u32 off, u32 len);
	void (*grh)(const struct sk_buff *skb, u32 off, u32 len, u8 *grh);
};

/** shca_link_mtu() - the largest path MTU of a device now, bytes; at least 256 */
static inline u32 shca_link_mtu(const struct shca_dev *dev)
{
	return ib_mtu_enum_to_int(dev->link->mtu(dev) ?: IB_MTU_256);
}

/** shca_route_drop() - forget a route; under the lock of its side, if it has one */
static inline void shca_route_drop(struct shca_route *route)
{
	dst_release(route->dst);
	route->dst = NULL;
}

#endif
