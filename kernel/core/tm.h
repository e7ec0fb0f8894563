/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Tag matching: the list of tagged buffers of an SRQ, and the headers of
 * messages.
 *
 * The list has the order of posting, and a message gets the first matching
 * entry. The program that posts tags also sees the messages without a matching
 * entry ("unexpected"), and matches them itself. The two must not both decide
 * about one message. A tag may be added while unexpected messages are still in
 * flight to the program, and be meant for one of them. So both count unexpected
 * messages. An entry that was added while the counts differ waits at the end of
 * the list, until the program has caught up.
 *
 * An entry costs its slot only. A handle has a use count of its slot, so it
 * never names a later entry.
 *
 * Context: a lock of the caller's.
 */
#ifndef SHCA_CORE_TM_H
#define SHCA_CORE_TM_H

#include "own.h"
#include "os.h"
#include "../../uapi/softhca-abi.h"

/* Headers at the beginning of a message, as on the wire. */
#define SHCA_TMH_BYTES		16
#define SHCA_RVH_BYTES		16
/* Longest request for a rendezvous. */
#define SHCA_TM_RNDV_MAX	64

/** enum shca_tmh_op - what a message is; values as on the wire */
enum shca_tmh_op {
	SHCA_TMH_NO_TAG,
	SHCA_TMH_RNDV,
	SHCA_TMH_FIN,
	SHCA_TMH_EAGER,
};

/** struct shca_tmh - the header of a message; @app_ctx: opaque */
struct shca_tmh {
	u64 tag;
	u32 app_ctx;
	u8 opcode;
};

/** struct shca_rvh - of a rendezvous: where the data is, at the sender */
struct shca_rvh {
	u64 va;
	u32 rkey;
	u32 len;
};

/** struct shca_tm_msg - a message, and if that is SHCA_TMH_RNDV where its data is */
struct shca_tm_msg {
	struct shca_tmh tmh;
	struct shca_rvh rvh;
};

/**
 * shca_tm_parse() - the headers at the beginning of a message
 * @len:	bytes of @p; fewer than a header are a message without a tag, and a
 *		request for a rendezvous that is too short has an @rvh of zeros
 */
void shca_tm_parse(const u8 *p, u32 len, struct shca_tm_msg *msg);

/** shca_tmh_build() - into @p, SHCA_TMH_BYTES of it */
void shca_tmh_build(const struct shca_tmh *tmh, u8 *p);

/* No entry; also bounds the number of them. */
#define SHCA_TM_NIL		0xffff

/**
 * struct shca_tm_entry - a tagged buffer
 * @tag: @mask:	fits a message whose tag, masked, equals @tag
 * @wr_id:	of the receive
 * @sge:	the buffer; of length 0: none
 * @next: @prev: in the list, or in that of free slots
 * @uses:	of this slot
 * @posted:	it is in the list
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

/**
 * struct shca_tm - a list of tags
 * @slots: @nr:	storage of the caller's
 * @first: @last: the list
 * @waiting:	first of those that wait for the counts to be equal, or NIL
 * @free:	free slots
 * @unexpected:	messages so far that no entry fitted
 * @handled:	of these, as the poster says
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

/** shca_tm_init() - an empty list; @slots: @nr of them, fewer than SHCA_TM_NIL */
void shca_tm_init(struct shca_tm *tm, struct shca_tm_entry *slots, u32 nr);

/** shca_tm_missed() - a message has come that no entry fitted */
void shca_tm_missed(struct shca_tm *tm);

/** shca_tm_in_sync() - has the poster handled all unexpected messages? */
static inline bool shca_tm_in_sync(const struct shca_tm *tm)
{
	return tm->unexpected == tm->handled;
}

/**
 * shca_tm_take() - a slot for an entry, which nothing finds before shca_tm_post()
 *
 * Return: false: none is free.  Else post it, or shca_tm_free(@handle).
 */
bool shca_tm_take(struct shca_tm *tm, u32 *handle);

/** shca_tm_post() - append @entry, in the slot that was taken for it */
void shca_tm_post(struct shca_tm *tm, const struct shca_tm_entry *entry,
		  u32 handle);

/**
 * shca_tm_add() - append an entry: the two above in one
 * @entry:	@tag, @mask, @wr_id and @sge of it
 * @handle:	for shca_tm_del()
 *
 * Return: false: no slot is free.
 */
bool shca_tm_add(struct shca_tm *tm, const struct shca_tm_entry *entry,
		 u32 *handle);

/**
 * shca_tm_del() - take an entry back
 *
 * Return: false: there is none of that handle; a message may have got it.
 */
bool shca_tm_del(struct shca_tm *tm, u32 handle);

/** shca_tm_sync() - the poster has handled so many unexpected messages, ever */
void shca_tm_sync(struct shca_tm *tm, u32 handled);

/** shca_tm_undo() - an unexpected message broke off: its poster never gets it */
void shca_tm_undo(struct shca_tm *tm);

/**
 * shca_tm_match() - the entry for a message
 *
 * It is not in the list any more; give its slot back by shca_tm_free().
 * Return: its slot, or SHCA_TM_NIL.
 */
u16 shca_tm_match(struct shca_tm *tm, u64 tag);
void shca_tm_free(struct shca_tm *tm, u16 slot);

#endif
