// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * ibv_create_cq_ex(): polling by iterator, each field, timestamps, and what is
 * refused.
 */
#include "util.h"

#include <arpa/inet.h>
#include <time.h>

#define LEN	(16 * KIB)
#define FIELDS	IBV_WC_STANDARD_FLAGS

static struct end a, b;
static struct buf mem_a, mem_b;
static struct ibv_cq_ex *scq, *rcq;
static struct ibv_poll_cq_attr poll_attr;

static void set_up(uint64_t wc_flags, uint32_t flags)
{
	const struct ibv_cq_init_attr_ex attr = {
		.wc_flags = wc_flags,
		.comp_mask = flags ? IBV_CQ_INIT_ATTR_MASK_FLAGS : 0,
		.flags = flags,
	};
	struct config config = config_default;

	config.cq_ex = &attr;
	pair_make(&a, &b, &config);
	mem_a = buf_make(a.nic->pd, LEN, ACCESS_ALL);
	mem_b = buf_make(b.nic->pd, LEN, ACCESS_ALL);
	fill(mem_a.p, LEN, 1);
	scq = (struct ibv_cq_ex *)a.scq;
	rcq = (struct ibv_cq_ex *)b.rcq;
}

/* Starts the iterator on the next completion, which must come within 10 seconds. */
static void start(struct ibv_cq_ex *cqx)
{
	uint64_t end = millis() + 10000 * slow_factor();
	int err;

	while ((err = ibv_start_poll(cqx, &poll_attr)) == ENOENT)
		REQUIRE(millis() < end);
	REQUIRE_EQ(err, 0);
}

static void expect_empty(struct ibv_cq_ex *cqx)
{
	REQUIRE_EQ(ibv_start_poll(cqx, &poll_attr), ENOENT);
}

/* Sends one message from a to b; polls a by ibv_poll_cq(). */
static void message(uint64_t id, size_t len)
{
	struct ibv_sge from = sge_of(&mem_a, 0, len);
	struct ibv_sge to = sge_of(&mem_b, 0, LEN);
	struct ibv_send_wr wr = wr_send(id, &from, 1);

	wr.opcode = IBV_WR_SEND_WITH_IMM;
	wr.imm_data = htonl(1000 + id);
	post_recv(&b, id, &to, 1);
	post(&a, &wr);
	wait_ok(a.scq, id, IBV_WC_SEND);
}

static void fields_of_a_receive(void)
{
	set_up(FIELDS, 0);
	message(5, 700);
	start(rcq);
	REQUIRE_EQ(rcq->wr_id, 5);
	REQUIRE_EQ(rcq->status, IBV_WC_SUCCESS);
	REQUIRE_EQ(ibv_wc_read_opcode(rcq), IBV_WC_RECV);
	REQUIRE_EQ(ibv_wc_read_byte_len(rcq), 700);
	REQUIRE_EQ(ntohl(ibv_wc_read_imm_data(rcq)), 1005);
	REQUIRE_EQ(ibv_wc_read_qp_num(rcq), b.qp->qp_num);
	REQUIRE(ibv_wc_read_wc_flags(rcq) & IBV_WC_WITH_IMM);
	REQUIRE_EQ(ibv_wc_read_vendor_err(rcq), 0);
	REQUIRE_EQ(ibv_wc_read_slid(rcq), 0);
	REQUIRE_EQ(ibv_wc_read_sl(rcq), 0);
	REQUIRE_EQ(ibv_wc_read_dlid_path_bits(rcq), 0);
	(void)ibv_wc_read_src_qp(rcq);
	REQUIRE_EQ(ibv_next_poll(rcq), ENOENT);
	ibv_end_poll(rcq);
	expect_empty(rcq);
}

static void fields_of_an_error(void)
{
	struct ibv_sge from;
	struct ibv_send_wr wr;

	set_up(FIELDS, 0);
	from = sge_of(&mem_a, 0, 100);
	wr = wr_rdma(7, IBV_WR_RDMA_WRITE, &from, 1, (uintptr_t)mem_b.p,
		     mem_b.mr->rkey ^ 0x100);
	post(&a, &wr);
	start(scq);
	REQUIRE_EQ(scq->wr_id, 7);
	REQUIRE_EQ(scq->status, IBV_WC_REM_ACCESS_ERR);
	REQUIRE(ibv_wc_read_vendor_err(scq));
	REQUIRE_EQ(ibv_wc_read_qp_num(scq), a.qp->qp_num);
	ibv_end_poll(scq);
}

