/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Delayed placement, of personalities with late_us. The first bytes of a message are written
 * to memory late_us after the last byte. A program that polls the last byte may not rely on
 * the order (IBTA o9-20), and fails here.
 *
 * Delayed bytes of a WRITE wait in its QP (struct shca_delayed). Those of a SEND, a READ or
 * an atomic wait in the CQ of its completion (struct shca_delayed_cq), and are placed before
 * the process can see the completion.
 */
#ifndef SHCA_DELAYED_H
#define SHCA_DELAYED_H

#include <linux/hrtimer.h>
#include <linux/spinlock.h>

/* Maximum delayed bytes of a message; its last byte is never delayed. */
#define SHCA_DELAYED_BYTES	64

/* Maximum messages of a CQ with delayed bytes; one more places those first. */
#define SHCA_DELAYED_MESSAGES	16

struct shca_mr;
struct shca_pkt;

/*
 * First bytes of a message that are not in memory yet.
 * @lock:	protects what follows: the lock of the QP's receive side
 * @mr:		where they belong, with a reference; NULL: nothing is delayed. Deregistration
 *		of the region waits for @timer, @us at most
 * @begun:	bytes of the message that is being executed are delayed, or were
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
 * First bytes of messages whose completions are not visible yet; under the CQ's lock.
 * @nr:		entries of @piece
 * @mr:		where the bytes belong, with a reference
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

/* Maximum delayed bytes of a message of @len bytes */
static inline u32 shca_delayed_bytes(u32 len)
{
	return len ? min_t(u32, len - 1, SHCA_DELAYED_BYTES) : 0;
}

#if IS_ENABLED(CONFIG_SOFTHCA_FAULT_INJECTION)

/*
 * Allocate the state of a new QP.
 * @us:		late_us of its device; 0: nothing is delayed, and @made is unchanged
 * @lock:	lock of its receive side
 * Context: process.
 * Return: 0 or -ENOMEM.
 */
int shca_delayed_make(u32 us, spinlock_t *lock, struct shca_delayed **made);
/* Stop the timer and place all bytes, before the QP goes. @delayed may be NULL. */
void shca_delayed_end(struct shca_delayed *delayed);

/*
 * @pkt is about to be executed: place delayed bytes of earlier WRITEs, which its message may
 * depend on.
 * Context: softirq or bottom halves off; the lock held, as for the functions below.
 * Return: its message may access what earlier SENDs have brought, which the caller has to
 * place (shca_cq_place()).
 */
bool shca_delayed_begin(struct shca_delayed *delayed, const struct shca_pkt *pkt);

void shca_delayed_place(struct shca_delayed *delayed);

/*
 * Delay some of @len bytes for @va. Return: how many; the caller writes them to
 * @delayed->bytes, and @delayed has a reference to the region from here on.
 */
u32 shca_delayed_hold(struct shca_delayed *delayed, struct shca_mr *mr, u64 va, u32 len);

/*
 * shca_delayed_cq_add() - delay @len bytes; there is room for one more message
 * shca_delayed_cq_place() - place all in their order
 * shca_delayed_cq_meets() - are any between @va and @va + @len?
 *
 * Context: the CQ's lock held.
 */
void shca_delayed_cq_add(struct shca_delayed_cq *delayed, struct shca_mr *mr, u64 va,
			 const u8 *bytes, u32 len);
void shca_delayed_cq_place(struct shca_delayed_cq *delayed);
bool shca_delayed_cq_meets(const struct shca_delayed_cq *delayed, u64 va, u64 len);

#else	/* without fault injection, no device has late_us */

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
