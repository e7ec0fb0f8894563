// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * ATOMIC WRITE and FLUSH (IBTA annex A19): what they do, and what is refused.
 * There is no persistent memory, so the device must not promise any.
 */
#include "util.h"

#ifdef HAVE_FLUSH

#include <pthread.h>

#define LEN	(64 * KIB)
#define RIGHTS	(ACCESS_ALL | IBV_ACCESS_FLUSH_GLOBAL)
#define OPS	(IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_READ | \
		 IBV_QP_EX_WITH_FLUSH | IBV_QP_EX_WITH_ATOMIC_WRITE | \
		 IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD)

/* Bits of device_cap_flags_ex that no user header names. */
#define CAP_FLUSH_GLOBAL	(1ull << 38)
#define CAP_FLUSH_PERSISTENT	(1ull << 39)
#define CAP_ATOMIC_WRITE	(1ull << 40)

static struct end a, b;
static struct buf mem_a, mem_b;
static struct ibv_qp_ex *qx;

static void set_up_rights(int qp_access, int mr_access)
{
	struct config config = config_default;

	config.qp_access = qp_access;
	b = end_make(nic_b(), &config);
	config.ops = OPS;
	a = end_make(nic_a(), &config);
	pair_connect(&a, &b);
	mem_a = buf_make(a.nic->pd, LEN, ACCESS_ALL);
	mem_b = buf_make(b.nic->pd, LEN, mr_access);
	fill(mem_a.p, LEN, 1);
	memset(mem_b.p, 0, LEN);
	qx = ibv_qp_to_qp_ex(a.qp);
	qx->wr_flags = IBV_SEND_SIGNALED;
}

static void set_up(void)
{
	set_up_rights(RIGHTS, RIGHTS);
}

static void flush(uint64_t wr_id, uint64_t off, size_t len, uint8_t type,
		  uint8_t level)
{
	ibv_wr_start(qx);
	qx->wr_id = wr_id;
	ibv_wr_flush(qx, mem_b.mr->rkey, (uintptr_t)mem_b.p + off, len, type,
		     level);
	REQUIRE_EQ(ibv_wr_complete(qx), 0);
}

static void atomic_write(uint64_t wr_id, uint64_t off, uint64_t value)
{
	ibv_wr_start(qx);
	qx->wr_id = wr_id;
	ibv_wr_atomic_write(qx, mem_b.mr->rkey, (uintptr_t)mem_b.p + off,
			    &value);
	value = 0;	/* copied by the call */
	REQUIRE_EQ(ibv_wr_complete(qx), 0);
}

static void capabilities(void)
{
	struct ibv_device_attr_ex attr;

	REQUIRE_EQ(ibv_query_device_ex(nic_a()->ctx, NULL, &attr), 0);
	REQUIRE(attr.device_cap_flags_ex & CAP_FLUSH_GLOBAL);
	REQUIRE(attr.device_cap_flags_ex & CAP_ATOMIC_WRITE);
	REQUIRE(!(attr.device_cap_flags_ex & CAP_FLUSH_PERSISTENT));
}

static void atomic_write_stores_the_word(void)
{
	uint64_t i, word;

	set_up();
	for (i = 0; i < 20; i++) {
		atomic_write(i, 8 * i, 0x0123456789abcdefull + i);
		wait_ok(a.scq, i, IBV_WC_ATOMIC_WRITE);
		memcpy(&word, mem_b.p + 8 * i, 8);
		REQUIRE_EQ(word, 0x0123456789abcdefull + i);
		check_bytes(mem_b.p + 8 * (i + 1), 100, 0);
	}
	require_no_wc(b.rcq);	/* the peer is not told */
}

/* A reader only sees words that were written, and in order. */
static bool reader_ends;

static void *reader(void *arg)
{
	uint64_t last = 0, now;

	while (!__atomic_load_n(&reader_ends, __ATOMIC_ACQUIRE)) {
		now = __atomic_load_n((uint64_t *)mem_b.p, __ATOMIC_ACQUIRE);
		REQUIRE_EQ(now >> 32, now & 0xffffffff);
		REQUIRE(now >= last);
		last = now;
	}
	return arg;
}

