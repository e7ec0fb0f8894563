// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A library for LD_PRELOAD. The program's calls of an uverbs file work as
 * usual. In addition,
 *
 * - garbled copies of its calls are executed, before or after the call;
 * - a second thread executes garbled and exact copies at the same time. It maps
 *   what can be mapped and what cannot. It repeats all earlier calls on a file
 *   of its own, where handles have the same numbers;
 * - now and then a child process does this, with other memory.
 *
 * The seed decides how much of each, so that some processes get far. How the
 * program ends does not matter. Environment:
 *
 *   GARBLE_SEED=N	all follows from it, as far as threads allow
 *   GARBLE_LOG=FILE	each call is logged there before its execution
 *   GARBLE_COUNT=FILE	calls are counted there (struct stats in send.c)
 *   GARBLE_ALONE=1	no second thread
 *   GARBLE_DEFECTS=1	do not avoid the known defects of the RDMA core
 *   GARBLE_NO_CONTEXT=1	no GET_CONTEXT, of which the RDMA core leaks: for kmemleak
 */
#include "garble.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define UVERBS_MAJOR	231
#define MAX_FDS		1024
/* UVERBS_ID_DRIVER_NS, which headers of 6.1 do not have */
#define DRIVER_NS	(1u << UVERBS_ID_NS_SHIFT)

/* Calls of the program: the first ones are kept, later ones replace each other. */
#define CORPUS		160
#define CORPUS_FIRST	96

static struct {
	pthread_mutex_t lock;
	struct call *calls;
	uint32_t nr, next;
} corpus = { .lock = PTHREAD_MUTEX_INITIALIZER };

static struct {
	uint64_t seed;
	bool on, alone;
	uint32_t copies_in;	/* one in this many calls of the program has a copy */
	bool gentle;		/* the thread does not use the program's own file */
	bool by_write;		/* ioctl() fails for the program, so it uses write() */
} plan;

static struct rng main_rng;
static struct arena main_arena, storm_arena;
static bool storm_runs;
static int uverbs_fd = -1;
static char uverbs_path[128];
static uint32_t forks;
static __thread bool inside;

/* ---- the plan of a process ----------------------------------------------------------- */

static void make_plan(uint64_t seed)
{
	static const uint16_t often[] = { 1, 2, 8, 32 };

	plan.seed = seed;
	main_rng.state = seed;
	rng_next(&main_rng);
	plan.copies_in = often[below(&main_rng, 4)];
	plan.gentle = one_in(&main_rng, 2);
	plan.by_write = one_in(&main_rng, 4);
}

static void in_parent(void)
{
	forks++;
}

static void in_child(void)
{
	struct rng rng = { plan.seed + forks };

	pthread_mutex_init(&corpus.lock, NULL);
	storm_runs = false;
	forks = 0;
	if (plan.on && !inside)
		make_plan(rng_next(&rng));
}

