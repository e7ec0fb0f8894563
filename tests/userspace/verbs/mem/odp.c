// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * On-demand paging: each operation on memory that is absent, reclaimed, moved,
 * or never comes; and ibv_advise_mr(). Each with explicit regions and with an
 * implicit one.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "util.h"

#define LEN	(256 * KIB)
#define PAGE	4096

static struct end a, b;
static struct buf mem_a;	/* pinned */
static uint8_t *p;		/* LEN bytes of b, on demand */
static struct ibv_mr *mr;
static bool implicit;

#define ODP_ACCESS	(ACCESS_ALL | IBV_ACCESS_REMOTE_ATOMIC | \
			 IBV_ACCESS_ON_DEMAND)

static void *map(size_t len)
{
	void *at = mmap(NULL, len, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	REQUIRE(at != MAP_FAILED);
	return at;
}

static struct ibv_mr *reg(struct nic *nic, void *at, size_t len, int access)
{
	struct ibv_mr *new;

	if (implicit)
		new = ibv_reg_mr(nic->pd, NULL, SIZE_MAX, access);
	else
		new = ibv_reg_mr(nic->pd, at, len, access);
	REQUIRE(new);
	return new;
}

static void need(uint32_t caps)
{
	struct ibv_device_attr_ex attr;

	REQUIRE_EQ(ibv_query_device_ex(nic_b()->ctx, NULL, &attr), 0);
	if (!(attr.odp_caps.general_caps & IBV_ODP_SUPPORT))
		test_skip("the device has no on-demand paging");
	if (implicit)
		REQUIRE(attr.odp_caps.general_caps & IBV_ODP_SUPPORT_IMPLICIT);
	REQUIRE_EQ((options.is_uc ? attr.odp_caps.per_transport_caps.uc_odp_caps :
		    attr.odp_caps.per_transport_caps.rc_odp_caps) & caps, caps);
}

static void set_up(uint32_t caps)
{
	struct config config = config_default;

	need(caps);
	config.qp_access |= IBV_ACCESS_REMOTE_ATOMIC;
	config.max_rd_atomic = 4;
	if (options.is_uc)
		config.qp_access = IBV_ACCESS_REMOTE_WRITE;
	pair_make(&a, &b, &config);
	mem_a = buf_make(a.nic->pd, LEN, ACCESS_ALL);
	fill(mem_a.p, LEN, 1);
	p = map(LEN);
	mr = reg(b.nic, p, LEN, ODP_ACCESS);
}

static struct ibv_sge odp_sge(size_t off, size_t len)
{
	return (struct ibv_sge){
		.addr = (uintptr_t)p + off,
		.length = len,
		.lkey = mr->lkey,
	};
}

/* Makes the kernel drop the contents: the next read finds zeros. */
static void drop(void)
{
	REQUIRE_EQ(madvise(p, LEN, MADV_DONTNEED), 0);
}

static void rdma(enum ibv_wr_opcode opcode, size_t off, size_t len,
		 enum ibv_wc_status status)
{
	struct ibv_sge sge = sge_of(&mem_a, off, len);
	struct ibv_send_wr wr = wr_rdma(5, opcode, &sge, 1, (uintptr_t)p + off,
					mr->rkey);

	post(&a, &wr);
	wait_status(a.scq, 5, status);
}

static const size_t lengths[] = { 1, 100, PAGE, PAGE + 1, 50000, LEN };

/* Number of lengths that the command line allows. */
static unsigned int nr_lengths(void)
{
	unsigned int nr = 0;

	while (nr < ARRAY_SIZE(lengths) &&
	       (!options.max_len || lengths[nr] <= options.max_len))
		nr++;
	return nr;
}

static void receive_into(void)
{
	struct ibv_sge from, to;
	struct ibv_send_wr wr;
	unsigned int i;

	set_up(IBV_ODP_SUPPORT_RECV);
	for (i = 0; i < nr_lengths(); i++) {
		drop();
		to = odp_sge(0, LEN);
		post_recv(&b, i, &to, 1);
		from = sge_of(&mem_a, 0, lengths[i]);
		wr = wr_send(i, &from, 1);
		post(&a, &wr);
		wait_ok(b.rcq, i, IBV_WC_RECV);
		wait_ok(a.scq, i, IBV_WC_SEND);
		check_fill(p, lengths[i], 1);
	}
}

static void send_from(void)
{
	struct ibv_sge from, to;
	struct ibv_send_wr wr;
	unsigned int i;

	set_up(IBV_ODP_SUPPORT_SEND);
	for (i = 0; i < nr_lengths(); i++) {
		/* once from absent memory, once from present memory */
		drop();
		if (i & 1)
			fill(p, LEN, i);
		memset(mem_a.p, 0xff, LEN);
		to = sge_of(&mem_a, 0, LEN);
		post_recv(&a, i, &to, 1);
		from = odp_sge(0, lengths[i]);
		wr = wr_send(i, &from, 1);
		post(&b, &wr);
		wait_ok(a.rcq, i, IBV_WC_RECV);
		wait_ok(b.scq, i, IBV_WC_SEND);
		if (i & 1)
			check_fill(mem_a.p, lengths[i], i);
		else
			check_bytes(mem_a.p, lengths[i], 0);
	}
}

static void write_to(void)
{
	unsigned int i;

	set_up(IBV_ODP_SUPPORT_WRITE);
	for (i = 0; i < nr_lengths(); i++) {
		drop();
		rdma(IBV_WR_RDMA_WRITE, 0, lengths[i], IBV_WC_SUCCESS);
		check_fill(p, lengths[i], 1);
		check_bytes(p + lengths[i], LEN - lengths[i], 0);
	}
	/* pages read before may still be shared: a write makes them the process's own */
	drop();
	check_bytes(p, LEN, 0);
	rdma(IBV_WR_RDMA_WRITE, 0, LEN, IBV_WC_SUCCESS);
	check_fill(p, LEN, 1);
}

/* The responder's memory, and the requester's, are on demand. */
static void read_from_and_into(void)
{
	struct ibv_sge into;
	struct ibv_send_wr wr;
	unsigned int i;

	set_up(IBV_ODP_SUPPORT_READ);
	for (i = 0; i < nr_lengths(); i++) {
		drop();
		memset(mem_a.p, 0xff, LEN);
		rdma(IBV_WR_RDMA_READ, 0, lengths[i], IBV_WC_SUCCESS);
		check_bytes(mem_a.p, lengths[i], 0);

		drop();
		fill(mem_a.p, LEN, i);
		into = odp_sge(0, lengths[i]);
		wr = wr_rdma(7, IBV_WR_RDMA_READ, &into, 1, (uintptr_t)mem_a.p,
			     mem_a.mr->rkey);
		post(&b, &wr);
		wait_ok(b.scq, 7, IBV_WC_RDMA_READ);
		check_fill(p, lengths[i], i);
	}
}

static void atomics_on_and_into(void)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr;
	int i;

	set_up(IBV_ODP_SUPPORT_ATOMIC);
	for (i = 0; i < 4; i++) {
		drop();
		sge = sge_of(&mem_a, 0, 8);
		wr = wr_send(1, &sge, 1);
		wr.opcode = i & 1 ? IBV_WR_ATOMIC_CMP_AND_SWP :
				    IBV_WR_ATOMIC_FETCH_AND_ADD;
		wr.wr.atomic.remote_addr = (uintptr_t)p + PAGE * i + 8;
		wr.wr.atomic.rkey = mr->rkey;
		wr.wr.atomic.compare_add = i & 1 ? 0 : 42;
		wr.wr.atomic.swap = 42;
		memset(mem_a.p, 0xff, 8);
		post(&a, &wr);
		wait_ok(a.scq, 1, i & 1 ? IBV_WC_COMP_SWAP : IBV_WC_FETCH_ADD);
		REQUIRE_EQ(*(uint64_t *)(p + PAGE * i + 8), 42);
		REQUIRE_EQ(*(uint64_t *)mem_a.p, 0);

		/* the result */
		drop();
		*(uint64_t *)mem_a.p = 1000 + i;
		REQUIRE_EQ(ibv_dereg_mr(mem_a.mr), 0);
		mem_a.mr = ibv_reg_mr(a.nic->pd, mem_a.p, LEN, ACCESS_ALL |
				      IBV_ACCESS_REMOTE_ATOMIC);
		sge = odp_sge(PAGE * i, 8);
		wr.sg_list = &sge;
		wr.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
		wr.wr.atomic.remote_addr = (uintptr_t)mem_a.p;
		wr.wr.atomic.rkey = mem_a.mr->rkey;
		post(&b, &wr);
		wait_ok(b.scq, 1, IBV_WC_FETCH_ADD);
		REQUIRE_EQ(*(uint64_t *)(p + PAGE * i), 1000 + i);
	}
}

