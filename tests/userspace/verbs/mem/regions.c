// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Memory regions: their addressing, ibv_rereg_mr(), also while packets are in
 * flight, and fork().
 */
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "util.h"

#define LEN	(64 * KIB)

static struct end a, b;
static struct buf mem_a, mem_b;

static void set_up(int access_b)
{
	pair_make(&a, &b, &config_default);
	mem_a = buf_make(a.nic->pd, LEN, ACCESS_ALL);
	mem_b = buf_make(b.nic->pd, LEN, access_b);
	fill(mem_a.p, LEN, 1);
	memset(mem_b.p, 0, LEN);
}

static void rdma(enum ibv_wr_opcode opcode, uint64_t addr, size_t len,
		 uint32_t rkey, enum ibv_wc_status status)
{
	struct ibv_sge sge = sge_of(&mem_a, 0, len);
	struct ibv_send_wr wr = wr_rdma(5, opcode, &sge, 1, addr, rkey);

	post(&a, &wr);
	wait_status(a.scq, 5, status);
	if (status != IBV_WC_SUCCESS)
		pair_reconnect(&a, &b);
}

static void write_to(void *p, enum ibv_wc_status status)
{
	memset(p, 0, 5000);
	rdma(IBV_WR_RDMA_WRITE, (uintptr_t)p, 5000, mem_b.mr->rkey, status);
	if (status == IBV_WC_SUCCESS)
		check_fill(p, 5000, 1);
	else
		check_bytes(p, 5000, 0);
}

static void *map(size_t len)
{
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	REQUIRE(p != MAP_FAILED);
	return p;
}

/* ---- addresses ----------------------------------------------------------- */

static void region_has_addresses_of_its_own(void)
{
	const uint64_t iova = 0x5000000000ull;
	struct ibv_mr *mr;
	size_t off;

	set_up(ACCESS_ALL);
	off = (uintptr_t)mem_b.p % 4096;
	mr = ibv_reg_mr_iova(b.nic->pd, mem_b.p, LEN, iova + off, ACCESS_ALL);
	REQUIRE(mr);
	rdma(IBV_WR_RDMA_WRITE, iova + off + 100, 5000, mr->rkey,
	     IBV_WC_SUCCESS);
	check_bytes(mem_b.p, 100, 0);
	check_fill(mem_b.p + 100, 5000, 1);
	check_bytes(mem_b.p + 5100, LEN - 5100, 0);
	rdma(IBV_WR_RDMA_WRITE, (uintptr_t)mem_b.p, 1, mr->rkey,
	     IBV_WC_REM_ACCESS_ERR);
}

/* At any offset in a page. */
static void zero_based_region_counts_from_its_start(void)
{
	struct ibv_mr *mr;
	size_t off;

	set_up(ACCESS_ALL);
	for (off = 0; off < 9000; off += 2999) {
		memset(mem_b.p, 0, LEN);
		mr = ibv_reg_mr(b.nic->pd, mem_b.p + off, 20000,
				ACCESS_ALL | IBV_ACCESS_ZERO_BASED);
		REQUIRE(mr);
		rdma(IBV_WR_RDMA_WRITE, 0, 20000, mr->rkey, IBV_WC_SUCCESS);
		check_bytes(mem_b.p, off, 0);
		check_fill(mem_b.p + off, 20000, 1);
		check_bytes(mem_b.p + off + 20000, LEN - off - 20000, 0);
		rdma(IBV_WR_RDMA_WRITE, 1, 20000, mr->rkey,
		     IBV_WC_REM_ACCESS_ERR);
		rdma(IBV_WR_RDMA_WRITE, (uintptr_t)mem_b.p + off, 1, mr->rkey,
		     IBV_WC_REM_ACCESS_ERR);
		REQUIRE_EQ(ibv_dereg_mr(mr), 0);
	}
}

