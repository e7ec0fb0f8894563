// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * An InfiniBand link. Two bits of the first byte choose what follows. It may be a frame,
 * which the codec builds again if it accepts it. It may be a program of hellos, times
 * and switches for one port. Or it is subnet management packets for its agent. States
 * stay such as may be.
 */
#include "../../../kernel/ib/core/ib_credit.h"
#include "../../../kernel/ib/core/ib_hello.h"
#include "../../../kernel/ib/core/ib_sma.h"
#include "fuzz.h"

/* ---- a frame ---------------------------------------------------------------- */

static void check_hello(const struct shca_ib_shim *shim, const u8 *frame)
{
	u8 built[SHCA_IB_SHIM_BYTES + SHCA_IB_HELLO_BYTES];
	struct shca_ib_hello hello;

	if (shca_ib_hello_parse(&hello, shim, frame + SHCA_IB_SHIM_BYTES))
		return;
	fuzz_check(shca_ib_hello_build(&hello, built) == sizeof(built), "length");
	fuzz_check(!memcmp(built + 4, frame + 4, 18), "hello differs");
	fuzz_check(built[22] == (frame[22] & 3), "flags differ");
	fuzz_check(built[23] == (frame[23] & 15), "lanes differ");
}

static void check_data(const u8 *pkt, u32 len)
{
	u8 built[SHCA_IB_LOWER_MAX], masked[SHCA_IB_LOWER_MAX], *head;
	struct shca_ib_lower lower;
	static struct shca_ib_vcrc tables;
	struct shca_pkt parsed = { .opcode = 0 };
	u32 avail = min_t(u32, len, SHCA_IB_LOWER_MAX), bytes;
	u8 vcrc[SHCA_IB_VCRC_BYTES];
	u16 state;

	/* exactly what may be read is there */
	head = malloc(avail ?: 1);
	memcpy(head, pkt, avail);
	if (shca_ib_lower_parse(&lower, head, avail, len)) {
		free(head);
		return;
	}
	bytes = shca_ib_lower_bytes(&lower);
	fuzz_check(bytes <= avail, "longer than what was there");
	fuzz_check(lower.len + SHCA_IB_VCRC_BYTES == len, "length");
	fuzz_check(bytes + SHCA_BTH_BYTES + SHCA_ICRC_BYTES <= lower.len, "room");
	fuzz_check(shca_ib_lower_build(&lower, built) == bytes, "bytes");
	fuzz_check(shca_ib_icrc_mask(head, masked) == bytes, "mask");
	head[1] &= 0xf3;
	head[4] &= 0x07;
	fuzz_check(!memcmp(built, head, bytes), "lower headers differ");
	free(head);
	shca_hdr_parse(&parsed, pkt + bytes,
		       min_t(u32, lower.len - bytes, SHCA_HDR_MAX),
		       lower.len - bytes);

	if (!tables.by[0][1])
		shca_ib_vcrc_init(&tables);
	state = shca_ib_vcrc(&tables, SHCA_IB_VCRC_SEED, pkt, lower.len);
	shca_ib_vcrc_put(state, vcrc);
	fuzz_check(shca_ib_vcrc_ok(state, vcrc), "vcrc");
	fuzz_check(shca_ib_vcrc(&tables, state, vcrc, 2) ==
		   shca_ib_vcrc(&tables, 0, (const u8 *)"\xff\xff", 2), "residue");
}

