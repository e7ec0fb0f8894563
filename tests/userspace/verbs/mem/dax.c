// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * On-demand regions over a file on DAX, in the folder SHCA_DAX. The page cache does not
 * stand between: what a peer writes is in the file, and a page goes with its block.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include "util.h"

#define LEN	(256 * KIB)
#define ROUNDS	40

static struct end a, b;
static struct buf mem_a;
static int file;
static uint8_t *p;		/* the file, LEN bytes */
static struct ibv_mr *mr;

static int open_file(const char *name)
{
	const char *folder = getenv("SHCA_DAX");
	char path[256];
	int fd;

	if (!folder)
		test_skip("SHCA_DAX is not set");
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	REQUIRE(fd >= 0);
	return fd;
}

/* Blocks that are written: an access to a hole would wait for the file system's journal. */
static void write_file(int fd, uint64_t seed)
{
	static uint8_t bytes[LEN];

	fill(bytes, LEN, seed);
	REQUIRE_EQ(pwrite(fd, bytes, LEN, 0), LEN);
}

static void check_file(int fd, uint64_t seed)
{
	static uint8_t bytes[LEN];

	REQUIRE_EQ(pread(fd, bytes, LEN, 0), LEN);
	check_fill(bytes, LEN, seed);
}

static void set_up(void)
{
	file = open_file("region");
	write_file(file, 7);
	p = mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	REQUIRE(p != MAP_FAILED);
	pair_make(&a, &b, &config_default);
	mem_a = buf_make(a.nic->pd, LEN, ACCESS_ALL);
	mr = ibv_reg_mr(b.nic->pd, p, LEN, ACCESS_ALL | IBV_ACCESS_ON_DEMAND);
	REQUIRE(mr);
}

static struct ibv_wc rdma(enum ibv_wr_opcode opcode)
{
	struct ibv_sge sge = sge_of(&mem_a, 0, LEN);
	struct ibv_send_wr wr = wr_rdma(5, opcode, &sge, 1, (uintptr_t)p, mr->rkey);

	post(&a, &wr);
	return wait_wc(a.scq);
}

static void written_and_read(void)
{
	struct ibv_sge sge, to;
	struct ibv_send_wr wr;

	set_up();
	memset(mem_a.p, 0, LEN);
	REQUIRE_EQ(rdma(IBV_WR_RDMA_READ).status, IBV_WC_SUCCESS);
	check_fill(mem_a.p, LEN, 7);
	fill(mem_a.p, LEN, 8);
	REQUIRE_EQ(rdma(IBV_WR_RDMA_WRITE).status, IBV_WC_SUCCESS);
	check_file(file, 8);

	fill(mem_a.p, LEN, 9);
	to = (struct ibv_sge){ .addr = (uintptr_t)p, .length = LEN, .lkey = mr->lkey };
	post_recv(&b, 1, &to, 1);
	sge = sge_of(&mem_a, 0, LEN);
	wr = wr_send(2, &sge, 1);
	post(&a, &wr);
	wait_ok(b.rcq, 1, IBV_WC_RECV);
	wait_ok(a.scq, 2, IBV_WC_SEND);
	check_file(file, 9);
}

/* With each driver: the core pins no page for long that a file system may take away. */
static void cannot_be_pinned(void)
{
	set_up();
	REQUIRE(!ibv_reg_mr(b.nic->pd, p, LEN, ACCESS_ALL));
	REQUIRE_EQ(errno, EOPNOTSUPP);
}

static bool stop;

static void *truncate_and_write(void *arg)
{
	(void)arg;
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		REQUIRE_EQ(ftruncate(file, 0), 0);
		write_file(file, 7);
	}
	return NULL;
}

/*
 * The blocks go to another file while a peer writes. It sees an error or none. Nothing
 * reaches the other file.
 */
static void truncated_under_traffic(void)
{
	int other, i, failed = 0, done = 0;
	struct ibv_wc wc;
	pthread_t thread;

	set_up();
	fill(mem_a.p, LEN, 8);
	REQUIRE_EQ(pthread_create(&thread, NULL, truncate_and_write, NULL), 0);
	for (i = 0; i < ROUNDS; i++) {
		wc = rdma(IBV_WR_RDMA_WRITE);
		if (wc.status == IBV_WC_SUCCESS) {
			done++;
			continue;
		}
		REQUIRE_EQ(wc.status, IBV_WC_REM_ACCESS_ERR);
		failed++;
		pair_make(&a, &b, &config_default);
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	printf("# %d WRITEs, %d refused\n", done, failed);
	REQUIRE_EQ(rdma(IBV_WR_RDMA_WRITE).status, IBV_WC_SUCCESS);
	check_file(file, 8);

	REQUIRE_EQ(ftruncate(file, 0), 0);
	other = open_file("other");
	write_file(other, 9);
	REQUIRE_EQ(rdma(IBV_WR_RDMA_WRITE).status, IBV_WC_REM_ACCESS_ERR);
	check_file(other, 9);
	close(other);
}

static const struct test tests[] = {
#define TEST(name) { #name, name }
	TEST(written_and_read),
	TEST(cannot_be_pinned),
	TEST(truncated_under_traffic),
	{}
};

int main(int argc, char **argv)
{
	return util_main(tests, argc, argv);
}