/* Hints; none of the optional ones may be refused. */
static void hints_change_nothing(void)
{
	static const unsigned int hints[] = {
		IBV_ACCESS_RELAXED_ORDERING, IBV_ACCESS_OPTIONAL_RANGE,
		IBV_ACCESS_HUGETLB,
	};
	unsigned int i;

	set_up(ACCESS_ALL);
	for (i = 0; i < ARRAY_SIZE(hints); i++) {
		REQUIRE_EQ(ibv_dereg_mr(mem_b.mr), 0);
		mem_b.mr = ibv_reg_mr(b.nic->pd, mem_b.p, LEN,
				      ACCESS_ALL | hints[i]);
		REQUIRE(mem_b.mr);
		write_to(mem_b.p, IBV_WC_SUCCESS);
	}
}

static void wrong_registrations_are_refused(void)
{
	struct nic *nic = nic_a();
	void *p = map(LEN);

	REQUIRE_ERRNO(ibv_reg_mr(nic->pd, p, LEN, IBV_ACCESS_REMOTE_WRITE),
		      EINVAL);
	REQUIRE_ERRNO(ibv_reg_mr(nic->pd, p, LEN, IBV_ACCESS_REMOTE_ATOMIC),
		      EINVAL);
	REQUIRE_ERRNO(ibv_reg_mr(nic->pd, p, LEN, 1 << 19), EINVAL);
	REQUIRE_ERRNO(ibv_reg_mr(nic->pd, p, 0, ACCESS_ALL |
				 IBV_ACCESS_ON_DEMAND), EINVAL);
	munmap(p, LEN);
	REQUIRE_ERRNO(ibv_reg_mr(nic->pd, p, LEN, ACCESS_ALL), EFAULT);
}

/* For unwanted or missing parts of a message. */
static void null_region(void)
{
	struct ibv_sge from[2], to;
	struct ibv_send_wr wr;
	struct ibv_mr *null;

	set_up(ACCESS_ALL);
	null = ibv_alloc_null_mr(b.nic->pd);
	REQUIRE(null);
	/* b drops the first 5000 bytes of the message ... */
	from[0] = (struct ibv_sge){ .length = 5000, .lkey = null->lkey };
	from[1] = sge_of(&mem_b, 0, 5000);
	post_recv(&b, 1, from, 2);
	to = sge_of(&mem_a, 0, 10000);
	wr = wr_send(2, &to, 1);
	post(&a, &wr);
	wait_ok(b.rcq, 1, IBV_WC_RECV);
	wait_ok(a.scq, 2, IBV_WC_SEND);
	REQUIRE(!memcmp(mem_b.p, mem_a.p + 5000, 5000));
	check_bytes(mem_b.p + 5000, LEN - 5000, 0);
	/* ... and sends zeros before its data. */
	memset(mem_a.p, 0xff, LEN);
	post_recv(&a, 3, &to, 1);
	wr = wr_send(4, from, 2);
	post(&b, &wr);
	wait_ok(a.rcq, 3, IBV_WC_RECV);
	wait_ok(b.scq, 4, IBV_WC_SEND);
	check_bytes(mem_a.p, 5000, 0);
	REQUIRE(!memcmp(mem_b.p, mem_a.p + 5000, 5000));
	/* It also drops messages of one packet, and READ data. */
	from[0].length = 100;
	post_recv(&b, 5, from, 1);
	to = sge_of(&mem_a, 5000, 100);
	wr = wr_send(6, &to, 1);
	post(&a, &wr);
	wait_ok(b.rcq, 5, IBV_WC_RECV);
	wait_ok(a.scq, 6, IBV_WC_SEND);
	wr = wr_rdma(7, IBV_WR_RDMA_READ, from, 1, (uintptr_t)mem_a.p + 5000,
		     mem_a.mr->rkey);
	post(&b, &wr);
	wait_ok(b.scq, 7, IBV_WC_RDMA_READ);
	memset(mem_a.p, 0xff, 100);
	wr = wr_rdma(8, IBV_WR_RDMA_WRITE, from, 1, (uintptr_t)mem_a.p,
		     mem_a.mr->rkey);
	post(&b, &wr);
	wait_ok(b.scq, 8, IBV_WC_RDMA_WRITE);
	check_bytes(mem_a.p, 100, 0);
	/* Peers have no access to it. */
	rdma(IBV_WR_RDMA_WRITE, 0, 100, null->lkey, IBV_WC_REM_ACCESS_ERR);
	REQUIRE_EQ(ibv_dereg_mr(null), 0);
}

