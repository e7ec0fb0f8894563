// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Reception, in softirq: check lengths, decode, find the QP, check that the packet comes from
 * its peer and is intact, hand it to requester or responder. Each refusal has a counter, and is
 * not logged.
 */
#include "rx.h"

#include <linux/netdevice.h>
#include <linux/rcupdate.h>
#include <linux/skbuff.h>
#include <linux/slab.h>
#include <rdma/ib_verbs.h>

#include "../base/counters.h"
#include "../base/dev.h"
#include "../base/netns.h"
#include "../base/trace.h"
#include "../base/trace_payload.h"
#include "../core/headers.h"
#include "../core/opcode.h"
#include "../link/icrc.h"
#include "../queue/last_error.h"
#include "../queue/group.h"
#include "../queue/qp.h"
#include "../queue/qp_table.h"
#include "../wire/fault_points.h"
#include "../wire/payload.h"
#include "path_migration.h"
#include "rq.h"
#include "rss_rx.h"
#include "sq.h"

/* Limits of what a side gets at once: descriptors, bytes, packets. */
#define SHCA_RX_RUN		8
#define SHCA_RX_RUN_BYTES	32768
#define SHCA_RX_RUN_PKTS	128
/* After this many bytes of requests the responder answers, before the skb ends. */
#define SHCA_RX_ANSWER	16384

/**
 * struct shca_rx_walk - an skb whose packets are being received
 * @link:	link that it came by
 * @snet:	where it arrived
 * @in:		the skb
 * @path:	fields of its lower headers
 * @qp:		QP of the previous packet, with a reference; or NULL
 * @path_ok:	@qp may receive it (not QP0 and QP1, which are found by the address)
 * @vlan:	UD: VLAN of the destination address
 * @joins:	the next packet may join the last descriptor of @run
 * @bth:	with @joins: a copy of the BTH of the last packet
 * @bth_len:	with @joins: length of that packet, from BTH to ICRC
 * @nr:		descriptors of checked packets, all for the same side of @qp
 * @pkts:	packets that they stand for
 * @bytes:	bytes of these packets, from BTH to ICRC
 * @run:	these descriptors, and behind them that of the packet being checked
 * @response:	that side is the send side
 * @unanswered:	bytes of requests since the responder last answered
 * @owes:	the responder has taken requests, and answers at the end
 */
struct shca_rx_walk {
	const struct shca_link_ops *link;
	struct shca_net *snet;
	struct shca_rx_skb in;
	struct shca_path_info path;
	struct shca_qp *qp;
	bool path_ok;
	u16 vlan;
	bool response;
	bool owes;
	bool joins;
	u8 bth[SHCA_BTH_BYTES];
	u32 bth_len;
	u32 unanswered;
	unsigned int nr;
	u32 pkts;
	u32 bytes;
	struct shca_pkt run[SHCA_RX_RUN];
};

/**
 * struct shca_rx_seg - one packet of an skb
 * @idx:	its number in a batch
 * @off:	offset of its BTH, from skb->data
 * @len:	length from BTH to ICRC
 * @ce:		alone: treat it as marked (CE)
 * @bth:	address of its BTH; NULL: the packet is not contiguous
 *
 * A sender on this machine may rewrite payload in pages at any time (splice()). So each byte of
 * a header is read once there, by a copy; then ICRC check and placement read the payload, each on
 * its own. A payload that changes meanwhile is one that its sender might have sent.
 */
struct shca_rx_seg {
	unsigned int idx;
	u32 off;
	u32 len;
	bool ce;
	const u8 *bth;
};

/*
 * Is the packet one that is not checked? Its side of the QP has marked its own packets likewise
 * since it was connected, so the attribute does not change under a sender that relies on it.
 */
static bool shca_rx_needs_no_icrc(const struct shca_qp *qp, const struct shca_pkt *pkt)
{
	u8 marking;

	if (likely(!shca_is_marked_no_icrc(pkt)) || !shca_qp_is_reliable(qp))
		return false;
	/* Without the side's lock: a packet that races with modify_qp may see the old one. */
	if (shca_opcode_info(pkt->opcode)->flags & SHCA_OPF_RESPONSE)
		marking = READ_ONCE(qp->sq.req.attr.marking);
	else
		marking = READ_ONCE(qp->rq.resp.attr.marking);
	return marking == SHCA_MARKING_NO_ICRC;
}