/* Many pages in many segments, in reverse order. */
static void many_segments(void)
{
	struct ibv_sge from, to[4];
	struct ibv_send_wr wr;
	int i, k;

	set_up(IBV_ODP_SUPPORT_RECV);
	for (i = 0; i < 20; i++) {
		drop();
		for (k = 0; k < 4; k++)
			to[k] = odp_sge((3 - k) * 60000 + i, 5000);
		post_recv(&b, 1, to, 4);
		from = sge_of(&mem_a, 0, 20000);
		wr = wr_send(2, &from, 1);
		post(&a, &wr);
		wait_ok(b.rcq, 1, IBV_WC_RECV);
		wait_ok(a.scq, 2, IBV_WC_SEND);
		for (k = 0; k < 4; k++)
			REQUIRE(!memcmp(p + (3 - k) * 60000 + i,
					mem_a.p + k * 5000, 5000));
	}
}

/* Many messages, each into absent memory, all posted at once. */
static void messages_stay_in_order(void)
{
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	int i, round;

	set_up(IBV_ODP_SUPPORT_RECV);
	for (round = 0; round < 20; round++) {
		drop();
		for (i = 0; i < 50; i++) {
			sge = odp_sge(PAGE * i, PAGE);
			post_recv(&b, i, &sge, 1);
		}
		for (i = 0; i < 50; i++) {
			sge = sge_of(&mem_a, PAGE * i, 100);
			wr = wr_send(i, &sge, 1);
			post(&a, &wr);
		}
		for (i = 0; i < 50; i++) {
			wait_ok(b.rcq, i, IBV_WC_RECV);
			REQUIRE(!memcmp(p + PAGE * i, mem_a.p + PAGE * i, 100));
		}
		for (i = 0; i < 50; i++)
			wait_ok(a.scq, i, IBV_WC_SEND);
	}
}