/* Gigantic and huge pages, and regions that begin inside one. */
static void huge_pages(void)
{
	const size_t size = 2 * MIB;
	uint8_t *p = mmap(NULL, 2 * size, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
	struct ibv_mr *mr;

	if (p == MAP_FAILED)
		test_skip("no two huge pages of 2 MiB are free");
	set_up(ACCESS_ALL);
	mr = ibv_reg_mr(b.nic->pd, p + 777, 2 * size - 777,
			ACCESS_ALL | IBV_ACCESS_HUGETLB);
	REQUIRE(mr);
	memset(p, 0, 2 * size);
	rdma(IBV_WR_RDMA_WRITE, (uintptr_t)p + size - 1000, 5000, mr->rkey,
	     IBV_WC_SUCCESS);
	check_bytes(p, size - 1000, 0);
	check_fill(p + size - 1000, 5000, 1);
	check_bytes(p + size + 4000, size - 4000, 0);
	REQUIRE_EQ(ibv_dereg_mr(mr), 0);
}

/* ---- ibv_rereg_mr() ------------------------------------------------------ */

static void rereg_translation(void)
{
	uint8_t *other = map(LEN);
	uint32_t rkey;

	set_up(ACCESS_ALL);
	rkey = mem_b.mr->rkey;
	REQUIRE_EQ(ibv_rereg_mr(mem_b.mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL,
				other + 1000, 20000, 0), 0);
	REQUIRE(mem_b.mr->addr == other + 1000);
	REQUIRE_EQ(mem_b.mr->length, 20000);
	REQUIRE_EQ(mem_b.mr->rkey, rkey);
	write_to(other + 1000, IBV_WC_SUCCESS);
	write_to(other + 16000, IBV_WC_SUCCESS);
	write_to(other + 16001, IBV_WC_REM_ACCESS_ERR);
	write_to(mem_b.p, IBV_WC_REM_ACCESS_ERR);
	check_bytes(other, 1000, 0);
	REQUIRE_EQ(ibv_dereg_mr(mem_b.mr), 0);
}

static void rereg_access(void)
{
	set_up(ACCESS_ALL);
	write_to(mem_b.p, IBV_WC_SUCCESS);
	REQUIRE_EQ(ibv_rereg_mr(mem_b.mr, IBV_REREG_MR_CHANGE_ACCESS, NULL,
				NULL, 0, IBV_ACCESS_LOCAL_WRITE |
				IBV_ACCESS_REMOTE_READ), 0);
	write_to(mem_b.p, IBV_WC_REM_ACCESS_ERR);
	rdma(IBV_WR_RDMA_READ, (uintptr_t)mem_b.p, 100, mem_b.mr->rkey,
	     IBV_WC_SUCCESS);
	fill(mem_a.p, LEN, 1);
	REQUIRE_EQ(ibv_rereg_mr(mem_b.mr, IBV_REREG_MR_CHANGE_ACCESS, NULL,
				NULL, 0, IBV_ACCESS_LOCAL_WRITE |
				IBV_ACCESS_REMOTE_WRITE), 0);
	write_to(mem_b.p, IBV_WC_SUCCESS);
	rdma(IBV_WR_RDMA_READ, (uintptr_t)mem_b.p, 100, mem_b.mr->rkey,
	     IBV_WC_REM_ACCESS_ERR);
	REQUIRE_EQ(ibv_dereg_mr(mem_b.mr), 0);
}

/*
 * Pages of a file that were pinned for reading. A write must go to private
 * copies, and the file must not change.
 */
static void rereg_access_to_pages_of_a_file(void)
{
	char name[] = "/tmp/regions.XXXXXX";
	uint8_t *p, page[4096];
	int fd = mkstemp(name);

	REQUIRE(fd >= 0);
	unlink(name);
	memset(page, 7, sizeof(page));
	REQUIRE_EQ(write(fd, page, sizeof(page)), sizeof(page));
	REQUIRE_EQ(write(fd, page, sizeof(page)), sizeof(page));
	p = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	REQUIRE(p != MAP_FAILED);
	set_up(ACCESS_ALL);
	REQUIRE_EQ(ibv_dereg_mr(mem_b.mr), 0);
	mem_b.mr = ibv_reg_mr(b.nic->pd, p, 8192, IBV_ACCESS_REMOTE_READ);
	REQUIRE(mem_b.mr);
	rdma(IBV_WR_RDMA_READ, (uintptr_t)p, 8192, mem_b.mr->rkey,
	     IBV_WC_SUCCESS);
	check_bytes(mem_a.p, 8192, 7);
	fill(mem_a.p, LEN, 1);
	REQUIRE_EQ(ibv_rereg_mr(mem_b.mr, IBV_REREG_MR_CHANGE_ACCESS, NULL,
				NULL, 0, ACCESS_ALL), 0);
	rdma(IBV_WR_RDMA_WRITE, (uintptr_t)p + 100, 5000, mem_b.mr->rkey,
	     IBV_WC_SUCCESS);
	check_bytes(p, 100, 7);
	check_fill(p + 100, 5000, 1);
	check_bytes(p + 5100, 8192 - 5100, 7);
	REQUIRE_EQ(pread(fd, page, sizeof(page), 0), sizeof(page));
	check_bytes(page, sizeof(page), 7);
	REQUIRE_EQ(ibv_dereg_mr(mem_b.mr), 0);
}

static void rereg_pd(void)
{
	struct ibv_pd *pd;

	set_up(ACCESS_ALL);
	pd = ibv_alloc_pd(b.nic->ctx);
	REQUIRE(pd);
	REQUIRE_EQ(ibv_rereg_mr(mem_b.mr, IBV_REREG_MR_CHANGE_PD, pd, NULL, 0,
				0), 0);
	REQUIRE(mem_b.mr->pd == pd);
	REQUIRE_EQ(ibv_dealloc_pd(pd), EBUSY);
	write_to(mem_b.p, IBV_WC_REM_ACCESS_ERR);
	REQUIRE_EQ(ibv_rereg_mr(mem_b.mr, IBV_REREG_MR_CHANGE_PD, b.nic->pd,
				NULL, 0, 0), 0);
	write_to(mem_b.p, IBV_WC_SUCCESS);
	REQUIRE_EQ(ibv_dealloc_pd(pd), 0);
	/* The same change again has no effect. */
	REQUIRE_EQ(ibv_rereg_mr(mem_b.mr, IBV_REREG_MR_CHANGE_PD, b.nic->pd,
				NULL, 0, 0), 0);
	write_to(mem_b.p, IBV_WC_SUCCESS);
	REQUIRE_EQ(ibv_dereg_mr(mem_b.mr), 0);
}

/* All changes at once, each twice, so that it also reverts. */
static void rereg_combinations(void)
{
	uint8_t *other = map(LEN), *p;
	struct ibv_pd *pd;
	int flags, i, access;
	bool same_pd;

	set_up(ACCESS_ALL);
	pd = ibv_alloc_pd(b.nic->ctx);
	for (flags = 1; flags < 8; flags++) {
		p = mem_b.p;
		same_pd = true;
		for (i = 0; i < 2; i++) {
			access = ACCESS_ALL;
			if (flags & IBV_REREG_MR_CHANGE_TRANSLATION)
				p = i ? mem_b.p : other;
			if (flags & IBV_REREG_MR_CHANGE_PD)
				same_pd = i;
			if (flags & IBV_REREG_MR_CHANGE_ACCESS && !i)
				access = IBV_ACCESS_LOCAL_WRITE;
			REQUIRE_EQ(ibv_rereg_mr(mem_b.mr, flags,
				flags & IBV_REREG_MR_CHANGE_PD ?
					(i ? b.nic->pd : pd) : NULL,
				flags & IBV_REREG_MR_CHANGE_TRANSLATION ?
					p : NULL,
				flags & IBV_REREG_MR_CHANGE_TRANSLATION ?
					LEN : 0,
				flags & IBV_REREG_MR_CHANGE_ACCESS ?
					access : 0), 0);
			write_to(p, same_pd && access == ACCESS_ALL ?
				 IBV_WC_SUCCESS : IBV_WC_REM_ACCESS_ERR);
		}
	}
}

static void rereg_that_fails_changes_nothing(void)
{
	uint8_t *hole = map(LEN);

	set_up(ACCESS_ALL);
	munmap(hole, LEN);
	/* EFAULT */
	REQUIRE_EQ(ibv_rereg_mr(mem_b.mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL,
				hole, LEN, 0), IBV_REREG_MR_ERR_CMD);
	REQUIRE_EQ(errno, EFAULT);
	write_to(mem_b.p, IBV_WC_SUCCESS);
	REQUIRE_EQ(ibv_rereg_mr(mem_b.mr, IBV_REREG_MR_CHANGE_ACCESS, NULL,
				NULL, 0, IBV_ACCESS_REMOTE_WRITE),
		   IBV_REREG_MR_ERR_CMD);
	write_to(mem_b.p, IBV_WC_SUCCESS);
	REQUIRE_EQ(ibv_rereg_mr(mem_b.mr, IBV_REREG_MR_CHANGE_ACCESS, NULL,
				NULL, 0, ACCESS_ALL | 1 << 19),
		   IBV_REREG_MR_ERR_CMD);
	write_to(mem_b.p, IBV_WC_SUCCESS);
	REQUIRE_EQ(ibv_rereg_mr(mem_b.mr, 8, NULL, NULL, 0, 0),
		   IBV_REREG_MR_ERR_INPUT);
	write_to(mem_b.p, IBV_WC_SUCCESS);
	REQUIRE_EQ(ibv_dereg_mr(mem_b.mr), 0);
}

/*
 * WRITEs while the region alternates between two buffers under the same
 * addresses. None of them fails. Each is found in one buffer, in the other, or
 * divided between both at a packet boundary.
 */
#define ZERO_BASED	(ACCESS_ALL | IBV_ACCESS_ZERO_BASED)

static _Atomic bool stop;
static uint8_t *homes[2];

static void *mover(void *arg)
{
	struct ibv_mr *mr = arg;
	uint64_t moves = 0;

	while (!stop) {
		if (ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
				 ZERO_BASED | (++moves & 1 ?
					       IBV_ACCESS_RELAXED_ORDERING :
					       0)) ||
		    ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL,
				 homes[moves & 1], LEN, 0))
			return (void *)-1;
	}
	return (void *)(uintptr_t)moves;
}

