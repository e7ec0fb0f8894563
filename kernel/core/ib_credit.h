/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Credits of an InfiniBand link (IBTA 7.9): a receiver says how much each of its lanes
 * takes, and a sender sends no more. Counters are absolute, so that frames may be lost.
 * docs/infiniband.md has the frame. Without time, queues and locks.
 */
#ifndef SHCA_CORE_IB_CREDIT_H
#define SHCA_CORE_IB_CREDIT_H

#include "ib_lanes.h"
#include "ib_wire.h"

/* Blocks that a lane grants at most; half of what 12 bits tell apart. */
#define SHCA_IB_GRANT		2048
/* A frame that is on its way counts as its blocks, and so many more. */
#define SHCA_IB_FRAME_UNITS	7
/*
 * Such units may be on their way at a time: 384 of the smallest frames. That is more
 * than one lane may send, and less than two, so that lanes share it by their weights.
 */
#define SHCA_IB_WINDOW		3072

/* A flow-control packet (IBTA 7.9.4) with its LPCRC; a frame has one for each lane. */
#define SHCA_IB_FCP_BYTES	6
#define SHCA_IB_CREDIT_HEAD	8
#define SHCA_IB_CREDIT_BYTES	(SHCA_IB_CREDIT_HEAD + \
				 SHCA_IB_LANES * SHCA_IB_FCP_BYTES)

/**
 * struct shca_ib_fcp - of one lane
 * @fctbs:	blocks that its sender has sent
 * @fccl:	up to which count the other end may send
 */
struct shca_ib_fcp {
	u16 fctbs;
	u16 fccl;
};

/**
 * struct shca_ib_credit_frame - what a frame of credits says
 * @session:	of the sender; in the shim
 * @init:	the sender has not heard one since the link came up
 * @sent: @received: @window:	units that have left, and arrived; how many may be on
 *		their way to the sender
 * @lane:	of each lane
 */
struct shca_ib_credit_frame {
	u32 session;
	bool init;
	u16 sent;
	u16 received;
	u16 window;
	struct shca_ib_fcp lane[SHCA_IB_LANES];
};

/**
 * shca_ib_credit_parse() - decode what follows the shim
 * @body:	@shim->len bytes, of which SHCA_IB_CREDIT_BYTES are looked at
 *
 * Return: SHCA_IB_OK; SHCA_IB_SHORT; SHCA_IB_LENGTH: wrong lanes, or a wrong LPCRC.
 */
enum shca_ib_parse shca_ib_credit_parse(struct shca_ib_credit_frame *frame,
					const struct shca_ib_vcrc *tables,
					const struct shca_ib_shim *shim,
					const u8 *body);

/** shca_ib_credit_build() - encode shim and body. Return: bytes written. */
u32 shca_ib_credit_build(const struct shca_ib_credit_frame *frame,
			 const struct shca_ib_vcrc *tables, u8 *out);

/* ---- the state of a port ---------------------------------------------------- */

/** struct shca_ib_lane_credit - both directions of a lane; see shca_ib_credit_frame */
struct shca_ib_lane_credit {
	u16 fctbs;
	u16 fccl;
	u16 abr;	/* blocks that have arrived, or were lost */
	u16 held;	/* of these, blocks that still lie in the lane's buffer */
	u16 told;	/* FCCL as it was sent last */
	u16 before;	/* FCTBS of the last frame that was settled */
};

/**
 * struct shca_ib_credits - what may be sent, and what has arrived
 * @on:		both ends use credits; else everything may be sent
 * @heard:	a frame has come since the link came up
 * @sent: @peer_received: @peer_window: @received:	as in struct shca_ib_credit_frame
 * @told: @before:	as in struct shca_ib_lane_credit, for units
 */
struct shca_ib_credits {
	bool on;
	bool heard;
	u16 sent;
	u16 peer_received;
	u16 peer_window;
	u16 received;
	u16 told;
	u16 before;
	struct shca_ib_lane_credit lane[SHCA_IB_LANES];
};

/** shca_ib_blocks() - credits that a packet takes, of @len bytes from LRH to VCRC */
static inline u32 shca_ib_blocks(u32 len)
{
	return DIV_ROUND_UP(len, SHCA_IB_BLOCK);
}

/** shca_ib_credits_init() - the link has come up, or has gone down (not @on) */
void shca_ib_credits_init(struct shca_ib_credits *credits, bool on);

/** shca_ib_units() - what packets on their way take of the window */
static inline u32 shca_ib_units(u32 blocks, u32 packets)
{
	return blocks + packets * SHCA_IB_FRAME_UNITS;
}

/**
 * shca_ib_credits_may() - may packets leave on a lane now?
 * @blocks: @packets:	of a batch, or of one packet
 */
bool shca_ib_credits_may(const struct shca_ib_credits *credits, u8 lane,
			 u32 blocks, u32 packets);

/** shca_ib_credits_take() - they leave; shca_ib_credits_undo(): they did not */
void shca_ib_credits_take(struct shca_ib_credits *credits, u8 lane, u32 blocks,
			  u32 packets);
void shca_ib_credits_undo(struct shca_ib_credits *credits, u8 lane, u32 blocks,
			  u32 packets);

/*
 * A sender may account for packets itself. It borrows all that there is of the window or
 * of a lane, and says later what it has not used. What is borrowed counts as sent.
 */

/** shca_ib_credits_lend() - all blocks that may leave on a lane */
u32 shca_ib_credits_lend(struct shca_ib_credits *credits, u8 lane);
/** shca_ib_credits_back() - @blocks of them have not left */
void shca_ib_credits_back(struct shca_ib_credits *credits, u8 lane, u32 blocks);
/** shca_ib_credits_lend_window() - all units of the window */
u32 shca_ib_credits_lend_window(struct shca_ib_credits *credits);
/** shca_ib_credits_back_window() - @units of them have not left */
void shca_ib_credits_back_window(struct shca_ib_credits *credits, u32 units);

/* What is news: so much, since the peer was told, it is to be told at once. */
#define SHCA_IB_NEWS_UNITS	(SHCA_IB_WINDOW / 2)
#define SHCA_IB_NEWS_BLOCKS	(SHCA_IB_GRANT / 2)

/**
 * shca_ib_credits_arrived() - packets have arrived on a lane
 *
 * Return: whether the peer is to be told now.
 */
bool shca_ib_credits_arrived(struct shca_ib_credits *credits, u8 lane,
			     u32 blocks, u32 units);

/**
 * shca_ib_credits_keep() - a packet that has arrived stays in the lane's buffer
 *
 * Return: false: there is no room for it.
 */
bool shca_ib_credits_keep(struct shca_ib_credits *credits, u8 lane, u32 blocks);

/** shca_ib_credits_free() - it does not any more. Return: as shca_ib_credits_arrived() */
bool shca_ib_credits_free(struct shca_ib_credits *credits, u8 lane, u32 blocks);

/** shca_ib_credits_tell() - what a frame says now, but for its session; it leaves */
void shca_ib_credits_tell(struct shca_ib_credits *credits,
			  struct shca_ib_credit_frame *frame);

/**
 * shca_ib_credits_hear() - a frame of the peer has come
 * @settled:	what was sent before the last frame that was settled has arrived, or is lost
 *
 * Return: whether the peer is to be told now.
 */
bool shca_ib_credits_hear(struct shca_ib_credits *credits,
			  const struct shca_ib_credit_frame *frame, bool settled);

#endif
