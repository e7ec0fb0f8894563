// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Notices of a port or switch, and when they leave as traps. */
#include "ib_trap.h"

#include "../../core/be.h"
#include "ib_smp.h"

/* Notice (IBTA 13.4.8.2). */
#define NOTICE_TYPE		0
#define NOTICE_PRODUCER		1
#define NOTICE_NUMBER		4
#define NOTICE_ISSUER		6
#define NOTICE_COUNT		8
#define NOTICE_DETAILS		10
#define NOTICE_TOGGLE		0x80
#define GENERIC			0x80
#define TYPE_URGENT		1
#define TYPE_SECURITY		2
#define TYPE_INFO		4
#define PRODUCER_CA		1
#define PRODUCER_SWITCH		2

/* The details of trap 144. */
#define CHANGE_OTHER		0x01	/* more than the CapabilityMask */
#define CHANGE_DESC		0x0001
/* The details of trap 256. */
#define DIRECTED		0x80
#define TRUNCATED		0x40
#define HOPS_MAX		30
/* The details of trap 259: DataValid. */
#define VALID_LIDS		0x0003
#define VALID_PKEY		0x0004
#define VALID_SL		0x0008
#define VALID_SQP		0x0010
#define VALID_DQP		0x0020
#define VALID_GIDS		0x00c0

static const struct {
	u8 type;
	u16 number;
} trap_kinds[SHCA_IB_TRAP_NR] = {
	[SHCA_IB_TRAP_LINK] = { TYPE_URGENT, 128 },
	[SHCA_IB_TRAP_INTEGRITY] = { TYPE_URGENT, 129 },
	[SHCA_IB_TRAP_OVERRUN] = { TYPE_URGENT, 130 },
	[SHCA_IB_TRAP_WATCHDOG] = { TYPE_URGENT, 131 },
	[SHCA_IB_TRAP_CHANGE] = { TYPE_INFO, 144 },
	[SHCA_IB_TRAP_MKEY] = { TYPE_SECURITY, 256 },
	[SHCA_IB_TRAP_PKEY] = { TYPE_SECURITY, 257 },
	[SHCA_IB_TRAP_QKEY] = { TYPE_SECURITY, 258 },
	[SHCA_IB_TRAP_SWITCH_PKEY] = { TYPE_SECURITY, 259 },
};

/* ---- what has happened ------------------------------------------------------ */

static bool trap_waits(const struct shca_ib_traps *traps, u32 slot)
{
	return traps->pending & 1u << slot;
}

/*
 * Begin a notice of a @kind and @port, unless one waits. Without a port, there is one slot for it.
 *
 * Return: its slot, with DataDetails that are zero; or NULL.
 */
static struct shca_ib_trap_slot *notice_begin(struct shca_ib_traps *traps, enum shca_ib_trap kind,
					      u8 port, u16 lid)
{
	u32 i, end = port ? SHCA_IB_TRAP_SLOTS : kind + 1;
	struct shca_ib_trap_slot *slot, *empty = NULL;
	u8 *notice;

	for (i = kind; i < end; i = max_t(u32, i + 1, SHCA_IB_TRAP_NR)) {
		slot = &traps->trap[i];
		if (!trap_waits(traps, i))
			empty = empty ?: slot;
		else if (slot->kind == kind && slot->port == port)
			return NULL;
	}
	if (!empty)
		return NULL;
	*empty = (struct shca_ib_trap_slot){
		.kind = kind,
		.port = port,
		.tid = traps->tid++,
	};
	notice = empty->notice.data;
	notice[NOTICE_TYPE] = GENERIC | trap_kinds[kind].type;
	put_be24(notice + NOTICE_PRODUCER, traps->is_switch ? PRODUCER_SWITCH : PRODUCER_CA);
	put_be16(notice + NOTICE_NUMBER, trap_kinds[kind].number);
	put_be16(notice + NOTICE_ISSUER, lid);
	return empty;
}

/* The notice is complete: store it for reading, and for sending. */
static bool notice_end(struct shca_ib_traps *traps, const struct shca_ib_trap_slot *slot)
{
	if (traps->nr < SHCA_IB_NOTICES)
		traps->notices[traps->nr++] = slot->notice;
	traps->pending |= 1u << (slot - traps->trap);
	return true;
}

