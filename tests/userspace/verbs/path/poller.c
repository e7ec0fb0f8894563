// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The poller of softhca's provider (SOFTHCA_POLLER). Posting makes no system
 * call while the poller is awake. Nothing is lost when it falls asleep. It ends
 * with its context, its process and the device. Counting doorbells per thread
 * (doorbells.h) shows which thread rings.
 *
 *   poller [-d DEVICE] [TEST]...
 *   poller [-d DEVICE] removed	prints "ready", then posts until that fails with
 *				EIO, which must be permanent
 */
#define _GNU_SOURCE	/* pthread_tryjoin_np() */
#include "util.h"
#include "doorbells.h"

#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* more QPs than a poller serves (128) */
#define MANY		140

/* ---- traffic ------------------------------------------------------------------ */

static struct config config;

/* Call before the device is opened: how long it polls in vain, in microseconds. */
static void poller_spins(const char *us)
{
	REQUIRE_EQ(setenv("SOFTHCA_POLLER", us, 1), 0);
}

static void send_one(struct end *a, struct end *b, struct buf *m, uint64_t id)
{
	struct ibv_sge from = sge_of(m, 0, 64), to = sge_of(m, 64, 64);
	struct ibv_send_wr wr = wr_send(id, &from, 1);

	fill(m->p, 64, id);
	post_recv(b, id, &to, 1);
	post(a, &wr);
	wait_ok(a->scq, id, IBV_WC_SEND);
	wait_ok(b->rcq, id, IBV_WC_RECV);
	check_fill(m->p + 64, 64, id);
}

static void nap(uint32_t us)
{
	struct timespec t = { .tv_nsec = us * 1000 };

	nanosleep(&t, NULL);
}

static uint64_t micros(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000ull + t.tv_nsec / 1000;
}

/* ---- tests -------------------------------------------------------------------- */

static void posts_without_system_calls(void)
{
	struct end a, b;
	struct buf m;
	uint32_t i;

	poller_spins("1000000");
	pair_make(&a, &b, &config);
	m = buf_make(a.nic->pd, 128, ACCESS_ALL);
	/* The poller is awake when a post did not ring. */
	for (i = 0; my_doorbells == i; i++) {
		REQUIRE(i < 10000);
		send_one(&a, &b, &m, i);
	}
	my_doorbells = 0;
	__atomic_store_n(&all_doorbells, 0, __ATOMIC_RELAXED);
	for (i = 0; i < 200; i++)
		send_one(&a, &b, &m, i);
	REQUIRE_EQ(my_doorbells, 0);
	REQUIRE(__atomic_load_n(&all_doorbells, __ATOMIC_RELAXED) >= 1);
}

static void rings_while_it_sleeps(void)
{
	struct end a, b;
	struct buf m;
	uint32_t i;

	poller_spins("1");
	pair_make(&a, &b, &config);
	m = buf_make(a.nic->pd, 128, ACCESS_ALL);
	for (i = 0; i < 100; i++) {
		nap(3000);
		send_one(&a, &b, &m, i);
	}
	/* One in 32 wakes it, and the next may come too early. */
	REQUIRE(my_doorbells >= 50);
}

/* Each post comes at another phase of its falling asleep. */
static void loses_no_post(void)
{
	uint32_t i, n = getenv("SHCA_SOAK") ? 200000 : 4000;
	struct end a, b;
	struct buf m;
	uint64_t until;

	poller_spins("20");
	pair_make(&a, &b, &config);
	m = buf_make(a.nic->pd, 128, ACCESS_ALL);
	/* On a busy machine it may wake too late for many posts. */
	for (i = 0; i < n || (my_doorbells == i && i < 30 * n); i++) {
		send_one(&a, &b, &m, i);
		until = micros() + i * 7 % 97;
		while (micros() < until)
			;
	}
	/* Otherwise it did not fall asleep, or always slept. */
	REQUIRE(my_doorbells > 0);
	REQUIRE(my_doorbells < i);
}

static void *make_and_destroy(void *arg)
{
	struct buf *m = arg;
	struct end a, b;
	int i, j;

	for (i = 0; i < 30; i++) {
		pair_make(&a, &b, &config);
		for (j = 0; j < 5; j++)
			send_one(&a, &b, m, j);
		end_destroy(&a);
		end_destroy(&b);
	}
	return NULL;
}

/* Slots are reused while other threads post. */
static void while_queue_pairs_go(void)
{
	pthread_t thread;
	struct buf m, n;
	struct end a, b;
	uint32_t i;

	poller_spins("100");
	pair_make(&a, &b, &config);
	m = buf_make(a.nic->pd, 128, ACCESS_ALL);
	n = buf_make(a.nic->pd, 128, ACCESS_ALL);
	REQUIRE_EQ(pthread_create(&thread, NULL, make_and_destroy, &n), 0);
	for (i = 0; pthread_tryjoin_np(thread, NULL); i++)
		send_one(&a, &b, &m, i);
}

static void many_queue_pairs(void)
{
	static struct end ends[MANY];
	struct buf m;
	uint32_t i;

	poller_spins("1000000");
	m = buf_make(nic_a()->pd, 128, ACCESS_ALL);
	for (i = 0; i < MANY; i += 2)
		pair_make(&ends[i], &ends[i + 1], &config);
	for (i = 0; i < MANY; i++)
		send_one(&ends[i], &ends[i ^ 1], &m, i);
	/* It has no slots for the last ones. */
	my_doorbells = 0;
	send_one(&ends[MANY - 1], &ends[MANY - 2], &m, 0);
	REQUIRE_EQ(my_doorbells, 1);
}

