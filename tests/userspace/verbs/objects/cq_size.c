// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* CQ resize with completions in the CQ and under traffic, and event moderation. */
#include "util.h"

#include <poll.h>
#include <pthread.h>
#include <sched.h>

static struct end a, b;
static struct buf mem_a, mem_b;

static void set_up(int cqe, bool events)
{
	struct config config = config_default;

	config.cqe = cqe;
	config.events = events;
	pair_make(&a, &b, &config);
	mem_a = buf_make(a.nic->pd, 4 * KIB, ACCESS_ALL);
	mem_b = buf_make(b.nic->pd, 4 * KIB, ACCESS_ALL);
}

/* Sends one message from a to b; b's completion stays in the CQ. */
static void message(uint64_t id)
{
	struct ibv_sge from = sge_of(&mem_a, 0, 8);
	struct ibv_sge to = sge_of(&mem_b, 0, 8);
	struct ibv_send_wr wr = wr_send(id, &from, 1);

	post_recv(&b, id, &to, 1);
	post(&a, &wr);
	wait_ok(a.scq, id, IBV_WC_SEND);
}

static void resize_keeps_what_is_in_it(void)
{
	static const int sizes[] = { 7, 100, 4000, 200, 6, 64, 3 };
	uint64_t next = 0, id = 0;
	unsigned int i;
	int left;

	set_up(256, false);
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		/* at different positions in the ring */
		while (id - next < 40 && id - next < (uint64_t)sizes[i] &&
		       id - next < (uint64_t)b.rcq->cqe)
			message(id++);
		REQUIRE_EQ(ibv_resize_cq(b.rcq, sizes[i]), 0);
		REQUIRE(b.rcq->cqe >= sizes[i]);
		left = i == ARRAY_SIZE(sizes) - 1 ? 0 : 3;
		while (id - next > (uint64_t)left)
			wait_ok(b.rcq, next++, IBV_WC_RECV);
	}
	require_no_wc(b.rcq);
	/* Exactly as many as the CQ reports fit. */
	for (i = 0; i < (unsigned int)b.rcq->cqe; i++)
		message(id++);
	while (next != id)
		wait_ok(b.rcq, next++, IBV_WC_RECV);
}

static void resize_below_what_is_in_it(void)
{
	unsigned int i;

	set_up(64, false);
	for (i = 0; i < 10; i++)
		message(i);
	REQUIRE_EQ(ibv_resize_cq(b.rcq, 9), EINVAL);
	REQUIRE_EQ(ibv_resize_cq(b.rcq, 1), EINVAL);
	REQUIRE_EQ(ibv_resize_cq(b.rcq, 10), 0);
	for (i = 0; i < 10; i++)
		wait_ok(b.rcq, i, IBV_WC_RECV);
	message(10);
	wait_ok(b.rcq, 10, IBV_WC_RECV);
}

static void wrong_sizes_are_refused(void)
{
	set_up(64, false);
	message(1);
	REQUIRE_EQ(ibv_resize_cq(b.rcq, 0), EINVAL);
	REQUIRE_EQ(ibv_resize_cq(b.rcq, b.nic->attr.max_cqe + 1), EINVAL);
	REQUIRE_EQ(ibv_resize_cq(b.rcq, -1), EINVAL);
	wait_ok(b.rcq, 1, IBV_WC_RECV);
	REQUIRE_EQ(ibv_resize_cq(b.rcq, b.nic->attr.max_cqe), 0);
	message(2);
	wait_ok(b.rcq, 2, IBV_WC_RECV);
}