/* A region of 1 TiB (1 GiB in a process of 32 bits), of which little is ever used. */
static void most_of_it_is_never_there(void)
{
	const size_t len = sizeof(size_t) == 8 ? 1ull << 40 : 1u << 30;
	uint8_t *big = mmap(NULL, len, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	size_t off;

	if (big == MAP_FAILED)
		test_skip("not so much address space");
	set_up(IBV_ODP_SUPPORT_WRITE);
	if (!implicit)
		mr = reg(b.nic, big, len, ODP_ACCESS);
	p = big;
	for (off = 12345; off < len - LEN; off = off * 3) {
		struct ibv_sge sge = sge_of(&mem_a, 0, 5000);
		struct ibv_send_wr wr = wr_rdma(1, IBV_WR_RDMA_WRITE, &sge, 1,
						(uintptr_t)big + off, mr->rkey);

		post(&a, &wr);
		wait_ok(a.scq, 1, IBV_WC_RDMA_WRITE);
		check_fill(big + off, 5000, 1);
	}
	REQUIRE_EQ(ibv_dereg_mr(mr), 0);
}

/* ---- memory without access ----------------------------------------------- */

static void memory_that_never_comes(void)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr;

	set_up(IBV_ODP_SUPPORT_WRITE);
	munmap(p + PAGE, LEN - PAGE);
	rdma(IBV_WR_RDMA_WRITE, 0, PAGE, IBV_WC_SUCCESS);
	check_fill(p, PAGE, 1);
	/* remote */
	rdma(IBV_WR_RDMA_WRITE, PAGE, 100, IBV_WC_REM_ACCESS_ERR);
	end_wait_state(&b, IBV_QPS_ERR);
	/* local, sending */
	REQUIRE_EQ(end_to(&a, IBV_QPS_RESET), 0);
	REQUIRE_EQ(end_to(&b, IBV_QPS_RESET), 0);
	pair_connect(&a, &b);
	sge = odp_sge(PAGE, 100);
	wr = wr_rdma(6, IBV_WR_RDMA_WRITE, &sge, 1, (uintptr_t)mem_a.p,
		     mem_a.mr->rkey);
	post(&b, &wr);
	wait_status(b.scq, 6, IBV_WC_LOC_PROT_ERR);
	/* local, receiving */
	REQUIRE_EQ(end_to(&a, IBV_QPS_RESET), 0);
	REQUIRE_EQ(end_to(&b, IBV_QPS_RESET), 0);
	pair_connect(&a, &b);
	post_recv(&b, 7, &sge, 1);
	sge = sge_of(&mem_a, 0, 100);
	wr = wr_send(8, &sge, 1);
	post(&a, &wr);
	wait_status(a.scq, 8, IBV_WC_REM_OP_ERR);
	wait_status(b.rcq, 7, IBV_WC_LOC_PROT_ERR);
	/* and later it does come */
	REQUIRE_EQ(end_to(&a, IBV_QPS_RESET), 0);
	REQUIRE_EQ(end_to(&b, IBV_QPS_RESET), 0);
	pair_connect(&a, &b);
	REQUIRE(mmap(p + PAGE, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE |
		     MAP_ANONYMOUS | MAP_FIXED, -1, 0) == p + PAGE);
	rdma(IBV_WR_RDMA_WRITE, PAGE, 100, IBV_WC_SUCCESS);
}

