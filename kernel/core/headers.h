/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Transport headers on the wire (IBTA 9.2 to 9.6). Only headers.c converts their byte order. */
#ifndef SHCA_CORE_HEADERS_H
#define SHCA_CORE_HEADERS_H

#include "packet.h"

/* Destination QP of a multicast packet (IBTA 9.2.1.2). */
#define SHCA_QPN_MULTICAST	0xffffff

#define SHCA_BTH_BYTES		12
#define SHCA_XRCETH_BYTES	4
#define SHCA_DETH_BYTES		8
#define SHCA_FETH_BYTES		4
#define SHCA_RETH_BYTES		16
#define SHCA_AETH_BYTES		4
#define SHCA_ATOMICETH_BYTES	28
#define SHCA_ATOMICACKETH_BYTES	8
#define SHCA_IMM_BYTES		4
#define SHCA_IETH_BYTES		4
#define SHCA_ICRC_BYTES		4
/* Reserved bytes that follow the BTH of a CNP (annex A17.9.3). */
#define SHCA_CNP_BYTES		16
/* Longest run of headers: BTH, XRCETH, AtomicETH (XRC). */
#define SHCA_HDR_MAX \
	(SHCA_BTH_BYTES + SHCA_XRCETH_BYTES + SHCA_ATOMICETH_BYTES)

/* Why a packet is refused before any QP is looked up. */
enum shca_parse {
	SHCA_PARSE_OK,
	SHCA_PARSE_SHORT,	/* shorter than its headers and ICRC */
	SHCA_PARSE_OPCODE,	/* reserved opcode: only the BTH was decoded */
	SHCA_PARSE_PAD,		/* pad count larger than the payload */
	SHCA_PARSE_TVER,	/* transport version not 0 (IBTA 9.2.4) */
};

/**
 * shca_hdr_parse() - decode BTH and extension headers
 * @pkt:	result; @path and @data stay, @data_off becomes the header length
 * @buf:	contiguous headers
 * @hdr_avail:	bytes readable at @buf, at most @len
 * @len:	bytes from the BTH to the ICRC, both included
 *
 * SHCA_PARSE_OPCODE: only the fields of the BTH are valid. Headers must lie wholly within
 * @hdr_avail, else SHCA_PARSE_SHORT.
 *
 * Context: any.
 * Return: SHCA_PARSE_OK, or why the packet is refused.
 */
enum shca_parse shca_hdr_parse(struct shca_pkt *pkt, const u8 *buf,
			       u32 hdr_avail, u32 len);

/**
 * shca_hdr_build() - encode BTH and extension headers
 * @pkt:	what to encode; @pad must fit @paylen
 * @buf:	at least SHCA_HDR_MAX bytes
 *
 * Context: any.
 * Return: bytes written, hdr_len of the opcode.
 */
u32 shca_hdr_build(const struct shca_pkt *pkt, u8 *buf);

/**
 * shca_hdr_hide_keys() - clear all but the upper byte of each key, for traces
 * @buf:	headers that shca_hdr_build() has written
 *
 * Keys are those of memory (RETH, AtomicETH, IETH) and the Q_Key (DETH). The upper byte usually
 * distinguishes two keys and grants nothing: at least 16 random bits of a key of memory are gone.
 *
 * Context: any.
 */
void shca_hdr_hide_keys(u8 *buf);

static inline u8 shca_hdr_pad(u32 paylen)
{
	return -paylen & 3;
}

/* Destination QP of a BTH that is not decoded. */
u32 shca_bth_dqpn(const u8 *bth);

/*
 * Does a BTH repeat @other, except for PSN and AckReq?
 * @psn:	what its PSN must be
 * @ackreq:	result
 */
bool shca_bth_follows(const u8 *bth, const u8 *other, u32 psn, bool *ackreq);

/* Has a switch of an InfiniBand network marked the packet (IBTA annex A10.2.1)? */
static inline bool shca_bth_has_fecn(const u8 *bth)
{
	return bth[4] & 0x80;
}

#endif
