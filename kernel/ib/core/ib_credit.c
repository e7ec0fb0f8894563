// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Credits. There are two bounds.
 *
 * Each lane has a buffer at the receiver. Its counters are those of the IBTA, with 32 bits instead
 * of 12. FCTBS is what a sender has sent, ABR what the receiver has got, FCCL up to where it takes
 * more. A lane whose buffer is full stops only itself.
 *
 * Between the ends there are queues of network adapters and CPUs. These know no lanes, and drop
 * the excess. A window therefore bounds what was sent on all lanes and has not arrived.
 *
 * A sender uses the highest FCCL and ABR that it has received. An old frame has lower values than a
 * later one, so it takes nothing away, wherever it was overtaken.
 *
 * Packets may be lost. To find out, senders divide time into periods. Each packet has the number of
 * its period, and each frame of credits says how much was sent before the period began. Once no
 * packet of earlier periods can arrive, ABR is that number and what has come since. This also ends
 * errors of any other kind: of packets that are duplicate or late, and of wrong frames.
 */
#include "../../core/be.h"
#include "ib_credit.h"

#define FLAG_INIT	0x01
#define FLAG_ASK	0x02

/* ---- the frame -------------------------------------------------------------- */

/*
 * Body: lanes, flags, period, reserved, window; of each lane FCTBS, FCTBS when the period
 * began, ABR, FCCL; CRC.
 */
u32 shca_ib_credit_build(const struct shca_ib_credit_frame *frame,
			 const struct shca_ib_vcrc *tables, u8 *out)
{
	const struct shca_ib_shim shim = {
		.type = SHCA_IB_FRAME_CREDITS,
		.len = SHCA_IB_CREDIT_BYTES,
		.session = frame->session,
	};
	u8 *body = out + SHCA_IB_SHIM_BYTES, *at = body + SHCA_IB_CREDIT_HEAD;
	u32 i;

	shca_ib_shim_build(&shim, out);
	body[0] = SHCA_IB_LANES;
	body[1] = (frame->init ? FLAG_INIT : 0) | (frame->ask ? FLAG_ASK : 0);
	body[2] = frame->period;
	body[3] = 0;
	put_be32(body + 4, frame->window);
	for (i = 0; i < SHCA_IB_LANES; i++, at += SHCA_IB_CREDIT_LANE) {
		put_be32(at, frame->lane[i].fctbs);
		put_be32(at + 4, frame->lane[i].began);
		put_be32(at + 8, frame->lane[i].abr);
		put_be32(at + 12, frame->lane[i].fccl);
	}
	shca_ib_vcrc_put(shca_ib_vcrc(tables, SHCA_IB_VCRC_SEED, body, at - body),
			 at);
	return SHCA_IB_SHIM_BYTES + SHCA_IB_CREDIT_BYTES;
}

enum shca_ib_parse shca_ib_credit_parse(struct shca_ib_credit_frame *frame,
					const struct shca_ib_vcrc *tables,
					const struct shca_ib_shim *shim,
					const u8 *body)
{
	const u8 *at = body + SHCA_IB_CREDIT_HEAD;
	u32 i, covered = SHCA_IB_CREDIT_BYTES - SHCA_IB_VCRC_BYTES;

	if (shim->len < SHCA_IB_CREDIT_BYTES)
		return SHCA_IB_SHORT;
	if (body[0] != SHCA_IB_LANES ||
	    !shca_ib_vcrc_ok(shca_ib_vcrc(tables, SHCA_IB_VCRC_SEED, body,
					  covered), body + covered))
		return SHCA_IB_LENGTH;
	frame->session = shim->session;
	frame->init = body[1] & FLAG_INIT;
	frame->ask = body[1] & FLAG_ASK;
	frame->period = body[2];
	frame->window = get_be32(body + 4);
	for (i = 0; i < SHCA_IB_LANES; i++, at += SHCA_IB_CREDIT_LANE) {
		frame->lane[i].fctbs = get_be32(at);
		frame->lane[i].began = get_be32(at + 4);
		frame->lane[i].abr = get_be32(at + 8);
		frame->lane[i].fccl = get_be32(at + 12);
	}
	return SHCA_IB_OK;
}