/* A port that hears it sends no more than the frame grants, and takes what it granted. */
static void check_credits(const struct shca_ib_shim *shim, const u8 *frame)
{
	u8 built[SHCA_IB_SHIM_BYTES + SHCA_IB_CREDIT_BYTES];
	struct shca_ib_credit_frame said;
	static struct shca_ib_vcrc tables;
	struct shca_ib_credits credits;
	u32 lane;

	if (!tables.by[0][1])
		shca_ib_vcrc_init(&tables);
	if (shca_ib_credit_parse(&said, &tables, shim, frame + SHCA_IB_SHIM_BYTES))
		return;
	fuzz_check(shca_ib_credit_build(&said, &tables, built) == sizeof(built), "length");
	fuzz_check(!memcmp(built + SHCA_IB_SHIM_BYTES + SHCA_IB_CREDIT_HEAD,
			   frame + SHCA_IB_SHIM_BYTES + SHCA_IB_CREDIT_HEAD,
			   SHCA_IB_LANES * SHCA_IB_CREDIT_LANE), "credits");
	memset(&credits, 0, sizeof(credits));
	shca_ib_credits_reset(&credits, true);
	shca_ib_credits_hear(&credits, &said);
	shca_ib_credits_reconcile(&credits);
	for (lane = 0; lane < SHCA_IB_LANES; lane++)
		fuzz_check(shca_ib_credits_room(&credits, lane) <= SHCA_IB_GRANT, "grant");
}

static void frame(const u8 *data, u32 len)
{
	struct shca_ib_shim shim;
	u8 *copy = malloc(len ?: 1);

	memcpy(copy, data, len);
	if (!shca_ib_shim_parse(&shim, copy, len)) {
		fuzz_check(shim.len <= len - SHCA_IB_SHIM_BYTES, "shim");
		if (shim.type == SHCA_IB_FRAME_HELLO)
			check_hello(&shim, copy);
		else if (shim.type == SHCA_IB_FRAME_CREDITS)
			check_credits(&shim, copy);
		else
			check_data(copy + SHCA_IB_SHIM_BYTES, shim.len);
	}
	free(copy);
}

/* ---- a port ----------------------------------------------------------------- */

static void check_port(const struct shca_ib_port *port, bool *up, u32 events)
{
	bool off = port->phys == SHCA_IB_PHYS_DISABLED || !port->carrier;

	if (events & SHCA_IB_EV_DOWN) {
		fuzz_check(*up, "went down twice");
		*up = false;
	}
	if (events & SHCA_IB_EV_UP) {
		fuzz_check(!*up, "came up twice");
		*up = true;
	}
	fuzz_check(*up == (port->phys == SHCA_IB_PHYS_LINK_UP), "no event");
	fuzz_check(!off || !shca_ib_port_has_peer(port), "a peer, and no carrier");
	fuzz_check(!*up || (shca_ib_port_has_peer(port) && port->peer.heard == port->session),
		   "up without a peer");
	fuzz_check(!shca_ib_port_has_peer(port) || port->peer.session != port->session,
		   "its own peer");
}

static void program(struct fuzz_in *in)
{
	struct shca_ib_hello hello, out;
	u8 mac[SHCA_IB_MAC_BYTES] = { 2 };
	struct shca_ib_port port;
	u64 now = in_u16(in), sent = 0;
	bool up = false, has_sent = false;
	u32 events;

	shca_ib_port_init(&port, 7, 8, 1024);
	while (in_more(in)) {
		events = 0;
		switch (in_u8(in) & 7) {
		case 0:
			events = shca_ib_port_carrier(&port, in_u8(in) & 1, now);
			break;
		case 1:
			events = shca_ib_port_disable(&port, !(in_u8(in) & 3), now);
			break;
		case 2:
			now += (u64)in_u16(in) << 14;
			break;
		case 3:
			if (shca_ib_port_deadline(&port) != ~0ull)
				now = max_t(u64, now,
					    shca_ib_port_deadline(&port));
			break;
		default:
			mac[5] = in_u8(in) & 3;
			hello = (struct shca_ib_hello){
				.session = 1 + (in_u8(in) & 7),
				.guid = in_u8(in) & 7,
				.heard = in_u8(in) & 0x10 ? 8 : in_u8(in) & 7,
				.bye = !(in_u8(in) & 0xf),
			};
			events = shca_ib_port_rx(&port, &hello, mac, now);
		}
		check_port(&port, &up, events);
		check_port(&port, &up, shca_ib_port_tick(&port, now));
		if (shca_ib_port_tx(&port, &out, now)) {
			fuzz_check(!has_sent || now - sent >= SHCA_IB_HELLO_GAP_NS,
				   "too early");
			has_sent = true;
			sent = now;
		}
		fuzz_check(shca_ib_port_deadline(&port) > now, "would spin");
	}
}

