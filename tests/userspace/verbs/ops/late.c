// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Delayed placement (late_us of docs/personalities.md): data is there with its completion, in
 * order, and not after the end of what it belongs to. personality.c has WRITEs, whose data
 * comes without a completion. tests/guest/ops/personality.sh names the tests that fit.
 */
#include "util.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define LEN	8192u

/* How data comes to @here. A WRITE's waits in the QP, that of the others in the CQ. */
enum bringer { BY_SEND, BY_READ, BY_ATOMIC, BY_WRITE, BY_NR };

static struct end a, b;
static struct buf from, here;

/* The end into whose memory it comes */
static struct end *end_of(enum bringer by)
{
	return by == BY_SEND || by == BY_WRITE ? &b : &a;
}

static uint32_t len_of(enum bringer by, uint32_t len)
{
	return by == BY_ATOMIC ? 8 : len;
}

static void make(enum bringer by)
{
	int access = ACCESS_ALL | IBV_ACCESS_REMOTE_ATOMIC;
	struct config config = config_default;

	config.max_rd_atomic = 4;
	config.max_dest_rd_atomic = 4;
	config.qp_access |= IBV_ACCESS_REMOTE_ATOMIC;
	pair_make(&a, &b, &config);
	from = buf_make((end_of(by) == &a ? &b : &a)->nic->pd, LEN, access);
	here = buf_make(end_of(by)->nic->pd, LEN, access);
}

/* Posts what brings @len bytes of @value; an atomic has 8. */
static void bring(enum bringer by, uint8_t value, uint32_t len)
{
	struct ibv_sge into = sge_of(&here, 0, len), sge = into;
	struct ibv_send_wr wr;

	memset(from.p, value, len);
	switch (by) {
	case BY_SEND:
		post_recv(&b, value, &into, 1);
		sge = sge_of(&from, 0, len);
		wr = wr_send(value, &sge, 1);
		break;
	case BY_READ:
		wr = wr_rdma(value, IBV_WR_RDMA_READ, &sge, 1,
			     (uintptr_t)from.p, from.mr->rkey);
		break;
	case BY_ATOMIC:
		wr = wr_rdma(value, IBV_WR_ATOMIC_FETCH_AND_ADD, &sge, 1, 0, 0);
		wr.wr.atomic.remote_addr = (uintptr_t)from.p;
		wr.wr.atomic.rkey = from.mr->rkey;
		wr.wr.atomic.compare_add = 0;
		break;
	default:
		sge = sge_of(&from, 0, len);
		wr = wr_rdma(value, IBV_WR_RDMA_WRITE, &sge, 1,
			     (uintptr_t)here.p, here.mr->rkey);
	}
	post(&a, &wr);
}

static void wait_last_byte(uint32_t len, uint8_t value)
{
	volatile uint8_t *last = here.p + len - 1;
	uint64_t start = millis();

	while (*last != value)
		REQUIRE(millis() - start < 10000);
}

static void wait_brought(enum bringer by, uint8_t value)
{
	if (by == BY_SEND) {
		wait_ok(b.rcq, value, IBV_WC_RECV);
		wait_ok(a.scq, value, IBV_WC_SEND);
	} else {
		wait_ok(a.scq, value, by == BY_READ ? IBV_WC_RDMA_READ :
						      IBV_WC_FETCH_ADD);
	}
}

/* ---- with its completion -------------------------------------------------------------- */

#define ROUNDS	120

/*
 * Polls the last byte; the completion brings the first one at the latest. Return: how often
 * it was there already.
 */
static int nr_whole(enum bringer by)
{
	static const uint32_t lens[] = { 2, 64, 65, 1000, 1024, 1025, 4096, LEN };
	int whole = 0;
	uint8_t value;
	uint32_t len;

	make(by);
	for (value = 1; value <= ROUNDS; value++) {
		len = len_of(by, lens[value % ARRAY_SIZE(lens)]);
		bring(by, value, len);
		wait_last_byte(len, value);
		whole += *(volatile uint8_t *)here.p == value;
		wait_brought(by, value);
		check_bytes(here.p, len, value);
		buf_check_guards(&here);
	}
	printf("# whole when the last byte came: %d of %d\n", whole, ROUNDS);
	return whole;
}