/* ---- what may leave --------------------------------------------------------- */

/* Serial numbers: by how much is @a after @b? */
static s32 after(u32 a, u32 b)
{
	return (s32)(a - b);
}

void shca_ib_credits_size(struct shca_ib_credits *credits, u32 window,
			  const u32 grant[SHCA_IB_LANES])
{
	struct shca_ib_lane_credit *l;
	u32 i;

	credits->own_window = window;
	for (i = 0; i < SHCA_IB_LANES; i++) {
		l = &credits->lane[i];
		l->grant = grant[i];
		/* A sender waits for the buffer, or for the window if that is smaller. */
		l->scale = DIV_ROUND_UP(SHCA_IB_GRANT, max_t(u32, min_t(u32, grant[i], window), 1));
	}
}

void shca_ib_credits_reset(struct shca_ib_credits *credits, bool on)
{
	struct shca_ib_lane_credit *l;
	u32 i;

	credits->on = on;
	credits->heard = false;
	credits->newest = credits->oldest;
	credits->window = 0;
	for (i = 0; i < SHCA_IB_LANES; i++) {
		l = &credits->lane[i];
		l->fccl = l->fctbs;
		l->landed = l->fctbs;
	}
}

u32 shca_ib_credits_of_lane(const struct shca_ib_credits *credits, u8 lane)
{
	const struct shca_ib_lane_credit *l = &credits->lane[lane];

	return max_t(s32, after(l->fccl, l->fctbs), 0);
}

u32 shca_ib_credits_room(const struct shca_ib_credits *credits, u8 lane)
{
	s32 window = credits->window;
	u32 i;

	for (i = 0; i < SHCA_IB_LANES; i++)
		window -= credits->lane[i].fctbs - credits->lane[i].landed;
	return min_t(u32, max_t(s32, window, 0),
		     shca_ib_credits_of_lane(credits, lane));
}

void shca_ib_credits_take(struct shca_ib_credits *credits, u8 lane, u32 blocks)
{
	credits->lane[lane].fctbs += blocks;
}

void shca_ib_credits_back(struct shca_ib_credits *credits, u8 lane, u32 blocks)
{
	credits->lane[lane].fctbs -= blocks;
}

void shca_ib_credits_turn(struct shca_ib_credits *credits)
{
	u32 i;

	credits->period++;
	for (i = 0; i < SHCA_IB_LANES; i++)
		credits->lane[i].began = credits->lane[i].fctbs;
}

/* ---- what has arrived ------------------------------------------------------- */

static u32 limit(const struct shca_ib_lane_credit *l)
{
	return l->abr + l->grant - min_t(u32, l->held, l->grant);
}

bool shca_ib_credits_arrived(struct shca_ib_credits *credits, u8 period,
			     u8 lane, u32 blocks)
{
	u8 ahead = (u8)(period - credits->oldest) % SHCA_IB_PERIODS;
	struct shca_ib_lane_credit *l = &credits->lane[lane];

	if (ahead >= SHCA_IB_PERIODS / 2)
		return false;
	l->got[period % SHCA_IB_PERIODS] += blocks;
	l->abr += blocks;
	credits->fresh += blocks * l->scale;
	return true;
}

bool shca_ib_credits_keep(struct shca_ib_credits *credits, u8 lane, u32 blocks)
{
	struct shca_ib_lane_credit *l = &credits->lane[lane];

	/* Twice the grant: packets with credit from before these were kept may still come. */
	if (credits->on && l->held + blocks > 2 * l->grant)
		return false;
	l->held += blocks;
	return true;
}

void shca_ib_credits_free(struct shca_ib_credits *credits, u8 lane, u32 blocks)
{
	struct shca_ib_lane_credit *l = &credits->lane[lane];

	l->held -= min_t(u32, l->held, blocks);
	credits->fresh += blocks * l->scale;
}