/* The adapter may not write where the process may not. */
static void memory_that_may_not_be_written(void)
{
	set_up(IBV_ODP_SUPPORT_WRITE);
	rdma(IBV_WR_RDMA_WRITE, 0, LEN, IBV_WC_SUCCESS);
	REQUIRE_EQ(mprotect(p, LEN, PROT_READ), 0);
	memset(mem_a.p, 0, LEN);
	rdma(IBV_WR_RDMA_READ, 0, LEN, IBV_WC_SUCCESS);
	check_fill(mem_a.p, LEN, 1);
	memset(mem_a.p, 3, LEN);
	rdma(IBV_WR_RDMA_WRITE, 0, 100, IBV_WC_REM_ACCESS_ERR);
	check_fill(p, LEN, 1);
}

/* At both ends, in both directions: as for unmapped memory. */
static void never_comes(size_t off)
{
	struct ibv_sge sge = odp_sge(off, 100);
	struct ibv_send_wr wr;

	rdma(IBV_WR_RDMA_WRITE, off, 100, IBV_WC_REM_ACCESS_ERR);
	REQUIRE_EQ(end_to(&a, IBV_QPS_RESET), 0);
	REQUIRE_EQ(end_to(&b, IBV_QPS_RESET), 0);
	pair_connect(&a, &b);
	rdma(IBV_WR_RDMA_READ, off, 100, IBV_WC_REM_ACCESS_ERR);
	REQUIRE_EQ(end_to(&a, IBV_QPS_RESET), 0);
	REQUIRE_EQ(end_to(&b, IBV_QPS_RESET), 0);
	pair_connect(&a, &b);
	wr = wr_rdma(6, IBV_WR_RDMA_WRITE, &sge, 1, (uintptr_t)mem_a.p,
		     mem_a.mr->rkey);
	post(&b, &wr);
	wait_status(b.scq, 6, IBV_WC_LOC_PROT_ERR);
	REQUIRE_EQ(end_to(&a, IBV_QPS_RESET), 0);
	REQUIRE_EQ(end_to(&b, IBV_QPS_RESET), 0);
	pair_connect(&a, &b);
	post_recv(&b, 7, &sge, 1);
	sge = sge_of(&mem_a, 0, 100);
	wr = wr_send(8, &sge, 1);
	post(&a, &wr);
	wait_status(a.scq, 8, IBV_WC_REM_OP_ERR);
	wait_status(b.rcq, 7, IBV_WC_LOC_PROT_ERR);
}

/* Memory that not even the kernel can reach (memfd_secret(2)). */
static void secret_memory(void)
{
	int fd = syscall(447 /* memfd_secret */, 0);

	if (fd < 0)
		test_skip("no secret memory here");
	set_up(IBV_ODP_SUPPORT_WRITE);
	REQUIRE_EQ(ftruncate(fd, LEN), 0);
	REQUIRE(mmap(p + PAGE, LEN - PAGE, PROT_READ | PROT_WRITE, MAP_SHARED |
		     MAP_FIXED, fd, 0) == p + PAGE);
	p[PAGE] = 42;
	never_comes(PAGE);
	REQUIRE_EQ(p[PAGE], 42);
	REQUIRE_EQ(end_to(&a, IBV_QPS_RESET), 0);
	REQUIRE_EQ(end_to(&b, IBV_QPS_RESET), 0);
	pair_connect(&a, &b);
	/* The page before is ordinary memory. */
	rdma(IBV_WR_RDMA_WRITE, 0, PAGE, IBV_WC_SUCCESS);
	check_fill(p, PAGE, 1);
}

/* A process has pages that are no memory: those of the kernel's time keeping (vvar). */
static void no_memory(void)
{
	char line[300];
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned long at = 0;

	REQUIRE(maps);
	while (!at && fgets(line, sizeof(line), maps))
		if (strstr(line, "[vvar]"))
			at = strtoul(line, NULL, 16);
	fclose(maps);
	if (!at)
		test_skip("no [vvar] here");
	set_up(IBV_ODP_SUPPORT_READ);
	p = (uint8_t *)at;
	if (!implicit)
		mr = reg(b.nic, p, PAGE, ODP_ACCESS);
	rdma(IBV_WR_RDMA_READ, 0, 100, IBV_WC_REM_ACCESS_ERR);
}

