// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The link: packets become bytes with an ICRC, and bytes that arrive become
 * packets again if the ICRC is right.  In between, the seed injects faults.
 */
#include "sim.h"

/* ---- ICRC: CRC-32 of all bytes; its coverage is the real links' affair ---- */

static u32 crc_table[256];

static u32 crc32(const u8 *p, u32 len)
{
	u32 i, k, c;

	if (!crc_table[1]) {
		for (i = 0; i < 256; i++) {
			for (c = i, k = 0; k < 8; k++)
				c = c >> 1 ^ (c & 1 ? 0xedb88320u : 0);
			crc_table[i] = c;
		}
	}
	for (c = ~0u; len; len--)
		c = crc_table[(u8)(c ^ *p++)] ^ c >> 8;
	return ~c;
}

static void icrc_write(struct sim_wire *wire)
{
	/* (a forged header can make other fields of these bytes) */
	__le32 crc = htole32(crc32(wire->buf, wire->len - SHCA_ICRC_BYTES));

	memcpy(wire->buf + wire->len - SHCA_ICRC_BYTES, &crc, sizeof(crc));
}

static bool icrc_ok(const struct sim_wire *wire)
{
	__le32 crc;

	if (wire->len < SHCA_ICRC_BYTES)
		return false;
	memcpy(&crc, wire->buf + wire->len - SHCA_ICRC_BYTES, sizeof(crc));
	return le32toh(crc) == crc32(wire->buf, wire->len - SHCA_ICRC_BYTES);
}

/* exact size, so that the address sanitizer sees the end of the packet */
static struct sim_wire *wire_new(u32 len)
{
	struct sim_wire *wire = malloc(sizeof(*wire) + len);

	memset(wire, 0, sizeof(*wire));
	wire->len = len;
	return wire;
}

struct sim_wire *sim_wire_copy(const struct sim_wire *from, u32 len)
{
	struct sim_wire *wire = wire_new(len);

	memset(wire->buf, 0, len);
	memcpy(wire->buf, from->buf, min_t(u32, len, from->len));
	wire->ecn_ce = from->ecn_ce;
	wire->op = from->op;
	wire->part = from->part;
	wire->span = from->span;
	wire->run = from->run;
	wire->unit = from->unit;
	wire->stride = from->stride;
	wire->is_sound = from->is_sound;
	wire->from = from->from;
	wire->from_qpn = from->from_qpn;
	memcpy(wire->ids, from->ids, sizeof(wire->ids));
	return wire;
}

/* ---- faults of a packet --------------------------------------------------- */

/* The requester that waits for this packet to have an effect. */
static struct sim_node *requester_of(struct sim_node *from, u8 opcode)
{
	return shca_opcode_info(opcode)->flags & SHCA_OPF_RESPONSE ?
	       from->peer : from;
}

/*
 * May one more packet be lost?  A strict world bounds the losses since the last
 * progress, so that the retry limit cannot be reached.  A loss costs at most a NAK
 * and a time-out, each counted.
 */
static bool may_lose(struct sim_node *req)
{
	if (!req->w->f.strict || !sim_is_rc(req->w))
		return true;
	if (req->req_attr.retry_cnt < 3)
		return false;
	return req->drops < (req->req_attr.retry_cnt - 1u) / 2;
}

static void note_fault(struct sim_node *req, bool is_loss)
{
	req->faults++;
	req->w->stat_faults++;
	req->w->stat_lost += is_loss;
	if (is_loss)
		req->drops++;
}

