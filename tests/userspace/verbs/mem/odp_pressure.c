// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * On-demand regions while the kernel moves their memory. It swaps pages out,
 * collapses them into huge pages and splits these, merges equal pages and
 * copies them on write. A READ and the CPU must find what an RDMA WRITE has
 * placed.
 *
 *   odp_pressure [-d DEVICE] [-p PEER] [-f 4|6] [-m BYTES]
 *
 * ODP_SECONDS is the duration (default 10), -m the amount of memory (default 32
 * MiB). The caller makes other pressure (swap, compaction):
 * tests/guest/stress/memory-pressure.sh.
 */
#define _GNU_SOURCE
#include <sys/mman.h>
#include <unistd.h>

#include "util.h"

#define CHUNK	(16 * KIB)
/* size of a huge page here */
#define HUGE	(2 * MIB)

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE	25
#endif

static struct end a, b;
static struct buf mem_a;
static uint8_t *p;
static struct ibv_mr *mr;
static uint32_t nr_chunks;
/* Seeds of fill() per chunk; equal seeds make equal pages. */
static uint32_t *version;
static uint64_t random_state = 1;

static uint32_t draw(uint32_t below)
{
	random_state = random_state * 6364136223846793005ull + 1442695040888963407ull;
	return (random_state >> 33) % below;
}

static void rdma(enum ibv_wr_opcode opcode, uint32_t chunk)
{
	struct ibv_sge sge = sge_of(&mem_a, 0, CHUNK);
	struct ibv_send_wr wr = wr_rdma(chunk, opcode, &sge, 1,
					(uintptr_t)p + chunk * (size_t)CHUNK,
					mr->rkey);

	post(&a, &wr);
	wait_status(a.scq, chunk, IBV_WC_SUCCESS);
}

static void write_chunk(uint32_t chunk)
{
	/* one in four has the contents of another, for KSM */
	version[chunk] = draw(4) ? draw(1u << 30) : 7;
	fill(mem_a.p, CHUNK, version[chunk]);
	rdma(IBV_WR_RDMA_WRITE, chunk);
}

static void read_chunk(uint32_t chunk)
{
	memset(mem_a.p, 0, CHUNK);
	rdma(IBV_WR_RDMA_READ, chunk);
	check_fill(mem_a.p, CHUNK, version[chunk]);
}

static void look_at_chunk(uint32_t chunk)
{
	check_fill(p + chunk * (size_t)CHUNK, CHUNK, version[chunk]);
}

static void write_by_cpu(uint32_t chunk)
{
	version[chunk] = draw(1u << 30);
	fill(p + chunk * (size_t)CHUNK, CHUNK, version[chunk]);
}

/* Asks the kernel to do something with a part of the memory; it may decline. */
static void disturb(void)
{
	static const int advice[] = {
		MADV_PAGEOUT, MADV_COLD, MADV_HUGEPAGE, MADV_NOHUGEPAGE,
		MADV_COLLAPSE, MADV_MERGEABLE, MADV_UNMERGEABLE, MADV_PAGEOUT,
	};
	size_t len = (size_t)nr_chunks * CHUNK, at = draw(len / HUGE) * HUGE;

	madvise(p + at, HUGE, advice[draw(ARRAY_SIZE(advice))]);
}

static void contents_stay(void)
{
	const char *text = getenv("ODP_SECONDS");
	uint64_t until = millis() + 1000ull * (text ? atoi(text) : 10);
	size_t len = options.max_len ? options.max_len : 32 * MIB;
	struct config config = config_default;
	uint64_t rounds = 0;
	uint8_t *at;
	uint32_t i;

	alarm((until - millis()) / 1000 + 60 * slow_factor());
	config.timeout = 19;
	pair_make(&a, &b, &config);
	mem_a = buf_make(a.nic->pd, CHUNK, ACCESS_ALL);
	at = mmap(NULL, len + HUGE, PROT_READ | PROT_WRITE,
		  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	REQUIRE(at != MAP_FAILED);
	p = (uint8_t *)(((uintptr_t)at + HUGE - 1) & ~(uintptr_t)(HUGE - 1));
	nr_chunks = len / CHUNK;
	version = calloc(nr_chunks, sizeof(*version));
	REQUIRE(version);
	mr = ibv_reg_mr(b.nic->pd, p, len, ACCESS_ALL | IBV_ACCESS_ON_DEMAND);
	REQUIRE(mr);
	for (i = 0; i < nr_chunks; i++)
		write_chunk(i);
	for (; millis() < until; rounds++) {
		disturb();
		for (i = 0; i < 8; i++) {
			write_chunk(draw(nr_chunks));
			read_chunk(draw(nr_chunks));
			look_at_chunk(draw(nr_chunks));
			write_by_cpu(draw(nr_chunks));
		}
	}
	for (i = 0; i < nr_chunks; i++) {
		look_at_chunk(i);
		read_chunk(i);
	}
	printf("# %llu rounds over %zu MiB\n", (unsigned long long)rounds,
	       len / MIB);
}

static const struct test tests[] = {
	{ "contents_stay", contents_stay },
	{}
};

int main(int argc, char **argv)
{
	return util_main(tests, argc, argv);
}
