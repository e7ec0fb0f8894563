// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Notices and traps of a port (IBTA 13.4.8, 13.4.9). From any state that holds, one call of any
 * kind, with packets of any bytes, leads to one that holds; zeros hold. So all sequences of
 * calls do. Kinds that differ by their number alone stand for each other.
 */
#include "proof.h"
#include "ib/core/ib_trap.c"

static bool is_of_port(u8 kind)
{
	return kind == SHCA_IB_TRAP_INTEGRITY || kind == SHCA_IB_TRAP_OVERRUN ||
	       kind == SHCA_IB_TRAP_WATCHDOG || kind == SHCA_IB_TRAP_SWITCH_PKEY;
}

static bool traps_hold(const struct shca_ib_traps *traps)
{
	return traps->nr <= SHCA_IB_NOTICES && traps->pending < 1u << SHCA_IB_TRAP_SLOTS;
}

/* The slot of a kind has that kind, the others have one of a port. */
static bool slots_hold(const struct shca_ib_traps *traps)
{
	const struct shca_ib_trap_slot *slot;
	bool holds = true;
	u32 i;

	for (i = 0; i < SHCA_IB_TRAP_SLOTS; i++) {
		slot = &traps->trap[i];
		holds = holds && (!(traps->pending & 1u << i) ||
				  ((i < SHCA_IB_TRAP_NR ? slot->kind == i : is_of_port(slot->kind)) &&
				   (is_of_port(slot->kind) || !slot->port)));
	}
	return holds;
}

static void any_traps(struct shca_ib_traps *traps)
{
	u32 i;

	for (i = 0; i < SHCA_IB_TRAP_SLOTS; i++)
		traps->trap[i].sent = any_bool();
	traps->sent = any_bool();
	traps->toggle = any_bool();
}

/*
 * A cause makes one trap of its kind at most, and whoever causes it again adds nothing. The
 * hop count of a packet, any number, bounds no copy.
 *
 * proof: trap_cause slow --unwind 66
 * planted: ib/core/ib_trap.c: s/if (traps->nr < SHCA_IB_NOTICES)/if (traps->nr <= SHCA_IB_NOTICES)/
 * planted: ib/core/ib_trap.c: s/\t30$/ 31/
 */
void trap_cause(void)
{
	struct shca_ib_bad_key bad;
	struct shca_ib_traps traps;
	enum shca_ib_trap kind;
	u64 behind;
	u32 before;
	u8 nr;
	bool more;

	any_traps(&traps);
	assume(traps_hold(&traps) && slots_hold(&traps));
	before = traps.pending;
	nr = traps.nr;
	behind = traps.trap[SHCA_IB_TRAP_MKEY + 1].tid;
	bad.gids = any_bool() ? any_bytes(32) : NULL;
	switch (any_u8()) {
	case 0:
		kind = SHCA_IB_TRAP_MKEY;
		more = shca_ib_trap_mkey(&traps, any_u16(), any_u16(), any_bytes(SHCA_IB_MAD_BYTES));
		claim(traps.trap[SHCA_IB_TRAP_MKEY + 1].tid == behind);
		break;
	case 1:
		kind = SHCA_IB_TRAP_CHANGE;
		more = shca_ib_trap_change(&traps, any_u16(), any_u32(), any_bool());
		break;
	default:
		kind = SHCA_IB_TRAP_QKEY;
		more = shca_ib_trap_key(&traps, SHCA_IB_TRAP_QKEY, any_u16(), &bad);
		break;
	}
	claim(traps_hold(&traps) && slots_hold(&traps));
	claim(traps.pending == (before | 1u << kind));
	claim(more == !(before & 1u << kind));
	claim(traps.nr == nr || traps.nr == nr + 1);
	claim(!more || !traps.trap[kind].sent);
}

/*
 * Traps keep their distance, one that leaves waits until it is repressed, and only a
 * TrapRepress of a transaction that was sent ends one. The clock is below 2^62 ns.
 *
 * proof: trap_leaves quick --unwind 66
 * planted: ib/core/ib_trap.c: s/now < shca_ib_trap_deadline(traps, gap)/now + 1 < shca_ib_trap_deadline(traps, gap)/
 * planted: ib/core/ib_trap.c: s/if (trap_waits(traps, i) && traps->trap\[i\].sent &&/if (trap_waits(traps, i) \&\&/
 */
void trap_leaves(void)
{
	u64 now = any_u64(), gap = any_u64(), sent_at, tid = any_u64();
	struct shca_ib_traps traps, was;
	u8 mad[SHCA_IB_MAD_BYTES];
	u32 slot = any_u8();

	any_traps(&traps);
	assume(traps_hold(&traps) && slot < SHCA_IB_TRAP_SLOTS);
	assume(now < 1ull << 62 && gap < 1ull << 62 && traps.sent_at <= now);
	sent_at = traps.sent ? traps.sent_at : 0;
	was = traps;
	if (shca_ib_trap_next(&traps, gap, now, mad)) {
		claim(!sent_at || (now - sent_at >= gap && now - sent_at >= SHCA_IB_TRAP_GAP_NS));
		claim(traps.sent && traps.sent_at == now && traps.pending == was.pending && traps.pending);
	} else {
		claim(traps.pending == was.pending && traps.sent_at == was.sent_at);
		claim(!traps.pending || now < shca_ib_trap_deadline(&traps, gap));
	}
	claim(traps_hold(&traps));
	was = traps;
	shca_ib_trap_repress(&traps, tid);
	claim(traps_hold(&traps) && !(traps.pending & ~was.pending));
	claim(!(was.pending & ~traps.pending & 1u << slot) || (was.trap[slot].sent && was.trap[slot].tid == tid));
}

/*
 * A manager reads and clears what is kept: the oldest, once.
 *
 * proof: notice_is_read slow --unwind 66
 * planted: ib/core/ib_trap.c: s/if (!traps->nr || !(data/if (!(data/
 */
void notice_is_read(void)
{
	struct shca_ib_traps traps;
	u8 *data = any_bytes(SHCA_IB_NOTICE_BYTES), nr;

	any_traps(&traps);
	assume(traps_hold(&traps));
	nr = traps.nr;
	if (any_bool())
		shca_ib_notice_get(&traps, data);
	shca_ib_notice_clear(&traps, data);
	claim(traps_hold(&traps) && (traps.nr == nr || (nr && traps.nr == nr - 1)));
}