/* @pkt: NULL: one of a group */
static bool shca_rx_icrc_ok(struct shca_rx_walk *rx, const struct shca_rx_seg *seg,
			    const struct shca_pkt *pkt)
{
	if (pkt && shca_rx_needs_no_icrc(rx->qp, pkt))
		return true;
	return shca_icrc_ok(rx->link->seed_rx(&rx->in, seg->idx, seg->len),
			    rx->in.skb, seg->bth, seg->off, seg->len);
}

/* QP1 accepts each P_Key of the port (IBTA 10.9.8); QP0 has none (10.9.2). */
static bool shca_pkey_ok(const struct shca_qp *qp, struct shca_pkt *pkt)
{
	int index;

	if (unlikely(qp->type == IB_QPT_SMI))
		return true;
	if (likely(qp->type != IB_QPT_GSI))
		return shca_pkey_match(pkt->pkey, shca_qp_pkey(qp));
	index = shca_pkey_find(qp->dev, pkt->pkey);
	if (index < 0)
		return false;
	pkt->path.pkey_index = index;
	return true;
}

static void shca_rx_trace(const struct shca_rx_walk *rx,
			  unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		if (trace_shca_payload_enabled())
			shca_payload_trace(rx->qp->qpn, &rx->run[i], false);
		trace_shca_rx(rx->qp->qpn, &rx->run[i]);
	}
}

/* Hand the checked packets to their side of the QP; @last: no more follow. */
static void shca_rx_flush(struct shca_rx_walk *rx, bool last)
{
	unsigned int nr = rx->nr;

	if (!nr)
		return;
	rx->nr = 0;
	rx->joins = false;
	if (trace_shca_rx_enabled())
		shca_rx_trace(rx, nr);
	shca_count_n(rx->qp, RX_PKTS, rx->pkts);
	shca_count_n(rx->qp, RX_BYTES, rx->bytes);
	if (unlikely(shca_rx_needs_no_icrc(rx->qp, rx->run)))
		shca_count_n(rx->qp, RX_NO_ICRC, rx->pkts);
	if (rx->response) {
		shca_sq_rx(rx->qp, rx->run, nr);
	} else if (unlikely(rx->qp->rss)) {
		shca_rss_rx(rx->qp, rx->run, nr);
	} else {
		/*
		 * An answer crosses the stack as a packet. Small messages share one, which
		 * leaves after the last of them (shca_rx_turn()), or after SHCA_RX_ANSWER
		 * bytes.
		 */
		rx->unanswered += rx->bytes;
		rx->owes = !last && rx->unanswered < SHCA_RX_ANSWER;
		if (!rx->owes)
			rx->unanswered = 0;
		shca_rq_rx(rx->qp, rx->run, nr, !rx->owes);
	}
	rx->bytes = 0;
	rx->pkts = 0;
}

/* Move @pkt from the end of the run to its beginning. */
static struct shca_pkt *shca_rx_first(struct shca_rx_walk *rx,
				      struct shca_pkt *pkt)
{
	if (pkt != rx->run)
		rx->run[0] = *pkt;
	return rx->run;
}

/* Hand on what is left for the previous QP. @qp is next; its reference is taken over. */
static inline void shca_rx_turn(struct shca_rx_walk *rx, struct shca_qp *qp)
{
	shca_rx_flush(rx, true);
	if (rx->owes)
		shca_rq_rx(rx->qp, rx->run, 0, true);
	rx->owes = false;
	rx->unanswered = 0;
	shca_mem_forget(&rx->in.mr);
	if (rx->qp)
		shca_qp_put(rx->qp);
	rx->qp = qp;
	rx->path_ok = false;
}

/*
 * Is the packet from the peer of a connected QP, or to an address of the device? The address
 * vector is written under both side locks before the QP can receive. A packet that races with
 * modify_qp may be checked against the old one.
 */
