// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Streams of softhca. A program that posts small requests one at a time and
 * waits for none of them rings few doorbells (shca_qp_status.sq_doorbell). No
 * request may be lost or delayed for long by that, whatever happens to the
 * queue pair. A program that waits for an answer must not wait longer than
 * without streams.
 *
 *   stream [-d DEVICE] [-p PEER] [TEST]...
 *   stream [-d DEVICE] removed	prints "ready", then posts until that fails with
 *				EIO, which must be permanent
 */
#include "util.h"

#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include "doorbells.h"

/* enough for a stream in the slowest guest */
#define MANY		2000u
#define SLOTS		4096u
#define LEN		(SLOTS * 8)

static struct config config;
static struct end a, b;
static struct buf mem_a, mem_b;

static void set_up(void)
{
	pair_make(&a, &b, &config);
	mem_a = buf_make(a.nic->pd, LEN, ACCESS_ALL);
	mem_b = buf_make(b.nic->pd, LEN, ACCESS_ALL);
	memset(mem_b.p, 0, LEN);
}

static void nap(uint32_t us)
{
	struct timespec t = { .tv_nsec = us * 1000 };

	nanosleep(&t, NULL);
}

static uint64_t *word_of_b(uint64_t n)
{
	return (uint64_t *)mem_b.p + n % SLOTS;
}

static bool has_arrived(uint64_t n)
{
	return __atomic_load_n(word_of_b(n), __ATOMIC_ACQUIRE) == n;
}

/* Waits at most a second, scaled by slow_factor(). */
static void wait_word(uint64_t n)
{
	uint64_t limit = millis() + 1000 * slow_factor();

	while (!has_arrived(n))
		if (millis() > limit)
			FAIL("request %llu has not arrived",
			     (unsigned long long)n);
}

/* Writes @n to its place in @mem_b, unless the queue is full. Return: an errno. */
static int put(uint64_t n, int flags)
{
	struct ibv_sge sge = { .addr = (uintptr_t)&n, .length = 8 };
	struct ibv_send_wr wr = wr_rdma(n, IBV_WR_RDMA_WRITE, &sge, 1,
					(uintptr_t)word_of_b(n),
					mem_b.mr->rkey);
	struct ibv_send_wr *bad;

	wr.send_flags = IBV_SEND_INLINE | flags;
	return ibv_post_send(a.qp, &wr, &bad);
}

/* put_all() calls it after each post, with the number of the request. */
static void (*on_post)(uint64_t n);

/* Posts requests @from to @to - 1 one at a time; waits while the queue is full. */
static void put_all(uint64_t from, uint64_t to)
{
	uint64_t n, limit = millis() + 20000 * slow_factor();
	int err;

	for (n = from; n < to; n++) {
		while ((err = put(n, 0)) == ENOMEM)
			REQUIRE(millis() < limit);
		REQUIRE_EQ(err, 0);
		if (on_post)
			on_post(n);
	}
}

static void check_words(uint64_t from, uint64_t to)
{
	uint64_t n;

	wait_word(to - 1);
	for (n = from; n < to; n++)
		REQUIRE(has_arrived(n));
}

/* ---- tests -------------------------------------------------------------------- */

/*
 * In a stream, exactly one post in BATCH rings. On a busy machine the posting
 * thread is interrupted now and then, which ends a stream. That costs the posts
 * until the next stream begins, some 50, and is no fault. So the test does not
 * judge the doorbells of a lucky round, but all posts of all rounds. Most of
 * them must be between two doorbells that are exactly a batch apart.
 */
#define BATCH		32u
#define ROUNDS		10

static uint32_t last_doorbell, in_batches;

/* Called after post @n of a round. */
static void note_doorbell(uint64_t n)
{
	static uint32_t doorbells;

	if (n == 1)
		doorbells = last_doorbell = 0;
	if (my_doorbells == doorbells)
		return;
	doorbells = my_doorbells;
	if (last_doorbell && n - last_doorbell == BATCH)
		in_batches += BATCH;
	last_doorbell = n;
}

