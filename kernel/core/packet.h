/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The packet descriptor: what the link layer and the header codec know about a
 * packet, in host byte order, and where its payload is. Requester and responder
 * see nothing else of a packet. IP, UDP and Ethernet are unknown here.
 */
#ifndef SHCA_CORE_PACKET_H
#define SHCA_CORE_PACKET_H

#include "psn.h"

struct shca_send_wr;

#define SHCA_VLAN_NONE 0xffff

/**
 * struct shca_path_info - L2 and L3, filled by the link of the port
 *
 * @pkey_index: QP1: the entry that the packet's P_Key matched.
 * RoCE fills zeros, grh_present, @vlan of a datagram's destination address
 * (SHCA_VLAN_NONE: untagged), and @sl (link.h).  @ecn_ce is the congestion-experienced
 * mark of a received packet.
 */
struct shca_path_info {
	u16 slid;
	u16 dlid;
	u8 sl;
	u8 dlid_path_bits;
	u8 port;
	u16 pkey_index;
	u16 vlan;
	bool grh_present;
	bool ecn_ce;
};

/** enum shca_payload_kind - where the payload of an outgoing packet lies */
enum shca_payload_kind {
	SHCA_PAY_NONE,
	SHCA_PAY_WR,		/* the send WR's segments or inline data, at @off */
	SHCA_PAY_REMOTE,	/* a remote-readable region: @rkey, @va */
};

/**
 * struct shca_pkt - one packet, decoded
 * @path:	L2/L3
 * @opcode:	BTH opcode, transport in the upper three bits
 * @se: @mig: @ackreq: @becn: BTH bits
 * @pad:	bytes of padding after the payload, 0 to 3
 * @tver:	transport header version, 0 is valid
 * @resv8a:	BTH: the six bits beside FECN and BECN, see SHCA_MARK in transport.h
 * @pkey: @dqpn: @psn: BTH fields
 * @xrc_srqn:	XRC: number of the SRQ of a request; of a READ response that is going
 *		out, that of its request
 * @deth:	UD: Q_Key and source QP number
 * @feth:	FLUSH: SHCA_FLUSH_*, SHCA_FLUSH_LEVEL_*
 * @reth:	address, rkey and DMA length
 * @atomic:	AtomicETH
 * @aeth:	syndrome and MSN
 * @atomic_ack:	value before the operation
 * @imm:	immediate data, as on the wire (big endian, opaque)
 * @inv_rkey:	IETH
 * @paylen:	payload bytes, without padding
 * @again:	outgoing: a request packet that was sent before
 * @span:	PSNs after @psn that it stands for as well: more than 0 where both QPs
 *		are on this machine and a packet need not fit a path MTU, and of
 *		middle packets of a message, which differ in nothing else
 * @unit:	payload bytes of each of those
 * @stride:	received: and from one payload to the next
 * @out_seq:	outgoing: in which order the responder handed it out
 * @data:	received: opaque to the core, handed back to struct shca_mem_ops
 * @data_off:	received: offset of the payload in @data, for the memory ops
 * @kind: @wr: @off: @va: @rkey: outgoing: where the payload comes from; NONE
 *		for what was received from a link
 * @rest:	outgoing: bytes of the message after this packet, a hint by which
 *		a link can batch
 */
struct shca_pkt {
	struct shca_path_info path;
	u8 opcode;
	bool se;
	bool mig;
	bool ackreq;
	bool becn;
	bool again;
	u8 pad;
	u8 tver;
	u8 resv8a;
	u16 pkey;
	u32 dqpn;
	u32 psn;
	u32 span;
	u32 xrc_srqn;
	struct {
		u32 qkey;
		u32 sqpn;
	} deth;
	/* A packet has headers of one of these only: struct shca_rx_walk holds a run of them on the stack. */
	union {
		struct {
			struct {
				u64 va;
				u32 rkey;
				u32 len;
			} reth;
			struct {
				u8 type;
				u8 level;
			} feth;
		};
		struct {
			u64 va;
			u64 swap_add;
			u64 compare;
			u32 rkey;
		} atomic;
		struct {
			u64 atomic_ack;
			struct {
				u32 msn;
				u8 syndrome;
			} aeth;
		};
	};
	u32 imm;
	u32 inv_rkey;
	u32 paylen;
	u32 unit;
	u64 out_seq;

	void *data;
	u32 data_off;

	enum shca_payload_kind kind;
	const struct shca_send_wr *wr;
	u32 off;
	u32 stride;
	u64 va;
	u32 rkey;
	u32 rest;
};

/** shca_pkt_part() - number @i, from 0 on, of the packets that @pkt stands for */
static inline struct shca_pkt shca_pkt_part(const struct shca_pkt *pkt, u32 i)
{
	struct shca_pkt part = *pkt;

	part.psn = shca_psn_add(pkt->psn, i);
	part.span = 0;
	part.paylen = pkt->unit;
	part.data_off += i * pkt->stride;
	part.off += i * pkt->unit;
	part.va += i * pkt->unit;
	part.rest += (pkt->span - i) * pkt->unit;
	part.ackreq = pkt->ackreq && i == pkt->span;
	part.unit = 0;
	part.stride = 0;
	return part;
}

#endif