static bool shca_path_ok(struct shca_rx_walk *rx, u16 *vlan)
{
	struct shca_qp *qp = rx->qp;

	if (qp->type == IB_QPT_RAW_PACKET)
		return false;	/* its frames come from verbs/flow.c */
	/* QPs of all links share their numbers. */
	if (unlikely(qp->link != rx->link))
		return false;
	if (qp->type == IB_QPT_GSI || qp->type == IB_QPT_SMI)
		return true;	/* found by the address */
	if (qp->type == IB_QPT_UD) {
		/* All packets of an skb have one address. */
		if (!rx->path_ok)
			rx->path_ok = qp->link->serves(qp->dev, rx->in.skb,
						       &rx->vlan);
		if (rx->path_ok)
			*vlan = rx->vlan;
		return rx->path_ok;
	}
	if (!rx->path_ok)
		/*
		 * A mixture of old and new vector is no peer's, so the packet is lost. The link
		 * compares values there, and follows no pointer.
		 */
		rx->path_ok = data_race(qp->link->check(qp->dev, &qp->av,
							rx->in.skb));
	return rx->path_ok;
}

/* Count and trace a packet that is refused before the transport. */
static void shca_rx_refuse(struct shca_qp *qp, const struct shca_pkt *pkt,
			   enum shca_counter id)
{
	this_cpu_inc(READ_ONCE(qp->counters)->v[id]);
	trace_shca_rx_refused(qp->qpn, pkt, id);
	shca_last_error_dropped(qp, pkt, id);
}

static void shca_rx_refuse_pkey(struct shca_qp *qp, const struct shca_pkt *pkt)
{
	shca_rx_refuse(qp, pkt, SHCA_CNT_RX_PKEY);
	if (qp->link->bad_key)
		qp->link->bad_key(qp->dev, pkt, false);
}

static bool shca_rx_is_of(const struct shca_qp *qp, const struct shca_pkt *pkt)
{
	/* Each link has a CNP of its own. */
	return pkt->opcode == (shca_link_has_sm(qp->link) ? SHCA_OPCODE_CNP_IB : SHCA_OPCODE_CNP) ||
	       (pkt->opcode & SHCA_TRANSPORT_MASK) == shca_qp_transport(qp->type);
}

/*
 * The packet came by another path than the primary one. If it is valid in every other respect,
 * the peer may have migrated, and the QP follows. Return: whether the QP has migrated.
 */
static bool shca_rx_migrates(struct shca_rx_walk *rx,
			     const struct shca_rx_seg *seg,
			     const struct shca_pkt *pkt)
{
	struct shca_qp *qp = rx->qp;

	return qp->link == rx->link && pkt->mig && shca_rx_is_of(qp, pkt) &&
	       shca_rx_icrc_ok(rx, seg, pkt) &&
	       shca_apm_follows(qp, rx->in.skb, pkt);
}

/* Middle packets differ in their PSN only: each is checked, and they share a descriptor. */
static void shca_rx_may_be_joined(struct shca_rx_walk *rx,
				  const struct shca_rx_seg *seg,
				  const u8 *bth, struct shca_pkt *pkt)
{
	const struct shca_opcode_info *info = shca_opcode_info(pkt->opcode);

	if (!(info->flags & SHCA_OPF_PAYLOAD) ||
	    info->flags & (SHCA_OPF_START | SHCA_OPF_END) ||
	    info->hdr_len != SHCA_BTH_BYTES || !pkt->paylen || pkt->pad ||
	    pkt->ackreq || !seg->bth || pkt->path.ecn_ce)
		return;
	pkt->unit = pkt->paylen;
	pkt->stride = seg->len;
	memcpy(rx->bth, bth, sizeof(rx->bth));
	rx->bth_len = seg->len;
	rx->joins = true;
}

/*
 * Copy @len bytes of a header, at most SHCA_HDR_MAX. The barrier keeps the compiler from
 * reading the original again instead of the copy.
 */
static inline void shca_rx_copy(u8 *to, const u8 *from, u32 len)
{
	if (likely(len == SHCA_HDR_MAX))
		memcpy(to, from, SHCA_HDR_MAX);	/* constant length: inline */
	else
		memcpy(to, from, len);
	barrier_data(to);
}