static void range_and_rights_of_the_region(void)
{
	if (implicit)
		test_skip("an implicit region has no end");
	set_up(IBV_ODP_SUPPORT_WRITE);
	REQUIRE_EQ(ibv_dereg_mr(mr), 0);
	mr = reg(b.nic, p + 100, 5000, ODP_ACCESS);
	rdma(IBV_WR_RDMA_WRITE, 100, 5000, IBV_WC_SUCCESS);
	check_bytes(p, 100, 0);
	check_bytes(p + 5100, LEN - 5100, 0);
	rdma(IBV_WR_RDMA_WRITE, 101, 5000, IBV_WC_REM_ACCESS_ERR);
}

/* ---- changes of memory meanwhile ----------------------------------------- */

static void remapped_memory_is_followed(void)
{
	uint8_t *q;
	int i;

	set_up(IBV_ODP_SUPPORT_WRITE);
	for (i = 0; i < 10; i++) {
		rdma(IBV_WR_RDMA_WRITE, 0, LEN, IBV_WC_SUCCESS);
		check_fill(p, LEN, 1);
		/* new memory comes to the same addresses, and the old memory moves */
		q = map(LEN);
		REQUIRE(mremap(p, LEN, LEN, MREMAP_MAYMOVE | MREMAP_FIXED, q) ==
			q);
		REQUIRE(mmap(p, LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE |
			     MAP_ANONYMOUS | MAP_FIXED, -1, 0) == p);
		check_fill(q, LEN, 1);
		memset(p, 9, LEN);
		rdma(IBV_WR_RDMA_WRITE, 100, 100, IBV_WC_SUCCESS);
		check_fill(q, LEN, 1);
		REQUIRE(!memcmp(p + 100, mem_a.p + 100, 100));
		check_bytes(p + 200, LEN - 200, 9);
		munmap(q, LEN);
	}
}

/* The child has the memory of that moment; new data goes to the parent. */
static void fork_divides_memory(void)
{
	int pipes[2], status, i;
	char c = 0;
	pid_t pid;

	set_up(IBV_ODP_SUPPORT_WRITE);
	for (i = 0; i < 5; i++) {
		memset(p, i + 1, LEN);
		rdma(IBV_WR_RDMA_READ, 0, LEN, IBV_WC_SUCCESS);
		fill(mem_a.p, LEN, 1);
		REQUIRE_EQ(pipe(pipes), 0);
		pid = fork();
		REQUIRE(pid >= 0);
		if (!pid) {
			status = read(pipes[0], &c, 1) != 1;
			for (c = i + 1, i = 0; i < (int)LEN; i++)
				status |= p[i] != c;
			_exit(status);
		}
		rdma(IBV_WR_RDMA_WRITE, 0, LEN, IBV_WC_SUCCESS);
		check_fill(p, LEN, 1);
		REQUIRE_EQ(write(pipes[1], &c, 1), 1);
		REQUIRE_EQ(waitpid(pid, &status, 0), pid);
		REQUIRE_EQ(status, 0);
		close(pipes[0]);
		close(pipes[1]);
	}
}

/* Data written through the adapter reaches the file. */
static void shared_file(void)
{
	char name[] = "/tmp/odp.XXXXXX", page[PAGE];
	int fd = mkstemp(name), i;

	REQUIRE(fd >= 0);
	unlink(name);
	REQUIRE_EQ(ftruncate(fd, LEN), 0);
	set_up(IBV_ODP_SUPPORT_WRITE);
	REQUIRE(mmap(p, LEN, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd,
		     0) == p);
	for (i = 0; i < 3; i++) {
		rdma(IBV_WR_RDMA_WRITE, 0, LEN, IBV_WC_SUCCESS);
		REQUIRE_EQ(msync(p, LEN, MS_SYNC), 0);
		REQUIRE_EQ(pread(fd, page, PAGE, 5 * PAGE), PAGE);
		REQUIRE(!memcmp(page, mem_a.p + 5 * PAGE, PAGE));
		REQUIRE_EQ(ftruncate(fd, 0), 0);
		REQUIRE_EQ(ftruncate(fd, LEN), 0);
		check_bytes(p, LEN, 0);
	}
}

static _Atomic bool stop;

static void *writer_back(void *arg)
{
	int fd = *(int *)arg;

	while (!stop) {
		fdatasync(fd);
		posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	}
	return NULL;
}

/*
 * Data written while the kernel writes the file back, and drops pages that seem
 * clean, is in the file.
 */
