// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Each mode does one thing that a process may do to on-demand paging. Scripts
 * check what others still get, and remove devices, processes and modules.
 * Prints a line per phase.
 *
 *	odp_load DEVICE fault FILE	WRITE into a mapping of FILE: "faulting",
 *					"completed STATUS" if it ever does; at
 *					SIGUSR1 it changes its address space:
 *					"changed"
 *	odp_load DEVICE late FILE	WRITE of one page of it, which completes, then of
 *					several behind it: "faulting", the same
 *	odp_load DEVICE advise FILE	the same by advice, with FLUSH: "flushing",
 *					"flushed ERRNO"
 *	odp_load DEVICE orphans FILE	processes that advise a page of FILE and end,
 *					until one is refused: "refused ERRNO"
 *	odp_load DEVICE flush N		advice, with FLUSH, of N times 1 GiB; the same
 *	odp_load DEVICE flood N		N calls with advice of 4,000 times 1 GiB:
 *					"flooded"
 *	odp_load DEVICE sparse N	WRITE into N pages 16 MiB apart: "written"
 *	odp_load DEVICE rate MS		WRITE into absent pages, one after the other:
 *					"rate N" of the best of 4 parts
 *	odp_load DEVICE forget N	N queue pairs WRITE 4 MiB, again and again; meanwhile
 *					the kernel takes another page of that region:
 *					"forgotten MEAN WORST" in microseconds; the
 *					same of a page of no region: "elsewhere"; and
 *					"written N"
 *
 * All but the last two then wait to be killed.
 */
#include "util.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PAGE		4096ul
#define GIB		(1ul << 30)
#define SEGMENTS	4000
#define LEN		(64 * KIB)
#define STRIDE		(16ul << 20)
#define ORPHANS		200
#define ODP_ACCESS	(ACCESS_ALL | IBV_ACCESS_ON_DEMAND)

static struct end a, b;
static struct buf mem;

static void *map(size_t len, int flags, int fd)
{
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE,
		       flags | MAP_NORESERVE, fd, 0);

	REQUIRE(p != MAP_FAILED);
	return p;
}

static struct ibv_mr *reg(void *p, size_t len)
{
	struct ibv_mr *mr;

	if (p)
		mr = ibv_reg_mr(nic_b()->pd, p, len, ODP_ACCESS);
	else
		mr = ibv_reg_mr(nic_b()->pd, NULL, SIZE_MAX, ODP_ACCESS);
	REQUIRE(mr);
	return mr;
}

static void connect_pair(void)
{
	struct config config = config_default;

	config.rnr_retry = 7;
	pair_make(&a, &b, &config);
	mem = buf_make(a.nic->pd, LEN, ACCESS_ALL);
}

static void write_to(void *p, size_t len, const struct ibv_mr *mr)
{
	struct ibv_sge sge = sge_of(&mem, 0, len);
	struct ibv_send_wr wr = wr_rdma(1, IBV_WR_RDMA_WRITE, &sge, 1,
					(uintptr_t)p, mr->rkey);

	post(&a, &wr);
}

static void *map_file(const char *name)
{
	int fd = open(name, O_RDWR);

	REQUIRE(fd >= 0);
	return map(MIB, MAP_SHARED, fd);
}

static volatile sig_atomic_t asked;

static void ask(int sig)
{
	(void)sig;
	asked = 1;
}

/* Both need the lock of the address space, and the first cannot be ended. */
static void change(void)
{
#ifdef SYS_pkey_alloc
	long key = syscall(SYS_pkey_alloc, 0, 0);

	if (key >= 0)
		syscall(SYS_pkey_free, key);
#endif
	REQUIRE_EQ(munmap(map(PAGE, MAP_PRIVATE | MAP_ANONYMOUS, -1), PAGE), 0);
	asked = 0;
	puts("changed");
}

/* @first: number of pages that come; some of the @nr pages after them do not. */
static void fault(const char *file, unsigned int first, unsigned int nr)
{
	uint8_t *p = map_file(file);
	struct ibv_mr *mr = reg(p, MIB);
	struct ibv_wc wc;

	connect_pair();
	for (; first; first--, p += PAGE) {
		write_to(p, PAGE, mr);
		wait_ok(a.scq, 1, IBV_WC_RDMA_WRITE);
	}
	write_to(p, nr * PAGE, mr);
	signal(SIGUSR1, ask);
	puts("faulting");
	while (!ibv_poll_cq(a.scq, 1, &wc)) {
		usleep(10000);
		if (asked)
			change();
	}
	printf("completed %s\n", ibv_wc_status_str(wc.status));
}