static void require_few_doorbells(void (*post_round)(void))
{
	uint32_t doorbells = 0;
	int i;

	in_batches = 0;
	for (i = 0; i < ROUNDS; i++) {
		memset(mem_b.p, 0, LEN);
		my_doorbells = 0;
		post_round();
		check_words(1, MANY);
		doorbells += my_doorbells;
	}
	printf("# %u posts, %u doorbells, %u posts in batches of %u\n",
	       ROUNDS * (MANY - 1), doorbells, in_batches, BATCH);
	/* With all checkers on, a post takes longer than the maximum gap of a stream. */
	if (!has_checkers())
		REQUIRE(in_batches > ROUNDS * MANY / 2);
}

static void put_round(void)
{
	put_all(1, MANY);
}

static void few_doorbells(void)
{
	set_up();
	on_post = note_doorbell;
	require_few_doorbells(put_round);
}

/* Reads the place of @n in @mem_b into that in @mem_a, or adds nothing to it. */
static int get(uint64_t n)
{
	uint64_t at = (uintptr_t)word_of_b(n);
	struct ibv_sge sge = sge_of(&mem_a, at - (uintptr_t)mem_b.p, 8);
	struct ibv_send_wr wr = wr_rdma(n, IBV_WR_RDMA_READ, &sge, 1, at,
					mem_b.mr->rkey);
	struct ibv_send_wr *bad;

	if (n % 3 == 0) {
		wr.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
		wr.wr.atomic.remote_addr = at;
		wr.wr.atomic.rkey = mem_b.mr->rkey;
		wr.wr.atomic.compare_add = 0;
	}
	wr.send_flags = 0;
	return ibv_post_send(a.qp, &wr, &bad);
}

static uint64_t word_of_a(uint64_t n)
{
	return __atomic_load_n((uint64_t *)mem_a.p + n % SLOTS, __ATOMIC_ACQUIRE);
}

/* What is posted last has no doorbell, and the timer finds it. */
static void get_round(void)
{
	uint64_t n, limit = millis() + 20000 * slow_factor();
	int err;

	memset(mem_a.p, 0, LEN);
	for (n = 1; n < MANY; n++)
		*word_of_b(n) = n;
	for (n = 1; n < MANY; n++) {
		while ((err = get(n)) == ENOMEM)
			REQUIRE(millis() < limit);
		REQUIRE_EQ(err, 0);
		note_doorbell(n);
	}
	while (word_of_a(MANY - 1) != MANY - 1)
		REQUIRE(millis() < limit);
	for (n = 1; n < MANY; n++)
		REQUIRE_EQ(word_of_a(n), n);
}

static void reads_and_atomics(void)
{
	config.qp_access |= IBV_ACCESS_REMOTE_ATOMIC;
	set_up();
	buf_free(&mem_b);
	mem_b = buf_make(b.nic->pd, LEN, ACCESS_ALL | IBV_ACCESS_REMOTE_ATOMIC);
	require_few_doorbells(get_round);
}

/* Each number of posts after the last doorbell, and each pause before the next. */
static void the_last_ones_arrive(void)
{
	uint64_t from = 1, i;

	set_up();
	for (i = 1; i < 200; i++) {
		put_all(from, from + i);
		check_words(from, from + i);
		from += i;
		if (i % 3 == 0)
			nap(i * 10);
	}
}

static void every_request_rings_when_told_so(void)
{
	REQUIRE_EQ(setenv("SOFTHCA_DOORBELL", "each", 1), 0);
	set_up();
	put_all(1, 500);
	check_words(1, 500);
	REQUIRE(my_doorbells >= 499);
}

/* During a stream, a request is posted that a program waits for. */
static void urgent_ones_ring(void)
{
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	uint64_t n = 1;
	uint32_t doorbells;
	int i;

	set_up();
	for (i = 0; i < 6; i++) {
		put_all(n, n + 500);
		n += 500;
		doorbells = my_doorbells;
		sge = sge_of(&mem_a, 0, i == 2 || i == 3 ? 4096 : 8);
		wr = wr_rdma(n, IBV_WR_RDMA_WRITE, &sge, 1,
			     (uintptr_t)mem_b.p, mem_b.mr->rkey);
		wr.send_flags = 0;
		switch (i) {
		case 0:
			wr.send_flags = IBV_SEND_SIGNALED;
			break;
		case 1:
			wr.send_flags = IBV_SEND_FENCE;
			break;
		case 2:
			wr.opcode = IBV_WR_RDMA_READ;
			break;	/* too long, as the next one */
		case 3:
			break;
		default:
			wr.opcode = IBV_WR_SEND;
			wr.send_flags = IBV_SEND_SOLICITED;
			post_recv(&b, n, NULL, 0);
			sge.length = 0;
			break;
		}
		post(&a, &wr);
		REQUIRE_EQ(my_doorbells, doorbells + 1);
	}
	wait_status(a.scq, 501, IBV_WC_SUCCESS);
}