/* Batches longer than the ring, in total; both ways of polling mix. */
static void batches(void)
{
	uint64_t next = 0;
	unsigned int round, i;
	int err;

	set_up(FIELDS, 0);
	for (round = 0; round < 20; round++) {
		for (i = 0; i < 30; i++)
			message(30 * round + i, 8);
		start(rcq);
		/* some in this batch, the rest in the next */
		for (i = 0, err = 0; i < round && !err; i++) {
			REQUIRE_EQ(rcq->wr_id, next++);
			err = ibv_next_poll(rcq);
		}
		REQUIRE_EQ(err, 0);
		REQUIRE_EQ(rcq->wr_id, next++);
		ibv_end_poll(rcq);	/* also consumes the current completion */
		wait_ok(b.rcq, next++, IBV_WC_RECV);
		start(rcq);
		do
			REQUIRE_EQ(rcq->wr_id, next++);
		while (!ibv_next_poll(rcq));
		ibv_end_poll(rcq);
		REQUIRE_EQ(next, 30 * (round + 1));
		expect_empty(rcq);
	}
}

/* ibv_next_poll() finds completions that came after its ENOENT. */
static void next_poll_goes_on(void)
{
	set_up(FIELDS, 0);
	message(1, 8);
	start(rcq);
	REQUIRE_EQ(ibv_next_poll(rcq), ENOENT);
	message(2, 8);
	REQUIRE_EQ(ibv_next_poll(rcq), 0);
	REQUIRE_EQ(rcq->wr_id, 2);
	ibv_end_poll(rcq);
	expect_empty(rcq);
}

/* The iterator skips completions of a QP that was reset. */
static void reset_discards_the_past(void)
{
	set_up(FIELDS, 0);
	message(1, 8);
	message(2, 8);
	REQUIRE_EQ(end_to(&b, IBV_QPS_RESET), 0);
	expect_empty(rcq);
}

static void single_threaded(void)
{
	set_up(FIELDS, IBV_CREATE_CQ_ATTR_SINGLE_THREADED);
	message(1, 8);
	start(rcq);
	REQUIRE_EQ(rcq->wr_id, 1);
	ibv_end_poll(rcq);
	message(2, 8);
	wait_ok(b.rcq, 2, IBV_WC_RECV);
}

/*
 * Without a lock a QP may end while its completions are iterated over. The current one
 * stays, those behind it are skipped. Rounds enough to use each slot of the ring show
 * that the CQ counts no slot twice.
 */
static void qp_ends_within_a_batch(bool destroy)
{
	const struct ibv_cq_init_attr_ex attr = {
		.wc_flags = FIELDS,
		.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS,
		.flags = IBV_CREATE_CQ_ATTR_SINGLE_THREADED,
	};
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC };
	struct config config = config_default;
	uint32_t number;
	int i, rounds;

	config.cq_ex = &attr;
	config.cqe = 7;
	pair_make(&a, &b, &config);
	mem_a = buf_make(a.nic->pd, LEN, ACCESS_ALL);
	mem_b = buf_make(b.nic->pd, LEN, ACCESS_ALL);
	rcq = (struct ibv_cq_ex *)b.rcq;
	rounds = 2 * (b.rcq->cqe + 1);
	REQUIRE(rounds < 1000);
	for (i = 0; i < rounds; i++) {
		message(3 * i, 8);
		message(3 * i + 1, 8);
		start(rcq);
		REQUIRE_EQ(rcq->wr_id, 3 * i);
		number = b.qp->qp_num;
		if (destroy)
			REQUIRE_EQ(ibv_destroy_qp(b.qp), 0);
		else
			REQUIRE_EQ(end_to(&b, IBV_QPS_RESET), 0);
		/* what it has is still read in place */
		REQUIRE_EQ(rcq->wr_id, 3 * i);
		REQUIRE_EQ(ibv_wc_read_qp_num(rcq), number);
		REQUIRE_EQ(ibv_wc_read_byte_len(rcq), 8);
		if (i % 2)
			REQUIRE_EQ(ibv_next_poll(rcq), ENOENT);
		ibv_end_poll(rcq);
		expect_empty(rcq);

		if (destroy) {
			init.send_cq = b.scq;
			init.recv_cq = b.rcq;
			init.cap = b.cap;
			b.qp = ibv_create_qp(b.nic->pd, &init);
			REQUIRE(b.qp);
		}
		REQUIRE_EQ(end_to(&a, IBV_QPS_RESET), 0);
		pair_connect(&a, &b);
		message(3 * i + 2, 8);
		start(rcq);
		REQUIRE_EQ(rcq->wr_id, 3 * i + 2);
		ibv_end_poll(rcq);
		expect_empty(rcq);
	}
	REQUIRE_EQ(end_state(&b), IBV_QPS_RTS);
}

static void reset_within_a_batch(void)
{
	qp_ends_within_a_batch(false);
}

static void destroy_within_a_batch(void)
{
	qp_ends_within_a_batch(true);
}

