// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What an InfiniBand link adds to packets: ib/core/ib_wire.c, ib/core/ib_hello.c. Bound: none for the
 * headers. All lengths of the packet, and all bytes.
 */
#include "proof.h"
#include "ib/core/ib_wire.c"
#include "ib/core/ib_hello.c"

/*
 * The shim: nothing is read beyond the frame, and what is accepted is in it. Built again it
 * is the same.
 *
 * proof: shim quick
 * planted: ib/core/ib_wire.c: s/shim->len > len - SHCA_IB_SHIM_BYTES/shim->len > len/
 */
void shim(void)
{
	u32 len = any_u32();
	u8 *frame, again[SHCA_IB_SHIM_BYTES];
	struct shca_ib_shim shim;
	u32 i = any_u32();

	assume(len <= 0x20000);
	frame = any_bytes(len);
	if (shca_ib_shim_parse(&shim, frame, len) != SHCA_IB_OK)
		return;
	claim(SHCA_IB_SHIM_BYTES + shim.len <= len);
	claim(shim.session);
	shca_ib_shim_build(&shim, again);
	assume(i < SHCA_IB_SHIM_BYTES);
	claim(again[i] == frame[i]);
}

/*
 * LRH and GRH: nothing is read beyond what is there. A packet that is accepted has room for
 * BTH and ICRC. Built again it is the same, but for what is reserved.
 *
 * proof: lower quick
 * planted: ib/core/ib_wire.c: s/if (avail < bytes ||/if (avail + 1 < bytes ||/
 * planted: ib/core/ib_wire.c: s/lower->len + SHCA_IB_VCRC_BYTES != len/lower->len + SHCA_IB_VCRC_BYTES > len/
 */
void lower(void)
{
	u32 avail = any_u32(), len = any_u32(), n, i = any_u32();
	struct shca_ib_lower lower, same;
	u8 *pkt, again[SHCA_IB_LOWER_MAX];

	assume(avail <= SHCA_IB_LOWER_MAX + 8 && avail <= len);
	pkt = any_bytes(avail);
	if (shca_ib_lower_parse(&lower, pkt, avail, len) != SHCA_IB_OK)
		return;
	n = shca_ib_lower_bytes(&lower);
	claim(n <= avail);
	claim(n + SHCA_BTH_BYTES + SHCA_ICRC_BYTES + SHCA_IB_VCRC_BYTES <= len);
	claim(lower.len + SHCA_IB_VCRC_BYTES == len && !(lower.len % 4));
	claim(shca_ib_lower_build(&lower, again) == n);
	claim(shca_ib_lower_parse(&same, again, n, len) == SHCA_IB_OK);
	assume(i < n);
	if (i == 1)	/* SL, reserved, next header */
		claim((again[i] & 0xf3) == (pkt[i] & 0xf3));
	else if (i == 4)	/* reserved, length */
		claim((again[i] & 0x07) == (pkt[i] & 0x07));
	else
		claim(again[i] == pkt[i]);
}

/*
 * A packet's headers for another length are those of a packet of that length. Masks for the
 * invariant CRC read the headers, and no more.
 *
 * proof: lower_len quick
 * planted: ib/core/ib_wire.c: s/put_be16(lower + 4, all \/ 4)/put_be16(lower + 4, len \/ 4)/
 * planted: ib/core/ib_wire.c: s/memcpy(grh, lower + SHCA_IB_LRH_BYTES, SHCA_IB_GRH_BYTES)/memcpy(grh, lower + SHCA_IB_LRH_BYTES, SHCA_IB_GRH_BYTES + 1)/
 */
