// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Credits. There are two bounds.
 *
 * Each lane has a buffer at the receiver, in blocks of 64 bytes. Its counters are those
 * of the IBTA: FCTBS, what a sender has sent; ABR, what the receiver has got; FCCL, up
 * to where it takes more. A lane whose buffer is full stops itself only.
 *
 * What is between the ends lies in queues of network adapters and CPUs. These know no
 * lanes, and drop what is too much for them. So a window bounds it over all lanes. The
 * window counts frames, too, for these queues do.
 *
 * A frame may be lost, and so may packets. Each frame has all counters, so the next one
 * heals this. A lost packet shows itself by two frames, one some time after the other.
 * What the first one says was sent must have arrived before the second one. One frame
 * is not enough, because a queue may let frames of credits pass packets.
 */
#include "be.h"
#include "ib_credit.h"

#define COUNT	0xfff	/* 12 bits */
#define OP_NORMAL	0
#define OP_INIT		1

/* ---- the frame -------------------------------------------------------------- */

/* Body: units sent, received, window; lanes, reserved; flow-control packets. */
static void put_fcp(const struct shca_ib_vcrc *tables,
		    const struct shca_ib_fcp *fcp, u32 op, u32 lane, u8 *out)
{
	put_be16(out, op << 12 | (fcp->fctbs & COUNT));
	put_be16(out + 2, lane << 12 | (fcp->fccl & COUNT));
	shca_ib_vcrc_put(shca_ib_vcrc(tables, SHCA_IB_VCRC_SEED, out, 4),
			 out + 4);
}

u32 shca_ib_credit_build(const struct shca_ib_credit_frame *frame,
			 const struct shca_ib_vcrc *tables, u8 *out)
{
	const struct shca_ib_shim shim = {
		.type = SHCA_IB_FRAME_CREDITS,
		.len = SHCA_IB_CREDIT_BYTES,
		.session = frame->session,
	};
	u8 *body = out + SHCA_IB_SHIM_BYTES;
	u32 i;

	shca_ib_shim_build(&shim, out);
	put_be16(body, frame->sent);
	put_be16(body + 2, frame->received);
	put_be16(body + 4, frame->window);
	body[6] = SHCA_IB_LANES;
	body[7] = 0;
	body += SHCA_IB_CREDIT_HEAD;
	for (i = 0; i < SHCA_IB_LANES; i++, body += SHCA_IB_FCP_BYTES)
		put_fcp(tables, &frame->lane[i],
			frame->init ? OP_INIT : OP_NORMAL, i, body);
	return SHCA_IB_SHIM_BYTES + SHCA_IB_CREDIT_BYTES;
}

enum shca_ib_parse shca_ib_credit_parse(struct shca_ib_credit_frame *frame,
					const struct shca_ib_vcrc *tables,
					const struct shca_ib_shim *shim,
					const u8 *body)
{
	u32 i, op;

	if (shim->len < SHCA_IB_CREDIT_BYTES)
		return SHCA_IB_SHORT;
	if (body[6] != SHCA_IB_LANES)
		return SHCA_IB_LENGTH;
	frame->session = shim->session;
	frame->sent = get_be16(body);
	frame->received = get_be16(body + 2);
	frame->window = get_be16(body + 4);
	body += SHCA_IB_CREDIT_HEAD;
	op = body[0] >> 4;
	frame->init = op == OP_INIT;
	for (i = 0; i < SHCA_IB_LANES; i++, body += SHCA_IB_FCP_BYTES) {
		if (body[0] >> 4 != op || op > OP_INIT || body[2] >> 4 != i ||
		    !shca_ib_vcrc_ok(shca_ib_vcrc(tables, SHCA_IB_VCRC_SEED,
						  body, 4), body + 4))
			return SHCA_IB_LENGTH;
		frame->lane[i].fctbs = get_be16(body) & COUNT;
		frame->lane[i].fccl = get_be16(body + 2) & COUNT;
	}
	return SHCA_IB_OK;
}

/* ---- what may leave --------------------------------------------------------- */

void shca_ib_credits_init(struct shca_ib_credits *credits, bool on)
{
	memset(credits, 0, sizeof(*credits));
	credits->on = on;
}

static u32 window_room(const struct shca_ib_credits *credits)
{
	s32 underway = (s16)(credits->sent - credits->peer_received);

	if (!credits->heard || underway >= credits->peer_window)
		return 0;
	/* (a peer that has begun anew says less than nothing) */
	return min_t(s32, credits->peer_window - underway, SHCA_IB_WINDOW);
}

static u32 lane_room(const struct shca_ib_credits *credits, u8 lane)
{
	const struct shca_ib_lane_credit *l = &credits->lane[lane];
	u32 room = (l->fccl - l->fctbs) & COUNT;

	return credits->heard && room <= SHCA_IB_GRANT ? room : 0;
}

bool shca_ib_credits_may(const struct shca_ib_credits *credits, u8 lane,
			 u32 blocks, u32 packets)
{
	return !credits->on ||
	       (shca_ib_units(blocks, packets) <= window_room(credits) &&
		blocks <= lane_room(credits, lane));
}

