// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Tag matching: core/tag_list.c. Bound: lists of 3 slots, which have each neighbour that an entry can
 * have (none, the first, the last, one in between). From any list that holds, one call of any
 * kind leads to one that holds. shca_tm_init() makes such a list. So all sequences of calls do.
 */
#include "proof.h"
#include "core/tag_list.c"

#define SLOTS	3

static struct shca_tm tm;
static struct shca_tm_entry slots[SLOTS];
/* taken, and not in a list: by shca_tm_take() or shca_tm_match() */
static u16 held;

/*
 * Each slot is in the list of tags, or among the free ones, or @held; once. The list is linked
 * both ways. Who waits is in the list.
 */
static bool tm_holds(void)
{
	u16 slot, prev = SHCA_TM_NIL;
	u32 n, seen = 0, waits = tm.waiting == SHCA_TM_NIL;

	for (slot = tm.first, n = 0; slot != SHCA_TM_NIL && n < SLOTS; slot = slots[slot].next, n++) {
		if (slot >= SLOTS || seen & 1u << slot || !slots[slot].posted || slots[slot].prev != prev)
			return false;
		seen |= 1u << slot;
		waits |= slot == tm.waiting;
		prev = slot;
	}
	if (slot != SHCA_TM_NIL || tm.last != prev || !waits)
		return false;
	for (slot = tm.free, n = 0; slot != SHCA_TM_NIL && n < SLOTS; slot = slots[slot].next, n++) {
		if (slot >= SLOTS || seen & 1u << slot || slots[slot].posted)
			return false;
		seen |= 1u << slot;
	}
	if (slot != SHCA_TM_NIL)
		return false;
	if (held != SHCA_TM_NIL) {
		if (held >= SLOTS || seen & 1u << held || slots[held].posted)
			return false;
		seen |= 1u << held;
	}
	return seen == (1u << SLOTS) - 1;
}

static void any_tm(void)
{
	u32 i;

	tm.slots = slots;
	tm.nr = SLOTS;
	tm.first = any_u16();
	tm.last = any_u16();
	tm.waiting = any_u16();
	tm.free = any_u16();
	tm.unexpected = any_u32();
	tm.handled = any_u32();
	held = any_u16();
	for (i = 0; i < SLOTS; i++) {
		slots[i].tag = any_u64();
		slots[i].mask = any_u64();
		slots[i].next = any_u16();
		slots[i].prev = any_u16();
		slots[i].uses = any_u16();
		slots[i].posted = any_bool();
	}
	assume(tm_holds());
}

/*
 * The list that is made holds.
 *
 * proof: init quick --unwind 5
 * planted: core/tag_list.c: s/for (i = nr; i; i--)/for (i = nr; i > 1; i--)/
 */
void init(void)
{
	shca_tm_init(&tm, slots, SLOTS);
	held = SHCA_TM_NIL;
	claim(tm_holds());
}

/*
 * One call, with any arguments that a process can give.
 *
 * proof: step quick --unwind 5
 * planted: core/tag_list.c: s/slot >= tm->nr ||/slot > tm->nr ||/
 * planted: core/tag_list.c: s/tm->last = e->prev;/tm->last = e->next;/
 */
void step(void)
{
	struct shca_tm_entry entry;
	u64 tag = any_u64();
	u32 handle = any_u32();

	any_tm();
	switch (any_u8()) {
	case 0:
		assume(held == SHCA_TM_NIL);
		if (shca_tm_take(&tm, &handle)) {
			held = handle;
			claim(slots[held].uses == handle >> 16);
		}
		break;
	case 1:
		assume(held != SHCA_TM_NIL);
		shca_tm_post(&tm, &entry, held);
		claim(tm.last == held);
		held = SHCA_TM_NIL;
		break;
	case 2:
		assume(held != SHCA_TM_NIL);
		shca_tm_free(&tm, held);
		held = SHCA_TM_NIL;
		break;
	case 3:
		/* of a process: any number */
		shca_tm_del(&tm, handle);
		break;
	case 4:
		assume(held == SHCA_TM_NIL);
		held = shca_tm_match(&tm, tag);
		claim(held == SHCA_TM_NIL || (tag & slots[held].mask) == slots[held].tag);
		break;
	case 5:
		shca_tm_sync(&tm, any_u32());
		claim(!shca_tm_in_sync(&tm) || tm.waiting == SHCA_TM_NIL);
		break;
	case 6:
		shca_tm_missed(&tm);
		break;
	default:
		shca_tm_undo(&tm);
		break;
	}
	claim(tm_holds());
}

/*
 * Headers at the beginning of a message, of any length: nothing is read beyond it.
 *
 * proof: headers quick --unwind 5
 * planted: core/tag_list.c: s/if (len < SHCA_TMH_BYTES + SHCA_RVH_BYTES)/if (len < SHCA_TMH_BYTES + SHCA_RVH_BYTES - 1)/
 */
void headers(void)
{
	struct shca_tm_msg msg, same;
	u32 len = any_u32();
	u8 again[SHCA_TMH_BYTES];

	assume(len <= 48);
	shca_tm_parse(any_bytes(len), len, &msg);
	shca_tmh_build(&msg.tmh, again);
	shca_tm_parse(again, sizeof(again), &same);
	claim(same.tmh.tag == msg.tmh.tag && same.tmh.app_ctx == msg.tmh.app_ctx && same.tmh.opcode == msg.tmh.opcode);
	claim(len >= SHCA_TMH_BYTES + SHCA_RVH_BYTES || !msg.rvh.len);
}
