/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Shared by the parts of the fuzzer of uverbs calls:
 *
 *   call.c	a call of the uverbs file as bytes, with the buffers it points to
 *   mutate.c	garbles a call
 *   spare.c	avoids known defects of the RDMA core
 *   send.c	puts a call into memory, good or bad, and executes it
 *   preload.c	intercepts the C library calls of a program, and executes garbled
 *		copies of them
 */
#ifndef GARBLE_H
#define GARBLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_ioctl_cmds.h>

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#define PAGE		4096u
#define MAX_ATTRS	32
#define MAX_PAYLOAD	PAGE

/* ---- randomness ------------------------------------------------------------- */

/** struct rng - random numbers; all follow from the first state (splitmix64) */
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
 * @at:		offset of the pointer in the bytes of the call
 *
 * It is treated as both input and output, because that is not known.
 */
struct payload {
	uint32_t at;
	uint32_t len;
	uint8_t bytes[MAX_PAYLOAD];
};

/**
 * struct call - one ioctl() or write()
 * @bytes: @len: the call: header and attributes, or the buffer
 */
struct call {
	bool is_write;
	uint32_t len;
	uint32_t nr_payloads;
	uint8_t bytes[PAGE];
	struct payload payload[MAX_ATTRS];
};

/** call_copy() - copy the used parts */
void call_copy(struct call *to, const struct call *from);

/** call_of_ioctl() - copy a program's call; false if it is malformed */
bool call_of_ioctl(struct call *call, const void *arg);

/** call_of_write() - copy a program's call; false if it is malformed */
bool call_of_write(struct call *call, const void *buf, size_t len);

/** call_to_write() - convert an INVOKE_WRITE ioctl() to write() */
bool call_to_write(struct call *call);

/** call_command() - command of the older interface, or 0 */
uint32_t call_command(const struct call *call);

/* results of call_spare_the_core() */
enum spare {
	SPARE_NOTHING,
	SPARE_EXACT,	/* the kernel must see exactly these bytes */
	SPARE_SKIP,	/* do not execute it */
};

/**
 * call_spare_the_core() - avoid known defects of this kernel's RDMA core
 *
 * They would end each run; README.md lists them. Only calls that could
 * trigger one are changed.
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

/** arena_make() - allocate; false if there is no memory */
bool arena_make(struct arena *arena);

/** arena_flip() - change a byte of an arena that another thread uses */
void arena_flip(struct rng *rng, struct arena *arena);

/**
 * send_call() - execute @call on @fd
 * @rng: NULL: in good memory, unchanged
 */
void send_call(struct rng *rng, struct arena *arena, int fd,
	       const struct call *call);

/** send_log() - log each call to the file @fd before its execution */
void send_log(int fd);

/** send_count() - count calls in the file @fd: all, successful, failed by errno */
void send_count(int fd);

/** note_mapping() - add memory shared with the kernel as a target of pointers */
void note_mapping(void *addr, size_t len);

#endif
