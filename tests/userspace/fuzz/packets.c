// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * One QP, whatever its owner does with it, and a peer that sends what it likes.
 * Packets are near to what the QP expects or waits for, with any field wrong, or
 * are plain bytes.
 */
#include "fuzz.h"

/* ---- packets of the peer --------------------------------------------------- */

static void fill_request(struct fuzz_end *end, struct fuzz_in *in,
			 struct shca_pkt *pkt)
{
	const struct fuzz_memory *memory = &end->memory;

	pkt->psn = in_near(in, end->resp.epsn) & SHCA_PSN_MASK;
	pkt->reth.va = memory->rem_base + in_u16(in) % (FUZZ_MEM + 2);
	pkt->reth.rkey = in_near(in, memory->rkey);
	pkt->reth.len = in_near(in, pkt->paylen);
	/* one more time to see long messages */
	if (in_u8(in) & 1)
		pkt->reth.len = end->resp_attr.mtu * (in_u8(in) & 7) +
				pkt->paylen;
	pkt->feth.type = in_u8(in);
	pkt->feth.level = in_u8(in) % 3;
	pkt->atomic.va = pkt->reth.va & ~(u64)(in_u8(in) ? 7 : 0);
	pkt->atomic.rkey = pkt->reth.rkey;
	pkt->atomic.swap_add = in_u8(in);
	pkt->deth.qkey = in_near(in, end->resp_attr.qkey);
	pkt->deth.sqpn = in_u8(in);
	pkt->imm = in_u8(in);
	pkt->inv_rkey = in_u8(in);
}

static void fill_response(struct fuzz_end *end, struct fuzz_in *in,
			  struct shca_pkt *pkt)
{
	u32 span = shca_psn_off(end->req.psn.max, end->req.psn.una);
	u8 b = in_u8(in);

	/* something that is outstanding, or near to it */
	pkt->psn = end->req.psn.una;
	if (span && b & 1)
		pkt->psn = shca_psn_add(pkt->psn, in_u16(in) % span);
	pkt->psn = in_near(in, pkt->psn) & SHCA_PSN_MASK;
	pkt->aeth.syndrome = b & 0x80 ? in_u8(in) : b & 0x40 ?
			     SHCA_AETH_NAK | (b >> 1 & 3) : b & 0x20 ?
			     SHCA_AETH_RNR | 1 : 0x1f;
	pkt->aeth.msn = in_u8(in);
	pkt->atomic_ack = in_u8(in);
}

static u32 pick_len(struct fuzz_end *end, struct fuzz_in *in)
{
	u32 mtu = end->req_attr.mtu;
	u8 b = in_u8(in);

	if (b < 0x60)
		return mtu;
	if (b < 0xa0)
		return b & 15;
	return b < 0xe0 ? mtu - 16 + (b & 31) : in_u16(in) % 4100;
}

static void rx_structured(struct fuzz_end *end, struct fuzz_in *in)
{
	struct shca_pkt pkt = { .opcode = 0 };
	struct fuzz_wire wire;
	u32 flags, head;
	u8 b;

	b = in_u8(in);
	pkt.opcode = b >= 0xf8 ? in_u8(in) : end->req_attr.transport | (b & 31);
	flags = shca_opcode_info(pkt.opcode)->flags;
	b = in_u8(in);
	pkt.ackreq = b & 1;
	pkt.se = b & 2;
	pkt.mig = true;
	pkt.pkey = 0xffff;
	pkt.dqpn = 6;
	if (flags & SHCA_OPF_PAYLOAD || b >= 0xf0)
		pkt.paylen = pick_len(end, in);
	pkt.pad = b >= 0xe0 ? b & 3 : shca_hdr_pad(pkt.paylen);
	if (flags & SHCA_OPF_RESPONSE)
		fill_response(end, in, &pkt);
	else
		fill_request(end, in, &pkt);

	wire.buf = malloc(FUZZ_WIRE_MAX + 4096);
	head = shca_hdr_build(&pkt, wire.buf);
	wire.len = head + pkt.paylen + pkt.pad + SHCA_ICRC_BYTES;
	memset(wire.buf + head, 0x33, wire.len - head);
	wire.buf = realloc(wire.buf, wire.len);
	wire.ce = b & 4;
	fuzz_end_rx(end, &wire);
	free(wire.buf);
}