void shca_ib_credits_take(struct shca_ib_credits *credits, u8 lane, u32 blocks,
			  u32 packets)
{
	struct shca_ib_lane_credit *l = &credits->lane[lane];

	credits->sent += shca_ib_units(blocks, packets);
	l->fctbs = (l->fctbs + blocks) & COUNT;
}

void shca_ib_credits_undo(struct shca_ib_credits *credits, u8 lane, u32 blocks,
			  u32 packets)
{
	shca_ib_credits_back_window(credits, shca_ib_units(blocks, packets));
	shca_ib_credits_back(credits, lane, blocks);
}

u32 shca_ib_credits_lend(struct shca_ib_credits *credits, u8 lane)
{
	struct shca_ib_lane_credit *l = &credits->lane[lane];
	u32 room = lane_room(credits, lane);

	l->fctbs = (l->fctbs + room) & COUNT;
	return room;
}

void shca_ib_credits_back(struct shca_ib_credits *credits, u8 lane, u32 blocks)
{
	struct shca_ib_lane_credit *l = &credits->lane[lane];

	l->fctbs = (l->fctbs - blocks) & COUNT;
}

u32 shca_ib_credits_lend_window(struct shca_ib_credits *credits)
{
	u32 room = window_room(credits);

	credits->sent += room;
	return room;
}

void shca_ib_credits_back_window(struct shca_ib_credits *credits, u32 units)
{
	credits->sent -= units;
}

/* ---- what has arrived ------------------------------------------------------- */

static u16 limit(const struct shca_ib_lane_credit *l)
{
	return (l->abr + SHCA_IB_GRANT -
		min_t(u32, l->held, SHCA_IB_GRANT)) & COUNT;
}

static bool is_news(const struct shca_ib_credits *credits,
		    const struct shca_ib_lane_credit *l)
{
	u32 more = (limit(l) - l->told) & COUNT;

	return (u16)(credits->received - credits->told) >= SHCA_IB_NEWS_UNITS ||
	       (more >= SHCA_IB_NEWS_BLOCKS && more <= SHCA_IB_GRANT);
}

bool shca_ib_credits_arrived(struct shca_ib_credits *credits, u8 lane,
			     u32 blocks, u32 units)
{
	struct shca_ib_lane_credit *l = &credits->lane[lane];

	if (!credits->on)
		return false;
	credits->received += units;
	l->abr = (l->abr + blocks) & COUNT;
	return is_news(credits, l);
}

bool shca_ib_credits_keep(struct shca_ib_credits *credits, u8 lane, u32 blocks)
{
	struct shca_ib_lane_credit *l = &credits->lane[lane];

	/* Twice what was granted: what was told before it was kept may still come. */
	if (l->held + blocks > 2 * SHCA_IB_GRANT)
		return false;
	l->held += blocks;
	return true;
}

bool shca_ib_credits_free(struct shca_ib_credits *credits, u8 lane, u32 blocks)
{
	struct shca_ib_lane_credit *l = &credits->lane[lane];

	/* The link may have come up anew, with empty buffers. */
	l->held -= min_t(u32, l->held, blocks);
	return credits->on && is_news(credits, l);
}

/* ---- frames ----------------------------------------------------------------- */

void shca_ib_credits_tell(struct shca_ib_credits *credits,
			  struct shca_ib_credit_frame *frame)
{
	struct shca_ib_lane_credit *l;
	u32 i;

	credits->told = credits->received;
	frame->init = !credits->heard;
	frame->sent = credits->sent;
	frame->received = credits->received;
	frame->window = SHCA_IB_WINDOW;
	for (i = 0; i < SHCA_IB_LANES; i++) {
		l = &credits->lane[i];
		l->told = limit(l);
		frame->lane[i].fctbs = l->fctbs;
		frame->lane[i].fccl = l->told;
	}
}

/*
 * What has arrived by now. More than was sent cannot have. What was sent before the
 * last frame that was settled has, or is lost.
 */
static u32 arrived(u32 count, u32 sent, u32 before, bool init, u32 mask)
{
	u32 half = mask / 2;

	if (init || ((sent - count) & mask) > half)
		return sent;
	return ((before - count) & mask) <= half ? before : count;
}

bool shca_ib_credits_hear(struct shca_ib_credits *credits,
			  const struct shca_ib_credit_frame *frame, bool settled)
{
	struct shca_ib_lane_credit *l;
	bool news = false;
	u32 i;

	credits->heard = true;
	credits->peer_received = frame->received;
	credits->peer_window = min_t(u32, frame->window, SHCA_IB_WINDOW);
	credits->received = arrived(credits->received, frame->sent,
				    settled ? credits->before : credits->received,
				    frame->init, 0xffff);
	if (settled || frame->init)
		credits->before = frame->sent;
	for (i = 0; i < SHCA_IB_LANES; i++) {
		l = &credits->lane[i];
		l->fccl = frame->lane[i].fccl;
		l->abr = arrived(l->abr, frame->lane[i].fctbs,
				 settled ? l->before : l->abr, frame->init,
				 COUNT);
		if (settled || frame->init)
			l->before = frame->lane[i].fctbs;
		news = news || is_news(credits, l);
	}
	return news;
}
