// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Segmentation of batches of InfiniBand packets: see ib_batch.h.
 *
 * A batch is built for a netdev whose other end is on this machine (veth). It is split where
 * something below needs packets: a qdisc, a bridge's port, a tunnel.
 *
 * The kernel has no GSO type for this. SCTP's is used: a netdev that passes packets on
 * unsplit advertises it, and no known hardware does. Nothing takes these packets for SCTP,
 * because the EtherType is ours.
 */
#include "ib_batch.h"

#include <linux/etherdevice.h>

#include "../base/compat.h"
#include "../core/headers.h"
#include "core/ib_wire.h"
#include "ib_path.h"

#define SHCA_IB_GSO_TYPE	SKB_GSO_SCTP
#define SHCA_IB_GSO_FEATURE	NETIF_F_GSO_SCTP

bool shca_ib_batch_passes(const struct net_device *ndev)
{
	netdev_features_t features = READ_ONCE(ndev->features);

	/* Without checksum offload, the kernel splits GSO packets. */
	return features & SHCA_IB_GSO_FEATURE && features & NETIF_F_HW_CSUM;
}

void shca_ib_batch_make(struct sk_buff *skb, unsigned int segs, u32 seg_len)
{
	skb_shinfo(skb)->gso_size = seg_len;
	skb_shinfo(skb)->gso_segs = segs;
	skb_shinfo(skb)->gso_type = SHCA_IB_GSO_TYPE;
	/* Otherwise the kernel splits it to compute a checksum. */
	skb->ip_summed = CHECKSUM_UNNECESSARY;
}

u32 shca_ib_batch_unit(const struct sk_buff *skb)
{
	return skb_is_gso(skb) &&
	       skb_shinfo(skb)->gso_type & SHCA_IB_GSO_TYPE ?
		       skb_shinfo(skb)->gso_size : 0;
}

/*
 * A batch that is being split.
 * @skb:	the batch, from the shim on
 * @shim:	its first header
 * @hdr:	bytes from the shim to the BTH
 * @mac:	bytes of the Ethernet header with VLAN tags
 */
struct shca_ib_split {
	const struct sk_buff *skb;
	struct shca_ib_shim shim;
	unsigned int hdr;
	unsigned int mac;
};

/* Build the packet of @len bytes from BTH to ICRC at @off, with its Ethernet header. */
static struct sk_buff *shca_ib_split_one(const struct shca_ib_split *split,
					 unsigned int off, unsigned int len)
{
	unsigned int room = skb_headroom(split->skb);
	unsigned int all = split->hdr + len + SHCA_IB_VCRC_BYTES;
	/* headers of a tunnel, which the tunnel completes */
	unsigned int outer = skb_tnl_header_len(split->skb);
	struct shca_ib_shim shim = split->shim;
	struct sk_buff *skb;
	u8 *data;
	u16 vcrc;

	skb = alloc_skb(room + all, GFP_ATOMIC | __GFP_NOWARN);
	if (!skb)
		return NULL;
	/* The same headroom keeps the offsets of headers valid. */
	skb_reserve(skb, room);
	skb_copy_header(skb, split->skb);
	skb_gso_reset(skb);
	skb->ip_summed = CHECKSUM_NONE;
	data = skb_put(skb, all);
	memcpy(data - split->mac - outer, split->skb->data - split->mac - outer,
	       outer + split->mac + split->hdr);
	if (skb_copy_bits(split->skb, off, data + split->hdr, len)) {
		kfree_skb(skb);
		return NULL;
	}
	shim.len = all - SHCA_IB_SHIM_BYTES;
	shca_ib_shim_build(&shim, data);
	shca_ib_lower_set_len(data + SHCA_IB_SHIM_BYTES, len);
	vcrc = shca_ib_vcrc_skb(skb, SHCA_IB_SHIM_BYTES,
				shim.len - SHCA_IB_VCRC_BYTES);
	shca_ib_vcrc_put(vcrc, data + all - SHCA_IB_VCRC_BYTES);
	__skb_push(skb, split->mac);
	/* A tunnel's checksum covers the packet. */
	if (skb->encap_hdr_csum) {
		SKB_GSO_CB(skb)->csum_start = skb_headroom(skb);
		SKB_GSO_CB(skb)->csum = skb_checksum(skb, 0, skb->len, 0);
	}
	return skb;
}

static int shca_ib_split_begin(struct shca_ib_split *split, struct sk_buff *skb)
{
	const unsigned int most = SHCA_IB_SHIM_BYTES + SHCA_IB_LOWER_MAX;
	struct shca_ib_lower lower;

	if (skb->len < SHCA_IB_SHIM_BYTES ||
	    !pskb_may_pull(skb, min(skb->len, most)) ||
	    shca_ib_shim_parse(&split->shim, skb->data, U16_MAX) ||
	    split->shim.type != SHCA_IB_FRAME_DATA ||
	    shca_ib_lower_parse(&lower, skb->data + SHCA_IB_SHIM_BYTES,
				min_t(u32, split->shim.len,
				      skb_headlen(skb) - SHCA_IB_SHIM_BYTES),
				split->shim.len))
		return -EINVAL;
	split->skb = skb;
	split->hdr = SHCA_IB_SHIM_BYTES + shca_ib_lower_bytes(&lower);
	split->mac = skb->data - skb_mac_header(skb);
	return 0;
}

/* @skb: from the shim on. Context: bottom halves off. */
static struct sk_buff *shca_ib_gso_segment(struct sk_buff *skb,
					   netdev_features_t features)
{
	unsigned int unit = shca_ib_batch_unit(skb), off, len;
	struct sk_buff *first = NULL, *last = NULL, *one;
	struct shca_ib_split split;

	if (unit < SHCA_BTH_BYTES + SHCA_ICRC_BYTES ||
	    shca_ib_split_begin(&split, skb))
		return ERR_PTR(-EINVAL);
	for (off = split.hdr; off < skb->len; off += len) {
		len = min(unit, skb->len - off);
		one = shca_ib_split_one(&split, off, len);
		if (!one) {
			kfree_skb_list(first);
			return ERR_PTR(-ENOMEM);
		}
		if (last)
			last->next = one;
		else
			first = one;
		last = one;
	}
	if (!first)
		return ERR_PTR(-EINVAL);
	/* Callers expect the end of the list there. */
	first->prev = last;
	return first;
}

static struct packet_offload shca_ib_offload __read_mostly = {
	.type = cpu_to_be16(SHCA_IB_ETHERTYPE),
	.callbacks = {
		.gso_segment = shca_ib_gso_segment,
	},
};

void shca_ib_batch_init(void)
{
	dev_add_offload(&shca_ib_offload);
}

void shca_ib_batch_exit(void)
{
	dev_remove_offload(&shca_ib_offload);
}