static void rx_bytes(struct fuzz_end *end, struct fuzz_in *in)
{
	struct fuzz_wire wire = { .len = in_u8(in) };

	wire.len = min_t(u32, wire.len, in->end - in->p);
	wire.buf = malloc(wire.len ?: 1);
	memcpy(wire.buf, in->p, wire.len);
	in->p += wire.len;
	fuzz_end_rx(end, &wire);
	free(wire.buf);
}

/* ---- steps ------------------------------------------------------------------------- */

static void pump(struct fuzz_end *end, struct fuzz_in *in, u32 max)
{
	bool is_req = in_u8(in) & 1;
	struct fuzz_wire wire;

	while (max-- && fuzz_end_tx(end, is_req, &wire))
		if (wire.len)
			free(wire.buf);
}

/* A batch is handed out and refused by the link, from its @first packet on. */
static void refuse_batch(struct fuzz_end *end, struct fuzz_in *in)
{
	struct shca_pkt pkts[8];
	u32 i, nr = 1 + in_u8(in) % 8, first = in_u8(in) % nr;
	bool is_req = in_u8(in) & 1;

	for (i = 0; i < nr; i++)
		if (is_req ? !shca_req_next(&end->req, end->now, &pkts[i]) :
			     !shca_resp_next(&end->resp, end->now, &pkts[i]))
			break;
	if (first >= i)
		return;
	if (is_req)
		shca_req_link_full(&end->req, &pkts[first], 0);
	else
		shca_resp_link_full(&end->resp, &pkts[first]);
	fuzz_end_step(end);
}

static void pass_time(struct fuzz_end *end, struct fuzz_in *in)
{
	u64 deadline = shca_req_deadline(&end->req);
	u8 b = in_u8(in);

	if (b & 1 && deadline > end->now)
		end->now = deadline;
	else
		end->now += 1ull << (b >> 1) % 40;
	shca_req_timer(&end->req, end->now);
	fuzz_end_step(end);
}

/* To RESET and through its states again: nothing of the past may show. */
static void restart(struct fuzz_end *end)
{
	fuzz_end_fail(end);
	shca_req_reset(&end->req);
	shca_resp_reset(&end->resp);
	end->failed = false;
	fuzz_end_start(end);
}

static void change(struct fuzz_end *end, struct fuzz_in *in)
{
	u8 b = in_u8(in);

	switch (b % 7) {
	case 0:
		shca_req_fail(&end->req);
		break;
	case 1:
		shca_resp_fail(&end->resp);
		break;
	case 2:
		restart(end);
		break;
	case 3:
		end->req.draining = !end->req.draining;
		break;
	case 4:
		shca_req_stall(&end->req, end->now + (b << 10));
		break;
	case 5:
		end->memory.access ^= b >> 4;
		break;
	case 6:
		/* SQE to RTS: all was flushed */
		if (end->req.ring.head != end->req.ring.prod)
			break;
		shca_req_resume(&end->req);
		if (end->req.state == SHCA_SIDE_READY)
			end->failed = false;
		break;
	}
	fuzz_end_step(end);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct fuzz_in in = { .p = data, .end = data + size };
	static struct fuzz_end end;

	fuzz_end_init(&end, &in);
	fuzz_end_start(&end);
	while (in_more(&in)) {
		u8 b = in_u8(&in);

		switch (b & 15) {
		case 0 ... 5:
			rx_structured(&end, &in);
			break;
		case 6:
			rx_bytes(&end, &in);
			break;
		case 7 ... 8:
			fuzz_end_post(&end, &in);
			fuzz_end_step(&end);
			break;
		case 9:
			if (end.resp_attr.recvs == SHCA_RECVS_TM && b & 0x40)
				fuzz_memory_tag(&end.memory, &in);
			else
				fuzz_memory_post(&end.memory, &in);
			break;
		case 10 ... 12:
			pump(&end, &in, b >> 4);
			break;
		case 13:
			pass_time(&end, &in);
			break;
		case 14:
			refuse_batch(&end, &in);
			break;
		case 15:
			change(&end, &in);
			break;
		}
	}
	fuzz_end_exit(&end);
	return 0;
}
