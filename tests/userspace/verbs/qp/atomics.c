// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Atomics against the CPU and across devices (IBV_ATOMIC_GLOB). Threads use the
 * CPU's atomic operations on a word, while two queue pairs use it, too. One
 * ends at the first device, and one at the peer. The peer may be in another
 * namespace: then one uses packets, and the other the direct path.
 */
#include "util.h"

#include <pthread.h>
#include <sched.h>

#define DEPTH		16
#define FETCH_ADDS	2000	/* of each queue pair */
#define TURNS		300	/* with the lock held, of each queue pair */
#define REQUESTERS	2
#define CPUS		2

/* Alone in its cache line, and registered with both devices. */
static uint64_t *word;
/* The lock protects it: load and store are separate. */
static uint64_t guarded;
static bool done;

static struct requester {
	struct end end;
	struct end peer;
	struct buf back;
	uint32_t rkey;
	uint64_t id;
} requesters[REQUESTERS];

struct worker {
	pthread_t thread;
	uint64_t id;
	uint64_t count;
};

static void set_up(void)
{
	const int access = ACCESS_ALL | IBV_ACCESS_REMOTE_ATOMIC;
	struct nic *ends_at[REQUESTERS] = { nic_a(), nic_b() };
	struct config config = config_default;
	struct buf mem;
	struct ibv_mr *mr;
	int i;

	REQUIRE_EQ(nic_a()->attr.atomic_cap, IBV_ATOMIC_GLOB);
	REQUIRE_EQ(nic_b()->attr.atomic_cap, IBV_ATOMIC_GLOB);
	config.qp_access |= IBV_ACCESS_REMOTE_ATOMIC;
	config.max_rd_atomic = DEPTH;
	config.max_dest_rd_atomic = DEPTH;
	mem = buf_make(nic_a()->pd, 4 * KIB, access);
	memset(mem.p, 0, mem.len);
	word = (uint64_t *)(mem.p + KIB);
	for (i = 0; i < REQUESTERS; i++) {
		struct requester *r = &requesters[i];

		r->id = 1 + i;
		r->end = end_make(nic_a(), &config);
		r->peer = end_make(ends_at[i], &config);
		pair_connect(&r->end, &r->peer);
		r->back = buf_make(nic_a()->pd, DEPTH * 8, ACCESS_ALL);
		mr = ibv_reg_mr(ends_at[i]->pd, mem.p, mem.len, access);
		REQUIRE(mr);
		r->rkey = mr->rkey;
	}
}

static void post_atomic(struct requester *r, uint64_t n,
			enum ibv_wr_opcode opcode, uint64_t compare_add,
			uint64_t swap)
{
	struct ibv_sge sge = sge_of(&r->back, n % DEPTH * 8, 8);
	struct ibv_send_wr wr = wr_send(n, &sge, 1);

	wr.opcode = opcode;
	wr.wr.atomic.remote_addr = (uintptr_t)word;
	wr.wr.atomic.rkey = r->rkey;
	wr.wr.atomic.compare_add = compare_add;
	wr.wr.atomic.swap = swap;
	post(&r->end, &wr);
}

static uint64_t wait_old(struct requester *r, uint64_t n,
			 enum ibv_wc_opcode opcode)
{
	wait_ok(r->end.scq, n, opcode);
	return ((uint64_t *)r->back.p)[n % DEPTH];
}

static void run(void *(*requester)(void *), void *(*cpu)(void *),
		uint64_t *by_cpus)
{
	struct worker workers[CPUS] = {};
	pthread_t threads[REQUESTERS];
	int i;

	for (i = 0; i < CPUS; i++) {
		workers[i].id = 100 + i;
		REQUIRE_EQ(pthread_create(&workers[i].thread, NULL, cpu,
					  &workers[i]), 0);
	}
	for (i = 0; i < REQUESTERS; i++)
		REQUIRE_EQ(pthread_create(&threads[i], NULL, requester,
					  &requesters[i]), 0);
	for (i = 0; i < REQUESTERS; i++)
		REQUIRE_EQ(pthread_join(threads[i], NULL), 0);
	__atomic_store_n(&done, true, __ATOMIC_SEQ_CST);
	*by_cpus = 0;
	for (i = 0; i < CPUS; i++) {
		REQUIRE_EQ(pthread_join(workers[i].thread, NULL), 0);
		REQUIRE(workers[i].count);
		*by_cpus += workers[i].count;
	}
	printf("# %llu by the CPUs meanwhile\n", (unsigned long long)*by_cpus);
}

