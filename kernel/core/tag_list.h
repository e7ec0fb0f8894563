/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Tag matching: the list of tagged buffers of an SRQ, and the headers of messages.
 *
 * The list has the order of posting, and a message gets the first matching entry. The program gets
 * the messages without one ("unexpected"), and matches them itself. Kernel and program must not
 * both decide about a message: the program may add a tag for an unexpected message that it has not
 * polled yet. Both therefore count unexpected messages. An entry that is added while the counts
 * differ waits at the end of the list, until the program has handled all unexpected messages.
 *
 * A handle has a use count of its slot, so it never names a later entry.
 *
 * Context: the caller holds a lock.
 */
#ifndef SHCA_CORE_TM_H
#define SHCA_CORE_TM_H

#include "os.h"
#include "own.h"
#include "../../uapi/softhca-abi.h"

/* Sizes of the headers at the beginning of a message. */
#define SHCA_TMH_BYTES		16
#define SHCA_RVH_BYTES		16
/* Maximum length of a rendezvous request. */
#define SHCA_TM_RNDV_MAX	64

/* Kind of a message; values as on the wire. */
enum shca_tmh_op {
	SHCA_TMH_NO_TAG,
	SHCA_TMH_RNDV,
	SHCA_TMH_FIN,
	SHCA_TMH_EAGER,
};

/* Header of a message; @app_ctx is opaque. */
struct shca_tmh {
	u64 tag;
	u32 app_ctx;
	u8 opcode;
};

/* Header of a rendezvous: location of the data at the sender. */
struct shca_rvh {
	u64 va;
	u32 rkey;
	u32 len;
};

/* Headers of a message; @rvh is valid for SHCA_TMH_RNDV. */
struct shca_tm_msg {
	struct shca_tmh tmh;
	struct shca_rvh rvh;
};

/*
 * Parse the headers at the beginning of a message.
 * @len:	bytes of @p. Fewer than a header make a message without a tag. A rendezvous request
 *		that is too short has an @rvh of zeros
 */
void shca_tm_parse(const u8 *p, u32 len, struct shca_tm_msg *msg);

/* Write SHCA_TMH_BYTES to @p. */
void shca_tmh_build(const struct shca_tmh *tmh, u8 *p);

/* No entry; also limits their number. */
#define SHCA_TM_NIL		0xffff

/**
 * struct shca_tm_entry - a tagged buffer
 * @tag:	matches a message whose tag & @mask equals it
 * @mask:	bits of a tag that count
 * @wr_id:	wr_id of the receive
 * @sge:	the buffer; none if its length is 0
 * @next:	in the list of tags, or of free slots
 * @prev:	in the list of tags
 * @uses:	number of uses of this slot
 * @posted:	in the list of tags
 */
struct shca_tm_entry {
	u64 tag;
	u64 mask;
	u64 wr_id;
	struct shca_sge sge;
	u16 next;
	u16 prev;
	u16 uses;
	bool posted;
};

/*
 * A list of tags.
 * @slots: @nr:	storage of the caller
 * @first: @last: the list
 * @waiting:	first entry that waits for equal counts, or NIL
 * @free:	free slots
 * @unexpected:	number of messages without a matching entry
 * @handled:	number of these that the poster has handled
 */
struct shca_tm {
	SHCA_OWN struct {
		struct shca_tm_entry *slots;
		u32 nr;
		u16 first;
		u16 last;
		u16 waiting;
		u16 free;
		u32 unexpected;
		u32 handled;
	};
};

/* Make an empty list of @nr slots, fewer than SHCA_TM_NIL. */
void shca_tm_init(struct shca_tm *tm, struct shca_tm_entry *slots, u32 nr);

/* Count a message without a matching entry. */
void shca_tm_missed(struct shca_tm *tm);

static inline bool shca_tm_in_sync(const struct shca_tm *tm)
{
	return tm->unexpected == tm->handled;
}

/*
 * Reserve a slot. shca_tm_post() makes it visible, shca_tm_free() gives it back.
 * @handle:	for these, and for shca_tm_del()
 *
 * Return: false if none is free.
 */
bool shca_tm_take(struct shca_tm *tm, u32 *handle);

/* Append @entry (@tag, @mask, @wr_id and @sge) in its reserved slot. */
void shca_tm_post(struct shca_tm *tm, const struct shca_tm_entry *entry,
		  u32 handle);

/*
 * Remove an entry.
 *
 * Return: false if the handle names no entry; a message may have matched it.
 */
bool shca_tm_del(struct shca_tm *tm, u32 handle);

/* The poster has handled @handled unexpected messages in total. */
void shca_tm_sync(struct shca_tm *tm, u32 handled);

/* An unexpected message was broken off, and the program never gets it. */
void shca_tm_undo(struct shca_tm *tm);

/*
 * Take the first matching entry out of the list.
 *
 * Return: its slot, which the caller gives back by shca_tm_free(); or SHCA_TM_NIL.
 */
u16 shca_tm_match(struct shca_tm *tm, u64 tag);
void shca_tm_free(struct shca_tm *tm, u16 slot);

#endif
