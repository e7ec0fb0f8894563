// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Codec of the transport headers: bytes on the wire to struct shca_pkt and back. The links call it,
 * because they know where the BTH begins. It does not interpret a packet.
 */
#include "be.h"
#include "headers.h"
#include "opcode.h"

static_assert(SHCA_BTH_BYTES + SHCA_CNP_BYTES <= SHCA_HDR_MAX);
static_assert(SHCA_BTH_BYTES + SHCA_XRCETH_BYTES + SHCA_RETH_BYTES +
	      SHCA_IMM_BYTES <= SHCA_HDR_MAX);

/*
 * BTH (IBTA 9.2): opcode; SE, M, pad count, version; P_Key; FECN, BECN
 * (RoCEv2, annex A17.9), reserved; destination QP; AckReq, reserved; PSN.
 */
#define BTH_SE		0x80
#define BTH_MIG		0x40
#define BTH_PAD_SHIFT	4
#define BTH_PAD_MASK	3
#define BTH_TVER_MASK	0x0f
#define BTH_BECN	0x40
#define BTH_RESV8A	0x3f
#define BTH_ACKREQ	0x80

u32 shca_bth_dqpn(const u8 *bth)
{
	return get_be24(bth + 5);
}

bool shca_bth_follows(const u8 *bth, const u8 *other, u32 psn, bool *ackreq)
{
	*ackreq = bth[8] & BTH_ACKREQ;
	return !memcmp(bth, other, 8) && get_be24(bth + 9) == psn;
}

static void bth_parse(struct shca_pkt *pkt, const u8 *p)
{
	pkt->opcode = p[0];
	pkt->se = p[1] & BTH_SE;
	pkt->mig = p[1] & BTH_MIG;
	pkt->pad = p[1] >> BTH_PAD_SHIFT & BTH_PAD_MASK;
	pkt->tver = p[1] & BTH_TVER_MASK;
	pkt->pkey = get_be16(p + 2);
	pkt->resv8a = p[4] & BTH_RESV8A;
	pkt->dqpn = shca_bth_dqpn(p);
	pkt->ackreq = p[8] & BTH_ACKREQ;
	pkt->psn = get_be24(p + 9);
}

static void bth_build(const struct shca_pkt *pkt, u8 *p)
{
	p[0] = pkt->opcode;
	p[1] = (pkt->se ? BTH_SE : 0) | (pkt->mig ? BTH_MIG : 0) |
	       (pkt->pad & BTH_PAD_MASK) << BTH_PAD_SHIFT |
	       (pkt->tver & BTH_TVER_MASK);
	put_be16(p + 2, pkt->pkey);
	/* Only CNPs have BECN, and receivers ignore it (RoCEv2 annex A17.9.3). */
	p[4] = (shca_opcode_is_cnp(pkt->opcode) ? BTH_BECN : 0) |
	       (pkt->resv8a & BTH_RESV8A);
	put_be24(p + 5, pkt->dqpn);
	p[8] = pkt->ackreq ? BTH_ACKREQ : 0;
	put_be24(p + 9, pkt->psn);
}

/* FETH (IBTA A19.4.1): reserved, selectivity level, placement type; reserved bits are ignored. */
#define FETH_TYPE_MASK	0x03
#define FETH_LEVEL_SHIFT	4
#define FETH_LEVEL_MASK	3

/* Extension headers, in the order in which the specification puts them. */
static void ext_parse(struct shca_pkt *pkt, const u8 *p, u32 flags)
{
	if (flags & SHCA_OPF_XRCETH) {
		pkt->xrc_srqn = get_be24(p + 1);
		p += SHCA_XRCETH_BYTES;
	}
	if (flags & SHCA_OPF_DETH) {
		pkt->deth.qkey = get_be32(p);
		pkt->deth.sqpn = get_be24(p + 5);
		p += SHCA_DETH_BYTES;
	}
	if (flags & SHCA_OPF_FETH) {
		pkt->feth.type = p[3] & FETH_TYPE_MASK;
		pkt->feth.level = p[3] >> FETH_LEVEL_SHIFT & FETH_LEVEL_MASK;
		p += SHCA_FETH_BYTES;
	}
	if (flags & SHCA_OPF_RETH) {
		pkt->reth.va = get_be64(p);
		pkt->reth.rkey = get_be32(p + 8);
		pkt->reth.len = get_be32(p + 12);
		p += SHCA_RETH_BYTES;
	}
	if (flags & SHCA_OPF_ATOMICETH) {
		pkt->atomic.va = get_be64(p);
		pkt->atomic.rkey = get_be32(p + 8);
		pkt->atomic.swap_add = get_be64(p + 12);
		pkt->atomic.compare = get_be64(p + 20);
		p += SHCA_ATOMICETH_BYTES;
	}
	if (flags & SHCA_OPF_AETH) {
		pkt->aeth.syndrome = p[0];
		pkt->aeth.msn = get_be24(p + 1);
		p += SHCA_AETH_BYTES;
	}
	if (flags & SHCA_OPF_ATOMICACKETH) {
		pkt->atomic_ack = get_be64(p);
		p += SHCA_ATOMICACKETH_BYTES;
	}
	if (flags & SHCA_OPF_IMM)
		memcpy(&pkt->imm, p, SHCA_IMM_BYTES);
	if (flags & SHCA_OPF_INV)
		pkt->inv_rkey = get_be32(p);
}

