// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Programs that poll memory: another process looks at the last word of a message, or at a
 * flag that is written behind it. When it sees that, it must see all of the message, of
 * any length, whatever way it came. Adapters write a message in order, and messages one
 * after the other.
 *
 *   write_order [-d DEVICE] [-p PEER] [TEST]...
 */
#include "util.h"

#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define LEN	(64 * KIB)
#define WORDS	(LEN / 8)
#define SLOTS	(2 * LEN)
/* Messages of a test; 100,000 in a soak. */
#define ROUNDS	1000u

/* What both processes have: @words of message @seen are there; @bad: one of them was not. */
struct shared {
	uint64_t seen;
	uint64_t bad;
	uint64_t word;
};

enum way { BY_WRITE, BY_WRITE_AND_FLAG, BY_READ, BY_SEND };

static struct config config;
static struct end a, b;
static struct ibv_mr *from, *to;
static uint64_t *source, *destination;
static struct shared *shared;

/* Words of message @n: 8 to all of them, each power of two as often as another. */
static uint32_t words_of(uint64_t n)
{
	uint64_t x = n * 0x9e3779b97f4a7c15ull;
	uint32_t least = 8u << (x >> 32) % 10;

	return least + (x >> 40) % (least + 1);
}

static void *map(size_t len)
{
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	REQUIRE(p != MAP_FAILED);
	return p;
}

static void set_up(enum way way)
{
	struct ibv_pd *pd;

	pair_make(&a, &b, &config);
	source = map(SLOTS);
	destination = map(SLOTS);
	shared = map(sizeof(*shared));
	/* The peer's memory is what a READ takes from; otherwise it is where all goes. */
	pd = way == BY_READ ? b.nic->pd : a.nic->pd;
	from = ibv_reg_mr(pd, source, SLOTS, ACCESS_ALL);
	pd = way == BY_READ ? a.nic->pd : b.nic->pd;
	to = ibv_reg_mr(pd, destination, SLOTS, ACCESS_ALL);
	REQUIRE(from && to);
}

static uint64_t look(const uint64_t *p)
{
	return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

/* The other process. */
static void poll_memory(enum way way, uint64_t rounds)
{
	const uint64_t *last;
	uint32_t i, words, spins = 0;
	uint64_t n;

	for (n = 1; n <= rounds; n++) {
		words = words_of(n);
		last = way == BY_WRITE_AND_FLAG ? destination + WORDS : destination + words - 1;
		while (look(last) != n)
			if (++spins % 4096 == 0)
				sched_yield();
		for (i = 0; i < words; i++) {
			if (destination[i] == n)
				continue;
			shared->bad = n;
			shared->word = i;
			break;
		}
		__atomic_store_n(&shared->seen, n, __ATOMIC_RELEASE);
	}
}

static void post_message(enum way way, uint64_t n)
{
	uint32_t words = words_of(n);
	struct ibv_sge data = {
		.addr = (uintptr_t)(way == BY_READ ? destination : source),
		.length = words * 8,
		.lkey = way == BY_READ ? to->lkey : from->lkey,
	};
	struct ibv_sge flag = {
		.addr = (uintptr_t)&source[WORDS], .length = 8, .lkey = from->lkey,
	};
	struct ibv_send_wr wr[2];
	uint32_t i;

	for (i = 0; i < words; i++)
		source[i] = n;
	source[WORDS] = n;
	switch (way) {
	case BY_READ:
		wr[0] = wr_rdma(n, IBV_WR_RDMA_READ, &data, 1, (uintptr_t)source, from->rkey);
		break;
	case BY_SEND:
		wr[0] = wr_send(n, &data, 1);
		break;
	default:
		wr[0] = wr_rdma(n, IBV_WR_RDMA_WRITE, &data, 1, (uintptr_t)destination, to->rkey);
		break;
	}
	if (way != BY_READ && data.length <= config.max_inline)
		wr[0].send_flags |= IBV_SEND_INLINE;
	if (way == BY_WRITE_AND_FLAG) {
		wr[1] = wr_rdma(n, IBV_WR_RDMA_WRITE, &flag, 1,
				(uintptr_t)&destination[WORDS], to->rkey);
		wr[0].send_flags &= ~IBV_SEND_SIGNALED;
		wr[0].next = &wr[1];
	}
	if (way == BY_SEND) {
		data.addr = (uintptr_t)destination;
		data.length = LEN;
		data.lkey = to->lkey;
		post_recv(&b, n, &data, 1);
		data.addr = (uintptr_t)source;
		data.length = words * 8;
		data.lkey = from->lkey;
	}
	post(&a, wr);
}

static void run(enum way way)
{
	static const enum ibv_wc_opcode opcodes[] = {
		[BY_WRITE] = IBV_WC_RDMA_WRITE,
		[BY_WRITE_AND_FLAG] = IBV_WC_RDMA_WRITE,
		[BY_READ] = IBV_WC_RDMA_READ,
		[BY_SEND] = IBV_WC_SEND,
	};
	uint64_t n, limit, rounds = getenv("SHCA_SOAK") ? 100000 : ROUNDS;
	pid_t pid;

	set_up(way);
	pid = fork();
	REQUIRE(pid >= 0);
	if (!pid) {
		poll_memory(way, rounds);
		_exit(0);
	}
	for (n = 1; n <= rounds && !shared->bad; n++) {
		post_message(way, n);
		limit = millis() + 5000 * slow_factor();
		while (look(&shared->seen) != n && millis() < limit)
			sched_yield();
		if (look(&shared->seen) != n)
			break;
		wait_ok(a.scq, n, opcodes[way]);
		if (way == BY_SEND)
			wait_ok(b.rcq, n, IBV_WC_RECV);
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	if (shared->bad)
		FAIL("message %llu of %u words: its end was there, and word %llu was not",
		     (unsigned long long)shared->bad, words_of(shared->bad),
		     (unsigned long long)shared->word);
	REQUIRE_EQ(n, rounds + 1);
}

static void last_word_of_a_write(void)
{
	run(BY_WRITE);
}

static void flag_behind_a_write(void)
{
	run(BY_WRITE_AND_FLAG);
}

static void last_word_of_a_read(void)
{
	run(BY_READ);
}

static void last_word_of_a_send(void)
{
	run(BY_SEND);
}

#define TEST(name) { #name, name }
static const struct test tests[] = {
	TEST(last_word_of_a_write),
	TEST(flag_behind_a_write),
	TEST(last_word_of_a_read),
	TEST(last_word_of_a_send),
	{}
};

int main(int argc, char **argv)
{
	config = config_default;
	config.max_inline = 256;
	return util_main(tests, argc, argv);
}
