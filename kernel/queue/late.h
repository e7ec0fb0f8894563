/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Data that is placed late and out of order, for devices whose personality has late_us.
 * The beginning of a WRITE stays out of memory for that long, while its last byte is
 * there. A program that polls the last byte fails here as it may elsewhere (IBTA o9-20).
 */
#ifndef SHCA_LATE_H
#define SHCA_LATE_H

#include <linux/hrtimer.h>

#include "../base/personality.h"

/* So much of a message comes late, at most; some of it never does. */
#define SHCA_LATE_BYTES	64

struct shca_mr;
struct shca_pkt;
struct shca_qp;

/**
 * struct shca_late - the beginning of a message that is not in memory yet; under rq.lock
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

/** shca_late_make() - for a QP that is being made, if its device is so. 0 or -ENOMEM */
int shca_late_make(struct shca_qp *qp);
/** shca_late_end() - all is placed, and nothing is going to be late any more */
void shca_late_end(struct shca_qp *qp);

/**
 * shca_late_begin() - @pkt is about to be executed
 *
 * What a message may depend on is placed before it: WRITEs of earlier messages.
 * Context: softirq or bottom halves off; rq.lock held, as for the functions below.
 */
void shca_late_begin(struct shca_late *late, const struct shca_pkt *pkt);

/** shca_late_place() - place what is late */
void shca_late_place(struct shca_late *late);

/**
 * shca_late_hold() - how many of @len bytes for @va are to be late: into @late->bytes
 *
 * The caller writes them there. @late holds the region from here on.
 */
u32 shca_late_hold(struct shca_late *late, struct shca_mr *mr, u64 va, u32 len);

#endif
