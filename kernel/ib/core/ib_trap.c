// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Notices of a port, and when they leave as traps. */
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
};

/* ---- what has happened ------------------------------------------------------ */

static bool trap_waits(const struct shca_ib_traps *traps, enum shca_ib_trap kind)
{
	return traps->pending & 1u << kind;
}

/* Begin a notice. Return: its DataDetails, which are zero. */
static u8 *notice_begin(struct shca_ib_traps *traps, enum shca_ib_trap kind, u16 lid)
{
	u8 *notice = traps->trap[kind].notice.data;

	memset(&traps->trap[kind], 0, sizeof(traps->trap[kind]));
	traps->trap[kind].tid = traps->tid++;
	notice[NOTICE_TYPE] = GENERIC | trap_kinds[kind].type;
	put_be24(notice + NOTICE_PRODUCER, traps->is_switch ? PRODUCER_SWITCH : PRODUCER_CA);
	put_be16(notice + NOTICE_NUMBER, trap_kinds[kind].number);
	put_be16(notice + NOTICE_ISSUER, lid);
	return notice + NOTICE_DETAILS;
}

/* The notice is complete: store it for reading, and for sending. */
static bool notice_end(struct shca_ib_traps *traps, enum shca_ib_trap kind)
{
	if (traps->nr < SHCA_IB_NOTICES)
		traps->notices[traps->nr++] = traps->trap[kind].notice;
	traps->pending |= 1u << kind;
	return true;
}

bool shca_ib_trap_port(struct shca_ib_traps *traps, enum shca_ib_trap kind, u16 lid)
{
	u8 *details;

	if (trap_waits(traps, kind))
		return false;
	details = notice_begin(traps, kind, lid);
	put_be16(details + 2, lid);
	details[4] = PORT;
	return notice_end(traps, kind);
}

bool shca_ib_trap_link(struct shca_ib_traps *traps, u16 lid)
{
	if (trap_waits(traps, SHCA_IB_TRAP_LINK))
		return false;
	put_be16(notice_begin(traps, SHCA_IB_TRAP_LINK, lid), lid);
	return notice_end(traps, SHCA_IB_TRAP_LINK);
}

bool shca_ib_trap_change(struct shca_ib_traps *traps, u16 lid, u32 cap_mask,
			 bool desc)
{
	bool waits = trap_waits(traps, SHCA_IB_TRAP_CHANGE);
	u8 *details;

	/* A transaction of its own, so that the manager cannot repress what it has not seen. */
	if (waits)
		desc |= traps->trap[SHCA_IB_TRAP_CHANGE]
			.notice.data[NOTICE_DETAILS + 5] & CHANGE_OTHER;
	details = notice_begin(traps, SHCA_IB_TRAP_CHANGE, lid);
	put_be16(details + 2, lid);
	details[5] = desc ? CHANGE_OTHER : 0;
	put_be32(details + 6, cap_mask);
	put_be16(details + 10, desc ? CHANGE_DESC : 0);
	notice_end(traps, SHCA_IB_TRAP_CHANGE);
	return !waits;
}

bool shca_ib_trap_mkey(struct shca_ib_traps *traps, u16 lid, u16 slid,
		       const u8 *smp)
{
	u8 *details, hops = smp[SMP_HOPS];

	if (trap_waits(traps, SHCA_IB_TRAP_MKEY))
		return false;
	details = notice_begin(traps, SHCA_IB_TRAP_MKEY, lid);
	put_be16(details + 2, slid);
	details[6] = smp[MAD_METHOD];
	memcpy(details + 8, smp + MAD_ATTR, 2);
	memcpy(details + 10, smp + MAD_ATTR_MOD, 4);
	memcpy(details + 14, smp + SMP_MKEY, 8);
	if (smp[MAD_CLASS] != CLASS_DIRECTED)
		return notice_end(traps, SHCA_IB_TRAP_MKEY);
	memcpy(details + 4, smp + SMP_SLID, 2);
	details[23] = DIRECTED;
	if (hops > HOPS_MAX) {
		details[23] |= TRUNCATED;
		hops = HOPS_MAX;
	}
	details[23] |= hops;
	memcpy(details + 24, smp + SMP_RETURN, hops);
	return notice_end(traps, SHCA_IB_TRAP_MKEY);
}

bool shca_ib_trap_key(struct shca_ib_traps *traps, enum shca_ib_trap kind,
		      u16 lid, const struct shca_ib_bad_key *bad)
{
	u8 *details;

	if (trap_waits(traps, kind))
		return false;
	details = notice_begin(traps, kind, lid);
	put_be16(details + 2, bad->slid);
	put_be16(details + 4, bad->dlid);
	put_be32(details + 6, bad->key);
	details[10] = bad->sl << 4;
	put_be24(details + 11, bad->sqpn);
	put_be24(details + 15, bad->dqpn);
	if (bad->gids)
		memcpy(details + 18, bad->gids, 32);
	return notice_end(traps, kind);
}

/* ---- traps ------------------------------------------------------------------ */

static u64 trap_distance(u64 gap)
{
	return max_t(u64, gap, SHCA_IB_TRAP_GAP_NS);
}

/* The trap to send next: one that was never sent, or the one sent before the others. */
static enum shca_ib_trap trap_first(const struct shca_ib_traps *traps)
{
	enum shca_ib_trap kind, best = SHCA_IB_TRAP_NR;

	for (kind = 0; kind < SHCA_IB_TRAP_NR; kind++) {
		if (!trap_waits(traps, kind))
			continue;
		if (!traps->trap[kind].sent)
			return kind;
		if (best == SHCA_IB_TRAP_NR ||
		    traps->trap[kind].sent_at < traps->trap[best].sent_at)
			best = kind;
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
	enum shca_ib_trap kind = trap_first(traps);

	if (kind == SHCA_IB_TRAP_NR || now < shca_ib_trap_deadline(traps, gap))
		return false;
	memset(mad, 0, SHCA_IB_MAD_BYTES);
	mad[MAD_BASE_VERSION] = 1;
	mad[MAD_CLASS] = CLASS_LID_ROUTED;
	mad[MAD_CLASS_VERSION] = 1;
	mad[MAD_METHOD] = METHOD_TRAP;
	put_be64(mad + MAD_TID, traps->trap[kind].tid);
	put_be16(mad + MAD_ATTR, ATTR_NOTICE);
	memcpy(mad + SMP_DATA, traps->trap[kind].notice.data,
	       SHCA_IB_NOTICE_BYTES);
	traps->trap[kind].sent = true;
	traps->trap[kind].sent_at = now;
	traps->sent = true;
	traps->sent_at = now;
	return true;
}

/* The trap that was sent as @tid; SHCA_IB_TRAP_NR: none. */
static enum shca_ib_trap trap_sent_as(const struct shca_ib_traps *traps, u64 tid)
{
	enum shca_ib_trap kind;

	for (kind = 0; kind < SHCA_IB_TRAP_NR; kind++)
		if (trap_waits(traps, kind) && traps->trap[kind].sent &&
		    traps->trap[kind].tid == tid)
			break;
	return kind;
}

bool shca_ib_trap_is_own(const struct shca_ib_traps *traps, u64 tid)
{
	return trap_sent_as(traps, tid) != SHCA_IB_TRAP_NR;
}

void shca_ib_trap_repress(struct shca_ib_traps *traps, u64 tid)
{
	enum shca_ib_trap kind = trap_sent_as(traps, tid);

	if (kind != SHCA_IB_TRAP_NR)
		traps->pending &= ~(1u << kind);
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