static void ext_build(const struct shca_pkt *pkt, u8 *p, u32 flags)
{
	if (flags & SHCA_OPF_XRCETH) {
		p[0] = 0;
		put_be24(p + 1, pkt->xrc_srqn);
		p += SHCA_XRCETH_BYTES;
	}
	if (flags & SHCA_OPF_DETH) {
		put_be32(p, pkt->deth.qkey);
		p[4] = 0;
		put_be24(p + 5, pkt->deth.sqpn);
		p += SHCA_DETH_BYTES;
	}
	if (flags & SHCA_OPF_FETH) {
		put_be32(p, pkt->feth.level << FETH_LEVEL_SHIFT |
			    (pkt->feth.type & FETH_TYPE_MASK));
		p += SHCA_FETH_BYTES;
	}
	if (flags & SHCA_OPF_RETH) {
		put_be64(p, pkt->reth.va);
		put_be32(p + 8, pkt->reth.rkey);
		put_be32(p + 12, pkt->reth.len);
		p += SHCA_RETH_BYTES;
	}
	if (flags & SHCA_OPF_ATOMICETH) {
		put_be64(p, pkt->atomic.va);
		put_be32(p + 8, pkt->atomic.rkey);
		put_be64(p + 12, pkt->atomic.swap_add);
		put_be64(p + 20, pkt->atomic.compare);
		p += SHCA_ATOMICETH_BYTES;
	}
	if (flags & SHCA_OPF_AETH) {
		p[0] = pkt->aeth.syndrome;
		put_be24(p + 1, pkt->aeth.msn);
		p += SHCA_AETH_BYTES;
	}
	if (flags & SHCA_OPF_ATOMICACKETH) {
		put_be64(p, pkt->atomic_ack);
		p += SHCA_ATOMICACKETH_BYTES;
	}
	if (flags & SHCA_OPF_CNP)
		memset(p, 0, SHCA_CNP_BYTES);
	if (flags & SHCA_OPF_IMM)
		memcpy(p, &pkt->imm, SHCA_IMM_BYTES);
	if (flags & SHCA_OPF_INV)
		put_be32(p, pkt->inv_rkey);
}

enum shca_parse shca_hdr_parse(struct shca_pkt *pkt, const u8 *buf,
			       u32 hdr_avail, u32 len)
{
	const struct shca_opcode_info *info;
	u32 room;

	if (hdr_avail < SHCA_BTH_BYTES ||
	    len < SHCA_BTH_BYTES + SHCA_ICRC_BYTES)
		return SHCA_PARSE_SHORT;

	/* A packet from a link is one packet, and its payload is in @data. */
	pkt->span = 0;
	pkt->unit = 0;
	pkt->stride = 0;
	pkt->kind = SHCA_PAY_NONE;
	bth_parse(pkt, buf);
	if (pkt->tver)
		return SHCA_PARSE_TVER;
	info = shca_opcode_info(pkt->opcode);
	if (!info->flags)
		return SHCA_PARSE_OPCODE;

	if (hdr_avail < info->hdr_len ||
	    len - SHCA_ICRC_BYTES < info->hdr_len)
		return SHCA_PARSE_SHORT;
	room = len - SHCA_ICRC_BYTES - info->hdr_len;
	if (pkt->pad > room)
		return SHCA_PARSE_PAD;

	ext_parse(pkt, buf + SHCA_BTH_BYTES, info->flags);
	pkt->paylen = room - pkt->pad;
	pkt->data_off = info->hdr_len;
	return SHCA_PARSE_OK;
}

u32 shca_hdr_build(const struct shca_pkt *pkt, u8 *buf)
{
	const struct shca_opcode_info *info = shca_opcode_info(pkt->opcode);

	bth_build(pkt, buf);
	ext_build(pkt, buf + SHCA_BTH_BYTES, info->flags);
	return info->hdr_len;
}

static void hide_key(u8 *p)
{
	p[1] = 0;
	p[2] = 0;
	p[3] = 0;
}

void shca_hdr_hide_keys(u8 *buf)
{
	u32 flags = shca_opcode_info(buf[0])->flags;
	u8 *p = buf + SHCA_BTH_BYTES;

	if (flags & SHCA_OPF_XRCETH)
		p += SHCA_XRCETH_BYTES;
	if (flags & SHCA_OPF_FETH)
		p += SHCA_FETH_BYTES;
	/* A packet has at most one of RETH, AtomicETH, DETH and IETH. */
	if (flags & (SHCA_OPF_RETH | SHCA_OPF_ATOMICETH))
		hide_key(p + 8);
	if (flags & (SHCA_OPF_DETH | SHCA_OPF_INV))
		hide_key(p);
}