/* Return: false: the packet does not follow the last one, or is not intact. */
static bool shca_rx_joins(struct shca_rx_walk *rx, const struct shca_rx_seg *seg)
{
	u8 bth[SHCA_BTH_BYTES] __uninitialized;
	struct shca_pkt *pkt;
	bool ackreq;

	if (!rx->joins || !seg->bth || seg->len != rx->bth_len)
		return false;
	pkt = &rx->run[rx->nr - 1];
	shca_rx_copy(bth, seg->bth, sizeof(bth));
	if (!shca_bth_follows(bth, rx->bth,
			      shca_psn_add(pkt->psn, pkt->span + 1), &ackreq) ||
	    !shca_rx_icrc_ok(rx, seg, pkt))
		return false;
	pkt->span++;
	pkt->paylen += pkt->unit;
	pkt->ackreq = ackreq;
	if (ackreq)
		rx->joins = false;
	rx->pkts++;
	rx->bytes += seg->len;
	if (rx->bytes >= SHCA_RX_RUN_BYTES || rx->pkts >= SHCA_RX_RUN_PKTS)
		shca_rx_flush(rx, false);
	return true;
}

/* @hdr: its headers, in memory that nobody else writes */
static void shca_rx_deliver(struct shca_rx_walk *rx, const struct shca_rx_seg *seg,
			    const u8 *hdr, struct shca_pkt *pkt)
{
	const struct shca_opcode_info *info = shca_opcode_info(pkt->opcode);
	bool response = info->flags & SHCA_OPF_RESPONSE ||
			shca_opcode_is_cnp(pkt->opcode);
	struct shca_qp *qp = rx->qp;

	if (!shca_path_ok(rx, &pkt->path.vlan) &&
	    (!shca_apm_is_on(qp) || !shca_rx_migrates(rx, seg, pkt))) {
		shca_rx_refuse(qp, pkt, SHCA_CNT_RX_PATH);
		return;
	}
	if (!shca_rx_is_of(qp, pkt)) {
		shca_rx_refuse(qp, pkt, SHCA_CNT_RX_TRANSPORT);
		return;
	}
	if (!shca_rx_icrc_ok(rx, seg, pkt)) {
		shca_rx_refuse(qp, pkt, SHCA_CNT_RX_ICRC);
		return;
	}
	if (!shca_pkey_ok(qp, pkt)) {
		shca_rx_refuse_pkey(qp, pkt);
		return;
	}
	if (unlikely(shca_apm_is_on(qp)) && !pkt->mig)
		shca_apm_agreed(qp);
	if (rx->nr && rx->response != response) {
		shca_rx_flush(rx, false);
		pkt = shca_rx_first(rx, pkt);
	}
	/* Reserved opcodes are requests too: they draw a NAK. */
	rx->response = response;
	rx->pkts++;
	rx->bytes += seg->len;
	if (++rx->nr == SHCA_RX_RUN || rx->bytes >= SHCA_RX_RUN_BYTES)
		shca_rx_flush(rx, false);
	else
		shca_rx_may_be_joined(rx, seg, hdr, pkt);
}

/* ---- multicast ---------------------------------------------------------- */

/* A packet for all QPs of a group. */
struct shca_rx_copies {
	struct shca_rx_walk *rx;
	struct shca_pkt *pkt;
	u32 len;
};

/* A member that refuses the packet does not keep the others from it. */
static void shca_rx_to_member(struct shca_qp *qp, u16 vlan, void *arg)
{
	struct shca_rx_copies *copies = arg;
	struct shca_pkt *pkt = copies->pkt;

	if (!shca_pkey_ok(qp, pkt)) {
		shca_rx_refuse_pkey(qp, pkt);
		return;
	}
	pkt->path.vlan = vlan;
	if (trace_shca_payload_enabled())
		shca_payload_trace(qp->qpn, pkt, false);
	trace_shca_rx(qp->qpn, pkt);
	shca_count(qp, RX_PKTS);
	shca_count_n(qp, RX_BYTES, copies->len);
	if (qp->rss)
		shca_rss_rx(qp, pkt, 1);
	else
		shca_rq_rx(qp, pkt, 1, true);
	/* The next member may have another protection domain. */
	shca_mem_forget(&copies->rx->in.mr);
}