static void rereg_while_packets_are_in_flight(void)
{
	uint64_t deadline = millis() + (getenv("SHCA_SOAK") ? 20000 : 1500);
	uint64_t done = 0;
	pthread_t thread;
	void *moves;
	size_t i;

	set_up(ACCESS_ALL);
	REQUIRE_EQ(ibv_dereg_mr(mem_b.mr), 0);
	homes[0] = map(LEN);
	homes[1] = map(LEN);
	mem_b.mr = ibv_reg_mr(b.nic->pd, homes[0], LEN, ZERO_BASED);
	REQUIRE(mem_b.mr);
	REQUIRE_EQ(pthread_create(&thread, NULL, mover, mem_b.mr), 0);
	while (millis() < deadline) {
		memset(mem_a.p, ++done, LEN);
		rdma(IBV_WR_RDMA_WRITE, 0, LEN, mem_b.mr->rkey,
		     IBV_WC_SUCCESS);
		for (i = 0; i < LEN; i += 256)
			if (homes[0][i] != (uint8_t)done &&
			    homes[1][i] != (uint8_t)done)
				FAIL("byte %zu of write %llu is nowhere", i,
				     (unsigned long long)done);
	}
	stop = true;
	REQUIRE_EQ(pthread_join(thread, &moves), 0);
	REQUIRE((intptr_t)moves > 10);
	REQUIRE(done > 10);
	printf("# %llu writes, %lld moves\n", (unsigned long long)done,
	       (long long)(intptr_t)moves);
}

