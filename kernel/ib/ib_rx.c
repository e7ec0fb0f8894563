// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Receives the frames of InfiniBand links: hellos for the port's state, packets for its QPs.
 * A packet passes the checks of a port here (IBTA 7.3), each with a counter, and those of a
 * QP in path/rx.c.
 */
#include "ib_rx.h"

#include <linux/etherdevice.h>
#include <linux/skbuff.h>
#include <rdma/ib_mad.h>

#include "../base/counters.h"
#include "../core/headers.h"
#include "../path/rx.h"
#include "ib_batch.h"
#include "ib_link.h"
#include "ib_path.h"

/* Longest subnet management packet: no GRH, one MAD. */
#define SHCA_IB_SMP_BYTES	(SHCA_IB_LRH_BYTES + SHCA_BTH_BYTES + \
				 SHCA_DETH_BYTES + SHCA_IB_MAD_BYTES + \
				 SHCA_ICRC_BYTES)

static enum shca_counter shca_ib_counter(enum shca_ib_parse parse)
{
	return parse == SHCA_IB_SHORT ? SHCA_CNT_RX_SHORT : SHCA_CNT_RX_HEADER;
}

static enum shca_counter shca_ib_rcv_hello_frame(struct shca_ib_link *link,
						 struct sk_buff *skb,
						 const struct shca_ib_shim *shim)
{
	u8 mac[ETH_ALEN] __aligned(2);
	struct shca_ib_hello hello;
	enum shca_ib_parse parse;
	u8 body[SHCA_IB_HELLO_BYTES];
	u32 len = min_t(u32, shim->len, sizeof(body));

	ether_addr_copy(mac, eth_hdr(skb)->h_source);
	if (!is_valid_ether_addr(mac))
		return SHCA_CNT_RX_HEADER;
	if (skb_copy_bits(skb, SHCA_IB_SHIM_BYTES, body, len))
		return SHCA_CNT_RX_SHORT;
	parse = shca_ib_hello_parse(&hello, shim, body);
	if (parse)
		return shca_ib_counter(parse);
	shca_ib_rcv_hello(link, &hello, mac);
	return SHCA_CNT_NR;
}

static enum shca_counter shca_ib_rcv_credits(struct shca_ib_link *link,
					     struct sk_buff *skb,
					     const struct shca_ib_shim *shim)
{
	struct shca_ib_credit_frame frame;
	u8 body[SHCA_IB_CREDIT_BYTES];
	enum shca_ib_parse parse;
	struct shca_ib_view view;

	if (skb_copy_bits(skb, SHCA_IB_SHIM_BYTES, body,
			  min_t(u32, shim->len, sizeof(body))))
		return SHCA_CNT_RX_SHORT;
	parse = shca_ib_credit_parse(&frame, &shca_ib_vcrc_tables, shim, body);
	if (parse)
		return shca_ib_counter(parse);
	shca_ib_look(link, &view);
	/* As other frames before the link is up; it is repeated. */
	if (!view.up)
		return SHCA_CNT_NR;
	if (frame.session != view.peer_session)
		return SHCA_CNT_RX_PATH;
	shca_ib_flow_hear(link, &frame);
	return SHCA_CNT_NR;
}