static void written_pages_are_dirty(void)
{
	uint64_t deadline = millis() + (getenv("SHCA_SOAK") ? 30000 : 2000);
	const char *folder = getenv("SHCA_DISK_FOLDER") ?: "/var/tmp";
	static char page[PAGE], name[100];
	unsigned int round;
	pthread_t thread;
	size_t off;
	int fd;

	snprintf(name, sizeof(name), "%s/odp.XXXXXX", folder);
	fd = mkstemp(name);
	REQUIRE(fd >= 0);
	unlink(name);
	REQUIRE_EQ(ftruncate(fd, LEN), 0);
	set_up(IBV_ODP_SUPPORT_WRITE);
	REQUIRE(mmap(p, LEN, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd,
		     0) == p);
	REQUIRE_EQ(pthread_create(&thread, NULL, writer_back, &fd), 0);
	for (round = 0; millis() < deadline || round <= 3; round++) {
		fill(mem_a.p, LEN, round);
		rdma(IBV_WR_RDMA_WRITE, 0, LEN, IBV_WC_SUCCESS);
		if (round % 2)
			madvise(p, LEN, MADV_DONTNEED);
		for (off = 0; off < LEN; off += PAGE) {
			REQUIRE_EQ(pread(fd, page, PAGE, off), PAGE);
			if (memcmp(page, mem_a.p + off, PAGE))
				FAIL("round %u: lost at %zu", round, off);
		}
	}
	stop = true;
	REQUIRE_EQ(pthread_join(thread, NULL), 0);
}

static void *disturber(void *arg)
{
	uint64_t rounds = 0;
	unsigned int seed = 1;
	size_t off, len;

	(void)arg;
	while (!stop) {
		off = rand_r(&seed) % (LEN / PAGE) * PAGE;
		len = (1 + rand_r(&seed) % 8) * PAGE;
		if (off + len > LEN)
			continue;
		switch (rounds++ % 5) {
		case 0:
			madvise(p + off, len, MADV_PAGEOUT);
			break;
		case 1:
			mprotect(p + off, len, PROT_READ);
			mprotect(p + off, len, PROT_READ | PROT_WRITE);
			break;
		case 2:
			madvise(p + off, len, MADV_COLD);
			break;
		case 3:
			if (!fork())
				_exit(0);
			wait(NULL);
			break;
		case 4:
			madvise(p, LEN, MADV_HUGEPAGE);
			madvise(p, LEN, MADV_NOHUGEPAGE);
			break;
		}
	}
	return (void *)(uintptr_t)rounds;
}

/*
 * Verifies data while pages are unmapped, write-protected, copied and split. A
 * write that mprotect() refuses is repeated.
 */
static void races_with_invalidation(void)
{
	uint64_t deadline = millis() + (getenv("SHCA_SOAK") ? 30000 : 3000);
	uint64_t done = 0, refused = 0;
	struct ibv_sge sge, to;
	struct ibv_send_wr wr;
	struct ibv_wc wc;
	pthread_t thread;
	void *rounds;
	size_t len;

	set_up(IBV_ODP_SUPPORT_WRITE);
	REQUIRE_EQ(pthread_create(&thread, NULL, disturber, NULL), 0);
	while (millis() < deadline) {
		done++;
		len = done * 7919 % LEN + 1;
		fill(mem_a.p, LEN, done);
		sge = sge_of(&mem_a, 0, len);
		if (done & 1) {
			wr = wr_rdma(1, IBV_WR_RDMA_WRITE, &sge, 1,
				     (uintptr_t)p, mr->rkey);
		} else {
			to = odp_sge(0, LEN);
			post_recv(&b, 2, &to, 1);
			wr = wr_send(1, &sge, 1);
		}
		post(&a, &wr);
		wc = wait_wc(a.scq);
		if (wc.status != IBV_WC_SUCCESS) {
			REQUIRE(wc.status == IBV_WC_REM_ACCESS_ERR ||
				wc.status == IBV_WC_REM_OP_ERR);
			refused++;
			REQUIRE_EQ(end_to(&a, IBV_QPS_RESET), 0);
			REQUIRE_EQ(end_to(&b, IBV_QPS_RESET), 0);
			pair_connect(&a, &b);
			continue;
		}
		if (!(done & 1))
			wait_ok(b.rcq, 2, IBV_WC_RECV);
		check_fill(p, len, done);
		memset(mem_a.p, 0, LEN);
		wr = wr_rdma(3, IBV_WR_RDMA_READ, &sge, 1, (uintptr_t)p,
			     mr->rkey);
		post(&a, &wr);
		wait_ok(a.scq, 3, IBV_WC_RDMA_READ);
		check_fill(mem_a.p, len, done);
	}
	stop = true;
	REQUIRE_EQ(pthread_join(thread, &rounds), 0);
	printf("# %llu messages, %llu refused, %lld disturbances\n",
	       (unsigned long long)done, (unsigned long long)refused,
	       (long long)(intptr_t)rounds);
	REQUIRE(done > 10 && refused < done / 2);
	REQUIRE((intptr_t)rounds > 10);
}