/* Advises @nr times @len bytes, @step apart. */
static int advise(const struct ibv_mr *mr, uint8_t *p, size_t step, uint32_t len,
		  unsigned int nr, uint32_t flags)
{
	static struct ibv_sge sge[SEGMENTS];
	unsigned int i;

	REQUIRE(nr <= SEGMENTS);
	for (i = 0; i < nr; i++)
		sge[i] = (struct ibv_sge){
			.addr = (uintptr_t)p + i * step,
			.length = len,
			.lkey = mr->lkey,
		};
	return ibv_advise_mr(nic_b()->pd, IBV_ADVISE_MR_ADVICE_PREFETCH, flags,
			     sge, nr);
}

/* In a process of its own. Return: errno of the registration. */
static int orphan(const char *file, unsigned int page)
{
	uint8_t *p = map_file(file);
	struct ibv_mr *mr = ibv_reg_mr(nic_b()->pd, p, MIB, ODP_ACCESS);

	if (!mr)
		return errno;
	REQUIRE_EQ(advise(mr, p + page * PAGE, 0, PAGE, 1, 0), 0);
	usleep(30000);	/* until a worker has begun */
	return 0;
}

static void orphans(const char *file)
{
	unsigned int i;
	int status = 0;
	pid_t pid;

	nic_b();
	for (i = 0; i < ORPHANS && !status; i++) {
		pid = fork();
		REQUIRE(pid >= 0);
		if (!pid)
			_exit(orphan(file, i));
		REQUIRE_EQ(waitpid(pid, &status, 0), pid);
		REQUIRE(WIFEXITED(status));
	}
	printf("refused %d\n", WEXITSTATUS(status));
}

static void flush(uint8_t *p, size_t len, const struct ibv_mr *mr,
		  unsigned int nr)
{
	puts("flushing");
	printf("flushed %d\n", advise(mr, p, len, len, nr,
				      IBV_ADVISE_MR_FLAG_FLUSH));
}

static void *map_large(void)
{
	return map(SEGMENTS * GIB, MAP_PRIVATE | MAP_ANONYMOUS, -1);
}

static void flood(int calls)
{
	struct ibv_mr *mr = reg(NULL, 0);
	uint8_t *p = map_large();

	while (calls--)
		REQUIRE_EQ(advise(mr, p, GIB, GIB, SEGMENTS, 0), 0);
	puts("flooded");
}

static void sparse(unsigned int nr)
{
	struct ibv_mr *mr = reg(NULL, 0);
	uint8_t *p = map_large();

	/*
	 * Small pages, because huge pages would not fit into the memory cgroup. (Real-time
	 * kernels have no huge ones, and do not know the advice.)
	 */
	if (madvise(p, SEGMENTS * GIB, MADV_NOHUGEPAGE))
		REQUIRE_EQ(errno, EINVAL);
	connect_pair();
	for (; nr; nr--, p += STRIDE) {
		write_to(p, 8, mr);
		wait_ok(a.scq, 1, IBV_WC_RDMA_WRITE);
	}
	puts("written");
}

