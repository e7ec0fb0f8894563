/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The link of a port, as a table of operations: everything below the base transport header. The
 * data path above knows no IP, UDP or neighbour. There are RoCEv2 over UDP (roce/roce.c) and
 * InfiniBand over Ethernet (ib/ib_path.c). A device keeps the link that it was created with
 * (struct shca_dev.link).
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
#include "../core/packet.h"

struct rdma_ah_attr;
struct shca_ib_link;
struct shca_mr;

/* Tag of an address vector. */
enum shca_link_type {
	SHCA_LINK_ROCE,
	SHCA_LINK_IB,
};

/**
 * struct shca_av - address vector, in the terms of its link
 * @link:	which of @roce and @ib is valid
 * @sl:		service level
 * @tag:	0 for the peer of a connected QP, otherwise unique per address handle of a
 *		device. A cached route with another tag is of another vector
 * @pkey_index:	of a request of QP1; other QPs have one for all requests
 * @rate_kbps:	static rate: packets by this path leave no faster; 0: no limit
 * @roce:	@ecn is ORed into @tclass. IPv4 addresses are IPv6-mapped; @sport is in host
 *		order. @oif is the netdev with the source address: the device's own, or a VLAN
 *		on it, whose packets leave tagged. @dmac is the next hop's
 * @ib:		@path_bits are added to the LID of the port @link
 */
struct shca_av {
	enum shca_link_type link;
	u8 sl;
	u16 pkey_index;
	u32 tag;
	u32 rate_kbps;
	union {
		struct {
			bool ipv4;
			u8 tclass;
			u8 ecn;
			u8 hop_limit;
			u16 sport;
			int oif;
			u32 flow_label;
			struct in6_addr saddr;
			struct in6_addr daddr;
			u8 dmac[ETH_ALEN];
		} roce;
		struct {
			const struct shca_ib_link *link;
			u16 dlid;
			u8 path_bits;
			bool has_grh;
			u8 tclass;
			u8 hop_limit;
			u8 sgid_index;
			u32 flow_label;
			struct in6_addr dgid;
		} ib;
	};
};

/**
 * struct shca_route - cached route of one address vector; under the lock of its side
 * @dst:	the route; NULL: none yet. It is validated again for each packet
 * @cookie:	for dst_check() of @dst
 * @tag:	that of the address vector
 * @busy:	consecutive transmissions that found the queue below full
 * @looked_ns:	time of the last look at that queue (shca_tx_look())
 * @left:	packets that had left it by then
 * @stopped:	it was stopped then
 * @lane:	lane of the last packet, on an InfiniBand link
 * @heard:	what the peer has sent since the last packet shows that packets reach it
 */
struct shca_route {
	struct dst_entry *dst;
	u32 cookie;
	u32 tag;
	u32 busy;
	u64 looked_ns;
	u64 left;
	bool stopped;
	bool heard;
	u8 lane;
};

/**
 * struct shca_seed - CRC over the lower headers, with which an ICRC begins
 * @len:	length of the packets that it is for, from BTH to ICRC; 0 if unset
 * @crc:	state of the CRC
 */
struct shca_seed {
	u32 len;
	u32 crc;
};

/* Packets of a batch: the kernel splits this many without question. */
#define SHCA_BATCH_SEGS	62

/**
 * struct shca_rx_skb - a received skb; struct shca_pkt.data
 * @skb:	with the lower headers in its linear part
 * @seed:	seed of its packets' ICRCs; the link keeps it
 * @mr:		region that a packet has accessed, for the next one; wire/payload.c keeps it
 * @frag:	fragment of the last packet
 * @frag_off:	its offset
 */
struct shca_rx_skb {
	struct sk_buff *skb;
	struct shca_seed seed;
	struct shca_mr *mr;
	int frag;
	u32 frag_off;
};

/**
 * struct shca_rss_flow - fields of a packet that may be hashed
 * @src:	IP address of the sender
 * @dst:	IP address of the receiver
 * @addr_len:	their bytes, 4 or 16; 0: there are none
 * @proto:	IPPROTO_TCP or IPPROTO_UDP, else there are no ports
 * @src_port:	of the sender
 * @dst_port:	of the receiver
 */
struct shca_rss_flow {
	const void *src;
	const void *dst;
	u8 addr_len;
	u8 proto;
	__be16 src_port;
	__be16 dst_port;
};

