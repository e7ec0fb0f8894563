// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Queue pairs whose process sleeps: they may wait forever, and must leave the
 * CPU to others. One test counts how often per second the device acts for them,
 * which no other load changes. With SHCA_SOAK, another test measures a
 * bystander that shares a CPU with all of their timers. It must count as fast
 * as one on another CPU.
 *
 *   sleepers [-d DEVICE] [TEST]...
 */
#define _GNU_SOURCE
#include "util.h"

#include <fcntl.h>
#include <pthread.h>
#include <linux/userfaultfd.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MANY		4000
/* Each of these occupies a page and the worker that fetches it. */
#define SOME		100
#define ROUND_NS	300000000ull
#define ROUNDS		20
#define SHARE		90	/* percent */
/* Above this, the other CPU was busy with something else. */
#define SHARE_MOST	130
#define PAGE		4096u
/* Softirqs per second of an idle machine, with much tolerance: CPUs, tick, network. */
#define QUIET_RATE	4000

static struct ibv_qp *qps[MANY];
static struct ibv_cq *cq;

static uint64_t nanos(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

static void a_while(uint64_t ms)
{
	struct timespec t = { .tv_sec = ms / 1000,
			      .tv_nsec = ms % 1000 * 1000000 };

	nanosleep(&t, NULL);
}

/* ---- the bystander --------------------------------------------------------- */

/* Pins the process: the timers of a QP are on the CPU that posts. */
static void stay_here(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(0, &set);
	REQUIRE_EQ(sched_setaffinity(0, sizeof(set), &set), 0);
}

/* on separate cache lines */
static volatile uint64_t here __attribute__((aligned(128)));
static volatile uint64_t elsewhere __attribute__((aligned(128)));
static volatile bool stop;

/* Counts on the other CPU, for comparison: other activity of the machine slows both. */
static void *count_elsewhere(void *arg)
{
	cpu_set_t set;
	uint64_t n;

	(void)arg;
	CPU_ZERO(&set);
	CPU_SET(1, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		return (void *)1;
	for (n = 0; !stop; n++)
		elsewhere = n;
	return NULL;
}

/* Return: the speed of counting here, relative to the other CPU. */
static double progress(void)
{
	uint64_t end = nanos() + ROUND_NS, from = elsewhere, n;

	/* The same loop, with a reading of the clock now and then. */
	for (n = 0; n % 4096 || nanos() < end; n++)
		here = n;
	return (double)n / (elsewhere - from);
}

static pthread_t start_elsewhere(void)
{
	pthread_t thread;

	stop = false;
	REQUIRE_EQ(pthread_create(&thread, NULL, count_elsewhere, NULL), 0);
	a_while(50);
	return thread;
}

static void end_elsewhere(pthread_t thread)
{
	stop = true;
	REQUIRE_EQ(pthread_join(thread, NULL), 0);
}

static int compare(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* progress() while nobody sleeps: the two loops differ in speed on some machines. */
static double usual;

static void find_usual(void)
{
	double all[5];
	pthread_t thread;
	size_t i;

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		return;
	stay_here();
	thread = start_elsewhere();
	for (i = 0; i < ARRAY_SIZE(all); i++)
		all[i] = progress();
	end_elsewhere(thread);
	qsort(all, ARRAY_SIZE(all), sizeof(all[0]), compare);
	usual = all[ARRAY_SIZE(all) / 2];
	printf("# counting here takes %.2f times as long as elsewhere\n",
	       1 / usual);
}

/*
 * The best of some rounds counts. Other programs may take either CPU for a
 * while, but timers that take most of it do so always.
 */
static void gets_on(void)
{
	double share, best = 0;
	pthread_t thread;
	int i;

	if (!getenv("SHCA_SOAK"))
		return;
	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		test_skip("one CPU");
	thread = start_elsewhere();
	for (i = 0; i < ROUNDS && best < SHARE; i++) {
		share = 100 * progress() / usual;
		printf("# the bystander has %.0f%% of the CPU\n", share);
		if (share > best && share <= SHARE_MOST)
			best = share;
	}
	end_elsewhere(thread);
	if (best < SHARE)
		FAIL("the bystander has %.0f%% of the CPU, less than %d%%",
		     best, SHARE);
}

/* ---- activity of the device --------------------------------------------------- */

/* RNR NAKs received by the device's requesters. */
static uint64_t refusals(struct nic *nic)
{
	unsigned long long n;
	char path[256];
	FILE *file;

	snprintf(path, sizeof(path),
		 "/sys/class/infiniband/%s/ports/1/hw_counters/rnr_nak_retry_err",
		 ibv_get_device_name(nic->ctx->device));
	file = fopen(path, "r");
	REQUIRE(file);
	REQUIRE_EQ(fscanf(file, "%llu", &n), 1);
	fclose(file);
	return n;
}

/* Expired timers and received packets of the whole machine. */
static uint64_t softirqs(struct nic *nic)
{
	static const char *const kinds[] = { "HI:", "TIMER:", "NET_RX:",
					     "TASKLET:", "HRTIMER:" };
	uint64_t sum = 0;
	char line[4096];
	FILE *file;
	size_t i;

	(void)nic;
	file = fopen("/proc/softirqs", "r");
	REQUIRE(file);
	while (fgets(line, sizeof(line), file)) {
		char *word = strtok(line, " \n");

		for (i = 0; word && i < ARRAY_SIZE(kinds); i++) {
			if (strcmp(word, kinds[i]))
				continue;
			while ((word = strtok(NULL, " \n")))
				sum += strtoull(word, NULL, 10);
			break;
		}
	}
	fclose(file);
	return sum;
}

/* At most @most per second, after the first attempts. */
static void acts_rarely(struct nic *nic, uint64_t (*count)(struct nic *nic),
			double most)
{
	uint64_t from = count(nic), start = nanos();
	double rate;

	a_while(1500);
	rate = (count(nic) - from) * 1e9 / (nanos() - start);
	printf("# %.0f times a second\n", rate);
	if (rate > most)
		FAIL("%.0f times a second, more than %.0f", rate, most);
}

/* ---- the sleepers ---------------------------------------------------------- */

/* Makes a QP that is its own peer. */
static struct ibv_qp *make_qp(struct nic *nic)
{
	struct ibv_qp_init_attr init = {
		.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC,
		.cap = { 1, 1, 1, 1, 0 }, .sq_sig_all = 1,
	};
	struct ibv_qp *qp = ibv_create_qp(nic->pd, &init);
	struct ibv_qp_attr attr = {
		.port_num = 1,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE |
				   IBV_ACCESS_REMOTE_READ,
		.path_mtu = IBV_MTU_1024, .rq_psn = 7, .sq_psn = 7,
		.max_dest_rd_atomic = 1, .max_rd_atomic = 1,
		.min_rnr_timer = 1,	/* 10 us */
		.ah_attr = path_to(nic, nic),
		/* A minute, so that only the tested condition ends it. */
		.timeout = 24, .retry_cnt = 7, .rnr_retry = 7,
	};

	REQUIRE(qp);
	attr.dest_qp_num = qp->qp_num;
	qp_to_rts(qp, &attr);
	return qp;
}

static void make_qps(struct nic *nic, int nr)
{
	int i;

	cq = ibv_create_cq(nic->ctx, 2 * nr, NULL, NULL, 0);
	REQUIRE(cq);
	for (i = 0; i < nr; i++)
		qps[i] = make_qp(nic);
}

/* Expects @nr completions, all successful. */
static void all_succeed(int nr, uint64_t limit_ms)
{
	uint64_t end = millis() + limit_ms * slow_factor();
	struct ibv_wc wc;
	int got;

	while (nr) {
		got = ibv_poll_cq(cq, 1, &wc);
		REQUIRE(got >= 0);
		if (got)
			REQUIRE_EQ(wc.status, IBV_WC_SUCCESS);
		nr -= got;
		if (nr && millis() > end)
			FAIL("%d completions have not come", nr);
	}
}

/* ---- tests ------------------------------------------------------------------ */

/* No receive is posted, and the peer asks for a wait of only 10 us. */
static void refused_for_ever(void)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND }, *bad;
	struct ibv_recv_wr recv = { .wr_id = 1 }, *bad_recv;
	struct nic *nic = nic_a();
	struct ibv_wc wc;
	int i;

	stay_here();
	make_qps(nic, MANY);
	for (i = 0; i < MANY; i++)
		REQUIRE_EQ(ibv_post_send(qps[i], &wr, &bad), 0);
	/* The first attempts are as frequent as the peer allows. */
	a_while(2000 * slow_factor());
	/*
	 * Each once per second, and half more for those that have not backed
	 * off so far.
	 */
	acts_rarely(nic, refusals, 1.5 * MANY);
	gets_on();
	REQUIRE_EQ(ibv_poll_cq(cq, 1, &wc), 0);
	/* They still wait, and have not given up. */
	for (i = 0; i < MANY; i += MANY / 20)
		REQUIRE_EQ(ibv_post_recv(qps[i], &recv, &bad_recv), 0);
	all_succeed(2 * 20, 60000);
}

/* A single one is refused for half a second, and must be served soon after. */
static void refused_for_a_while(void)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND }, *bad;
	struct ibv_recv_wr recv = { .wr_id = 1 }, *bad_recv;
	uint64_t from;

	make_qps(nic_a(), 1);
	REQUIRE_EQ(ibv_post_send(qps[0], &wr, &bad), 0);
	a_while(500);
	REQUIRE_EQ(ibv_post_recv(qps[0], &recv, &bad_recv), 0);
	from = millis();
	all_succeed(2, 10000);
	/* 10 ms, plus what a busy machine adds */
	if (millis() - from > 500u * slow_factor())
		FAIL("served after %llu ms",
		     (unsigned long long)(millis() - from));
}