bool shca_ib_trap_port(struct shca_ib_traps *traps, enum shca_ib_trap kind, u16 lid, u8 port)
{
	struct shca_ib_trap_slot *slot = notice_begin(traps, kind, port, lid);
	u8 *details;

	if (!slot)
		return false;
	details = slot->notice.data + NOTICE_DETAILS;
	put_be16(details + 2, lid);
	details[4] = port;
	return notice_end(traps, slot);
}

bool shca_ib_trap_link(struct shca_ib_traps *traps, u16 lid)
{
	struct shca_ib_trap_slot *slot = notice_begin(traps, SHCA_IB_TRAP_LINK, 0, lid);

	if (!slot)
		return false;
	put_be16(slot->notice.data + NOTICE_DETAILS, lid);
	return notice_end(traps, slot);
}

bool shca_ib_trap_change(struct shca_ib_traps *traps, u16 lid, u32 cap_mask,
			 bool desc)
{
	bool waits = trap_waits(traps, SHCA_IB_TRAP_CHANGE);
	struct shca_ib_trap_slot *slot = &traps->trap[SHCA_IB_TRAP_CHANGE];
	u8 *details;

	/* A transaction of its own, so that the manager cannot repress what it has not seen. */
	if (waits)
		desc |= slot->notice.data[NOTICE_DETAILS + 5] & CHANGE_OTHER;
	traps->pending &= ~(1u << SHCA_IB_TRAP_CHANGE);
	slot = notice_begin(traps, SHCA_IB_TRAP_CHANGE, 0, lid);
	details = slot->notice.data + NOTICE_DETAILS;
	put_be16(details + 2, lid);
	details[5] = desc ? CHANGE_OTHER : 0;
	put_be32(details + 6, cap_mask);
	put_be16(details + 10, desc ? CHANGE_DESC : 0);
	notice_end(traps, slot);
	return !waits;
}

bool shca_ib_trap_mkey(struct shca_ib_traps *traps, u16 lid, u16 slid,
		       const u8 *smp)
{
	struct shca_ib_trap_slot *slot = notice_begin(traps, SHCA_IB_TRAP_MKEY, 0, lid);
	u8 *details, hops = smp[SMP_HOPS];

	if (!slot)
		return false;
	details = slot->notice.data + NOTICE_DETAILS;
	put_be16(details + 2, slid);
	details[6] = smp[MAD_METHOD];
	memcpy(details + 8, smp + MAD_ATTR, 2);
	memcpy(details + 10, smp + MAD_ATTR_MOD, 4);
	memcpy(details + 14, smp + SMP_MKEY, 8);
	if (smp[MAD_CLASS] != CLASS_DIRECTED)
		return notice_end(traps, slot);
	memcpy(details + 4, smp + SMP_SLID, 2);
	details[23] = DIRECTED;
	if (hops > HOPS_MAX) {
		details[23] |= TRUNCATED;
		hops = HOPS_MAX;
	}
	details[23] |= hops;
	memcpy(details + 24, smp + SMP_RETURN, hops);
	return notice_end(traps, slot);
}

bool shca_ib_trap_key(struct shca_ib_traps *traps, enum shca_ib_trap kind,
		      u16 lid, const struct shca_ib_bad_key *bad)
{
	struct shca_ib_trap_slot *slot = notice_begin(traps, kind, 0, lid);
	u8 *details;

	if (!slot)
		return false;
	details = slot->notice.data + NOTICE_DETAILS;
	put_be16(details + 2, bad->slid);
	put_be16(details + 4, bad->dlid);
	put_be32(details + 6, bad->key);
	details[10] = bad->sl << 4;
	put_be24(details + 11, bad->sqpn);
	put_be24(details + 15, bad->dqpn);
	if (bad->gids)
		memcpy(details + 18, bad->gids, 32);
	return notice_end(traps, slot);
}

bool shca_ib_trap_switch_pkey(struct shca_ib_traps *traps, u16 lid, u8 port,
			      const struct shca_ib_bad_key *bad)
{
	struct shca_ib_trap_slot *slot = notice_begin(traps, SHCA_IB_TRAP_SWITCH_PKEY, port, lid);
	u32 valid = VALID_LIDS | VALID_PKEY | VALID_SL | VALID_DQP;
	u8 *details;

	if (!slot)
		return false;
	details = slot->notice.data + NOTICE_DETAILS;
	put_be16(details + 2, bad->slid);
	put_be16(details + 4, bad->dlid);
	put_be16(details + 6, bad->key);
	details[8] = bad->sl << 4;
	put_be24(details + 9, bad->sqpn);
	put_be24(details + 13, bad->dqpn);
	if (bad->sqpn)
		valid |= VALID_SQP;
	if (bad->gids) {
		valid |= VALID_GIDS;
		memcpy(details + 16, bad->gids, 32);
	}
	put_be16(details, valid);
	put_be16(details + 48, lid);
	details[50] = port;
	return notice_end(traps, slot);
}