/*
 * Deliver to the members of a group. Only an intact datagram causes the look-up.
 * Return: whether the group has members.
 */
static bool shca_rx_group(struct shca_rx_walk *rx, const struct shca_rx_seg *seg,
			  struct shca_pkt *pkt)
{
	struct shca_rx_copies copies = { .rx = rx, .pkt = pkt, .len = seg->len };
	const struct shca_opcode_info *info = shca_opcode_info(pkt->opcode);

	if (!(info->flags & SHCA_OPF_DETH) ||
	    !shca_rx_icrc_ok(rx, seg, NULL))
		return false;
	return shca_group_walk(rx->link, rx->snet, rx->in.skb,
			       shca_rx_to_member, &copies);
}

void shca_rx_stray(const struct shca_link_ops *link, struct shca_net *snet,
		   const struct sk_buff *skb, enum shca_counter id)
{
	struct shca_qp *qp;
	u16 vlan;

	qp = shca_net_find_mgmt(link, snet, 1, skb, &vlan);
	if (!qp)
		return;
	this_cpu_inc(qp->dev->counters->v[id]);
	shca_qp_put(qp);
}

/* Packets of a batch are for one QP, as a rule, so the look-up is skipped. */
static bool shca_rx_same_qp(const struct shca_rx_walk *rx,
			    const struct shca_pkt *pkt)
{
	return rx->qp && rx->qp->qpn == pkt->dqpn && pkt->dqpn > 1;
}

/*
 * An InfiniBand port has checked the first packet of a batch, and with it the headers of all. No
 * honest peer puts one behind it to which other checks apply (shca_ib_admit()).
 */
static bool shca_rx_is_hidden(const struct shca_rx_walk *rx, const struct shca_pkt *pkt)
{
	return shca_link_has_sm(rx->link) && (!pkt->dqpn || pkt->dqpn == SHCA_QPN_MULTICAST);
}

static struct shca_qp *shca_rx_find(struct shca_rx_walk *rx,
				    struct shca_pkt *pkt)
{
	if (pkt->dqpn == SHCA_QPN_MULTICAST)
		return NULL;
	if (pkt->dqpn <= 1)
		return shca_net_find_mgmt(rx->link, rx->snet, pkt->dqpn,
					  rx->in.skb, &pkt->path.vlan);
	return shca_net_find_qp(rx->snet, pkt->dqpn);
}

static void shca_rx_one(struct shca_rx_walk *rx, struct shca_rx_seg *seg)
{
	u32 avail = min_t(u32, seg->len, SHCA_HDR_MAX);
	u8 buf[SHCA_HDR_MAX] __uninitialized;
	enum shca_parse parse;
	struct shca_pkt *pkt;
	const u8 *hdr;

	seg->bth = shca_rx_flat(&rx->in, seg->off, seg->len);
	if (shca_rx_joins(rx, seg))
		return;
	rx->joins = false;
	pkt = &rx->run[rx->nr];
	/* Nobody else writes to the linear part. */
	hdr = seg->bth;
	if (!hdr) {
		hdr = skb_header_pointer(rx->in.skb, seg->off, avail, buf);
	} else if (seg->off >= skb_headlen(rx->in.skb)) {
		shca_rx_copy(buf, hdr, avail);
		hdr = buf;
	}
	if (!hdr || seg->len < SHCA_BTH_BYTES + SHCA_ICRC_BYTES) {
		shca_rx_stray(rx->link, rx->snet, rx->in.skb,
			      SHCA_CNT_RX_SHORT);
		return;
	}
	*pkt = (struct shca_pkt){ .path = rx->path };
	parse = shca_hdr_parse(pkt, hdr, avail, seg->len);
	if (unlikely(!shca_rx_same_qp(rx, pkt))) {
		if (seg->idx && shca_rx_is_hidden(rx, pkt)) {
			shca_rx_stray(rx->link, rx->snet, rx->in.skb, SHCA_CNT_RX_HEADER);
			return;
		}
		shca_rx_turn(rx, shca_rx_find(rx, pkt));
		pkt = shca_rx_first(rx, pkt);
	}
	if (pkt->dqpn == SHCA_QPN_MULTICAST && parse == SHCA_PARSE_OK) {
		pkt->data = &rx->in;
		pkt->data_off += seg->off;
		if (shca_rx_group(rx, seg, pkt))
			return;
	}
	if (!rx->qp) {
		shca_rx_stray(rx->link, rx->snet, rx->in.skb,
			      SHCA_CNT_RX_NO_QP);
		return;
	}
	if (likely(parse == SHCA_PARSE_OK || parse == SHCA_PARSE_OPCODE)) {
		/* A switch of InfiniBand marks the packet itself. */
		if (shca_link_has_sm(rx->link))
			pkt->path.ecn_ce |= shca_bth_has_fecn(hdr);
		if (pkt->path.ecn_ce)
			shca_count_ce(rx->qp);
		pkt->data = &rx->in;
		pkt->data_off += seg->off;
		shca_rx_deliver(rx, seg, hdr, pkt);
	} else if (parse == SHCA_PARSE_SHORT) {
		shca_count(rx->qp, RX_SHORT);
	} else {
		shca_count(rx->qp, RX_HEADER);
	}
}