static void atomic_write_is_one_piece(void)
{
	pthread_t thread;
	uint64_t i;

	set_up();
	REQUIRE_EQ(pthread_create(&thread, NULL, reader, NULL), 0);
	for (i = 1; i < 300; i++) {
		atomic_write(i, 0, i << 32 | i);
		wait_ok(a.scq, i, IBV_WC_ATOMIC_WRITE);
	}
	__atomic_store_n(&reader_ends, true, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
}

/* Data, FLUSH, then the word that announces it: a reader of the word finds the data. */
static void write_flush_atomic_write_in_order(void)
{
	uint64_t word = 0, i, end = millis() + 10000 * slow_factor();

	set_up();
	for (i = 1; i <= 20; i++) {
		fill(mem_a.p, 9000, i);
		ibv_wr_start(qx);
		qx->wr_id = 3 * i;
		ibv_wr_rdma_write(qx, mem_b.mr->rkey,
				  (uintptr_t)mem_b.p + 4096);
		ibv_wr_set_sge(qx, mem_a.mr->lkey, (uintptr_t)mem_a.p, 9000);
		qx->wr_id = 3 * i + 1;
		ibv_wr_flush(qx, mem_b.mr->rkey, (uintptr_t)mem_b.p + 4096,
			     9000, IBV_FLUSH_GLOBAL, IBV_FLUSH_RANGE);
		qx->wr_id = 3 * i + 2;
		ibv_wr_atomic_write(qx, mem_b.mr->rkey, (uintptr_t)mem_b.p,
				    &i);
		REQUIRE_EQ(ibv_wr_complete(qx), 0);
		while (word != i) {
			word = __atomic_load_n((uint64_t *)mem_b.p,
					       __ATOMIC_ACQUIRE);
			REQUIRE(millis() < end);
		}
		check_fill(mem_b.p + 4096, 9000, i);
		wait_ok(a.scq, 3 * i, IBV_WC_RDMA_WRITE);
		wait_ok(a.scq, 3 * i + 1, IBV_WC_FLUSH);
		wait_ok(a.scq, 3 * i + 2, IBV_WC_ATOMIC_WRITE);
	}
}

static void flush_of_range_and_region(void)
{
	set_up();
	flush(1, 0, LEN, IBV_FLUSH_GLOBAL, IBV_FLUSH_RANGE);
	wait_ok(a.scq, 1, IBV_WC_FLUSH);
	flush(2, 100, 1, IBV_FLUSH_GLOBAL, IBV_FLUSH_RANGE);
	wait_ok(a.scq, 2, IBV_WC_FLUSH);
	flush(3, 0, 0, IBV_FLUSH_GLOBAL, IBV_FLUSH_RANGE);
	wait_ok(a.scq, 3, IBV_WC_FLUSH);
	/* Level MR means the whole region, whatever the range. */
	flush(4, LEN + 5000, 12345678, IBV_FLUSH_GLOBAL, IBV_FLUSH_MR);
	wait_ok(a.scq, 4, IBV_WC_FLUSH);
}

/* More at a time than the peer has records for. */
static void many_at_a_time(void)
{
	uint64_t i, one = 1;

	set_up();
	for (i = 0; i < 60; i += 2) {
		ibv_wr_start(qx);
		qx->wr_id = i;
		ibv_wr_flush(qx, mem_b.mr->rkey, (uintptr_t)mem_b.p, LEN,
			     IBV_FLUSH_GLOBAL, IBV_FLUSH_RANGE);
		qx->wr_id = i + 1;
		ibv_wr_atomic_write(qx, mem_b.mr->rkey, (uintptr_t)mem_b.p,
				    &one);
		REQUIRE_EQ(ibv_wr_complete(qx), 0);
	}
	for (i = 0; i < 60; i += 2) {
		wait_ok(a.scq, i, IBV_WC_FLUSH);
		wait_ok(a.scq, i + 1, IBV_WC_ATOMIC_WRITE);
	}
}

static void refused(uint64_t wr_id, enum ibv_wc_status status)
{
	wait_status(a.scq, wr_id, status);
	end_wait_state(&a, IBV_QPS_ERR);
	check_bytes(mem_b.p, LEN, 0);
}

static void atomic_write_refused(void)
{
	set_up();
	atomic_write(1, 4, 7);	/* not aligned */
	refused(1, IBV_WC_REM_INV_REQ_ERR);
	set_up();
	atomic_write(2, LEN, 7);
	refused(2, IBV_WC_REM_ACCESS_ERR);
	set_up_rights(RIGHTS, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ);
	atomic_write(3, 0, 7);
	refused(3, IBV_WC_REM_ACCESS_ERR);
	set_up_rights(IBV_ACCESS_REMOTE_READ, RIGHTS);
	atomic_write(4, 0, 7);
	refused(4, IBV_WC_REM_INV_REQ_ERR);
}

static void flush_refused(void)
{
	/* the range */
	set_up();
	flush(1, 1, LEN, IBV_FLUSH_GLOBAL, IBV_FLUSH_RANGE);
	refused(1, IBV_WC_REM_ACCESS_ERR);
	/* the region's right */
	set_up_rights(RIGHTS, ACCESS_ALL);
	flush(2, 0, 8, IBV_FLUSH_GLOBAL, IBV_FLUSH_RANGE);
	refused(2, IBV_WC_REM_ACCESS_ERR);
	set_up_rights(RIGHTS, ACCESS_ALL);
	flush(3, 0, 8, IBV_FLUSH_GLOBAL, IBV_FLUSH_MR);
	refused(3, IBV_WC_REM_ACCESS_ERR);
	/* the QP's */
	set_up_rights(ACCESS_ALL, RIGHTS);
	flush(4, 0, 8, IBV_FLUSH_GLOBAL, IBV_FLUSH_RANGE);
	refused(4, IBV_WC_REM_INV_REQ_ERR);
	/* no region is persistent */
	set_up_rights(RIGHTS | IBV_ACCESS_FLUSH_PERSISTENT, RIGHTS);
	flush(5, 0, 8, IBV_FLUSH_PERSISTENT, IBV_FLUSH_RANGE);
	refused(5, IBV_WC_REM_ACCESS_ERR);
}

/* In a zero-based region at an odd offset: a word across two pages. */
static void word_in_two_pages(void)
{
	unsigned int atomic;
	struct ibv_mr *mr;
	uint64_t one = 1;

	for (atomic = 0; atomic < 2; atomic++) {
		set_up_rights(RIGHTS | IBV_ACCESS_REMOTE_ATOMIC, RIGHTS);
		mr = ibv_reg_mr(b.nic->pd, mem_b.p - (uintptr_t)mem_b.p % 4096 +
				4096 + 4, 8192, ACCESS_ALL |
				IBV_ACCESS_REMOTE_ATOMIC |
				IBV_ACCESS_ZERO_BASED);
		REQUIRE(mr);
		ibv_wr_start(qx);
		qx->wr_id = 1;
		if (atomic) {
			ibv_wr_atomic_fetch_add(qx, mr->rkey, 4088, 1);
			ibv_wr_set_sge(qx, mem_a.mr->lkey, (uintptr_t)mem_a.p,
				       8);
		} else {
			ibv_wr_atomic_write(qx, mr->rkey, 4088, &one);
		}
		REQUIRE_EQ(ibv_wr_complete(qx), 0);
		refused(1, IBV_WC_REM_ACCESS_ERR);
	}
}

/* Refused by the requester: no type, no level, or too long. */
static void malformed_flush(void)
{
	set_up();
	flush(1, 0, 8, 0, IBV_FLUSH_RANGE);
	refused(1, IBV_WC_LOC_QP_OP_ERR);
	set_up();
	flush(2, 0, 8, 1 << 3, IBV_FLUSH_RANGE);
	refused(2, IBV_WC_LOC_QP_OP_ERR);
	set_up();
	flush(3, 0, 8, IBV_FLUSH_GLOBAL, 2);
	refused(3, IBV_WC_LOC_QP_OP_ERR);
#if SIZE_MAX > UINT32_MAX
	set_up();
	flush(4, 0, 1ull << 32, IBV_FLUSH_GLOBAL, IBV_FLUSH_RANGE);
	refused(4, IBV_WC_LOC_LEN_ERR);
#endif
}

static void no_region_is_persistent(void)
{
	static uint8_t page[4096] __attribute__((aligned(4096)));

	REQUIRE_ERRNO(ibv_reg_mr(nic_a()->pd, page, sizeof(page),
				 RIGHTS | IBV_ACCESS_FLUSH_PERSISTENT),
		      EOPNOTSUPP);
}

static const struct test tests[] = {
#define TEST(name) { #name, name }
	TEST(capabilities),
	TEST(atomic_write_stores_the_word),
	TEST(atomic_write_is_one_piece),
	TEST(write_flush_atomic_write_in_order),
	TEST(flush_of_range_and_region),
	TEST(many_at_a_time),
	TEST(atomic_write_refused),
	TEST(flush_refused),
	TEST(word_in_two_pages),
	TEST(malformed_flush),
	TEST(no_region_is_persistent),
	{}
};

#else

static void capabilities(void)
{
	test_skip("this libibverbs has neither");
}

static const struct test tests[] = {
	{ "capabilities", capabilities },
	{}
};

#endif

int main(int argc, char **argv)
{
	return util_main(tests, argc, argv);
}