/* Discarded completions do not come back in the new ring. */
static void resize_after_reset(void)
{
	struct end c, d;
	struct ibv_sge from, to;
	struct ibv_send_wr wr;
	unsigned int i;

	set_up(64, false);
	/* a second pair uses the same CQ, between completions of the first */
	c = end_make(a.nic, &config_default);
	d = end_make(b.nic, &config_default);
	REQUIRE_EQ(ibv_destroy_qp(d.qp), 0);
	REQUIRE_EQ(ibv_destroy_cq(d.rcq), 0);
	d.rcq = b.rcq;
	d.qp = ibv_create_qp(b.nic->pd, &(struct ibv_qp_init_attr){
		.qp_type = IBV_QPT_RC, .send_cq = d.scq, .recv_cq = d.rcq,
		.cap = { .max_send_wr = 8, .max_recv_wr = 32,
			 .max_send_sge = 1, .max_recv_sge = 1 } });
	REQUIRE(d.qp);
	pair_connect(&c, &d);
	from = sge_of(&mem_a, 0, 8);
	to = sge_of(&mem_b, 0, 8);
	for (i = 0; i < 10; i++) {
		message(i);
		post_recv(&d, 100 + i, &to, 1);
		wr = wr_send(i, &from, 1);
		post(&c, &wr);
		wait_ok(c.scq, i, IBV_WC_SEND);
	}
	REQUIRE_EQ(end_to(&b, IBV_QPS_RESET), 0);
	REQUIRE_EQ(ibv_resize_cq(b.rcq, 1000), 0);
	for (i = 0; i < 5; i++)
		wait_ok(b.rcq, 100 + i, IBV_WC_RECV);
	REQUIRE_EQ(ibv_resize_cq(b.rcq, 30), 0);
	for (; i < 10; i++)
		wait_ok(b.rcq, 100 + i, IBV_WC_RECV);
	require_no_wc(b.rcq);
}

#define MESSAGES	1500
#define WINDOW		32

static void *send_all(void *arg)
{
	struct ibv_sge from = sge_of(&mem_a, 0, 8);
	struct ibv_send_wr wr;
	uint64_t id, done = 0;

	(void)arg;
	for (id = 0; id < MESSAGES; id++) {
		while (id - done >= WINDOW)
			wait_ok(a.scq, done++, IBV_WC_SEND);
		wr = wr_send(id, &from, 1);
		post(&a, &wr);
	}
	while (done != MESSAGES)
		wait_ok(a.scq, done++, IBV_WC_SEND);
	return NULL;
}

static uint32_t received;	/* so far */

static void *receive_all(void *arg)
{
	struct ibv_sge to = sge_of(&mem_b, 0, 8);
	uint64_t id;

	(void)arg;
	for (id = 0; id < MESSAGES; id++) {
		wait_ok(b.rcq, id, IBV_WC_RECV);	/* checks the order */
		if (id + WINDOW < MESSAGES)
			post_recv(&b, id + WINDOW, &to, 1);
		__atomic_store_n(&received, id + 1, __ATOMIC_RELEASE);
	}
	return NULL;
}

/*
 * One thread sends, one receives, and this one resizes the CQ now and then.
 * Without pauses it would hold the CQ's lock nearly all the time.
 */
static void resize_under_traffic(void)
{
	struct ibv_sge to;
	pthread_t threads[2];
	unsigned int i, seed = 1, resized = 0, at;

	set_up(WINDOW, false);
	to = sge_of(&mem_b, 0, 8);
	for (i = 0; i < WINDOW; i++)
		post_recv(&b, i, &to, 1);
	REQUIRE_EQ(pthread_create(&threads[0], NULL, send_all, NULL), 0);
	REQUIRE_EQ(pthread_create(&threads[1], NULL, receive_all, NULL), 0);
	for (at = 7; at < MESSAGES; at += 7) {
		while (__atomic_load_n(&received, __ATOMIC_ACQUIRE) < at)
			sched_yield();
		REQUIRE_EQ(ibv_resize_cq(b.rcq, WINDOW + rand_r(&seed) % 600),
			   0);
		resized++;
	}
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	require_no_wc(b.rcq);
	REQUIRE_EQ(resized, (MESSAGES - 1) / 7);
}

/* ---- moderation ---------------------------------------------------------- */

static int moderate(struct ibv_cq *cq, uint16_t count, uint16_t period_us)
{
	struct ibv_modify_cq_attr attr = {
		.attr_mask = IBV_CQ_ATTR_MODERATE,
		.moderate = { .cq_count = count, .cq_period = period_us },
	};

	return ibv_modify_cq(cq, &attr);
}

static bool event_within(int ms)
{
	struct pollfd pfd = { .fd = b.channel->fd, .events = POLLIN };
	int n = poll(&pfd, 1, ms);

	REQUIRE(n >= 0);
	return n > 0;
}