/**
 * struct shca_link_ops - operations of a link
 * @headroom:	bytes to reserve before the BTH
 * @tailroom:	bytes to reserve behind the ICRC of a packet without a batch; if there are
 *		any, it is linear
 * @is_lossless:	a queue below that is full for long loses nothing while packets leave it
 * @has_sm:	a subnet manager assigns addresses, paths and multicast groups; otherwise they
 *		are those of IP, and there are no alternate paths (shca_link_has_sm())
 * @mtu:	largest path MTU that @dev can carry now; 0 if not even 256
 * @av_init:	make an address vector from verbs attributes, for shca_av_init(); @sport_hash
 *		spreads flows. May sleep. Returns NULL, or the reason for EINVAL
 * @icrc:	ICRC of outgoing packet number @seg of a batch: @len bytes at @bth, without the
 *		ICRC; @seed is for @av
 * @max_batch:	bytes and packets that one batch may have now; 0 packets if packets must leave
 *		one by one
 * @xmit:	add lower headers to @skb and transmit it; consumes @skb. It is one packet or a
 *		batch: @segs packets of @seg_len bytes from BTH to ICRC, the last may be
 *		shorter. Returns 0; -EBUSY if the queue below is full, so that the sender can
 *		wait; or an error that counts as loss
 * @holds:	does a queue below have packets? @left: number of those that have left
 * @ecn:	make packets to @av ECN-capable, or not. ECN bits of the traffic class take
 *		precedence. Others may be sending to @av. Returns whether they are. NULL: never
 * @mark:	mark packets to @av (CE); NULL, if @ecn is
 * @local:	does the route of @av end in the sender's namespace? NULL: no direct path
 * @mirrors:	do two address vectors lead to each other? NULL, if @local is
 * @check:	does a received packet come from the peer of @av, to the address of @av? @av may
 *		be written meanwhile, so pointers in it must not be followed
 * @serves:	is a received packet for an address of this device, and in which VLAN is the
 *		address?
 * @path:	get fields of a received packet's lower headers: its congestion mark, and those
 *		for a datagram's completion
 * @mgid:	multicast GID of a received packet; not a multicast GID if it has none
 * @flow:	the addresses and ports of a received packet, which point into its headers
 * @arrived_at:	did a received packet arrive on this device's netdev, or on one stacked on it,
 *		and in which VLAN?
 * @seed_rx:	the CRC over the lower headers of received packet number @seg of a batch, which
 *		has @len bytes from BTH to ICRC (shca_icrc_ok())
 * @bad_key:	report a received packet with a wrong P_Key or Q_Key to the network's manager.
 *		@pkt->data is a struct shca_rx_skb, but on the direct path (@local). NULL: nobody
 * @cct:	the congestion control table of the device, by which CNPs count. NULL: there is none
 * @keep:	a received packet stays in a queue of the device for long (@keeps), or has left
 *		it. Returns whether there is room for it. NULL: no room is reserved
 * @meets:	may a datagram to @av become one at @to without a packet? Yes if the route ends
 *		in the sender's namespace, at an address of @to, and without a capture there.
 *		Sets @path as @path and @serves would. NULL: no datagram may
 * @grh_sent:	@grh of that packet, of @len bytes from BTH to ICRC
 * @grh:	the SHCA_GRH_BYTES that UD delivers for a received packet, which has @len bytes
 *		at @off of @skb, from BTH to ICRC
 *
 * Context: softirq or bottom halves off, except @mtu and @av_init. From @check on, @skb->data is
 * the first BTH, and the linear part before it has the lower headers.
 */
struct shca_link_ops {
	unsigned int headroom;
	unsigned int tailroom;
	bool is_lossless;
	bool has_sm;
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
	bool (*holds)(struct shca_dev *dev, const struct shca_route *route,
		      u64 *left);
	bool (*ecn)(struct shca_av *av, bool capable);
	void (*mark)(struct shca_av *av);
	bool (*local)(struct shca_dev *dev, const struct shca_av *av,
		      struct shca_route *route);
	bool (*mirrors)(const struct shca_av *av, const struct shca_av *peer);
	bool (*check)(const struct shca_dev *dev, const struct shca_av *av,
		      const struct sk_buff *skb);
	bool (*serves)(const struct shca_dev *dev, const struct sk_buff *skb,
		       u16 *vlan);
	void (*path)(const struct sk_buff *skb, struct shca_path_info *path);
	void (*mgid)(const struct sk_buff *skb, struct in6_addr *mgid);
	void (*flow)(const struct sk_buff *skb, struct shca_rss_flow *flow);
	bool (*arrived_at)(const struct shca_dev *dev,
			   const struct sk_buff *skb, u16 *vlan);
	u32 (*seed_rx)(struct shca_rx_skb *rx, unsigned int seg, u32 len);
	void (*bad_key)(const struct shca_dev *dev, const struct shca_pkt *pkt,
			bool is_qkey);
	const struct shca_cct *(*cct)(const struct shca_dev *dev);
	bool (*keep)(struct shca_dev *dev, const struct sk_buff *skb,
		     bool keeps);
	bool (*meets)(struct shca_dev *dev, const struct shca_av *av,
		      struct shca_route *route, const struct shca_dev *to,
		      struct shca_path_info *path);
	void (*grh_sent)(const struct shca_av *av, u32 len, u8 *grh);
	void (*grh)(const struct sk_buff *skb, u32 off, u32 len, u8 *grh);
};

/* Without CONFIG_SOFTHCA_IB the compiler drops what only links with @has_sm need. */
static inline bool shca_link_has_sm(const struct shca_link_ops *link)
{
	return IS_ENABLED(CONFIG_SOFTHCA_IB) && link->has_sm;
}

/* Largest path MTU of a device now, in bytes; at least 256. */
static inline u32 shca_link_mtu(const struct shca_dev *dev)
{
	return ib_mtu_enum_to_int(dev->link->mtu(dev) ?: IB_MTU_256);
}

/* Drop a cached route; under the lock of its side, if any. */
static inline void shca_route_drop(struct shca_route *route)
{
	dst_release(route->dst);
	route->dst = NULL;
}

#endif