static void measure(unsigned int ms)
{
	uint8_t *p = map(LEN, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	struct ibv_mr *mr = reg(p, LEN);
	unsigned int part, done, best = 0;
	uint64_t end;

	connect_pair();
	for (part = 0; part < 4; part++) {
		end = millis() + ms / 4;
		for (done = 0; millis() < end; done++) {
			REQUIRE_EQ(madvise(p, LEN, MADV_DONTNEED), 0);
			write_to(p, LEN, mr);
			wait_ok(a.scq, 1, IBV_WC_RDMA_WRITE);
		}
		if (done > best)
			best = done;
	}
	printf("rate %u\n", best);
}

#define BULK		(4ul * MIB)
#define WRITERS		8
#define FORGETS		100

static unsigned long micros(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000ul + now.tv_nsec / 1000;
}

static struct end writer[WRITERS], written[WRITERS];
static const struct ibv_mr *target;
static bool forgotten;	/* accessed atomically */

static bool goes_on(void)
{
	return !__atomic_load_n(&forgotten, __ATOMIC_RELAXED);
}

/* Keeps two WRITEs of the queue pair @arg under way. Return: how many there were. */
static void *write_on(void *arg)
{
	struct end *end = arg;
	struct buf src = buf_make(end->nic->pd, BULK, ACCESS_ALL);
	struct ibv_sge sge = sge_of(&src, 0, BULK);
	uintptr_t posted = 0, done = 0;
	struct ibv_send_wr wr;
	struct ibv_wc wc;

	while (done < posted || goes_on()) {
		while (goes_on() && posted < done + 2) {
			wr = wr_rdma(1, IBV_WR_RDMA_WRITE, &sge, 1,
				     (uintptr_t)target->addr, target->rkey);
			post(end, &wr);
			posted++;
		}
		if (ibv_poll_cq(end->scq, 1, &wc)) {
			REQUIRE_EQ(wc.status, IBV_WC_SUCCESS);
			done++;
		}
	}
	return (void *)done;
}

/* How long madvise() takes: of all times, and the longest, in microseconds */
struct forgets {
	unsigned long nr;
	unsigned long sum;
	unsigned long worst;
};

static void forget_one(uint8_t *p, struct forgets *forgets)
{
	unsigned long took;

	*p = 1;
	took = micros();
	REQUIRE_EQ(madvise(p, PAGE, MADV_DONTNEED), 0);
	took = micros() - took;
	forgets->nr++;
	forgets->sum += took;
	if (took > forgets->worst)
		forgets->worst = took;
}

static void forget(unsigned int nr)
{
	uint8_t *p = map(BULK + PAGE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	uint8_t *elsewhere = map(PAGE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	struct forgets forgets = {}, others = {};
	struct config config = config_default;
	pthread_t thread[WRITERS];
	unsigned long writes = 0;
	unsigned int i;
	uint64_t end;
	void *done;

	target = reg(p, BULK + PAGE);
	REQUIRE(nr && nr <= WRITERS);
	for (i = 0; i < nr; i++)
		pair_make(&writer[i], &written[i], &config);
	for (i = 0; i < nr; i++)
		REQUIRE_EQ(pthread_create(&thread[i], NULL, write_on,
					  &writer[i]), 0);
	usleep(500000);
	end = millis() + 10000;
	while (forgets.nr < FORGETS && millis() < end) {
		forget_one(elsewhere, &others);
		forget_one(p + BULK, &forgets);
		usleep(1000);
	}
	__atomic_store_n(&forgotten, true, __ATOMIC_RELAXED);
	for (i = 0; i < nr; i++) {
		REQUIRE_EQ(pthread_join(thread[i], &done), 0);
		writes += (uintptr_t)done;
	}
	printf("forgotten %lu %lu\nelsewhere %lu %lu\nwritten %lu\n",
	       forgets.sum / forgets.nr, forgets.worst, others.sum / others.nr,
	       others.worst, writes);
}

int main(int argc, char **argv)
{
	const char *what;

	if (argc != 4)
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	options.device = argv[1];
	what = argv[2];
	if (!strcmp(what, "rate")) {
		measure(atoi(argv[3]));
		return 0;
	}
	if (!strcmp(what, "forget")) {
		forget(atoi(argv[3]));
		return 0;
	}
	if (!strcmp(what, "fault")) {
		fault(argv[3], 0, 1);
	} else if (!strcmp(what, "late")) {
		fault(argv[3], 1, 4);
	} else if (!strcmp(what, "advise")) {
		uint8_t *p = map_file(argv[3]);

		flush(p, MIB, reg(p, MIB), 1);
	} else if (!strcmp(what, "orphans")) {
		orphans(argv[3]);
	} else if (!strcmp(what, "flush")) {
		flush(map_large(), GIB, reg(NULL, 0), atoi(argv[3]));
	} else if (!strcmp(what, "flood")) {
		flood(atoi(argv[3]));
	} else if (!strcmp(what, "sparse")) {
		sparse(atoi(argv[3]));
	} else {
		return 2;
	}
	pause();
	return 0;
}
