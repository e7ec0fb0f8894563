/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The packet descriptor: what the link and the header codec have found in a packet, in host byte
 * order, and where its payload is. Requester and responder see nothing else of a packet, and in
 * particular no IP, UDP or Ethernet header.
 */
#ifndef SHCA_CORE_PACKET_H
#define SHCA_CORE_PACKET_H

#include "psn.h"

struct shca_send_wr;

#define SHCA_VLAN_NONE 0xffff

/**
 * struct shca_path_info - L2 and L3 fields, filled in by the link of the port
 * @slid:	source LID; RoCE: 0
 * @dlid:	destination LID; RoCE: 0
 * @sl:		service level; RoCE: kind of the headers (roce/roce.c)
 * @dlid_path_bits: low bits of @dlid; 0: that of a multicast group, or RoCE
 * @port:	number of the port
 * @pkey_index:	QP1: index of the P_Key that the packet matched
 * @vlan:	that of a datagram's destination address, or SHCA_VLAN_NONE
 * @grh_present: the packet has a GRH; always with RoCE
 * @ecn_ce:	the congestion mark (CE) of a received packet
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

/* Location of an outgoing packet's payload. */
enum shca_payload_kind {
	SHCA_PAY_NONE,
	SHCA_PAY_WR,		/* the send WR's segments or inline data, at @off */
	SHCA_PAY_REMOTE,	/* a remote-readable region: @rkey, @va */
};

/**
 * struct shca_pkt - one packet, decoded
 * @path:	L2/L3
 * @opcode:	BTH opcode, transport in the upper three bits
 * @se:		BTH: solicited event
 * @mig:	BTH: MigReq
 * @ackreq:	BTH: AckReq
 * @pad:	bytes of padding after the payload, 0 to 3
 * @tver:	transport header version, 0 is valid
 * @resv8a:	BTH: the six bits beside FECN and BECN, see SHCA_MARK in transport.h
 * @pkey:	BTH: P_Key
 * @dqpn:	BTH: destination QP
 * @psn:	BTH: PSN
 * @xrc_srqn:	XRC: SRQ number of a request; in an outgoing READ response, that
 *		of its request
 * @deth:	UD: Q_Key and source QP number
 * @feth:	FLUSH: SHCA_FLUSH_*, SHCA_FLUSH_LEVEL_*
 * @reth:	address, rkey and DMA length
 * @atomic:	AtomicETH
 * @aeth:	syndrome and MSN
 * @atomic_ack:	value before the operation
 * @imm:	immediate data, as on the wire (big endian, opaque)
 * @inv_rkey:	IETH
 * @paylen:	payload bytes, without padding
 * @again:	outgoing: a request packet that is sent again
 * @span:	further PSNs that this descriptor stands for: a run of middle packets of a message,
 *		which differ in nothing else, or a packet of the direct path that exceeds the path
 *		MTU
 * @unit:	payload bytes per PSN
 * @stride:	received: distance from one payload to the next
 * @out_seq:	outgoing: sequence number of the responder's packets
 * @data:	received: opaque to the core, handed back to struct shca_mem_ops
 * @data_off:	received: offset of the payload in @data, for the memory ops
 * @kind:	outgoing: location of the payload; NONE in a received packet
 * @wr:		outgoing: the request, or NULL; its data is the payload with SHCA_PAY_WR
 * @off:	with SHCA_PAY_WR: offset of the payload in the data
 * @va:		with SHCA_PAY_REMOTE: address of the payload
 * @rkey:	with SHCA_PAY_REMOTE: key of its region
 * @rest:	outgoing: bytes of the message after this packet, a hint for a link that batches
 */
struct shca_pkt {
	struct shca_path_info path;
	u8 opcode;
	bool se;
	bool mig;
	bool ackreq;
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
	/* A packet has only one of these. The union saves stack: struct shca_rx_walk has a run. */
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

/* Packet number @i, from 0 on, of the run @pkt. */
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