/* Return: the counter of a packet that the port refuses, or SHCA_CNT_NR. */
static enum shca_counter shca_ib_admit(const struct shca_ib_view *view,
				       const struct shca_ib_lower *lower,
				       u32 dqpn)
{
	bool multicast = shca_ib_is_mlid(lower->dlid);

	/* IBTA 7.6.9: VL15 carries subnet management, and nothing else does. */
	if ((lower->vl == SHCA_IB_VL_MGMT) != !dqpn ||
	    (lower->vl >= view->lanes && lower->vl != SHCA_IB_VL_MGMT))
		return SHCA_CNT_RX_HEADER;
	if (!dqpn) {
		if (lower->has_grh || lower->len > SHCA_IB_SMP_BYTES)
			return SHCA_CNT_RX_HEADER;
		if (lower->dlid != SHCA_IB_LID_PERMISSIVE &&
		    !shca_ib_is_own(view, lower->dlid))
			return SHCA_CNT_RX_PATH;
		return SHCA_CNT_NR;
	}
	/* ARMED receives, because the peer may become active first. */
	if (view->state != SHCA_IB_STATE_ARMED &&
	    view->state != SHCA_IB_STATE_ACTIVE)
		return SHCA_CNT_RX_STATE;
	if (multicast != (dqpn == SHCA_QPN_MULTICAST) ||
	    (multicast && (!lower->has_grh || lower->dgid[0] != 0xff)))
		return SHCA_CNT_RX_HEADER;
	if (!multicast && !shca_ib_is_own(view, lower->dlid))
		return SHCA_CNT_RX_PATH;
	return SHCA_CNT_NR;
}

/* @len: from LRH to ICRC. A correct VCRC is cut off. */
static enum shca_counter shca_ib_check_vcrc(struct shca_ib_link *link,
					    struct sk_buff *skb, u32 len)
{
	u8 vcrc[SHCA_IB_VCRC_BYTES];

	if (skb_copy_bits(skb, SHCA_IB_SHIM_BYTES + len, vcrc, sizeof(vcrc)) ||
	    !shca_ib_vcrc_ok(shca_ib_vcrc_skb(skb, SHCA_IB_SHIM_BYTES, len),
			     vcrc)) {
		shca_ib_arrived(link, true);
		return SHCA_CNT_RX_VCRC;
	}
	return pskb_trim(skb, SHCA_IB_SHIM_BYTES + len) ? SHCA_CNT_RX_NO_MEM :
							  SHCA_CNT_NR;
}

/*
 * Make the headers contiguous. Payload of a batch stays in its pages: what is behind its LRH may be
 * a BTH.
 */
static bool shca_ib_pull(struct sk_buff *skb, bool batch)
{
	u32 most = SHCA_IB_SHIM_BYTES + (batch ? SHCA_IB_LRH_BYTES : SHCA_IB_LOWER_MAX);

	if (!pskb_may_pull(skb, min(skb->len, most)))
		return false;
	if (!batch || skb->len < most || !shca_ib_lrh_has_grh(skb->data + SHCA_IB_SHIM_BYTES))
		return true;
	return pskb_may_pull(skb, min(skb->len, SHCA_IB_SHIM_BYTES + SHCA_IB_LOWER_MAX));
}

/*
 * @skb:	the shim and the packet, or a batch; on success, from the BTH to the ICRC
 * @unit:	bytes of a batch's packets from BTH to ICRC, which have no VCRC; or 0. Of a frame of a
 *		batch it is the result
 * @nr:		packets
 * @lane: @segs: those that have arrived with credit, if any
 */