static int threads(void)
{
	char line[100];
	int n = -1;
	FILE *f;

	f = fopen("/proc/self/status", "r");
	REQUIRE(f);
	while (n < 0 && fgets(line, sizeof(line), f))
		sscanf(line, "Threads: %d", &n);
	fclose(f);
	return n;
}

static void ends_with_the_context(void)
{
	struct ibv_context *ctx;
	struct nic *nic;
	uint64_t until;
	int i;

	poller_spins("1000");
	for (i = 0; i < 20; i++) {
		nic = nic_open(options.device);
		ctx = nic->ctx;
		REQUIRE_EQ(threads(), 2);
		if (i % 2)
			nap(5000);	/* asleep; otherwise it is awake */
		REQUIRE_EQ(ibv_dealloc_pd(nic->pd), 0);
		REQUIRE_EQ(ibv_close_device(ctx), 0);
		/* A joined thread is counted until it has left the kernel. */
		for (until = millis() + 10000; threads() > 1; nap(1000))
			REQUIRE(millis() < until);
	}
}

static void only_where_it_is_wanted(void)
{
	static const char *const wrong[] = {
		"", "0", "-1", "1x", "1000001", "99999999999999999999", " 5",
	};
	struct nic *nic;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(wrong); i++) {
		poller_spins(wrong[i]);
		nic = nic_open(options.device);
		REQUIRE_EQ(threads(), 1);
		REQUIRE_EQ(ibv_dealloc_pd(nic->pd), 0);
		REQUIRE_EQ(ibv_close_device(nic->ctx), 0);
	}
}

/* A child does not have the thread, and must not wait for it. */
static void closed_by_a_child(void)
{
	struct end a, b;
	struct buf m;
	pid_t child;
	int status;

	poller_spins("1000000");
	pair_make(&a, &b, &config);
	m = buf_make(a.nic->pd, 128, ACCESS_ALL);
	child = fork();
	REQUIRE(child >= 0);
	if (!child) {
		alarm(20);
		ibv_close_device(a.nic->ctx);
		_exit(0);
	}
	REQUIRE_EQ(waitpid(child, &status, 0), child);
	REQUIRE_EQ(status, 0);
	send_one(&a, &b, &m, 0);
}

/* Other threads get the signals. */
static uint32_t signals;

static void on_signal(int number)
{
	(void)number;
	if (syscall(SYS_gettid) == getpid())
		signals++;
}

static void takes_no_signals(void)
{
	struct nic *nic;
	int i;

	poller_spins("1000000");
	REQUIRE(signal(SIGUSR1, on_signal) != SIG_ERR);
	nic = nic_open(options.device);
	for (i = 0; i < 100; i++)
		REQUIRE_EQ(kill(getpid(), SIGUSR1), 0);
	REQUIRE_EQ(signals, 100);
	REQUIRE_EQ(ibv_close_device(nic->ctx), 0);
}

/* ---- the device goes ---------------------------------------------------------- */

static int removed(void)
{
	struct ibv_send_wr wr, *bad;
	uint64_t limit = millis() + 30000;
	struct end a, b;
	struct ibv_wc wc;
	int err, i;

	poller_spins("2000");
	pair_make(&a, &b, &config);
	printf("ready\n");
	fflush(stdout);
	do {
		/* The length is 0, so no key is checked. */
		wr = wr_rdma(0, IBV_WR_RDMA_WRITE, NULL, 0, 0, 0);
		err = ibv_post_send(a.qp, &wr, &bad);
		while (ibv_poll_cq(a.scq, 1, &wc) > 0)
			;
	} while ((!err || err == ENOMEM) && millis() < limit);
	for (i = 0; i < 100 && err == EIO; i++) {
		wr = wr_rdma(0, IBV_WR_RDMA_WRITE, NULL, 0, 0, 0);
		err = ibv_post_send(a.qp, &wr, &bad);
	}
	printf("%s\n", err ? strerror(err) : "still there");
	return err == EIO ? EXIT_SUCCESS : EXIT_FAILURE;
}

static const struct test tests[] = {
	{ "posts_without_system_calls", posts_without_system_calls },
	{ "rings_while_it_sleeps", rings_while_it_sleeps },
	{ "loses_no_post", loses_no_post },
	{ "while_queue_pairs_go", while_queue_pairs_go },
	{ "many_queue_pairs", many_queue_pairs },
	{ "ends_with_the_context", ends_with_the_context },
	{ "only_where_it_is_wanted", only_where_it_is_wanted },
	{ "closed_by_a_child", closed_by_a_child },
	{ "takes_no_signals", takes_no_signals },
	{}
};

int main(int argc, char **argv)
{
	config = config_default;
	config.max_send_wr = 256;
	config.max_recv_wr = 256;
	config.cqe = 1024;
	if (argc > 1 && !strcmp(argv[argc - 1], "removed")) {
		if (argc == 4 && !strcmp(argv[1], "-d"))
			options.device = argv[2];
		return removed();
	}
	return util_main(tests, argc, argv);
}