/* ---- its agent -------------------------------------------------------------- */

static void agent(struct fuzz_in *in)
{
	u8 smp[SHCA_IB_MAD_BYTES], out[SHCA_IB_MAD_BYTES];
	bool active = false, up = false, asked = false;
	struct shca_ib_sma sma;
	struct shca_ib_smp_from from = {};
	u8 trap[SHCA_IB_MAD_BYTES];
	u32 what, i;
	u64 last = 0;
	u8 how;

	shca_ib_sma_init(&sma, 5, 1 + (in_u8(in) & 3));
	sma.partitions = in_u8(in) & 63;
	sma.mkey.key = in_u8(in) & 1;
	sma.mkey.prot = in_u8(in) & 3;
	while (in_more(in)) {
		how = in_u8(in);
		if (how & 0x80) {
			up = !up;
			asked = false;
			what = shca_ib_sma_link(&sma, up ? SHCA_IB_PHYS_LINK_UP :
						SHCA_IB_PHYS_POLLING, up);
		} else {
			memset(smp, 0, sizeof(smp));
			smp[0] = how & 0x40 ? in_u8(in) : 1;
			smp[1] = how & 1 ? 0x81 : 1;
			smp[2] = 1;
			smp[3] = how & 0x20 ? in_u8(in) : how & 2 ? 2 : 1;
			smp[17] = how & 4 ? in_u8(in) : 0x15;
			smp[23] = how & 8 ? in_u8(in) : 1;
			smp[31] = sma.mkey.key ^ !!(how & 0x10);
			for (i = 64; i < 128; i++)
				smp[i] = in_u8(in);
			from.trusted = !(in_u8(in) & 7);
			from.now += (u64)in_u8(in) << (in_u8(in) & 31);
			what = shca_ib_smp(&sma, smp, out, &from);
		}
		if (shca_ib_trap_next(&sma.traps, shca_ib_sma_trap_gap(&sma),
				      from.now, trap)) {
			fuzz_check(!last || from.now - last >= SHCA_IB_TRAP_GAP_NS,
				   "flood of traps");
			last = from.now;
		}
		fuzz_check(!(what & SHCA_IB_SMA_REPLY) ||
			   (what & SHCA_IB_SMA_CONSUMED && out[3] == 0x81 &&
			    !memcmp(out + 6, smp + 6, 58)), "reply");
		if (what & SHCA_IB_SMA_ACTIVE) {
			fuzz_check(!active, "active twice");
			active = true;
		}
		if (what & SHCA_IB_SMA_INACTIVE) {
			fuzz_check(active, "was not active");
			active = false;
		}
		fuzz_check(active == (sma.state == SHCA_IB_STATE_ACTIVE), "event");
		/* The port is Down at once, and the link follows. */
		if (what & (SHCA_IB_SMA_DISABLE | SHCA_IB_SMA_POLL))
			asked = true;
		fuzz_check((up && !asked) == (sma.state >= SHCA_IB_STATE_INIT) &&
			   sma.state >= SHCA_IB_STATE_DOWN &&
			   sma.state <= SHCA_IB_STATE_ACTIVE, "state");
		fuzz_check(sma.lid < SHCA_IB_LID_MCAST && sma.lmc < 8 &&
			   sma.sm_lid < SHCA_IB_LID_MCAST && sma.sm_sl < 16 &&
			   sma.neighbor_mtu <= sma.mtu_cap, "fields");
		fuzz_check(sma.guids[0] == sma.port_guid, "own GUID");
		for (i = max_t(u32, sma.partitions, 1); i < SHCA_IB_PKEYS; i++)
			fuzz_check(!sma.pkeys[i], "P_Key");
	}
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct fuzz_in in = { data + 1, data + size };

	if (!size || size > FUZZ_WIRE_MAX)
		return 0;
	if (*data & 1)
		program(&in);
	else if (*data & 2)
		agent(&in);
	else
		frame(data + 1, size - 1);
	return 0;
}