__attribute__((constructor))
static void begin(void)
{
	const char *seed = getenv("GARBLE_SEED"), *log = getenv("GARBLE_LOG");

	if (!seed)
		return;
	corpus.calls = mmap(NULL, CORPUS * sizeof(*corpus.calls),
			    PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (corpus.calls == MAP_FAILED || !arena_make(&main_arena) ||
	    !arena_make(&storm_arena))
		return;
	if (log)
		send_log(open(log, O_WRONLY | O_APPEND | O_CREAT, 0666));
	if (getenv("GARBLE_COUNT"))
		send_count(open(getenv("GARBLE_COUNT"), O_RDWR));
	plan.alone = getenv("GARBLE_ALONE");
	plan.on = true;
	make_plan(strtoull(seed, NULL, 0));
	pthread_atfork(NULL, in_parent, in_child);
}

/* ---- the corpus ------------------------------------------------------------------------ */

static void remember(const struct call *call)
{
	uint32_t i;

	pthread_mutex_lock(&corpus.lock);
	if (corpus.nr < CORPUS)
		i = corpus.nr++;
	else
		i = CORPUS_FIRST + corpus.next++ % (CORPUS - CORPUS_FIRST);
	call_copy(&corpus.calls[i], call);
	pthread_mutex_unlock(&corpus.lock);
}

static bool recall(uint32_t i, struct call *call)
{
	bool found;

	pthread_mutex_lock(&corpus.lock);
	found = i < corpus.nr;
	if (found)
		call_copy(call, &corpus.calls[i]);
	pthread_mutex_unlock(&corpus.lock);
	return found;
}

/* ---- mappings -------------------------------------------------------------------------- */

static void touch(struct rng *rng, uint8_t *p, size_t len)
{
	uint8_t bytes[64] = { 0 };
	struct iovec local = { bytes, sizeof(bytes) };
	struct iovec remote = { p + below(rng, len), sizeof(bytes) };

	process_vm_readv(getpid(), &local, 1, &remote, 1, 0);
	if (one_in(rng, 8))
		process_vm_writev(getpid(), &local, 1, &remote, 1, 0);
}

static void try_mapping(struct rng *rng, int fd)
{
	static const int prots[] = { PROT_READ, PROT_READ | PROT_WRITE,
				     PROT_WRITE, PROT_NONE,
				     PROT_READ | PROT_EXEC };
	size_t len = (size_t)(1 + below(rng, one_in(rng, 4) ? 512 : 8)) * PAGE;
	int flags = one_in(rng, 4) ? MAP_PRIVATE : MAP_SHARED;
	uint64_t off = below(rng, 64);
	void *p, *other;

	switch (below(rng, 8)) {
	case 0:
		off = rng_next(rng) >> 12 >> below(rng, 52);
		break;
	case 1:
		off <<= 32 - 12;
		break;
	case 2:
		flags |= MAP_POPULATE;
	}
	p = (void *)syscall(SYS_mmap, NULL, len, prots[below(rng, 5)], flags, fd,
			    off << 12);
	if (p == MAP_FAILED)
		return;
	touch(rng, p, len);
	switch (below(rng, 6)) {
	case 0:
		mprotect(p, len, PROT_READ | PROT_WRITE);
		touch(rng, p, len);
		break;
	case 1:
		other = mremap(p, len, len * 2, MREMAP_MAYMOVE);
		if (other != MAP_FAILED) {
			p = other;
			len *= 2;
			touch(rng, p, len);
		}
		break;
	case 2:
		munmap((uint8_t *)p + len / 2 / PAGE * PAGE, PAGE);
		break;
	case 3:
		madvise(p, len, below(rng, 26));
		touch(rng, p, len);
		break;
	}
	munmap(p, len);
}

/* ---- the second thread ------------------------------------------------------------------- */

static void storm_once(struct rng *rng, int fd)
{
	static __thread struct call call;
	uint32_t nr = __atomic_load_n(&corpus.nr, __ATOMIC_RELAXED);

	if (!nr || !recall(below(rng, nr), &call))
		return;
	if (one_in(rng, 4)) {	/* once more, at the same time */
		send_call(NULL, &storm_arena, fd, &call);
		return;
	}
	garble(rng, &call);
	send_call(rng, &storm_arena, fd, &call);
}

/* Repeats all calls of the program on a file of our own, partly garbled. */
static void repeat(struct rng *rng)
{
	uint32_t until = 1 + below(rng, CORPUS), garbled_in, i;
	static __thread struct call call;
	int fd = open(uverbs_path, O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return;
	garbled_in = 2 + below(rng, 12);
	for (i = 0; i < until && recall(i, &call); i++) {
		if (!call.is_write && plan.by_write)
			call_to_write(&call);
		send_call(NULL, &storm_arena, fd, &call);
		while (one_in(rng, garbled_in) || one_in(rng, 2)) {
			static __thread struct call copy;

			call_copy(&copy, &call);
			garble(rng, &copy);
			send_call(rng, &storm_arena, fd, &copy);
		}
		if (one_in(rng, 16))
			try_mapping(rng, fd);
	}
	for (i = below(rng, 64); i; i--)
		storm_once(rng, fd);
	close(fd);
}

static void *storm(void *arg)
{
	struct rng rng = { plan.seed ^ 0x5eed };

	(void)arg;
	inside = true;
	while (__atomic_load_n(&storm_runs, __ATOMIC_RELAXED)) {
		int fd = __atomic_load_n(&uverbs_fd, __ATOMIC_RELAXED);

		switch (below(&rng, 8)) {
		case 0:
		case 1:
		case 2:
			repeat(&rng);
			break;
		case 3:
			if (fd >= 0)
				try_mapping(&rng, fd);
			break;
		case 4:
			arena_flip(&rng, &main_arena);
			break;
		default:
			if (fd >= 0 && !plan.gentle)
				storm_once(&rng, fd);
		}
		if (one_in(&rng, 64)) {
			pid_t child = fork();

			if (!child) {
				int i;

				for (i = 0; i < 40; i++)
					storm_once(&rng, fd);
				repeat(&rng);
				_exit(0);
			}
			if (child > 0)
				waitpid(child, NULL, 0);
		}
		if (one_in(&rng, 4))
			usleep(below(&rng, 2000));
	}
	return NULL;
}

static void start_storm(void)
{
	pthread_t thread;

	if (plan.alone || __atomic_exchange_n(&storm_runs, true, __ATOMIC_RELAXED))
		return;
	inside = true;
	if (!pthread_create(&thread, NULL, storm, NULL))
		pthread_detach(thread);
	inside = false;
}

/* ---- what the program does ---------------------------------------------------------------- */

static bool is_uverbs(int fd)
{
	struct stat st;

	if (!plan.on || inside || fd < 0 || fd >= MAX_FDS || fstat(fd, &st) ||
	    !S_ISCHR(st.st_mode))
		return false;
	/* Some minors are dynamic, so the name decides. */
	if (fd != uverbs_fd) {
		char link[32], path[sizeof(uverbs_path)] = "";

		snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
		if (readlink(link, path, sizeof(path) - 1) < 0 ||
		    !strstr(path, "/infiniband/uverbs"))
			return false;
		memcpy(uverbs_path, path, sizeof(path));
		__atomic_store_n(&uverbs_fd, fd, __ATOMIC_RELAXED);
	}
	return true;
}

static void copies(int fd, const struct call *call)
{
	static __thread struct call copy;

	while (one_in(&main_rng, plan.copies_in)) {
		call_copy(&copy, call);
		garble(&main_rng, &copy);
		send_call(&main_rng, &main_arena, fd, &copy);
		if (plan.copies_in == 1 && one_in(&main_rng, 3))
			break;
	}
}

int ioctl(int fd, unsigned long request, ...)
{
	static __thread struct call call;
	const struct ib_uverbs_ioctl_hdr *hdr;
	bool known;
	int result, error;
	va_list list;
	void *arg;

	va_start(list, request);
	arg = va_arg(list, void *);
	va_end(list);
	if (request != RDMA_VERBS_IOCTL || !is_uverbs(fd))
		return syscall(SYS_ioctl, fd, request, arg);
	hdr = arg;
	/* Fails calls that have an older form, so that the program uses write(). */
	if (plan.by_write && hdr->object_id < DRIVER_NS &&
	    hdr->method_id < DRIVER_NS) {
		errno = ENOTTY;
		return -1;
	}
	known = call_of_ioctl(&call, arg);
	if (known && one_in(&main_rng, 2))
		copies(fd, &call);
	result = syscall(SYS_ioctl, fd, request, arg);
	error = errno;
	if (known) {
		remember(&call);
		start_storm();
		copies(fd, &call);
	}
	errno = error;
	return result;
}

ssize_t write(int fd, const void *buf, size_t len)
{
	static __thread struct call call;
	ssize_t result;
	bool known;
	int error;

	if (len > PAGE || !is_uverbs(fd))
		return syscall(SYS_write, fd, buf, len);
	known = call_of_write(&call, buf, len);
	if (known && one_in(&main_rng, 2))
		copies(fd, &call);
	result = syscall(SYS_write, fd, buf, len);
	error = errno;
	if (known) {
		remember(&call);
		start_storm();
		copies(fd, &call);
	}
	errno = error;
	return result;
}

void *mmap(void *addr, size_t len, int prot, int flags, int fd, off_t off)
{
	void *p = (void *)syscall(SYS_mmap, addr, len, prot, flags, fd, off);
	int error = errno;

	if (fd >= 0 && is_uverbs(fd)) {
		if (p != MAP_FAILED)
			note_mapping(p, len);
		if (one_in(&main_rng, plan.copies_in))
			try_mapping(&main_rng, fd);
	}
	errno = error;
	return p;
}

void *mmap64(void *addr, size_t len, int prot, int flags, int fd, off_t off)
	__attribute__((alias("mmap")));

int close(int fd)
{
	if (fd >= 0 && fd == uverbs_fd && !inside)
		__atomic_store_n(&uverbs_fd, -1, __ATOMIC_RELAXED);
	return syscall(SYS_close, fd);
}