/* Flip bits, cut, or lengthen; with @fix_icrc it is a forgery. */
static struct sim_wire *wire_mangle(struct sim_world *w, struct sim_wire *wire,
				    bool fix_icrc)
{
	u32 n = prng_range(&w->rng, 1, 4);
	u32 range = wire->len, len = wire->len;
	struct sim_wire *out;
	u8 keep[3];
	u32 bit;

	if (fix_icrc && prng_chance(&w->rng, 300))
		len = prng_below(&w->rng, SIM_WIRE_MAX);
	out = sim_wire_copy(wire, len);
	out->is_sound = false;
	memcpy(keep, wire->buf + 5, sizeof(keep));
	if (prng_chance(&w->rng, 800))
		range = min_t(u32, range, SHCA_HDR_MAX);
	range = min_t(u32, range, len);
	while (n-- && range) {
		bit = prng_below(&w->rng, range * 8);
		out->buf[bit / 8] ^= 1u << bit % 8;
	}
	if (fix_icrc && len >= SHCA_BTH_BYTES + SHCA_ICRC_BYTES) {
		memcpy(out->buf + 5, keep, sizeof(keep));	/* reach the QP */
		out->op = NULL;
		icrc_write(out);
	}
	free(wire);
	return out;
}

static void link_send_late(struct sim_node *to, struct sim_wire *wire, bool fifo,
			   u64 late_ns)
{
	struct sim_world *w = to->w;
	u64 at = w->now + w->f.delay_ns + wire->len * w->f.byte_ns + late_ns;

	if (w->f.jitter_ns)
		at += prng_next(&w->rng) % w->f.jitter_ns;
	if (fifo) {
		if (at <= w->link_free[to->idx])
			at = w->link_free[to->idx] + 1;
		w->link_free[to->idx] = at;
	}
	sim_push(w, at, SIM_EV_PACKET, to->idx, 0, wire);
}

static void link_send(struct sim_node *to, struct sim_wire *wire, bool fifo)
{
	link_send_late(to, wire, fifo, 0);
}

/* A datagram's target is in its header; it may be its sender. */
static struct sim_node *target_of(struct sim_node *from,
				  const struct shca_pkt *pkt)
{
	return pkt->dqpn == from->qpn ? from : from->peer;
}

/* A rule of fault injection decides, as softhca fault would. */
static bool is_lost(struct sim_node *from, const struct shca_pkt *pkt)
{
	const struct shca_fault_at at = {
		.stage = SHCA_FAULT_TX,
		.qpn = from->qpn,
		.pkt = pkt,
	};
	struct sim_world *w = from->w;

	return w->f.loss && shca_fault_fits(&w->loss_rule, &at) &&
	       shca_fault_due(&w->loss_rule.when, &w->loss, w->now);
}

void sim_link_release(struct sim_node *from, bool passes)
{
	struct sim_wire *wire;
	struct sim_node *to;

	while ((wire = sim_rules_passed(from->w, from, passes, &to))) {
		link_send(to, wire, false);
		passes = false;
	}
}

/* What a rule from a file does to a packet. Return: false: nothing, it goes its way. */
static bool link_befall(struct sim_node *from, struct sim_node *to,
			struct sim_node *req, const struct shca_pkt *pkt,
			struct sim_wire *wire)
{
	const struct shca_fault_rule *rule;
	u64 late_ns = 0;

	rule = sim_rules_ask(from, to, pkt, &late_ns);
	if (!rule)
		return false;
	switch (rule->what) {
	case SHCA_FAULT_DUPLICATE:
		note_fault(req, false);
		link_send(to, sim_wire_copy(wire, wire->len), true);
		return false;
	case SHCA_FAULT_ECN:
		wire->ecn_ce = true;
		return false;
	case SHCA_FAULT_DELAY:
		note_fault(req, false);
		link_send_late(to, wire, false, late_ns);
		return true;
	case SHCA_FAULT_REORDER:
		if (!sim_rules_hold(from, to, wire, rule->distance))
			return false;
		note_fault(req, false);
		return true;
	case SHCA_FAULT_CORRUPT_PAYLOAD:
	case SHCA_FAULT_CORRUPT_HEADER:
	case SHCA_FAULT_CORRUPT_ICRC:
		/* Wherever the bit is: the ICRC is wrong. */
		note_fault(req, true);
		wire->is_sound = false;
		wire->buf[rule->what == SHCA_FAULT_CORRUPT_HEADER ? 0 :
			  rule->what == SHCA_FAULT_CORRUPT_ICRC ? wire->len - 1 :
			  wire->len - SHCA_ICRC_BYTES - 1] ^= 1;
		return false;
	default:
		note_fault(req, true);
		free(wire);
		return true;
	}
}