/* The process lives on while its regions and queue pairs are destroyed. */
static void end_while_faulting(void)
{
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	int i, k;

	need(IBV_ODP_SUPPORT_WRITE);
	for (i = 0; i < 20; i++) {
		set_up(IBV_ODP_SUPPORT_WRITE);
		for (k = 0; k < 30; k++) {
			sge = sge_of(&mem_a, 0, 100);
			wr = wr_rdma(k, IBV_WR_RDMA_WRITE, &sge, 1,
				     (uintptr_t)p + k * PAGE, mr->rkey);
			post(&a, &wr);
		}
		if (i & 1) {
			REQUIRE_EQ(ibv_dereg_mr(mr), 0);
			REQUIRE_EQ(ibv_destroy_qp(b.qp), 0);
		} else {
			REQUIRE_EQ(ibv_destroy_qp(b.qp), 0);
			REQUIRE_EQ(ibv_dereg_mr(mr), 0);
		}
		REQUIRE_EQ(ibv_destroy_qp(a.qp), 0);
		munmap(p, LEN);
	}
}

/* ---- windows, rereg, advice ---------------------------------------------- */

static void window_onto_it(void)
{
	struct ibv_mw_bind bind = { .wr_id = 9, .send_flags = IBV_SEND_SIGNALED };
	struct ibv_mw *mw;

	set_up(IBV_ODP_SUPPORT_WRITE);
	REQUIRE_EQ(ibv_dereg_mr(mr), 0);
	mr = reg(b.nic, p, LEN, ODP_ACCESS | IBV_ACCESS_MW_BIND);
	mw = ibv_alloc_mw(b.nic->pd, IBV_MW_TYPE_1);
	REQUIRE(mw);
	bind.bind_info.mr = mr;
	bind.bind_info.addr = (uintptr_t)p + 100;
	bind.bind_info.length = LEN - 200;
	bind.bind_info.mw_access_flags = IBV_ACCESS_REMOTE_WRITE;
	REQUIRE_EQ(ibv_bind_mw(b.qp, mw, &bind), 0);
	wait_ok(b.scq, 9, IBV_WC_BIND_MW);
	drop();
	mr->rkey = mw->rkey;
	rdma(IBV_WR_RDMA_WRITE, 100, LEN - 200, IBV_WC_SUCCESS);
	REQUIRE(!memcmp(p + 100, mem_a.p + 100, LEN - 200));
	REQUIRE_EQ(ibv_dereg_mr(mr), EBUSY);
	REQUIRE_EQ(ibv_dealloc_mw(mw), 0);
	REQUIRE_EQ(ibv_dereg_mr(mr), 0);
}

static void rereg(void)
{
	uint8_t *q = map(LEN);

	if (implicit)
		test_skip("an implicit region has no other translation");
	set_up(IBV_ODP_SUPPORT_WRITE);
	rdma(IBV_WR_RDMA_WRITE, 0, LEN, IBV_WC_SUCCESS);
	REQUIRE_EQ(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
				ODP_ACCESS), 0);
	rdma(IBV_WR_RDMA_WRITE, 0, LEN, IBV_WC_SUCCESS);
	REQUIRE_EQ(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, q,
				LEN, 0), 0);
	p = q;
	rdma(IBV_WR_RDMA_WRITE, 0, LEN, IBV_WC_SUCCESS);
	check_fill(q, LEN, 1);
	/* It cannot become pinned memory. */
	REQUIRE_EQ(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
				ACCESS_ALL), IBV_REREG_MR_ERR_CMD);
	rdma(IBV_WR_RDMA_WRITE, 0, LEN, IBV_WC_SUCCESS);
	REQUIRE_EQ(ibv_dereg_mr(mr), 0);
}

static bool resident(uint8_t *at)
{
	unsigned char vec;

	REQUIRE_EQ(mincore(at, PAGE, &vec), 0);
	return vec & 1;
}

static int advise(enum ibv_advise_mr_advice advice, size_t off, size_t len,
		  uint32_t flags)
{
	struct ibv_sge sge = odp_sge(off, len);

	return ibv_advise_mr(b.nic->pd, advice, flags, &sge, 1);
}