/* ---- length 0 --------------------------------------------------------------- */

static struct ibv_mr *reg_no_bytes(const struct end *end, void *p)
{
	struct ibv_mr *mr = ibv_reg_mr(end->nic->pd, p, 0, ACCESS_ALL);

	REQUIRE(mr);
	REQUIRE_EQ(mr->length, 0);
	return mr;
}

static void post_from(struct ibv_sge *sge, enum ibv_wr_opcode opcode,
		      const struct ibv_mr *to, enum ibv_wc_status status)
{
	struct ibv_send_wr wr = wr_rdma(5, opcode, sge, 1, (uintptr_t)to->addr,
					to->rkey);

	if (opcode == IBV_WR_SEND)
		wr = wr_send(5, sge, 1);
	post(&a, &wr);
	wait_status(a.scq, 5, status);
	if (status != IBV_WC_SUCCESS)
		pair_reconnect(&a, &b);
}

/* Messages of length 0 may use it; one byte is beyond its end. */
static void use_region_of_no_bytes(void *p)
{
	struct ibv_mr *from = reg_no_bytes(&a, p), *to = reg_no_bytes(&b, p);
	struct ibv_sge sge = { .addr = (uintptr_t)p, .lkey = to->lkey };

	post_recv(&b, 9, &sge, 1);
	sge.lkey = from->lkey;
	post_from(&sge, IBV_WR_SEND, to, IBV_WC_SUCCESS);
	REQUIRE_EQ(wait_ok(b.rcq, 9, IBV_WC_RECV).byte_len, 0);
	post_from(&sge, IBV_WR_RDMA_WRITE, to, IBV_WC_SUCCESS);
	post_from(&sge, IBV_WR_RDMA_READ, to, IBV_WC_SUCCESS);
	rdma(IBV_WR_RDMA_WRITE, sge.addr, 1, to->rkey, IBV_WC_REM_ACCESS_ERR);
	sge.length = 1;
	post_from(&sge, IBV_WR_RDMA_WRITE, mem_b.mr, IBV_WC_LOC_PROT_ERR);

	/* It gets a length (not the reverse: libibverbs does not allow length 0). */
	REQUIRE_EQ(ibv_rereg_mr(from, IBV_REREG_MR_CHANGE_TRANSLATION, NULL,
				p, 1, 0), 0);
	post_from(&sge, IBV_WR_RDMA_WRITE, mem_b.mr, IBV_WC_SUCCESS);
	REQUIRE_EQ(ibv_rereg_mr(to, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
				IBV_ACCESS_LOCAL_WRITE), 0);
	REQUIRE_EQ(ibv_dereg_mr(from), 0);
	REQUIRE_EQ(ibv_dereg_mr(to), 0);
}