void sim_link_tx(struct sim_node *from, const struct shca_pkt *pkt,
		 const u8 *payload)
{
	struct sim_node *req = requester_of(from, pkt->opcode);
	struct sim_node *to = target_of(from, pkt);
	struct sim_world *w = from->w;
	struct prng *rng = &w->rng;
	u32 hdr = shca_opcode_info(pkt->opcode)->hdr_len;
	struct sim_wire *wire;
	bool fifo = true;

	w->stat_pkts++;
	wire = wire_new(hdr + pkt->paylen + pkt->pad + SHCA_ICRC_BYTES);
	sim_check(w, shca_hdr_build(pkt, wire->buf) == hdr, "codec: length");
	/* (where nothing is held, both are of a release that has no such mark) */
	if (shca_is_marked(pkt) && !w->f.holds)
		wire->buf[4] &= ~SHCA_MARK_OOO;
	if (pkt->paylen)
		memcpy(wire->buf + hdr, payload, pkt->paylen);
	memset(wire->buf + hdr + pkt->paylen, 0, pkt->pad);
	icrc_write(wire);
	sim_digest(wire->buf, wire->len);
	wire->ecn_ce = prng_chance(rng, w->f.ecn);
	wire->op = pkt->wr ? &from->ops[pkt->wr->wr_id] : NULL;
	wire->part = pkt->off / w->mtu;
	wire->span = pkt->span;
	wire->is_sound = true;
	wire->from = from;
	wire->from_qpn = from->qpn;
	wire->ids[0] = sim_tape_tx(from, pkt);

	if (w->rules) {
		if (!link_befall(from, to, req, pkt, wire))
			link_send(to, wire, true);
		sim_link_release(from, true);
		return;
	}
	if (prng_chance(rng, w->f.mutate)) {
		link_send(to, wire_mangle(w, sim_wire_copy(wire, wire->len),
					  true), true);
		note_fault(req, false);
	}
	if (is_lost(from, pkt) && may_lose(req)) {
		note_fault(req, true);
		sim_log(w, "node %u lost psn %06x", from->idx, pkt->psn);
		free(wire);
		return;
	}
	if (prng_chance(rng, w->f.corrupt) && may_lose(req)) {
		note_fault(req, true);
		sim_log(w, "node %u corrupted psn %06x", from->idx, pkt->psn);
		wire = wire_mangle(w, wire, false);
	}
	if (prng_chance(rng, w->f.dup)) {
		note_fault(req, false);
		link_send(to, sim_wire_copy(wire, wire->len), false);
	}
	if (prng_chance(rng, w->f.reorder)) {
		note_fault(req, false);
		fifo = false;
	}
	link_send(to, wire, fifo);
}

