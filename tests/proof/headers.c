// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Transport headers: core/headers.c. Bound: none. All lengths of the packet, and all bytes that
 * a header can have. Headers are at most SHCA_HDR_MAX bytes, so more readable bytes than some
 * behind them change nothing.
 */
#include "proof.h"
#include "core/headers.c"
#include "core/opcode.c"

/*
 * No byte is read that is not there. Lengths add up. What was parsed is built and parsed to
 * the same again.
 *
 * proof: hdr_parse quick --unwind 40
 * planted: core/headers.c: s/hdr_avail < info->hdr_len/hdr_avail + 1 < info->hdr_len/
 */
void hdr_parse(void)
{
	u32 avail, len, n;
	struct shca_pkt pkt, again;
	u8 out[SHCA_HDR_MAX], *buf;

	assume(avail <= SHCA_HDR_MAX + 8);
	buf = any_bytes(avail);
	if (shca_hdr_parse(&pkt, buf, avail, len) != SHCA_PARSE_OK)
		return;
	claim(pkt.data_off <= avail);
	claim(pkt.data_off + pkt.paylen + pkt.pad + SHCA_ICRC_BYTES == len);
	n = shca_hdr_build(&pkt, out);
	claim(n == pkt.data_off);
	claim(shca_hdr_parse(&again, out, n, len) == SHCA_PARSE_OK);
	claim(again.opcode == pkt.opcode && again.psn == pkt.psn);
	claim(again.dqpn == pkt.dqpn && again.pkey == pkt.pkey);
	claim(again.paylen == pkt.paylen && again.pad == pkt.pad);
	claim(again.se == pkt.se && again.mig == pkt.mig && again.ackreq == pkt.ackreq);
}

/*
 * What the requester has built, an onlooker gets without keys, and nothing beyond it is touched.
 *
 * proof: hdr_hide_keys quick --unwind 40
 * planted: core/headers.c: s/hide_key(p + 8)/hide_key(p + 9)/
 */
void hdr_hide_keys(void)
{
	u8 opcode = any_u8();
	const struct shca_opcode_info *info = shca_opcode_info(opcode);
	u8 *buf = any_bytes(info->hdr_len);
	struct shca_pkt pkt;

	assume(info->flags);
	buf[0] = opcode;
	shca_hdr_hide_keys(buf);
	ext_parse(&pkt, buf + SHCA_BTH_BYTES, info->flags);
	if (info->flags & SHCA_OPF_RETH)
		claim(!(pkt.reth.rkey & 0xffffff));
	if (info->flags & SHCA_OPF_ATOMICETH)
		claim(!(pkt.atomic.rkey & 0xffffff));
	if (info->flags & SHCA_OPF_DETH)
		claim(!(pkt.deth.qkey & 0xffffff));
	if (info->flags & SHCA_OPF_INV)
		claim(!(pkt.inv_rkey & 0xffffff));
}