static enum shca_counter shca_ib_rcv_data(struct shca_ib_link *link,
					  struct sk_buff *skb,
					  const struct shca_ib_shim *shim,
					  u32 *unit, u32 *nr, u8 *lane, u32 *segs)
{
	bool frame = shim->type == SHCA_IB_FRAME_BATCH;
	u8 buf[SHCA_BTH_BYTES];
	const u8 *bth;
	bool loop = skb->pkt_type == PACKET_LOOPBACK;
	struct shca_ib_batch batch;
	struct shca_ib_lower *lower = &batch.lower;
	struct shca_ib_view view;
	enum shca_counter id;
	enum shca_ib_parse parse;
	u32 bytes, avail;

	/* (nobody makes one of the other) */
	if (frame && *unit)
		return SHCA_CNT_RX_HEADER;
	/* Cut off Ethernet's padding. */
	if ((!*unit && pskb_trim(skb, SHCA_IB_SHIM_BYTES + shim->len)) ||
	    !shca_ib_pull(skb, *unit || frame))
		return SHCA_CNT_RX_NO_MEM;
	avail = min_t(u32, shim->len, skb_headlen(skb) - SHCA_IB_SHIM_BYTES);
	if (frame)
		parse = shca_ib_batch_parse(&batch, skb->data + SHCA_IB_SHIM_BYTES, avail, shim->len);
	else
		parse = shca_ib_lower_parse(lower, skb->data + SHCA_IB_SHIM_BYTES, avail, shim->len);
	if (parse)
		return shca_ib_counter(parse);
	bytes = shca_ib_lower_bytes(lower);
	if (frame) {
		*unit = batch.unit;
		*nr = batch.nr;
	} else if (*unit && lower->len != bytes + *unit) {
		return SHCA_CNT_RX_HEADER;
	}
	bytes += SHCA_IB_SHIM_BYTES;
	shca_ib_look(link, &view);
	if (!view.up ||
	    shim->session != (loop ? link->session : view.peer_session))
		return SHCA_CNT_RX_PATH;
	if (!*unit) {
		id = shca_ib_check_vcrc(link, skb, lower->len);
		if (id != SHCA_CNT_NR)
			return id;
	}
	shca_ib_arrived(link, false);
	/* Even a refused packet has used its credit. */
	if (view.credits && !loop && lower->vl < SHCA_IB_LANES) {
		*lane = lower->vl;
		*segs = *unit ? DIV_ROUND_UP(skb->len - bytes, *unit) : 1;
	}
	bth = skb_header_pointer(skb, bytes, sizeof(buf), buf);
	if (!bth)
		return SHCA_CNT_RX_SHORT;
	id = shca_ib_admit(&view, lower, shca_bth_dqpn(bth));
	if (id != SHCA_CNT_NR)
		return id;
	skb_set_network_header(skb, SHCA_IB_SHIM_BYTES);
	__skb_pull(skb, bytes);
	skb_reset_transport_header(skb);
	return SHCA_CNT_NR;
}

int shca_ib_rcv(struct sk_buff *skb, struct net_device *ndev,
		struct packet_type *ptype, struct net_device *orig)
{
	struct shca_ib_link *link = container_of(ptype, struct shca_ib_link,
						 ptype);
	struct shca_dev *dev = link->dev;
	enum shca_ib_parse parse;
	struct shca_ib_shim shim;
	enum shca_counter id;
	u32 unit, nr, segs = 0;
	u8 lane;

	if (skb->pkt_type == PACKET_OTHERHOST)
		goto out;
	skb = skb_share_check(skb, GFP_ATOMIC);
	if (!skb) {
		shca_count(dev, RX_NO_MEM);
		return NET_RX_DROP;
	}
	unit = shca_ib_batch_unit(skb);
	nr = unit ? max_t(u32, skb_shinfo(skb)->gso_segs, 1) : 1;
	id = SHCA_CNT_RX_SHORT;
	if (!pskb_may_pull(skb, SHCA_IB_SHIM_BYTES))
		goto counted;
	/* The shim of a batch of one counts a VCRC that is not there. */
	parse = shca_ib_shim_parse(&shim, skb->data, unit ? U16_MAX : skb->len);
	id = shca_ib_counter(parse);
	if (parse)
		goto counted;
	if (shim.type == SHCA_IB_FRAME_HELLO) {
		id = shca_ib_rcv_hello_frame(link, skb, &shim);
		goto counted;
	}
	if (shim.type == SHCA_IB_FRAME_CREDITS) {
		id = shca_ib_rcv_credits(link, skb, &shim);
		goto counted;
	}
	id = shca_ib_rcv_data(link, skb, &shim, &unit, &nr, &lane, &segs);
	if (id == SHCA_CNT_NR) {
		shca_rx(&shca_ib_ops, dev->snet, skb, unit ?: skb->len);
		skb = NULL;
	}
	/* The buffer is free again. */
	if (segs)
		shca_ib_flow_arrived(link, lane, shim.period, segs);
	if (!skb)
		return NET_RX_SUCCESS;
counted:
	if (id != SHCA_CNT_NR)
		this_cpu_add(dev->counters->v[id], nr);
out:
	consume_skb(skb);
	return NET_RX_SUCCESS;
}