static void last_byte_of_send_is_enough(void)
{
	REQUIRE_EQ(nr_whole(BY_SEND), ROUNDS);
}

static void last_byte_of_read_is_enough(void)
{
	REQUIRE_EQ(nr_whole(BY_READ), ROUNDS);
}

/* A program that is interrupted may look late enough, but not often. */
static void last_byte_of_send_is_not_enough(void)
{
	REQUIRE(nr_whole(BY_SEND) < ROUNDS / 4);
}

static void last_byte_of_read_is_not_enough(void)
{
	REQUIRE(nr_whole(BY_READ) < ROUNDS / 4);
}

static void last_byte_of_atomic_is_not_enough(void)
{
	REQUIRE(nr_whole(BY_ATOMIC) < ROUNDS / 4);
}

/* ---- in order ------------------------------------------------------------------------- */

#define MESSAGES	32

/*
 * More than wait at a time, all in the same place. Each is shorter than the one before, so
 * all leave a trace.
 */
static void messages_come_in_order(void)
{
	struct ibv_sge sge, into;
	struct ibv_send_wr wr;
	uint8_t i;
	int round;

	make(BY_SEND);
	into = sge_of(&here, 0, LEN);
	for (round = 0; round < 10; round++) {
		for (i = 0; i < MESSAGES; i++)
			post_recv(&b, i, &into, 1);
		for (i = 0; i < MESSAGES; i++) {
			memset(from.p + 128 * i, i + 1, 4 * (MESSAGES - i));
			sge = sge_of(&from, 128 * i, 4 * (MESSAGES - i));
			wr = wr_send(i, &sge, 1);
			wr.send_flags = i + 1 < MESSAGES ? 0 : IBV_SEND_SIGNALED;
			post(&a, &wr);
		}
		for (i = 0; i < MESSAGES; i++)
			wait_ok(b.rcq, i, IBV_WC_RECV);
		wait_ok(a.scq, MESSAGES - 1, IBV_WC_SEND);
		for (i = 0; i < MESSAGES; i++)
			check_bytes(here.p + 4 * (MESSAGES - 1 - i), 4, i + 1);
	}
}

/* What comes behind a SEND in the same place stays. */
static void write_behind_send_stays(void)
{
	struct ibv_sge sge, into;
	struct ibv_send_wr wr;
	uint8_t value;

	make(BY_SEND);
	into = sge_of(&here, 0, 64);
	for (value = 1; value <= 50; value++) {
		memset(from.p, value, 64);
		memset(from.p + 64, value + 100, 64);
		post_recv(&b, value, &into, 1);
		sge = sge_of(&from, 0, 64);
		wr = wr_send(value, &sge, 1);
		post(&a, &wr);
		sge = sge_of(&from, 64, 64);
		wr = wr_rdma(value, IBV_WR_RDMA_WRITE, &sge, 1,
			     (uintptr_t)here.p, here.mr->rkey);
		post(&a, &wr);
		/* a SEND behind it, which says that it is there */
		post_recv(&b, 0, &sge, 0);
		wr = wr_send(0, NULL, 0);
		post(&a, &wr);
		wait_ok(b.rcq, value, IBV_WC_RECV);
		wait_ok(b.rcq, 0, IBV_WC_RECV);
		check_bytes(here.p, 64, value + 100);
		wait_ok(a.scq, value, IBV_WC_SEND);
		wait_ok(a.scq, value, IBV_WC_RDMA_WRITE);
		wait_ok(a.scq, 0, IBV_WC_SEND);
	}
}