/* Both ends answer each other many times, without signalled requests. */
static void answers_ring(void)
{
	struct end *ends[2] = { &a, &b };
	struct ibv_send_wr wr;
	uint32_t i;

	set_up();
	for (i = 0; i < 500; i++) {
		post_recv(ends[(i + 1) % 2], i, NULL, 0);
		wr = wr_send(i, NULL, 0);
		wr.send_flags = 0;
		post(ends[i % 2], &wr);
		wait_ok(ends[(i + 1) % 2]->rcq, i, IBV_WC_RECV);
	}
	REQUIRE(my_doorbells >= 490);
}

static uint64_t micros(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000ull + t.tv_nsec / 1000;
}

/* Rare posts make no stream.  What is rare is told by what a post takes here. */
static void lone_ones_ring(void)
{
	uint64_t n, begun, took;

	set_up();
	for (n = 1; n < 200; n++) {
		begun = micros();
		put_all(n, n + 1);
		took = micros() - begun;
		nap(took < 40 ? 200 : took < 10000 ? took * 5 : 50000);
	}
	REQUIRE(my_doorbells >= 150);
}

/*
 * Eight posts, and the next eight once the last one has arrived. The queue pair
 * does not see what tells the program. A wait for a full batch would cost each
 * round the time of the kernel's timer.
 */
static uint64_t rounds_of_few(void)
{
	uint64_t n, begun;

	set_up();
	my_doorbells = 0;
	begun = micros();
	for (n = 1; n < 16001; n += 8) {
		put_all(n, n + 8);
		wait_word(n + 7);
	}
	return micros() - begun;
}

static void rounds_of_few_ring(void)
{
	uint64_t took = rounds_of_few(), each;

	printf("# %u doorbells for 16000 posts\n", my_doorbells);
	if (!has_checkers()) {
		/* (a doorbell a batch would be some 1,000; a busy machine makes streams of some) */
		REQUIRE(my_doorbells > 16000 / 2);
		return;
	}
	/* There the kernel may still be sending when the next ones are posted. */
	REQUIRE_EQ(setenv("SOFTHCA_DOORBELL", "each", 1), 0);
	each = rounds_of_few();
	printf("# %llu us, and %llu us with a doorbell each\n", (unsigned long long)took,
	       (unsigned long long)each);
	REQUIRE(took < 2 * each);
}

static void *second_thread(void *arg)
{
	uint64_t *to = arg;

	put_all(*to, *to + 1000);
	return NULL;
}

static void two_threads(void)
{
	uint64_t from = 2000;
	pthread_t thread;

	set_up();
	REQUIRE_EQ(pthread_create(&thread, NULL, second_thread, &from), 0);
	put_all(1, 1000);
	REQUIRE_EQ(pthread_join(thread, NULL), 0);
	check_words(1, 1000);
	check_words(from, from + 1000);
}

/* By the work request interface. */
static void wr_round(void)
{
	struct ibv_qp_ex *qpx = ibv_qp_to_qp_ex(a.qp);
	uint64_t n;
	int err;

	for (n = 1; n < MANY; n++) {
		do {
			ibv_wr_start(qpx);
			qpx->wr_id = n;
			qpx->wr_flags = 0;
			ibv_wr_rdma_write(qpx, mem_b.mr->rkey,
					  (uintptr_t)word_of_b(n));
			ibv_wr_set_inline_data(qpx, &n, 8);
			err = ibv_wr_complete(qpx);
		} while (err == ENOMEM);
		REQUIRE_EQ(err, 0);
		note_doorbell(n);
	}
}

static void by_ibv_wr(void)
{
	config.ops = IBV_QP_EX_WITH_RDMA_WRITE;
	set_up();
	require_few_doorbells(wr_round);
}