static void advice_fetches(void)
{
	static const enum ibv_advise_mr_advice all[] = {
		IBV_ADVISE_MR_ADVICE_PREFETCH,
		IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE,
		IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT,
	};
	uint64_t deadline;
	unsigned int i;

	set_up(IBV_ODP_SUPPORT_WRITE);
	for (i = 0; i < ARRAY_SIZE(all); i++) {
		drop();
		REQUIRE_EQ(advise(all[i], 0, LEN, IBV_ADVISE_MR_FLAG_FLUSH), 0);
		if (all[i] != IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT) {
			REQUIRE(resident(p));
			REQUIRE(resident(p + LEN - PAGE));
		} else {
			REQUIRE(!resident(p));
		}
		rdma(IBV_WR_RDMA_WRITE, 0, LEN, IBV_WC_SUCCESS);
		check_fill(p, LEN, 1);

		drop();
		REQUIRE_EQ(advise(all[i], 0, LEN, 0), 0);
		deadline = millis() + 10000;
		while (all[i] != IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT &&
		       !resident(p + LEN - PAGE))
			REQUIRE(millis() < deadline);
		rdma(IBV_WR_RDMA_READ, 0, LEN, IBV_WC_SUCCESS);
		fill(mem_a.p, LEN, 1);
	}
}

static void wrong_advice_is_refused(void)
{
	const enum ibv_advise_mr_advice fetch = IBV_ADVISE_MR_ADVICE_PREFETCH;
	const uint32_t flush = IBV_ADVISE_MR_FLAG_FLUSH;
	struct ibv_mr *readable;
	struct ibv_pd *pd;
	struct ibv_sge sge;

	set_up(IBV_ODP_SUPPORT_WRITE);
	REQUIRE_EQ(advise(99, 0, PAGE, flush), EOPNOTSUPP);
	REQUIRE(advise(fetch, 0, PAGE, 1 << 7));
	if (!implicit)
		REQUIRE_EQ(advise(fetch, 0, LEN + 1, flush), EFAULT);
	munmap(p + PAGE, PAGE);
	REQUIRE_EQ(advise(fetch, PAGE, PAGE, flush), EFAULT);
	REQUIRE_EQ(advise(IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT, 0, LEN,
			  flush), 0);
	/* not on demand, an invalid key, another PD's */
	sge = sge_of(&mem_a, 0, 100);
	REQUIRE_EQ(ibv_advise_mr(a.nic->pd, fetch, flush, &sge, 1), EINVAL);
	sge = odp_sge(0, PAGE);
	sge.lkey ^= 0x5a5a5a00;
	REQUIRE_EQ(ibv_advise_mr(b.nic->pd, fetch, flush, &sge, 1), ENOENT);
	sge = odp_sge(0, PAGE);
	pd = ibv_alloc_pd(b.nic->ctx);
	REQUIRE_EQ(ibv_advise_mr(pd, fetch, flush, &sge, 1), EPERM);
	readable = reg(b.nic, p, PAGE, IBV_ACCESS_ON_DEMAND);
	sge.lkey = readable->lkey;
	REQUIRE_EQ(ibv_advise_mr(b.nic->pd, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE,
				 flush, &sge, 1), EPERM);
	REQUIRE_EQ(ibv_advise_mr(b.nic->pd, fetch, flush, &sge, 1), 0);
}

static void huge_pages(void)
{
	const size_t size = 2 * MIB;
	uint8_t *huge = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE |
			     MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);

	if (huge == MAP_FAILED)
		test_skip("no huge page of 2 MiB is free");
	set_up(IBV_ODP_SUPPORT_WRITE);
	mr = reg(b.nic, huge, size, ODP_ACCESS | IBV_ACCESS_HUGETLB);
	p = huge + size - LEN;
	rdma(IBV_WR_RDMA_WRITE, 0, LEN, IBV_WC_SUCCESS);
	check_fill(p, LEN, 1);
	check_bytes(huge, size - LEN, 0);
	REQUIRE_EQ(ibv_dereg_mr(mr), 0);
}

static const struct test tests[] = {
#define TEST(name) { #name, name }
	TEST(receive_into),
	TEST(send_from),
	TEST(write_to),
	TEST(read_from_and_into),
	TEST(atomics_on_and_into),
	TEST(many_segments),
	TEST(messages_stay_in_order),
	TEST(most_of_it_is_never_there),
	TEST(memory_that_never_comes),
	TEST(memory_that_may_not_be_written),
	TEST(secret_memory),
	TEST(no_memory),
	TEST(range_and_rights_of_the_region),
	TEST(remapped_memory_is_followed),
	TEST(fork_divides_memory),
	TEST(shared_file),
	TEST(written_pages_are_dirty),
	TEST(races_with_invalidation),
	TEST(end_while_faulting),
	TEST(window_onto_it),
	TEST(rereg),
	TEST(advice_fetches),
	TEST(wrong_advice_is_refused),
	TEST(huge_pages),
	{}
};

static const struct test uc_tests[] = {
	TEST(receive_into),
	TEST(send_from),
	TEST(many_segments),
	TEST(messages_stay_in_order),
	{}
};

int main(int argc, char **argv)
{
	implicit = getenv("ODP_IMPLICIT");
	return util_main_rc_uc(tests, uc_tests, argc, argv);
}