static bool shca_rx_ask_faults(struct shca_rx_walk *rx,
			       const struct shca_rx_seg *seg);

/* Receive all packets of @skb, or only @alone, past the rules of faults; frees @skb. */
static void shca_rx_packets(const struct shca_link_ops *link,
			    struct shca_net *snet, struct sk_buff *skb,
			    u32 seg_len, const struct shca_rx_seg *alone)
{
	struct shca_rx_walk rx __uninitialized;
	struct shca_rx_seg seg = {};
	u32 end = skb->len;

	rx.link = link;
	rx.snet = snet;
	rx.in = (struct shca_rx_skb){ .skb = skb };
	link->path(skb, &rx.path);
	rx.path_ok = false;
	rx.response = false;
	rx.owes = false;
	rx.unanswered = 0;
	rx.joins = false;
	rx.nr = 0;
	rx.pkts = 0;
	rx.bytes = 0;
	rx.qp = NULL;
	if (unlikely(alone)) {
		seg = *alone;
		end = seg.off + seg.len;
		rx.path.ecn_ce |= seg.ce;
	}
	do {	/* at least once, to count an empty one */
		seg.len = min(seg_len, end - seg.off);
		if (!shca_fault_is_any() || alone ||
		    !shca_rx_ask_faults(&rx, &seg))
			shca_rx_one(&rx, &seg);
		seg.off += seg_len;
		seg.idx++;
	} while (seg.off < end);
	shca_rx_turn(&rx, NULL);
	consume_skb(skb);
}

/* ---- faults ------------------------------------------------------------------ */

/* Receive one packet of @skb now; frees @skb. */
static void shca_rx_pass(struct shca_rx_walk *rx, struct sk_buff *skb,
			 const struct shca_rx_seg *seg, bool ce)
{
	struct shca_rx_seg alone = *seg;

	alone.ce = ce;
	shca_rx_packets(rx->link, rx->snet, skb, seg->len, &alone);
}

/* Receive a packet that has waited; frees @held. Context: softirq or bottom halves off. */
static void shca_rx_again(struct shca_held *held)
{
	const struct shca_rx_seg alone = {
		.idx = held->idx,
		.off = held->off,
		.len = held->len,
	};

	if (held->dev->link->keep)
		held->dev->link->keep(held->dev, held->skb, false);
	/* The address of a datagram may be one of this netdev only. */
	rcu_read_lock();
	held->skb->dev = dev_get_by_index_rcu(held->dev->snet->net,
					      held->ifindex);
	shca_rx_packets(held->dev->link, held->dev->snet, held->skb, held->len,
			&alone);
	rcu_read_unlock();
	kfree(held);
}

/* Delay a packet: a clone keeps its batch. */
static void shca_rx_hold(struct shca_rx_walk *rx, const struct shca_rx_seg *seg,
			 struct shca_qp *qp, const struct shca_fault_hit *hit)
{
	struct shca_held *held = kmalloc(sizeof(*held), GFP_ATOMIC | __GFP_NOWARN);
	struct sk_buff *skb = skb_clone(rx->in.skb, GFP_ATOMIC | __GFP_NOWARN);

