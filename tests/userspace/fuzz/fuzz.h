/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Fuzzing of the protocol core in a user process: what the targets share.
 *
 *   headers.c   any bytes through the header codec
 *   ib.c        frames of an InfiniBand link, and its hello protocol
 *   packets.c   one QP, and a peer that sends what it likes
 *   requests.c  two QPs, any work requests, a link that loses and reorders
 *
 *   end.c       one QP around the core, as the glue would be, and what must be
 *               true of it after every step
 *   memory.c      memory with a guard at both ends, and its access check
 *   main.c      stands in for libFuzzer where there is none
 *
 * Input bytes are a program.  They choose steps, and the fields of what is posted
 * or received.  Fields are mostly near to what the QP expects, at times anything.
 */
#ifndef SHCA_FUZZ_H
#define SHCA_FUZZ_H

#include <stdio.h>
#include <stdlib.h>

#include "../../../kernel/core/headers.h"
#include "../../../kernel/core/opcode.h"
#include "../../../kernel/core/psn.h"
#include "../../../kernel/core/requester/requester.h"
#include "../../../kernel/core/responder/responder.h"

/* ---- input ----------------------------------------------------------------- */

struct fuzz_in {
	const u8 *p;
	const u8 *end;
};

static inline bool in_more(const struct fuzz_in *in)
{
	return in->p < in->end;
}

/* Zero at the end of the input. */
static inline u8 in_u8(struct fuzz_in *in)
{
	return in->p < in->end ? *in->p++ : 0;
}

static inline u32 in_u16(struct fuzz_in *in)
{
	u32 hi = in_u8(in);

	return hi << 8 | in_u8(in);
}

static inline u32 in_u32(struct fuzz_in *in)
{
	u32 hi = in_u16(in);

	return hi << 16 | in_u16(in);
}

static inline u64 in_u64(struct fuzz_in *in)
{
	u64 hi = in_u32(in);

	return hi << 32 | in_u32(in);
}

/* A number that is a few off @near, seldom anything. */
static inline u32 in_near(struct fuzz_in *in, u32 near)
{
	u8 b = in_u8(in);

	return b == 0xff ? in_u32(in) : b < 0xc0 ? near : near + (b & 31) - 16;
}

#define fuzz_check(cond, ...)						\
	do {								\
		if (!(cond))						\
			fuzz_fail(__FILE__, __LINE__, #cond, __VA_ARGS__); \
	} while (0)

void fuzz_fail(const char *file, int line, const char *cond, const char *fmt,
	       ...) __attribute__((format(printf, 4, 5), noreturn));

/* ---- memory ------------------------------------------------------------------ */

#define FUZZ_MEM	8192
#define FUZZ_SGE	4
#define FUZZ_RECVS	64

#define FUZZ_TAGS	5
/* wr_ids of tags, added to their slots */
#define FUZZ_TAG_ID	0x100000000ull

/**
 * struct fuzz_memory - memory of one QP and what it has promised
 * @loc: @rem:	FUZZ_MEM bytes each, allocated exactly: the sanitizer guards them
 * @recvs:	receive requests, free-running indices @posted, @taken, @done
 * @tm: @tags: @tag_held: tag matching; the tag that the core has taken, or 0
 * @verdicts:	bytes that decide what the access check answers, NULL: always right
 */
struct fuzz_memory {
	u8 *loc;
	u8 *rem;
	u64 loc_base;
	u64 rem_base;
	u32 lkey;
	u32 rkey;
	u32 access;
	struct fuzz_in *verdicts;
	u64 check_va;
	u32 check_len;
	u32 check_rkey;
	struct shca_recv_wr recvs[FUZZ_RECVS];
	u32 posted;
	u32 taken;
	u32 done;
	u32 atomics;
	struct shca_tm tm;
	struct shca_tm_entry tags[FUZZ_TAGS];
	u64 tag_held;
};

extern const struct shca_mem_ops fuzz_mem_ops;

void fuzz_memory_init(struct fuzz_memory *memory, struct fuzz_in *in);
void fuzz_memory_exit(struct fuzz_memory *memory);
u32 fuzz_memory_sges(struct fuzz_memory *memory, struct fuzz_in *in,
		   struct shca_sge *sge, u32 *length);
void fuzz_memory_post(struct fuzz_memory *memory, struct fuzz_in *in);
void fuzz_memory_tag(struct fuzz_memory *memory, struct fuzz_in *in);
enum shca_mem_status fuzz_memory_gather(struct fuzz_memory *memory,
				      const struct shca_pkt *pkt, u8 *to);

/* ---- a QP ----------------------------------------------------------------------- */

#define FUZZ_WRS	512
#define FUZZ_WIRE_MAX	(SHCA_HDR_MAX + 4096 + 3 + SHCA_ICRC_BYTES)

/**
 * struct fuzz_wire - a packet on the wire
 * @buf:	@len bytes from the BTH to the ICRC, allocated exactly
 */
struct fuzz_wire {
	u32 len;
	bool ce;
	u8 *buf;
};

/**
 * struct fuzz_end - one QP
 * @posted: @popped: requests, numbered by wr_id
 * @signaled: @consumes:	by number; does it take a receive request of the peer?
 * @failed:	a completion with an error was seen
 * @consumed:	requests of the latter kind known to have succeeded
 * @received:	receive requests that have succeeded
 * @unexpected:	of these, messages that fitted no tag
 */
struct fuzz_end {
	struct shca_req req;
	struct shca_resp resp;
	struct fuzz_memory memory;
	struct shca_req_attr req_attr;
	struct shca_resp_attr resp_attr;
	void *ring;
	struct shca_rd *rd;
	u8 inline_data[256];
	u64 now;
	u32 posted;
	u32 popped;
	bool signaled[FUZZ_WRS];
	bool consumes[FUZZ_WRS];
	bool failed;
	u32 consumed;
	u32 received;
	u32 unexpected;
};

void fuzz_end_init(struct fuzz_end *end, struct fuzz_in *in);
void fuzz_end_start(struct fuzz_end *end);
void fuzz_end_exit(struct fuzz_end *end);
bool fuzz_end_post(struct fuzz_end *end, struct fuzz_in *in);
void fuzz_end_rx(struct fuzz_end *end, const struct fuzz_wire *wire);
void fuzz_end_fail(struct fuzz_end *end);
void fuzz_end_step(struct fuzz_end *end);

/* The next packet of the requester or responder; false: none. */
bool fuzz_end_tx(struct fuzz_end *end, bool is_req, struct fuzz_wire *wire);

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

#endif
