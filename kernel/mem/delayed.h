/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Delayed placement: data comes late and out of order at devices whose personality has late_us.
 * The beginning of a message stays out of memory for that long, while its last byte is
 * there. A program that polls the last byte fails here as it may elsewhere (IBTA o9-20).
 *
 * That of a WRITE waits in its QP (struct shca_delayed). That of a SEND, a READ or an atomic
 * waits in the CQ of its completion (struct shca_delayed_cq). It is placed before the process
 * can see that one.
 */
#ifndef SHCA_DELAYED_H
#define SHCA_DELAYED_H

#include <linux/hrtimer.h>
#include <linux/spinlock.h>

/* So much of a message comes late, at most; some of it never does. */
#define SHCA_DELAYED_BYTES	64

/* So many messages of a CQ have late bytes at a time; one more places those. */
#define SHCA_DELAYED_MESSAGES	16

struct shca_mr;
struct shca_pkt;

/*
 * The beginning of a message that is not in memory yet.
 * @lock:	protects what follows: that of the QP's receive side
 * @mr:		where it belongs, with a reference; or NULL: nothing is late. A region that is
 *		deregistered meanwhile waits for @timer, @us at most
 * @begun:	the message that is being executed has its late bytes, or had them
 */
struct shca_delayed {
	spinlock_t *lock;
	struct shca_mr *mr;
	u64 va;
	u32 len;
	u32 us;
	bool begun;
	struct hrtimer timer;
	u8 bytes[SHCA_DELAYED_BYTES];
};

/*
 * Beginnings of messages whose completions are not visible yet.
 * @nr:		so many; under the CQ's lock, as all here
 * @mr:		where one belongs, with a reference, as above
 */
struct shca_delayed_cq {
	u32 nr;
	struct shca_delayed_piece {
		struct shca_mr *mr;
		u64 va;
		u32 len;
		u8 bytes[SHCA_DELAYED_BYTES];
	} piece[SHCA_DELAYED_MESSAGES];
};

/* How many of the @len bytes of a message come late, at most. */
static inline u32 shca_delayed_bytes(u32 len)
{
	return len ? min_t(u32, len - 1, SHCA_DELAYED_BYTES) : 0;
}

#if IS_ENABLED(CONFIG_SOFTHCA_FAULT_INJECTION)

/*
 * For a QP that is being made.
 * @us:		late_us of its device; 0: nothing is delayed, and @made stays
 * @lock:	of its receive side
 * Context: process.
 * Return: 0 or -ENOMEM.
 */
int shca_delayed_make(u32 us, spinlock_t *lock, struct shca_delayed **made);
/* All is placed, and nothing is going to be delayed any more. @delayed may be NULL. */
void shca_delayed_end(struct shca_delayed *delayed);

/*
 * @pkt is about to be executed. What a message may depend on is placed before it: WRITEs of
 * earlier messages.
 * Context: softirq or bottom halves off; the lock held, as for the functions below.
 * Return: it writes or reads what an earlier SEND may have brought, which the caller has to
 * place (shca_cq_place()).
 */
bool shca_delayed_begin(struct shca_delayed *delayed, const struct shca_pkt *pkt);

/* Place what is late. */
void shca_delayed_place(struct shca_delayed *delayed);

/*
 * How many of @len bytes for @va are to be late: into @delayed->bytes. The caller writes them
 * there. @delayed holds the region from here on.
 */
u32 shca_delayed_hold(struct shca_delayed *delayed, struct shca_mr *mr, u64 va, u32 len);

/*
 * shca_delayed_cq_add() - @len bytes come late; there is room for one more
 * shca_delayed_cq_place() - place them all, the first ones first
 * shca_delayed_cq_meets() - does any belong between @va and @va + @len?
 *
 * Context: the CQ's lock held.
 */
void shca_delayed_cq_add(struct shca_delayed_cq *delayed, struct shca_mr *mr, u64 va,
		      const u8 *bytes, u32 len);
void shca_delayed_cq_place(struct shca_delayed_cq *delayed);
bool shca_delayed_cq_meets(const struct shca_delayed_cq *delayed, u64 va, u64 len);

#else	/* no device has such a personality */

static inline int shca_delayed_make(u32 us, spinlock_t *lock, struct shca_delayed **made)
{
	return 0;
}
static inline void shca_delayed_end(struct shca_delayed *delayed) { }
static inline bool shca_delayed_begin(struct shca_delayed *delayed, const struct shca_pkt *pkt)
{
	return false;
}
static inline void shca_delayed_place(struct shca_delayed *delayed) { }
static inline u32 shca_delayed_hold(struct shca_delayed *delayed, struct shca_mr *mr, u64 va,
				 u32 len)
{
	return 0;
}
static inline void shca_delayed_cq_add(struct shca_delayed_cq *delayed, struct shca_mr *mr,
				    u64 va, const u8 *bytes, u32 len)
{
}
static inline void shca_delayed_cq_place(struct shca_delayed_cq *delayed) { }
static inline bool shca_delayed_cq_meets(const struct shca_delayed_cq *delayed, u64 va, u64 len)
{
	return false;
}

#endif

#endif