	if (!held || !skb ||
	    (qp->link->keep && !qp->link->keep(qp->dev, skb, true))) {
		kfree(held);
		kfree_skb(skb);
		return;
	}
	/* The packet may outlive its netdev and its route. */
	skb_dst_drop(skb);
	nf_reset_ct(skb);
	held->ifindex = skb->dev ? skb->dev->ifindex : 0;
	skb->dev = NULL;
	held->skb = skb;
	held->dev = qp->dev;
	held->qpn = qp->qpn;
	held->go_on = shca_rx_again;
	held->idx = seg->idx;
	held->off = seg->off;
	held->len = seg->len;
	shca_fault_hold(held, hit);
}

static void shca_rx_inject(struct shca_rx_walk *rx, const struct shca_rx_seg *seg,
			   struct shca_qp *qp, const struct shca_pkt *pkt,
			   const struct shca_fault_hit *hit)
{
	struct sk_buff *skb = rx->in.skb;

	switch (hit->rule.what) {
	case SHCA_FAULT_DROP:
		return;
	case SHCA_FAULT_DELAY:
	case SHCA_FAULT_REORDER:
		shca_rx_hold(rx, seg, qp, hit);
		return;
	case SHCA_FAULT_DUPLICATE:
		shca_rx_pass(rx, skb_get(skb), seg, false);
		shca_rx_pass(rx, skb_get(skb), seg, false);
		return;
	case SHCA_FAULT_ECN:
		shca_rx_pass(rx, skb_get(skb), seg, true);
		return;
	default:
		/* Copy, as others may read these bytes: a capture, or their sender. */
		skb = skb_copy(skb, GFP_ATOMIC | __GFP_NOWARN);
		if (!skb)
			return;
		shca_fault_damage(skb, seg->off,
				  shca_opcode_info(pkt->opcode)->hdr_len,
				  seg->len, hit);
		shca_rx_pass(rx, skb, seg, false);
	}
}

/*
 * Ask the rules about a packet. A device with rules about received packets takes them one by
 * one. Not inlined: shca_rx_packets() would have room for this packet beside its own ones,
 * twice where a rule lets it pass through shca_rx_pass().
 * Return: whether the packet was dealt with.
 */
static noinline_for_stack bool shca_rx_ask_faults(struct shca_rx_walk *rx,
						  const struct shca_rx_seg *seg)
{
	u32 avail = min_t(u32, seg->len, SHCA_HDR_MAX);
	struct shca_pkt pkt = {};
	struct shca_fault_hit hit;
	struct shca_qp *qp = NULL;
	u8 buf[SHCA_HDR_MAX];
	bool passes = true;

	if (seg->len >= SHCA_BTH_BYTES + SHCA_ICRC_BYTES &&
	    !skb_copy_bits(rx->in.skb, seg->off, buf, avail) &&
	    shca_hdr_parse(&pkt, buf, avail, seg->len) == SHCA_PARSE_OK)
		qp = shca_rx_find(rx, &pkt);
	if (!qp)
		return false;
	/* shca_path_ok() refuses packets that came by another link. */
	if (qp->link != rx->link || !shca_fault_is_on(qp->dev, BIT(SHCA_FAULT_RX))) {
		shca_qp_put(qp);
		return false;
	}
	/* Earlier packets come first. */
	shca_rx_turn(rx, NULL);
	rx->joins = false;
	if (shca_fault_packet(qp, SHCA_FAULT_RX, &pkt, &hit)) {
		shca_rx_inject(rx, seg, qp, &pkt, &hit);
		passes = shca_fault_passes(&hit);
	} else {
		shca_rx_pass(rx, skb_get(rx->in.skb), seg, false);
	}
	if (passes)
		shca_fault_passed(qp->dev, qp->qpn, shca_rx_again);
	shca_qp_put(qp);
	return true;
}

void shca_rx(const struct shca_link_ops *link, struct shca_net *snet,
	     struct sk_buff *skb, u32 seg_len)
{
	shca_rx_packets(link, snet, skb, seg_len, NULL);
}
