// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Tag matching: see tag_list.h. */
#include "tag_list.h"

/* ---- headers ------------------------------------------------------------ */

static u32 tm_get32(const u8 *p)
{
	return (u32)p[0] << 24 | p[1] << 16 | p[2] << 8 | p[3];
}

static u64 tm_get64(const u8 *p)
{
	return (u64)tm_get32(p) << 32 | tm_get32(p + 4);
}

static void tm_put32(u8 *p, u32 v)
{
	p[0] = v >> 24;
	p[1] = v >> 16;
	p[2] = v >> 8;
	p[3] = v;
}

void shca_tm_parse(const u8 *p, u32 len, struct shca_tm_msg *msg)
{
	memset(msg, 0, sizeof(*msg));
	if (len < SHCA_TMH_BYTES)
		return;
	/* Three reserved bytes follow the opcode. */
	msg->tmh.opcode = p[0];
	msg->tmh.app_ctx = tm_get32(p + 4);
	msg->tmh.tag = tm_get64(p + 8);
	if (len < SHCA_TMH_BYTES + SHCA_RVH_BYTES)
		return;
	p += SHCA_TMH_BYTES;
	msg->rvh.va = tm_get64(p);
	msg->rvh.rkey = tm_get32(p + 8);
	msg->rvh.len = tm_get32(p + 12);
}

void shca_tmh_build(const struct shca_tmh *tmh, u8 *p)
{
	memset(p, 0, SHCA_TMH_BYTES);
	p[0] = tmh->opcode;
	tm_put32(p + 4, tmh->app_ctx);
	tm_put32(p + 8, tmh->tag >> 32);
	tm_put32(p + 12, tmh->tag);
}

/* ---- the list ----------------------------------------------------------- */

void shca_tm_init(struct shca_tm *tm, struct shca_tm_entry *slots, u32 nr)
{
	u32 i;

	memset(tm, 0, sizeof(*tm));
	memset(slots, 0, nr * sizeof(*slots));
	tm->slots = slots;
	tm->nr = nr;
	tm->first = SHCA_TM_NIL;
	tm->last = SHCA_TM_NIL;
	tm->waiting = SHCA_TM_NIL;
	tm->free = SHCA_TM_NIL;
	for (i = nr; i; i--) {
		slots[i - 1].next = tm->free;
		tm->free = i - 1;
	}
}

void shca_tm_missed(struct shca_tm *tm)
{
	tm->unexpected++;
}

bool shca_tm_take(struct shca_tm *tm, u32 *handle)
{
	u16 slot = tm->free;
	struct shca_tm_entry *e;

	if (slot == SHCA_TM_NIL)
		return false;
	e = &tm->slots[slot];
	tm->free = e->next;
	e->uses++;
	*handle = (u32)e->uses << 16 | slot;
	return true;
}

void shca_tm_post(struct shca_tm *tm, const struct shca_tm_entry *entry,
		  u32 handle)
{
	u16 slot = handle;
	struct shca_tm_entry *e = &tm->slots[slot];

	e->tag = entry->tag;
	e->mask = entry->mask;
	e->wr_id = entry->wr_id;
	e->sge = entry->sge;
	e->posted = true;
	e->next = SHCA_TM_NIL;
	e->prev = tm->last;
	if (tm->last == SHCA_TM_NIL)
		tm->first = slot;
	else
		tm->slots[tm->last].next = slot;
	tm->last = slot;
	if (tm->waiting == SHCA_TM_NIL && !shca_tm_in_sync(tm))
		tm->waiting = slot;
}

static void tm_unlink(struct shca_tm *tm, u16 slot)
{
	struct shca_tm_entry *e = &tm->slots[slot];

	if (e->prev == SHCA_TM_NIL)
		tm->first = e->next;
	else
		tm->slots[e->prev].next = e->next;
	if (e->next == SHCA_TM_NIL)
		tm->last = e->prev;
	else
		tm->slots[e->next].prev = e->prev;
	if (tm->waiting == slot)
		tm->waiting = e->next;
	e->posted = false;
}

void shca_tm_free(struct shca_tm *tm, u16 slot)
{
	tm->slots[slot].next = tm->free;
	tm->free = slot;
}

bool shca_tm_del(struct shca_tm *tm, u32 handle)
{
	u16 slot = handle;

	if (slot >= tm->nr || !tm->slots[slot].posted ||
	    tm->slots[slot].uses != handle >> 16)
		return false;
	tm_unlink(tm, slot);
	shca_tm_free(tm, slot);
	return true;
}

void shca_tm_sync(struct shca_tm *tm, u32 handled)
{
	tm->handled = handled;
	if (shca_tm_in_sync(tm))
		tm->waiting = SHCA_TM_NIL;
}

void shca_tm_undo(struct shca_tm *tm)
{
	tm->unexpected--;
	shca_tm_sync(tm, tm->handled);
}

u16 shca_tm_match(struct shca_tm *tm, u64 tag)
{
	const struct shca_tm_entry *e;
	u16 slot;

	for (slot = tm->first; slot != tm->waiting; slot = e->next) {
		e = &tm->slots[slot];
		if ((tag & e->mask) == e->tag) {
			tm_unlink(tm, slot);
			return slot;
		}
	}
	return SHCA_TM_NIL;
}