void lower_len(void)
{
	u32 len = any_u32(), n, i = any_u32();
	struct shca_ib_lower lower;
	u8 *pkt, other[SHCA_IB_LOWER_MAX], masked[SHCA_IB_LOWER_MAX];

	lower.has_grh = any_bool();
	n = shca_ib_lower_bytes(&lower);
	assume(lower.vl < 16 && lower.sl < 16 && lower.flow_label <= 0xfffff);
	assume(!(lower.len % 4) && lower.len >= n && lower.len < 0x2000);
	assume(!(len % 4) && len + n < 0x2000);
	pkt = any_bytes(n);
	shca_ib_lower_build(&lower, pkt);
	shca_ib_lower_set_len(pkt, len);
	lower.len = len + n;
	shca_ib_lower_build(&lower, other);
	claim(shca_ib_icrc_mask(pkt, masked) == n);
	assume(i < n);
	claim(pkt[i] == other[i]);
	/* a bit stays, or counts as one */
	claim((masked[i] & pkt[i]) == pkt[i]);
}

/*
 * A batch: nothing is read beyond what is there, and its packets fill the frame, each with room for BTH
 * and ICRC. Lengths below 1,024, in which 60 packets have room: with all, the division took minutes.
 *
 * proof: batch quick
 * planted: ib/core/ib_wire.c: s/if (first > len)/if (first > len + 4)/
 * planted: ib/core/ib_wire.c: s/batch->nr > SHCA_IB_BATCH_MOST/batch->nr > SHCA_IB_BATCH_MOST + 1/
 */
void batch(void)
{
	u32 avail = any_u32(), len = any_u16() & 0x3ff, lower;
	struct shca_ib_batch batch;

	assume(avail <= SHCA_IB_LOWER_MAX + 8 && avail <= len);
	if (shca_ib_batch_parse(&batch, any_bytes(avail), avail, len) != SHCA_IB_OK)
		return;
	lower = shca_ib_lower_bytes(&batch.lower);
	claim(lower <= avail);
	claim(batch.lower.len == lower + batch.unit && batch.lower.len <= len);
	claim(batch.nr && batch.nr <= SHCA_IB_BATCH_MOST);
	claim(lower + (batch.nr - 1) * batch.unit + batch.last == len);
	claim(batch.last <= batch.unit && batch.last >= SHCA_BTH_BYTES + SHCA_ICRC_BYTES);
	claim(!(batch.unit % 4) && !(batch.last % 4));
}

/*
 * The path MTU through a netdev is the largest that fits.
 *
 * proof: mtu quick --unwind 6
 * planted: ib/core/ib_wire.c: s/shca_ib_frame_mtu(mtu) > frame/shca_ib_frame_mtu(mtu) >= frame/
 */
void mtu(void)
{
	u32 frame = any_u32(), mtu = shca_ib_mtu(frame);

	claim(!mtu || (mtu >= SHCA_IB_MTU_MIN && mtu <= SHCA_IB_MTU_MAX && shca_ib_frame_mtu(mtu) <= frame));
	claim(mtu == SHCA_IB_MTU_MAX || shca_ib_frame_mtu(mtu ? mtu * 2 : SHCA_IB_MTU_MIN) > frame);
}

/*
 * The variant CRC reads its data, its tables, and nothing else. All lengths below 20 bytes, and
 * those of two blocks of the fold and up to 19 bytes more: others go around the same loops more
 * often. (Equations of XOR are not for CBMC: unit tests show that the value is right.)
 *
 * proof: vcrc slow --unwind 20
 * planted: ib/core/ib_wire.c: s/for (; len >= 8; len -= 8/for (; len >= 7; len -= 7/
 */
void vcrc(void)
{
	static struct shca_ib_vcrc tables;
	u32 len = any_u32();

	assume(len < 20 || (len >= 2 * VCRC_BLOCK && len < 2 * VCRC_BLOCK + 20));
	shca_ib_vcrc(&tables, any_u16(), any_bytes(len), len);
}

/*
 * A hello: nothing is read beyond what the shim says that there is, and what was parsed is
 * built and parsed to the same again.
 *
 * proof: hello quick --unwind 9
 * planted: ib/core/ib_hello.c: s/if (shim->len < SHCA_IB_HELLO_BYTES)/if (shim->len + 1 < SHCA_IB_HELLO_BYTES)/
 */