static void take_event(void)
{
	struct ibv_cq *from;
	void *context;

	REQUIRE_EQ(ibv_get_cq_event(b.channel, &from, &context), 0);
	REQUIRE(from == b.rcq);
	ibv_ack_cq_events(from, 1);
}

static void drain(unsigned int n)
{
	while (n--)
		wait_wc(b.rcq);
}

/* This many completions make an event; the period is far longer. */
static void moderation_by_count(void)
{
	unsigned int i;

	set_up(64, true);
	REQUIRE_EQ(moderate(b.rcq, 5, 60000), 0);
	REQUIRE_EQ(ibv_req_notify_cq(b.rcq, 0), 0);
	for (i = 0; i < 5; i++) {
		REQUIRE(!event_within(0));
		message(i);
	}
	REQUIRE(event_within(10000));
	take_event();
	drain(5);
	/* Moderation is off again. */
	REQUIRE_EQ(moderate(b.rcq, 0, 0), 0);
	REQUIRE_EQ(ibv_req_notify_cq(b.rcq, 0), 0);
	message(9);
	REQUIRE(event_within(10000));
	take_event();
}

static void moderation_by_time(void)
{
	uint64_t begin;

	set_up(64, true);
	REQUIRE_EQ(moderate(b.rcq, 1000, 50000), 0);
	REQUIRE_EQ(ibv_req_notify_cq(b.rcq, 0), 0);
	begin = millis();
	message(1);
	message(2);
	REQUIRE(event_within(10000));
	REQUIRE(millis() - begin >= 49);
	take_event();
	drain(2);
	REQUIRE(!event_within(100));	/* one event only */
}

/* With only one of the two, each completion makes an event. */
static void moderation_needs_count_and_period(void)
{
	set_up(64, true);
	REQUIRE_EQ(moderate(b.rcq, 100, 0), 0);
	REQUIRE_EQ(ibv_req_notify_cq(b.rcq, 0), 0);
	message(1);
	REQUIRE(event_within(10000));
	take_event();
	REQUIRE_EQ(moderate(b.rcq, 1, 60000), 0);
	REQUIRE_EQ(ibv_req_notify_cq(b.rcq, 0), 0);
	message(2);
	REQUIRE(event_within(10000));
	take_event();
}

static void destroyed_with_some_held_back(void)
{
	set_up(64, true);
	REQUIRE_EQ(moderate(b.rcq, 10, 30000), 0);
	REQUIRE_EQ(ibv_req_notify_cq(b.rcq, 0), 0);
	message(1);
	REQUIRE_EQ(ibv_destroy_qp(b.qp), 0);
	REQUIRE_EQ(ibv_destroy_cq(b.rcq), 0);
	REQUIRE(!event_within(100));
}

static void moderation_limits_are_told(void)
{
	struct ibv_device_attr_ex attr;

	set_up(64, true);
	REQUIRE_EQ(ibv_query_device_ex(b.nic->ctx, NULL, &attr), 0);
	REQUIRE(attr.cq_mod_caps.max_cq_count >= 1);
	REQUIRE(attr.cq_mod_caps.max_cq_period >= 1);
	REQUIRE_EQ(moderate(b.rcq, attr.cq_mod_caps.max_cq_count,
			    attr.cq_mod_caps.max_cq_period), 0);
	REQUIRE_EQ(ibv_modify_cq(b.rcq, &(struct ibv_modify_cq_attr){
				 .attr_mask = 1 << 5 }), EINVAL);
}

static const struct test tests[] = {
#define TEST(name) { #name, name }
	TEST(resize_keeps_what_is_in_it),
	TEST(resize_below_what_is_in_it),
	TEST(wrong_sizes_are_refused),
	TEST(resize_after_reset),
	TEST(resize_under_traffic),
	TEST(moderation_by_count),
	TEST(moderation_by_time),
	TEST(moderation_needs_count_and_period),
	TEST(destroyed_with_some_held_back),
	TEST(moderation_limits_are_told),
	{}
};

int main(int argc, char **argv)
{
	return util_main(tests, argc, argv);
}