static void region_of_no_bytes(void)
{
	set_up(ACCESS_ALL);
	use_region_of_no_bytes(mem_a.p);
	use_region_of_no_bytes(mem_a.p + 100);
}

/* ---- fork() -------------------------------------------------------------- */

/*
 * The child overwrites all of its memory. Data that arrives meanwhile goes to
 * the parent's pages.
 */
static void memory_stays_the_parents_after_fork(void)
{
	int i, status;
	pid_t pid;

	set_up(ACCESS_ALL);
	for (i = 0; i < 5; i++) {
		pid = fork();
		REQUIRE(pid >= 0);
		if (!pid) {
			if (!ibv_is_fork_initialized())
				_exit(1);
			/* Without effect if ibv_fork_init() was called. */
			if (ibv_is_fork_initialized() == IBV_FORK_UNNEEDED)
				memset(mem_b.p, 0xee, LEN);
			_exit(0);
		}
		write_to(mem_b.p + 100 * i, IBV_WC_SUCCESS);
		mem_b.p[0] = i;
		write_to(mem_b.p + 1000 * i, IBV_WC_SUCCESS);
		REQUIRE_EQ(waitpid(pid, &status, 0), pid);
		write_to(mem_b.p + 1000 * i, IBV_WC_SUCCESS);
	}
}

static const struct test tests[] = {
#define TEST(name) { #name, name }
	TEST(region_has_addresses_of_its_own),
	TEST(zero_based_region_counts_from_its_start),
	TEST(hints_change_nothing),
	TEST(wrong_registrations_are_refused),
	TEST(region_of_no_bytes),
	TEST(null_region),
	TEST(huge_pages),
	TEST(rereg_translation),
	TEST(rereg_access),
	TEST(rereg_access_to_pages_of_a_file),
	TEST(rereg_pd),
	TEST(rereg_combinations),
	TEST(rereg_that_fails_changes_nothing),
	TEST(rereg_while_packets_are_in_flight),
	TEST(memory_stays_the_parents_after_fork),
	{}
};

int main(int argc, char **argv)
{
	return util_main(tests, argc, argv);
}