/* The owner ends it at once, in each way: posted requests must be executed. */
static void then_the_queue_pair_goes(void)
{
	uint64_t from = 1;
	int i;

	for (i = 0; i < 30; i++) {
		set_up();
		put_all(from, from + 300 + i);
		if (i % 3 == 0)
			end_destroy(&a);
		else
			REQUIRE_EQ(end_to(&a, i % 3 == 1 ? IBV_QPS_ERR :
							   IBV_QPS_RESET), 0);
		check_words(from, from + 300 + i);
		if (i % 3)
			end_destroy(&a);
		end_destroy(&b);
		buf_free(&mem_a);
		buf_free(&mem_b);
	}
}

/* The peer fails; all later posts are flushed, in order. */
static void then_the_queue_pair_fails(void)
{
	uint64_t n, limit;
	struct ibv_wc wc;
	int err;

	config.timeout = 14;	/* 67 ms: longer than a busy machine stops */
	config.retry_cnt = 0;
	set_up();
	put_all(1, 1000);
	check_words(1, 1000);
	REQUIRE_EQ(end_to(&b, IBV_QPS_ERR), 0);
	limit = millis() + 20000 * slow_factor();
	for (n = 1000; !ibv_poll_cq(a.scq, 1, &wc); n += !err) {
		err = put(n, 0);
		REQUIRE(!err || err == ENOMEM);
		REQUIRE(millis() < limit);
	}
	REQUIRE_EQ(wc.status, IBV_WC_RETRY_EXC_ERR);
	REQUIRE_EQ(wc.wr_id, 1000);
	n = wc.wr_id;
	end_wait_state(&a, IBV_QPS_ERR);
	for (limit = millis() + 300; millis() < limit;)
		while (ibv_poll_cq(a.scq, 1, &wc) > 0) {
			REQUIRE_EQ(wc.status, IBV_WC_WR_FLUSH_ERR);
			REQUIRE_EQ(wc.wr_id, ++n);
		}
	/* each rings again */
	REQUIRE_EQ(put(n + 1, 0), 0);
	wait_status(a.scq, n + 1, IBV_WC_WR_FLUSH_ERR);
}

/* ---- the device goes ---------------------------------------------------------- */

static int removed(void)
{
	uint64_t n = 1, limit = millis() + 30000;
	struct ibv_wc wc;
	int err, i;

	set_up();
	printf("ready\n");
	fflush(stdout);
	do {
		err = put(n, 0);
		n += !err;
		while (ibv_poll_cq(a.scq, 1, &wc) > 0)
			;
	} while ((!err || err == ENOMEM) && millis() < limit);
	/* Refused requests stay in the ring, which has room for these. */
	for (i = 0; i < 50 && err == EIO; i++)
		err = put(n, 0);
	printf("%s after %llu, %u doorbells\n", err ? strerror(err) : "still there",
	       (unsigned long long)n, my_doorbells);
	return err == EIO ? EXIT_SUCCESS : EXIT_FAILURE;
}

static const struct test tests[] = {
	{ "few_doorbells", few_doorbells },
	{ "reads_and_atomics", reads_and_atomics },
	{ "the_last_ones_arrive", the_last_ones_arrive },
	{ "every_request_rings_when_told_so", every_request_rings_when_told_so },
	{ "urgent_ones_ring", urgent_ones_ring },
	{ "answers_ring", answers_ring },
	{ "lone_ones_ring", lone_ones_ring },
	{ "rounds_of_few_ring", rounds_of_few_ring },
	{ "two_threads", two_threads },
	{ "by_ibv_wr", by_ibv_wr },
	{ "then_the_queue_pair_goes", then_the_queue_pair_goes },
	{ "then_the_queue_pair_fails", then_the_queue_pair_fails },
	{}
};

int main(int argc, char **argv)
{
	config = config_default;
	config.max_send_wr = 256;
	config.max_inline = 64;
	config.cqe = 4096;
	if (argc > 1 && !strcmp(argv[argc - 1], "removed")) {
		if (argc == 4 && !strcmp(argv[1], "-d"))
			options.device = argv[2];
		return removed();
	}
	return util_main(tests, argc, argv);
}
