/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Credits of an InfiniBand link (IBTA 7.9): a receiver grants credits for each of its lanes, and a
 * sender sends no more. docs/infiniband.md has the frame. Without time, queues and locks.
 */
#ifndef SHCA_CORE_IB_CREDIT_H
#define SHCA_CORE_IB_CREDIT_H

#include "ib_lanes.h"
#include "ib_wire.h"

/*
 * Blocks that a packet counts as: no legal one is longer. Queues between the ends count frames, so
 * a short packet takes as much room there as the longest.
 */
#define SHCA_IB_CHARGE		68
/* Blocks that may be in flight over all lanes, at most: 240 packets. */
#define SHCA_IB_WINDOW		16384
/*
 * Blocks of a lane's buffer, at most. One lane does not fill the window, but two do: weights decide
 * then.
 */
#define SHCA_IB_GRANT		12288
/*
 * A frame leaves when so many blocks of such a buffer have arrived or become free, and of a smaller
 * one the same share. Two frames may be lost in a row.
 */
#define SHCA_IB_REPORT		(SHCA_IB_GRANT / 3)
/*
 * Periods that a receiver distinguishes, a power of 2; packets of the past half are late. One that
 * waits for 240 ms is twice as much behind its peer, and that is 12 periods of 40 ms.
 */
#define SHCA_IB_PERIODS		32

/* Body of a frame: head, counters of each lane, CRC. */
#define SHCA_IB_CREDIT_HEAD	8
#define SHCA_IB_CREDIT_LANE	16
#define SHCA_IB_CREDIT_BYTES	(SHCA_IB_CREDIT_HEAD + SHCA_IB_VCRC_BYTES + \
				 SHCA_IB_LANES * SHCA_IB_CREDIT_LANE)

/**
 * struct shca_ib_lane_counts - of one lane, as the sender of a frame sees it
 * @fctbs:	blocks that it has sent
 * @began:	those of them that it had sent when its period began
 * @abr:	blocks that have arrived at it, or were lost
 * @fccl:	up to which count the other end may send
 */
struct shca_ib_lane_counts {
	u32 fctbs;
	u32 began;
	u32 abr;
	u32 fccl;
};

/**
 * struct shca_ib_credit_frame - contents of a frame of credits
 * @session:	of the sender; in the shim
 * @init:	the sender has received none since the link came up, and grants nothing
 * @ask:	packets wait at the sender
 * @period:	that of the packets that the sender sends now
 * @window:	blocks that may be in flight to the sender, over all lanes
 * @lane:	counters of each lane
 */
struct shca_ib_credit_frame {
	u32 session;
	bool init;
	bool ask;
	u8 period;
	u32 window;
	struct shca_ib_lane_counts lane[SHCA_IB_LANES];
};

/**
 * shca_ib_credit_parse() - decode what follows the shim
 * @frame:	result
 * @tables:	of the CRC
 * @shim:	decoded before
 * @body:	@shim->len bytes, of which SHCA_IB_CREDIT_BYTES are read
 *
 * Return: SHCA_IB_OK; SHCA_IB_SHORT; SHCA_IB_LENGTH: wrong lanes, or a wrong CRC.
 */
enum shca_ib_parse shca_ib_credit_parse(struct shca_ib_credit_frame *frame,
					const struct shca_ib_vcrc *tables,
					const struct shca_ib_shim *shim,
					const u8 *body);

/* Encode shim and body. Return: bytes written. */
u32 shca_ib_credit_build(const struct shca_ib_credit_frame *frame,
			 const struct shca_ib_vcrc *tables, u8 *out);

/* ---- the state of a port ---------------------------------------------------- */

/*
 * Both directions of a lane.
 * @grant:	blocks of the lane's buffer
 * @scale:	what one of them counts in @fresh of the port: the more, the smaller the buffer
 * @fctbs: @began:	as in struct shca_ib_lane_counts
 * @fccl: @landed:	the highest FCCL and ABR that the peer has sent
 * @abr:	as in struct shca_ib_lane_counts
 * @next:	ABR when the peer's period @newest began, while it is not the oldest one
 * @got:	blocks that have arrived, by their period, from @oldest on
 * @held:	blocks that still lie in the lane's buffer
 */