/* ---- fetch and add ---------------------------------------------------------- */

static void *cpu_adds(void *arg)
{
	struct worker *w = arg;
	int i;

	while (!__atomic_load_n(&done, __ATOMIC_SEQ_CST) || !w->count) {
		for (i = 0; i < 100; i++, w->count++)
			__atomic_fetch_add(word, 1, __ATOMIC_SEQ_CST);
		sched_yield();
	}
	return NULL;
}

static void *requester_adds(void *arg)
{
	struct requester *r = arg;
	uint64_t posted, waited, old, last = 0;

	for (posted = 0, waited = 0; waited < FETCH_ADDS;) {
		while (posted < FETCH_ADDS && posted - waited < DEPTH)
			post_atomic(r, posted++, IBV_WR_ATOMIC_FETCH_AND_ADD,
				    1, 0);
		old = wait_old(r, waited, IBV_WC_FETCH_ADD);
		/* in order: each finds more than the one before */
		REQUIRE(!waited || old > last);
		last = old;
		waited++;
	}
	return NULL;
}

static void fetch_add_sums_up_with_the_cpu(void)
{
	uint64_t by_cpus;

	set_up();
	run(requester_adds, cpu_adds, &by_cpus);
	REQUIRE_EQ(*word, by_cpus + REQUESTERS * FETCH_ADDS);
}

/* ---- compare and swap: a lock ----------------------------------------------- */

/* Only the holder of the lock runs this, or the sum is wrong. */
static void with_the_lock(void)
{
	uint64_t before = __atomic_load_n(&guarded, __ATOMIC_RELAXED);

	sched_yield();
	__atomic_store_n(&guarded, before + 1, __ATOMIC_RELAXED);
}

static void *cpu_locks(void *arg)
{
	struct worker *w = arg;
	uint64_t expected;

	/* On a busy machine one may have to wait for its first turn. */
	while (!__atomic_load_n(&done, __ATOMIC_SEQ_CST) || !w->count) {
		expected = 0;
		if (__atomic_compare_exchange_n(word, &expected, w->id, false,
						__ATOMIC_SEQ_CST,
						__ATOMIC_SEQ_CST)) {
			with_the_lock();
			w->count++;
			expected = w->id;
			REQUIRE(__atomic_compare_exchange_n(word, &expected, 0,
							    false,
							    __ATOMIC_SEQ_CST,
							    __ATOMIC_SEQ_CST));
		}
		/* let the others run for a while */
		sched_yield();
		sched_yield();
	}
	return NULL;
}

static void *requester_locks(void *arg)
{
	struct requester *r = arg;
	uint64_t n = 0, turns;

	for (turns = 0; turns < TURNS; turns++) {
		do
			post_atomic(r, n, IBV_WR_ATOMIC_CMP_AND_SWP, 0, r->id);
		while (wait_old(r, n++, IBV_WC_COMP_SWAP));
		with_the_lock();
		post_atomic(r, n, IBV_WR_ATOMIC_CMP_AND_SWP, r->id, 0);
		REQUIRE_EQ(wait_old(r, n++, IBV_WC_COMP_SWAP), r->id);
	}
	return NULL;
}

static void compare_swap_is_a_lock_with_the_cpu(void)
{
	uint64_t by_cpus;

	set_up();
	run(requester_locks, cpu_locks, &by_cpus);
	REQUIRE_EQ(guarded, by_cpus + REQUESTERS * TURNS);
	REQUIRE_EQ(*word, 0);
}

static const struct test tests[] = {
#define TEST(name) { #name, name }
	TEST(fetch_add_sums_up_with_the_cpu),
	TEST(compare_swap_is_a_lock_with_the_cpu),
	{}
};

int main(int argc, char **argv)
{
	return util_main(tests, argc, argv);
}