/* Maps memory without a page; none comes until the test gives it. */
static uint8_t *absent(int *uffd, size_t len)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	uint8_t *p = mmap(NULL, len, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	REQUIRE(p != MAP_FAILED);
	*uffd = syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	if (*uffd < 0)
		test_skip("no userfaultfd");
	REQUIRE_EQ(ioctl(*uffd, UFFDIO_API, &api), 0);
	reg.range.start = (uintptr_t)p;
	reg.range.len = len;
	REQUIRE_EQ(ioctl(*uffd, UFFDIO_REGISTER, &reg), 0);
	return p;
}

/* @near: the absent memory is the requester's. */
static void waits_for_a_page(enum ibv_wr_opcode opcode, bool near)
{
	size_t len = SOME * PAGE;
	struct nic *nic = nic_a();
	struct buf there = buf_make(nic->pd, PAGE, ACCESS_ALL);
	struct uffdio_zeropage zero;
	struct ibv_send_wr *bad;
	struct ibv_wc wc;
	struct ibv_mr *mr;
	uint8_t *p;
	int i, uffd;

	p = absent(&uffd, len);
	mr = ibv_reg_mr(nic->pd, p, len, ACCESS_ALL | IBV_ACCESS_ON_DEMAND);
	if (!mr)
		test_skip("no on-demand paging");
	stay_here();
	make_qps(nic, SOME);
	for (i = 0; i < SOME; i++) {
		struct ibv_sge sge = {
			.addr = (uintptr_t)(near ? p + i * PAGE : there.p),
			.length = 64,
			.lkey = near ? mr->lkey : there.mr->lkey,
		};
		struct ibv_send_wr wr = {
			.opcode = opcode, .sg_list = &sge, .num_sge = 1,
			.wr.rdma.remote_addr = (uintptr_t)(near ? there.p :
							   p + i * PAGE),
			.wr.rdma.rkey = near ? there.mr->rkey : mr->rkey,
		};

		REQUIRE_EQ(ibv_post_send(qps[i], &wr, &bad), 0);
	}
	a_while(500 * slow_factor());
	/* A kernel whose faults do not retry cannot wait for such a page. */
	if (ibv_poll_cq(cq, 1, &wc) && wc.status != IBV_WC_SUCCESS)
		test_skip("a page that never comes is an error at once");
	/* No timer of ours: only the machine's own remain. */
	acts_rarely(nic, softirqs, QUIET_RATE);
	gets_on();
	REQUIRE_EQ(ibv_poll_cq(cq, 1, &wc), 0);
	zero = (struct uffdio_zeropage){ .range = { (uintptr_t)p, len } };
	REQUIRE_EQ(ioctl(uffd, UFFDIO_ZEROPAGE, &zero), 0);
	all_succeed(SOME, 60000);
}

static void page_to_send_from(void)
{
	waits_for_a_page(IBV_WR_RDMA_WRITE, true);
}

static void page_to_read_into(void)
{
	waits_for_a_page(IBV_WR_RDMA_READ, true);
}

static void page_of_the_peer_to_write(void)
{
	waits_for_a_page(IBV_WR_RDMA_WRITE, false);
}

static void page_of_the_peer_to_read(void)
{
	waits_for_a_page(IBV_WR_RDMA_READ, false);
}

#define TEST(name) { #name, name }

static const struct test tests[] = {
	TEST(refused_for_ever),
	TEST(refused_for_a_while),
	TEST(page_to_send_from),
	TEST(page_to_read_into),
	TEST(page_of_the_peer_to_write),
	TEST(page_of_the_peer_to_read),
	{},
};

int main(int argc, char **argv)
{
	if (getenv("SHCA_SOAK"))
		find_usual();
	return util_main(tests, argc, argv);
}