/* ---- traps ------------------------------------------------------------------ */

static u64 trap_distance(u64 gap)
{
	return max_t(u64, gap, SHCA_IB_TRAP_GAP_NS);
}

/* The slot to send next: one that was never sent, or the one sent before the others. */
static u32 trap_first(const struct shca_ib_traps *traps)
{
	u32 i, best = SHCA_IB_TRAP_SLOTS;

	for (i = 0; i < SHCA_IB_TRAP_SLOTS; i++) {
		if (!trap_waits(traps, i))
			continue;
		if (!traps->trap[i].sent)
			return i;
		if (best == SHCA_IB_TRAP_SLOTS ||
		    traps->trap[i].sent_at < traps->trap[best].sent_at)
			best = i;
	}
	return best;
}

u64 shca_ib_trap_deadline(const struct shca_ib_traps *traps, u64 gap)
{
	if (!traps->pending)
		return ~0ull;
	return traps->sent ? traps->sent_at + trap_distance(gap) : 0;
}

bool shca_ib_trap_next(struct shca_ib_traps *traps, u64 gap, u64 now, u8 *mad)
{
	u32 first = trap_first(traps);
	struct shca_ib_trap_slot *slot;

	if (first == SHCA_IB_TRAP_SLOTS || now < shca_ib_trap_deadline(traps, gap))
		return false;
	slot = &traps->trap[first];
	memset(mad, 0, SHCA_IB_MAD_BYTES);
	mad[MAD_BASE_VERSION] = 1;
	mad[MAD_CLASS] = CLASS_LID_ROUTED;
	mad[MAD_CLASS_VERSION] = 1;
	mad[MAD_METHOD] = METHOD_TRAP;
	put_be64(mad + MAD_TID, slot->tid);
	put_be16(mad + MAD_ATTR, ATTR_NOTICE);
	memcpy(mad + SMP_DATA, slot->notice.data, SHCA_IB_NOTICE_BYTES);
	slot->sent = true;
	slot->sent_at = now;
	traps->sent = true;
	traps->sent_at = now;
	return true;
}

/* The slot of the trap that was sent as @tid; SHCA_IB_TRAP_SLOTS: none. */
static u32 trap_sent_as(const struct shca_ib_traps *traps, u64 tid)
{
	u32 i;

	for (i = 0; i < SHCA_IB_TRAP_SLOTS; i++)
		if (trap_waits(traps, i) && traps->trap[i].sent &&
		    traps->trap[i].tid == tid)
			break;
	return i;
}

bool shca_ib_trap_is_own(const struct shca_ib_traps *traps, u64 tid)
{
	return trap_sent_as(traps, tid) != SHCA_IB_TRAP_SLOTS;
}

void shca_ib_trap_repress(struct shca_ib_traps *traps, u64 tid)
{
	u32 slot = trap_sent_as(traps, tid);

	if (slot != SHCA_IB_TRAP_SLOTS)
		traps->pending &= ~(1u << slot);
}

void shca_ib_trap_forget(struct shca_ib_traps *traps)
{
	traps->pending = 0;
}

/* ---- reading ---------------------------------------------------------------- */

void shca_ib_notice_get(const struct shca_ib_traps *traps, u8 *data)
{
	memset(data, 0, SHCA_IB_NOTICE_BYTES);
	if (traps->nr)
		memcpy(data, traps->notices[0].data, SHCA_IB_NOTICE_BYTES);
	data[NOTICE_COUNT] = traps->toggle ? NOTICE_TOGGLE : 0;
	data[NOTICE_COUNT + 1] = traps->nr;
}

void shca_ib_notice_clear(struct shca_ib_traps *traps, const u8 *data)
{
	if (!traps->nr || !(data[NOTICE_COUNT] & NOTICE_TOGGLE) == traps->toggle)
		return;
	traps->nr--;
	memmove(traps->notices, traps->notices + 1,
		traps->nr * sizeof(traps->notices[0]));
	traps->toggle = !traps->toggle;
}
