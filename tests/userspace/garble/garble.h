/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What the parts of the fuzzer of uverbs traffic share.  The parts are:
 *
 *   call.c	a call of the uverbs file as bytes, with the buffers it points to
 *   mutate.c	garbles one
 *   spare.c	steps around defects that are known
 *   send.c	puts one into memory, good or bad, and executes it
 *   preload.c	stands between a program and its C library, and has the rest
 *		garble copies of what the program does
 */
#ifndef GARBLE_H
#define GARBLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_ioctl_cmds.h>

#define PAGE		4096u
#define MAX_ATTRS	32
#define MAX_PAYLOAD	PAGE

/* ---- randomness ------------------------------------------------------------- */

/** struct rng - all that is drawn follows from its first state (splitmix64) */
struct rng {
	uint64_t state;
};

static inline uint64_t rng_next(struct rng *rng)
{
	uint64_t z = rng->state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

/** below() - 0 ... @n - 1; @n is not 0 */
static inline uint32_t below(struct rng *rng, uint32_t n)
{
	return (rng_next(rng) >> 32) % n;
}

/** one_in() - true once in @n times */
static inline bool one_in(struct rng *rng, uint32_t n)
{
	return !below(rng, n);
}

/* ---- calls -------------------------------------------------------------------- */

/**
 * struct payload - memory that a call points to
 * @at:	where in the bytes of the call the pointer stands
 *
 * Whether the kernel reads or writes there is not known; it is both, therefore.
 */
struct payload {
	uint32_t at;
	uint32_t len;
	uint8_t bytes[MAX_PAYLOAD];
};

/**
 * struct call - one ioctl() or write()
 * @bytes: @len: what is handed over: header and attributes, or the buffer
 */
struct call {
	bool is_write;
	uint32_t len;
	uint32_t nr_payloads;
	uint8_t bytes[PAGE];
	struct payload payload[MAX_ATTRS];
};

/** call_copy() - without what is not in use */
void call_copy(struct call *to, const struct call *from);

/** call_of_ioctl() - a copy of a program's; false: it cannot be one */
bool call_of_ioctl(struct call *call, const void *arg);

/** call_of_write() - a copy of a program's; false: it cannot be one */
bool call_of_write(struct call *call, const void *buf, size_t len);

/** call_to_write() - the write() that stands for an ioctl() of INVOKE_WRITE */
bool call_to_write(struct call *call);

/** call_command() - the command of the older interface that it is, else 0 */
uint32_t call_command(const struct call *call);

/* What call_spare_the_core() says of a call. */
enum spare {
	SPARE_NOTHING,
	SPARE_EXACT,	/* what the kernel sees must be these very bytes */
	SPARE_SKIP,	/* it must not be executed */
};

/**
 * call_spare_the_core() - step around defects of the RDMA core of this kernel
 *
 * They would end each run; tests/README.md has them.  Only calls that could show
 * such a defect are changed.
 */
enum spare call_spare_the_core(struct call *call);

/* ---- garbling ------------------------------------------------------------------ */

/** garble() - change @call in one to four places */
void garble(struct rng *rng, struct call *call);

/* ---- execution ----------------------------------------------------------------- */

/**
 * struct arena - memory for one call at a time; each thread has its own
 * @can_flip:	another thread may change bytes in it at this moment
 */
struct arena {
	uint8_t *base;
	bool can_flip;
};

/** arena_make() - false: there is no memory */
bool arena_make(struct arena *arena);

/** arena_flip() - change a byte of an arena that another thread uses */
void arena_flip(struct rng *rng, struct arena *arena);

/**
 * send_call() - execute @call on @fd
 * @rng: NULL: in good memory, as it is
 */
void send_call(struct rng *rng, struct arena *arena, int fd,
	       const struct call *call);

/** send_log() - tell of each call in the file @fd before it is executed */
void send_log(int fd);

/** send_count() - count calls in the file @fd: all, done, refused by errno */
void send_count(int fd);

/** note_mapping() - memory that the kernel shares, as a target of pointers */
void note_mapping(void *addr, size_t len);

#endif