/* A packet from nowhere, of plausible numbers and with the right keys. */
void sim_link_forge(struct sim_node *to)
{
	struct sim_world *w = to->w;
	struct prng *rng = &w->rng;
	struct shca_pkt pkt;
	struct sim_wire *wire;
	u32 hdr, near, i, flags;
	u64 va;

	memset(&pkt, 0, sizeof(pkt));
	pkt.opcode = prng_chance(rng, 900) ?
		     w->transport | prng_below(rng, 0x20) :
		     prng_below(rng, 0x100);
	pkt.deth.qkey = to->resp_attr.qkey;
	pkt.xrc_srqn = SIM_SRQN + prng_below(rng, SIM_SRQS + 1);
	pkt.dqpn = to->qpn;
	pkt.pkey = 0xffff;
	pkt.se = prng_chance(rng, 500);
	pkt.ackreq = prng_chance(rng, 500);
	flags = shca_opcode_info(pkt.opcode)->flags;
	near = flags & SHCA_OPF_RESPONSE ?
	       to->req.psn.una : to->resp.epsn;
	pkt.psn = shca_psn_add(near, prng_range(rng, 0, 6) - 3);
	if (prng_chance(rng, 100))
		pkt.psn = prng_next(rng) & SHCA_PSN_MASK;
	/* (a packet has one of these: they share memory) */
	va = to->rem.base + prng_below(rng, to->rem.len);
	if (flags & SHCA_OPF_RETH) {
		pkt.reth.va = va;
		pkt.reth.rkey = to->rem.key;
		pkt.reth.len = prng_below(rng, prng_chance(rng, 800) ? 9000 : ~0u);
	}
	if (flags & SHCA_OPF_FETH) {
		pkt.feth.type = prng_below(rng, prng_chance(rng, 800) ? 4 : 16);
		pkt.feth.level = prng_below(rng, 3);
	}
	if (flags & SHCA_OPF_ATOMICETH) {
		pkt.atomic.va = va & (prng_chance(rng, 800) ? ~7ull : ~0ull);
		pkt.atomic.rkey = to->rem.key;
	}
	if (flags & SHCA_OPF_AETH) {
		pkt.aeth.syndrome = prng_below(rng, 256);
		pkt.aeth.msn = prng_next(rng) & SHCA_PSN_MASK;
	}
	pkt.paylen = prng_chance(rng, 600) ? w->mtu : prng_below(rng, 4096);
	if (prng_chance(rng, 200))
		pkt.paylen = 0;
	pkt.pad = prng_chance(rng, 900) ? shca_hdr_pad(pkt.paylen) :
		  prng_below(rng, 4);
	hdr = shca_opcode_info(pkt.opcode)->hdr_len;
	wire = wire_new(hdr + pkt.paylen + pkt.pad + SHCA_ICRC_BYTES);
	shca_hdr_build(&pkt, wire->buf);
	for (i = hdr; i < wire->len; i++)
		wire->buf[i] = prng_next(rng);
	if (prng_chance(rng, 300))
		wire->span = prng_below(rng, w->reach);
	icrc_write(wire);
	link_send(to, wire, true);
}

/* ---- arrival -------------------------------------------------------------- */

void sim_link_rx(struct sim_node *to, struct sim_wire *wire)
{
	enum shca_parse parse;
	struct shca_pkt pkt;
	u32 flags;

	if (!wire->run && !icrc_ok(wire))
		return;
	/* poison: a field that the codec left alone must not matter */
	memset(&pkt, 0xaa, sizeof(pkt));
	memset(&pkt.path, 0, sizeof(pkt.path));
	parse = shca_hdr_parse(&pkt, wire->buf, wire->len, wire->len);
	if (parse != SHCA_PARSE_OK && parse != SHCA_PARSE_OPCODE)
		return;
	if (pkt.dqpn != to->qpn)
		return;
	if (wire->run)
		sim_run_parsed(wire, &pkt);
	else
		pkt.span = wire->span;
	pkt.path.ecn_ce = wire->ecn_ce;
	if (sim_is_ud(to->w)) {
		pkt.path.grh_present = true;
		pkt.path.sl = wire->from_qpn & 7;
		pkt.path.slid = wire->from_qpn;
	}
	pkt.data = wire;
	sim_log_pkt(to, "rx", &pkt);
	sim_tape_rx(to, &pkt, wire->ids);
	flags = shca_opcode_info(pkt.opcode)->flags;
	if (wire->run)
		sim_run_rx(to, &pkt, flags & SHCA_OPF_RESPONSE);
	else
		sim_node_rx(to, &pkt, flags & SHCA_OPF_RESPONSE);
}