struct shca_ib_lane_credit {
	u32 grant;
	u32 scale;
	u32 fctbs;
	u32 began;
	u32 fccl;
	u32 landed;
	u32 abr;
	u32 next;
	u32 got[SHCA_IB_PERIODS];
	u32 held;
};

/*
 * What may be sent, and what has arrived.
 * @on:		both ends use credits
 * @heard:	a frame has come since the link came up
 * @period:	own
 * @oldest: @newest:	periods of the peer: the first of which packets may still come, and the last
 *		one that a frame has announced
 * @own_window:	which frames tell the peer
 * @window:	of the peer
 * @fresh:	blocks that have arrived, or have become free, since a frame left, by @scale
 */
struct shca_ib_credits {
	bool on;
	bool heard;
	u8 period;
	u8 oldest;
	u8 newest;
	u32 own_window;
	u32 window;
	u32 fresh;
	struct shca_ib_lane_credit lane[SHCA_IB_LANES];
};

/* Blocks of a packet, of @len bytes from LRH to VCRC. */
static inline u32 shca_ib_blocks(u32 len)
{
	return DIV_ROUND_UP(len, SHCA_IB_BLOCK);
}

/* Has the peer begun a period, and packets of the one before may still come? */
static inline bool shca_ib_credits_turning(const struct shca_ib_credits *credits)
{
	return credits->newest != credits->oldest;
}

/*
 * What a port takes; not while the link is up. @credits is all zero before the first call.
 * @window:	blocks that may be in flight to it over all lanes, up to SHCA_IB_WINDOW; with less, a
 *		softhca sends no batches
 * @grant:	blocks of each lane's buffer, up to SHCA_IB_GRANT; 0: the lane takes nothing. With less
 *		than SHCA_IB_REPORT no batch fits, so @window must be less than all
 */
void shca_ib_credits_size(struct shca_ib_credits *credits, u32 window,
			  const u32 grant[SHCA_IB_LANES]);

/*
 * The link has come up (@on) or gone down. What was sent, and what is in buffers, stays, because
 * the peer may not have noticed.
 */
void shca_ib_credits_reset(struct shca_ib_credits *credits, bool on);

/* Blocks that the peer's buffer of a lane has room for. */
u32 shca_ib_credits_of_lane(const struct shca_ib_credits *credits, u8 lane);

/* Blocks that may leave on a lane now: the window has room, too. */
u32 shca_ib_credits_room(const struct shca_ib_credits *credits, u8 lane);

/* @blocks leave. If they have not left after all, _back() undoes this in the same period. */
void shca_ib_credits_take(struct shca_ib_credits *credits, u8 lane, u32 blocks);
void shca_ib_credits_back(struct shca_ib_credits *credits, u8 lane, u32 blocks);

/* Begin a period. */
void shca_ib_credits_turn(struct shca_ib_credits *credits);

/*
 * Packets of a period have arrived on a lane.
 *
 * Return: false: they are late, and do not count, because they were taken for lost.
 */
bool shca_ib_credits_arrived(struct shca_ib_credits *credits, u8 period,
			     u8 lane, u32 blocks);

/* Put a packet that has arrived into the lane's buffer. Return: false: there is no room for it. */
bool shca_ib_credits_keep(struct shca_ib_credits *credits, u8 lane, u32 blocks);

/* A packet leaves the buffer. */
void shca_ib_credits_free(struct shca_ib_credits *credits, u8 lane, u32 blocks);

/* Must a frame of credits be sent? */
bool shca_ib_credits_pending(const struct shca_ib_credits *credits);

/* Fill in a frame that leaves, but for its session. */
void shca_ib_credits_tell(struct shca_ib_credits *credits,
			  struct shca_ib_credit_frame *frame);

/*
 * A frame of the peer has come.
 *
 * Return: false: a value is impossible; the possible part of it counts.
 */
bool shca_ib_credits_hear(struct shca_ib_credits *credits,
			  const struct shca_ib_credit_frame *frame);

/*
 * No packet of a period before the newest will come: what is missing of these periods is lost. A
 * packet that comes nevertheless is late. A duplicate counts only until the next call.
 */
void shca_ib_credits_reconcile(struct shca_ib_credits *credits);

#endif