/* A SEND behind a fence has what the READ before it has brought. */
static void fenced_send_has_what_was_read(void)
{
	struct ibv_send_wr read, send;
	struct ibv_sge sge, into;
	struct buf there;
	uint8_t value;

	make(BY_READ);
	there = buf_make(b.nic->pd, LEN, ACCESS_ALL);
	for (value = 1; value <= 50; value++) {
		memset(from.p, value, LEN);
		into = sge_of(&there, 0, LEN);
		post_recv(&b, value, &into, 1);
		sge = sge_of(&here, 0, LEN);
		send = wr_send(value, &sge, 1);
		send.send_flags |= IBV_SEND_FENCE;
		read = wr_rdma(0, IBV_WR_RDMA_READ, &sge, 1,
			       (uintptr_t)from.p, from.mr->rkey);
		read.send_flags = 0;
		read.next = &send;
		post(&a, &read);
		wait_ok(b.rcq, value, IBV_WC_RECV);
		check_bytes(there.p, LEN, value);
		wait_ok(a.scq, value, IBV_WC_SEND);
	}
}

/* ---- what ends meanwhile --------------------------------------------------------------- */

static void begin(enum bringer by, uint8_t value)
{
	make(by);
	bring(by, value, len_of(by, 1024));
	wait_last_byte(len_of(by, 1024), value);
}

/* Nothing comes any more, for longer than anything is late (docs/personalities.md). */
static void require_untouched(void)
{
	uint64_t start = millis();

	memset(here.p, 0xee, LEN);
	while (millis() - start < 120)
		usleep(10000);
	check_bytes(here.p, LEN, 0xee);
}

enum ending { BY_RESET, BY_DESTROY_QP, BY_DESTROY_CQ, BY_DEREG };

/* All is there when the call returns, and nothing comes after that. */
static void end_all(enum ending how)
{
	struct end *end;
	uint8_t value;
	int by;

	for (by = 0; by < BY_NR; by++) {
		for (value = 1; value <= 4; value++) {
			begin(by, value);
			end = end_of(by);
			if (how == BY_RESET)
				REQUIRE_EQ(end_to(end, IBV_QPS_RESET), 0);
			else if (how == BY_DEREG)
				REQUIRE_EQ(ibv_dereg_mr(here.mr), 0);
			else
				REQUIRE_EQ(ibv_destroy_qp(end->qp), 0);
			if (how == BY_DESTROY_CQ) {
				REQUIRE_EQ(ibv_destroy_cq(end->scq), 0);
				REQUIRE_EQ(ibv_destroy_cq(end->rcq), 0);
			}
			check_bytes(here.p, len_of(by, 1024), value);
			require_untouched();
		}
	}
}

static void reset_places_all(void)
{
	end_all(BY_RESET);
}

static void destruction_places_all(void)
{
	end_all(BY_DESTROY_QP);
}

static void destruction_of_cqs_places_all(void)
{
	end_all(BY_DESTROY_CQ);
}

static void deregistration_places_all(void)
{
	end_all(BY_DEREG);
}

/* Processes that are killed then. The script looks at what they leave. */
static void death_is_survived(void)
{
	int i, status;
	pid_t child;

	for (i = 0; i < 5 * BY_NR; i++) {
		child = fork();
		REQUIRE(child >= 0);
		if (!child) {
			begin(i % BY_NR, 1 + i);
			kill(getpid(), SIGKILL);
		}
		REQUIRE_EQ(waitpid(child, &status, 0), child);
		REQUIRE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	}
}

static const struct test tests[] = {
#define TEST(name) { #name, name }
	TEST(last_byte_of_send_is_enough),
	TEST(last_byte_of_read_is_enough),
	TEST(last_byte_of_send_is_not_enough),
	TEST(last_byte_of_read_is_not_enough),
	TEST(last_byte_of_atomic_is_not_enough),
	TEST(messages_come_in_order),
	TEST(write_behind_send_stays),
	TEST(fenced_send_has_what_was_read),
	TEST(reset_places_all),
	TEST(destruction_places_all),
	TEST(destruction_of_cqs_places_all),
	TEST(deregistration_places_all),
	TEST(death_is_survived),
	{}
};

int main(int argc, char **argv)
{
	return util_main(tests, argc, argv);
}