/* A program may arm the CQ, and read its event, while it iterates. */
static void events_within_a_batch(uint32_t flags)
{
	const struct ibv_cq_init_attr_ex attr = {
		.wc_flags = FIELDS,
		.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS,
		.flags = flags,
	};
	struct config config = config_default;
	struct ibv_cq *cq;
	void *context;
	uint64_t i;

	config.cq_ex = &attr;
	config.events = true;
	pair_make(&a, &b, &config);
	mem_a = buf_make(a.nic->pd, LEN, ACCESS_ALL);
	mem_b = buf_make(b.nic->pd, LEN, ACCESS_ALL);
	rcq = (struct ibv_cq_ex *)b.rcq;
	for (i = 0; i < 20; i++) {
		message(2 * i, 8);
		start(rcq);
		REQUIRE_EQ(rcq->wr_id, 2 * i);
		REQUIRE_EQ(ibv_req_notify_cq(b.rcq, 0), 0);
		message(2 * i + 1, 8);
		REQUIRE_EQ(ibv_get_cq_event(b.channel, &cq, &context), 0);
		REQUIRE(cq == b.rcq);
		ibv_ack_cq_events(cq, 1);
		REQUIRE_EQ(ibv_next_poll(rcq), 0);
		REQUIRE_EQ(rcq->wr_id, 2 * i + 1);
		ibv_end_poll(rcq);
		expect_empty(rcq);
	}
}

static void armed_within_a_batch(void)
{
	events_within_a_batch(0);
}

static void armed_within_a_batch_without_a_lock(void)
{
	events_within_a_batch(IBV_CREATE_CQ_ATTR_SINGLE_THREADED);
}

/* Without this flag an overflow gives CQ_ERR, see cq_events. */
static void ignored_overrun(void)
{
	const struct ibv_cq_init_attr_ex attr = {
		.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS,
		.flags = IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN,
	};
	struct config config = config_default;
	struct ibv_sge from, to;
	struct ibv_send_wr wr;
	int i, entries;

	config.cq_ex = &attr;
	config.cqe = 4;
	pair_make(&a, &b, &config);
	mem_a = buf_make(a.nic->pd, LEN, ACCESS_ALL);
	mem_b = buf_make(b.nic->pd, LEN, ACCESS_ALL);
	from = sge_of(&mem_a, 0, 8);
	to = sge_of(&mem_b, 0, 8);
	entries = b.rcq->cqe + 1;
	REQUIRE(entries < 40);
	for (i = 0; i < 40; i++) {
		post_recv(&b, i, &to, 1);
		wr = wr_send(i, &from, 1);
		post(&a, &wr);
		wait_ok(a.scq, i, IBV_WC_SEND);
	}
	/* The completions that had room are there, and the CQ works on. */
	for (i = 0; i < entries - 1; i++)
		wait_ok(b.rcq, i, IBV_WC_RECV);
	while (wait_wc(b.rcq).wr_id != 100) {
		post_recv(&b, 100, &to, 1);
		wr = wr_send(100, &from, 1);
		post(&a, &wr);
		wait_ok(a.scq, 100, IBV_WC_SEND);
	}
	REQUIRE_EQ(end_state(&a), IBV_QPS_RTS);
	REQUIRE_EQ(end_state(&b), IBV_QPS_RTS);
}