bool shca_ib_credits_pending(const struct shca_ib_credits *credits)
{
	return credits->on && credits->fresh >= SHCA_IB_REPORT;
}

/* ---- frames ----------------------------------------------------------------- */

void shca_ib_credits_tell(struct shca_ib_credits *credits,
			  struct shca_ib_credit_frame *frame)
{
	const struct shca_ib_lane_credit *l;
	u32 i;

	credits->fresh = 0;
	frame->init = !credits->heard;
	frame->ask = false;
	frame->period = credits->period;
	frame->window = credits->own_window;
	for (i = 0; i < SHCA_IB_LANES; i++) {
		l = &credits->lane[i];
		frame->lane[i] = (struct shca_ib_lane_counts){
			.fctbs = l->fctbs,
			.began = l->began,
			.abr = l->abr,
			.fccl = limit(l),
		};
	}
}

/* Count all that was sent before this frame as arrived. */
static void begin_anew(struct shca_ib_credits *credits,
		       const struct shca_ib_credit_frame *frame)
{
	struct shca_ib_lane_credit *l;
	u32 i;

	credits->oldest = frame->period;
	credits->newest = frame->period;
	for (i = 0; i < SHCA_IB_LANES; i++) {
		l = &credits->lane[i];
		l->abr = frame->lane[i].fctbs;
		memset(l->got, 0, sizeof(l->got));
	}
}

static void hear_period(struct shca_ib_credits *credits,
			const struct shca_ib_credit_frame *frame)
{
	s8 ahead = frame->period - credits->oldest;
	u32 i;

	if (!credits->heard || frame->init || ahead >= SHCA_IB_PERIODS ||
	    ahead <= -SHCA_IB_PERIODS) {
		begin_anew(credits, frame);
		return;
	}
	/* The frame was overtaken or has no new period, or an earlier one is not reconciled yet. */
	if (ahead <= 0 || shca_ib_credits_turning(credits))
		return;
	credits->newest = frame->period;
	for (i = 0; i < SHCA_IB_LANES; i++)
		credits->lane[i].next = frame->lane[i].began;
}

void shca_ib_credits_reconcile(struct shca_ib_credits *credits)
{
	struct shca_ib_lane_credit *l;
	u32 i, p;

	if (!shca_ib_credits_turning(credits))
		return;
	for (; credits->oldest != credits->newest; credits->oldest++)
		for (i = 0; i < SHCA_IB_LANES; i++)
			credits->lane[i].got[credits->oldest % SHCA_IB_PERIODS] = 0;
	for (i = 0; i < SHCA_IB_LANES; i++) {
		l = &credits->lane[i];
		l->abr = l->next;
		for (p = 0; p < SHCA_IB_PERIODS; p++)
			l->abr += l->got[p];
	}
}

/* By how much a counter moves on from @at: not back, and up to @most. */
static u32 moves(u32 heard, u32 at, u32 most, bool *ok)
{
	u32 by = max_t(s32, after(heard, at), 0);
	u32 room = max_t(s32, after(most, at), 0);

	if (by <= room)
		return by;
	*ok = false;
	return room;
}

/* No peer grants more than the largest buffer, and no more arrives than was sent. */
static bool hear_lane(struct shca_ib_lane_credit *l,
		      const struct shca_ib_lane_counts *counts)
{
	bool ok = true;

	l->fccl += moves(counts->fccl, l->fccl, l->fctbs + SHCA_IB_GRANT, &ok);
	l->landed += moves(counts->abr, l->landed, l->fctbs, &ok);
	return ok;
}

bool shca_ib_credits_hear(struct shca_ib_credits *credits,
			  const struct shca_ib_credit_frame *frame)
{
	bool ok = true;
	u32 i;

	hear_period(credits, frame);
	credits->heard = true;
	/* The peer does not know yet what it can grant. */
	if (frame->init)
		return true;
	credits->window = min_t(u32, frame->window, SHCA_IB_WINDOW);
	for (i = 0; i < SHCA_IB_LANES; i++)
		if (!hear_lane(&credits->lane[i], &frame->lane[i]))
			ok = false;
	return ok;
}
