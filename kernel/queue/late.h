/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Data that is placed late and out of order, for devices whose personality has late_us.
 * The beginning of a message stays out of memory for that long, while its last byte is
 * there. A program that polls the last byte fails here as it may elsewhere (IBTA o9-20).
 *
 * That of a WRITE waits in its QP (struct shca_late). That of a SEND, a READ or an atomic
 * waits in the CQ of its completion (struct shca_late_cq). It is placed before the process
 * can see that one.
 */
#ifndef SHCA_LATE_H
#define SHCA_LATE_H

#include <linux/hrtimer.h>

#include "../base/personality.h"

/* So much of a message comes late, at most; some of it never does. */
#define SHCA_LATE_BYTES	64

/* So many messages of a CQ have late bytes at a time; one more places those. */
#define SHCA_LATE_MESSAGES	16

struct shca_cq;
struct shca_mr;
struct shca_pkt;
struct shca_qp;

/*
 * The beginning of a message that is not in memory yet; under rq.lock.
 * @mr:		where it belongs, with a reference; or NULL: nothing is late. A region that is
 *		deregistered meanwhile waits for @timer, @us at most
 * @begun:	the message that is being executed has its late bytes, or had them
 */
struct shca_late {
	struct shca_qp *qp;
	struct shca_mr *mr;
	u64 va;
	u32 len;
	u32 us;
	bool begun;
	struct hrtimer timer;
	u8 bytes[SHCA_LATE_BYTES];
};

/*
 * Beginnings of messages whose completions are not visible yet.
 * @nr:		so many; under the CQ's lock, as all here
 * @mr:		where one belongs, with a reference, as above
 */
struct shca_late_cq {
	u32 nr;
	struct shca_late_piece {
		struct shca_mr *mr;
		u64 va;
		u32 len;
		u8 bytes[SHCA_LATE_BYTES];
	} piece[SHCA_LATE_MESSAGES];
};

/* How many of the @len bytes of a message come late, at most. */
static inline u32 shca_late_bytes(u32 len)
{
	return len ? min_t(u32, len - 1, SHCA_LATE_BYTES) : 0;
}

#if IS_ENABLED(CONFIG_SOFTHCA_FAULT_INJECTION)

/* For a QP that is being made, if its device places data late. Return: 0 or -ENOMEM. */
int shca_late_make(struct shca_qp *qp);
/* All is placed, and nothing is going to be late any more. */
void shca_late_end(struct shca_qp *qp);

/*
 * @pkt is about to be executed. What a message may depend on is placed before it: WRITEs of
 * earlier messages.
 * Context: softirq or bottom halves off; rq.lock held, as for the functions below.
 */
void shca_late_begin(struct shca_late *late, const struct shca_pkt *pkt);

/* Place what is late. */
void shca_late_place(struct shca_late *late);

/*
 * How many of @len bytes for @va are to be late: into @late->bytes. The caller writes them
 * there. @late holds the region from here on.
 */
u32 shca_late_hold(struct shca_late *late, struct shca_mr *mr, u64 va, u32 len);

/*
 * shca_late_cq_add() - @len bytes come late; there is room for one more
 * shca_late_cq_place() - place them all, the first ones first
 * shca_late_cq_meets() - does any belong between @va and @va + @len?
 *
 * Context: the CQ's lock held.
 */
void shca_late_cq_add(struct shca_late_cq *late, struct shca_mr *mr, u64 va,
		      const u8 *bytes, u32 len);
void shca_late_cq_place(struct shca_late_cq *late);
bool shca_late_cq_meets(const struct shca_late_cq *late, u64 va, u64 len);

#else	/* no device has such a personality */

static inline int shca_late_make(struct shca_qp *qp) { return 0; }
static inline void shca_late_end(struct shca_qp *qp) { }
static inline void shca_late_begin(struct shca_late *late, const struct shca_pkt *pkt) { }
static inline void shca_late_place(struct shca_late *late) { }
static inline u32 shca_late_hold(struct shca_late *late, struct shca_mr *mr, u64 va,
				 u32 len)
{
	return 0;
}
static inline void shca_late_cq_add(struct shca_late_cq *late, struct shca_mr *mr,
				    u64 va, const u8 *bytes, u32 len)
{
}
static inline void shca_late_cq_place(struct shca_late_cq *late) { }
static inline bool shca_late_cq_meets(const struct shca_late_cq *late, u64 va, u64 len)
{
	return false;
}

#endif

#endif