static uint64_t now_ns(clockid_t clock)
{
	struct timespec t;

	REQUIRE_EQ(clock_gettime(clock, &t), 0);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

/* The device's clock, in its own units. */
static uint64_t raw_clock(struct ibv_context *ctx)
{
	struct ibv_values_ex values = { .comp_mask = IBV_VALUES_MASK_RAW_CLOCK };

	REQUIRE_EQ(ibv_query_rt_values_ex(ctx, &values), 0);
	REQUIRE_EQ(values.comp_mask, IBV_VALUES_MASK_RAW_CLOCK);
	return values.raw_clock.tv_sec * 1000000000ull +
	       values.raw_clock.tv_nsec;
}

static void time_stamps(void)
{
	uint64_t before, after, ts, last = 0, khz, begin, ns;
	struct ibv_device_attr_ex attr;
	unsigned int i;

	set_up(FIELDS | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP, 0);
	REQUIRE_EQ(ibv_query_device_ex(b.nic->ctx, NULL, &attr), 0);
	REQUIRE(attr.completion_timestamp_mask);
	khz = attr.hca_core_clock;
	REQUIRE(khz);

	/* The clock has the advertised frequency. */
	begin = now_ns(CLOCK_MONOTONIC_RAW);
	before = raw_clock(b.nic->ctx);
	ns = now_ns(CLOCK_MONOTONIC_RAW);
	while (now_ns(CLOCK_MONOTONIC_RAW) - ns < 20000000)
		;
	after = raw_clock(b.nic->ctx);
	ns = now_ns(CLOCK_MONOTONIC_RAW) - begin;
	REQUIRE((after - before) * 1000000 / khz >= 20000000);
	REQUIRE((after - before) * 1000000 / khz <= ns);

	/* Each timestamp is between post and poll, in order. */
	for (i = 0; i < 10; i++) {
		before = raw_clock(b.nic->ctx);
		message(i, 8);
		start(rcq);
		ts = ibv_wc_read_completion_ts(rcq);
		after = raw_clock(b.nic->ctx);
		REQUIRE(before <= ts && ts <= after);
		REQUIRE(last <= ts);
		last = ts;
		ibv_end_poll(rcq);
	}
}

static void wall_clock(void)
{
	uint64_t before, after, ts, last = 0;
	unsigned int i;

	set_up(FIELDS | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
	       IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK, 0);
	for (i = 0; i < 10; i++) {
		before = now_ns(CLOCK_REALTIME);
		message(2 * i, 8);
		message(2 * i + 1, 8);
		after = now_ns(CLOCK_REALTIME);
		start(rcq);
		ts = ibv_wc_read_completion_wallclock_ns(rcq);
		/* the clocks cannot be read at once: a millisecond of tolerance */
		REQUIRE(before <= ts + 1000000 && ts <= after + 1000000);
		REQUIRE_EQ(ibv_next_poll(rcq), 0);
		last = ibv_wc_read_completion_wallclock_ns(rcq);
		REQUIRE(ts <= last);
		REQUIRE(ibv_wc_read_completion_ts(rcq));
		ibv_end_poll(rcq);
	}
}

static int try_create(struct ibv_cq_init_attr_ex attr)
{
	struct ibv_cq_ex *cqx;

	errno = 0;
	cqx = ibv_create_cq_ex(nic_a()->ctx, &attr);
	if (!cqx)
		return errno;
	REQUIRE((unsigned int)cqx->cqe >= attr.cqe);
	REQUIRE_EQ(ibv_destroy_cq(ibv_cq_ex_to_cq(cqx)), 0);
	return 0;
}

static void refusals(void)
{
	struct ibv_cq_init_attr_ex attr = { .cqe = 10 };
	struct ibv_poll_cq_attr bad = { .comp_mask = 1 };
	struct ibv_cq_ex *cqx;

	REQUIRE_EQ(try_create(attr), 0);
	attr.wc_flags = IBV_WC_EX_WITH_CVLAN;
	REQUIRE_EQ(try_create(attr), 0);
	attr.wc_flags = IBV_WC_EX_WITH_FLOW_TAG;
	REQUIRE_EQ(try_create(attr), EOPNOTSUPP);
	attr.wc_flags = IBV_WC_EX_WITH_TM_INFO;
	REQUIRE_EQ(try_create(attr), 0);
	attr.wc_flags = 0;
	attr.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS;
	attr.flags = 1 << 7;
	REQUIRE_EQ(try_create(attr), EOPNOTSUPP);
	attr.flags = 0;
	attr.comp_mask = 1 << 9;
	REQUIRE_EQ(try_create(attr), EINVAL);
	/* a protection domain that is no parent domain */
	attr.comp_mask = IBV_CQ_INIT_ATTR_MASK_PD;
	attr.parent_domain = nic_a()->pd;
	REQUIRE_EQ(try_create(attr), EINVAL);
	attr.comp_mask = 0;
	attr.cqe = nic_a()->attr.max_cqe + 1;
	REQUIRE_EQ(try_create(attr), EINVAL);
	attr.cqe = ~0u;
	REQUIRE_EQ(try_create(attr), EINVAL);
	attr.cqe = 10;
	attr.comp_vector = nic_a()->ctx->num_comp_vectors;
	REQUIRE_EQ(try_create(attr), EINVAL);

	attr.comp_vector = 0;
	cqx = ibv_create_cq_ex(nic_a()->ctx, &attr);
	REQUIRE(cqx);
	REQUIRE_EQ(ibv_start_poll(cqx, &bad), EINVAL);
	expect_empty(cqx);
}

static const struct test tests[] = {
#define TEST(name) { #name, name }
	TEST(fields_of_a_receive),
	TEST(fields_of_an_error),
	TEST(batches),
	TEST(next_poll_goes_on),
	TEST(reset_discards_the_past),
	TEST(single_threaded),
	TEST(reset_within_a_batch),
	TEST(destroy_within_a_batch),
	TEST(armed_within_a_batch),
	TEST(armed_within_a_batch_without_a_lock),
	TEST(ignored_overrun),
	TEST(time_stamps),
	TEST(wall_clock),
	TEST(refusals),
	{}
};

int main(int argc, char **argv)
{
	return util_main(tests, argc, argv);
}