void hello(void)
{
	struct shca_ib_shim shim, shim_again;
	struct shca_ib_hello hello, same;
	u8 frame[SHCA_IB_SHIM_BYTES + SHCA_IB_HELLO_BYTES], *body;

	assume(shim.len <= 64 && shim.session);
	body = any_bytes(shim.len);
	if (shca_ib_hello_parse(&hello, &shim, body) != SHCA_IB_OK)
		return;
	claim(shca_ib_hello_build(&hello, frame) == sizeof(frame));
	claim(shca_ib_shim_parse(&shim_again, frame, sizeof(frame)) == SHCA_IB_OK);
	claim(shca_ib_hello_parse(&same, &shim_again, frame + SHCA_IB_SHIM_BYTES) == SHCA_IB_OK);
	claim(same.session == hello.session && same.guid == hello.guid);
	claim(same.heard == hello.heard && same.mtu == hello.mtu);
	claim(same.lanes == hello.lanes && same.credits == hello.credits && same.bye == hello.bye);
	claim(same.batches == hello.batches);
}

/* What holds of a port between two events. */
static bool port_holds(const struct shca_ib_port *port)
{
	if (port->phys == SHCA_IB_PHYS_DISABLED || port->phys == SHCA_IB_PHYS_POLLING)
		return true;
	return port->carrier && port->phys == (port_is_named(port) ? SHCA_IB_PHYS_LINK_UP : SHCA_IB_PHYS_TRAINING);
}

/*
 * One event of any kind, from any state of a port: the physical state follows from what is known,
 * an event tells each edge to LinkUp and from it, a bye names no peer, and hellos keep their
 * least distance. The clock is below 2^63 ns.
 *
 * proof: port_step quick --unwind 9
 * planted: ib/core/ib_hello.c: s/if (was != SHCA_IB_PHYS_LINK_UP)/if (was > SHCA_IB_PHYS_LINK_UP)/
 * planted: ib/core/ib_hello.c: s/port->due = now + SHCA_IB_HELLO_NS/port->due = now + SHCA_IB_HELLO_GAP_NS - 1/
 */
void port_step(void)
{
	struct shca_ib_port port;
	struct shca_ib_hello hello, out;
	u64 now = any_u64(), earliest;
	u32 events = 0;
	u8 mac[SHCA_IB_MAC_BYTES], was, what = any_u8();

	port.carrier = any_bool();
	hello.bye = any_bool();
	assume(port_holds(&port) && now < 1ull << 63 && port.session);
	assume(port.request <= SHCA_IB_REQUEST_DISABLE);
	assume(port.heard_at <= now && port.asked_at <= now);
	assume(port.earliest <= now + SHCA_IB_HELLO_GAP_NS && port.due >= port.earliest);
	was = port.phys;
	earliest = port.earliest;
	switch (what) {
	case 0:
		events = shca_ib_port_carrier(&port, any_bool(), now);
		break;
	case 1:
		events = shca_ib_port_disable(&port, any_bool(), now);
		break;
	case 2:
		events = shca_ib_port_ask(&port, any_bool(), now);
		break;
	case 3:
		events = shca_ib_port_rx(&port, &hello, mac, now);
		break;
	case 4:
		events = shca_ib_port_tick(&port, now);
		break;
	default:
		if (shca_ib_port_tx(&port, &out, now)) {
			claim(port.carrier && port.phys != SHCA_IB_PHYS_DISABLED && !out.bye);
			claim(!out.heard || port.phys >= SHCA_IB_PHYS_TRAINING);
		}
		break;
	}
	claim(port_holds(&port));
	claim(port.earliest == earliest || port.earliest == now + SHCA_IB_HELLO_GAP_NS);
	claim(port.due >= port.earliest);
	claim((was == SHCA_IB_PHYS_LINK_UP && port.phys != was) == (!!(events & SHCA_IB_EV_DOWN) && !(events & SHCA_IB_EV_UP)));
	claim(!(events & SHCA_IB_EV_UP) || port.phys == SHCA_IB_PHYS_LINK_UP);
	claim(port.phys != SHCA_IB_PHYS_LINK_UP || was == port.phys || events & SHCA_IB_EV_UP);
}
