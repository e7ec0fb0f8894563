// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Completion events: each request gets one, no event comes without a request,
 * and none is lost, in any order of polling, arming and completing.
 */
#include "util.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>

#define EVENT_MS	10000
#define QUIET_MS	50

static struct end a, b;
static struct buf mem_a, mem_b;

static void set_up(void)
{
	struct config config = config_default;

	config.events = true;
	pair_make(&a, &b, &config);
	mem_a = buf_make(a.nic->pd, 4 * KIB, ACCESS_ALL);
	mem_b = buf_make(b.nic->pd, 4 * KIB, ACCESS_ALL);
}

static bool event_within(struct end *end, int ms)
{
	struct pollfd pfd = { .fd = end->channel->fd, .events = POLLIN };
	int n = poll(&pfd, 1, ms);

	REQUIRE(n >= 0);
	return n > 0;
}

/* Waits for an event of @cq, reads and acknowledges it. */
static void expect_event(struct end *end, struct ibv_cq *cq)
{
	struct ibv_cq *from;
	void *context;

	if (!event_within(end, EVENT_MS))
		FAIL("no completion event within %d ms", EVENT_MS);
	REQUIRE_EQ(ibv_get_cq_event(end->channel, &from, &context), 0);
	REQUIRE(from == cq);
	ibv_ack_cq_events(cq, 1);
}

static void expect_no_event(struct end *end)
{
	if (event_within(end, QUIET_MS))
		FAIL("a completion event that nobody asked for");
}

/* Sends one message from a to b, which receives it; b's completion stays in the CQ. */
static void message(uint64_t id, unsigned int flags)
{
	struct ibv_sge sge = sge_of(&mem_a, 0, 64);
	struct ibv_sge to = sge_of(&mem_b, 0, 64);
	struct ibv_send_wr wr = wr_send(id, &sge, 1);

	wr.send_flags |= flags;
	post_recv(&b, id, &to, 1);
	post(&a, &wr);
	wait_ok(a.scq, id, IBV_WC_SEND);
}

static void an_armed_cq_fires_once(void)
{
	int i;

	set_up();
	for (i = 0; i < 20; i++) {
		REQUIRE_EQ(ibv_req_notify_cq(b.rcq, 0), 0);
		message(2 * i, 0);
		expect_event(&b, b.rcq);
		message(2 * i + 1, 0);
		wait_ok(b.rcq, 2 * i, IBV_WC_RECV);
		wait_ok(b.rcq, 2 * i + 1, IBV_WC_RECV);
	}
	expect_no_event(&b);
}

static void a_cq_not_armed_is_silent(void)
{
	set_up();
	message(1, 0);
	message(2, IBV_SEND_SOLICITED);
	expect_no_event(&b);
	wait_ok(b.rcq, 1, IBV_WC_RECV);
	wait_ok(b.rcq, 2, IBV_WC_RECV);
}

/* Arming twice has the effect of arming once. */
static void arming_twice_fires_once(void)
{
	set_up();
	REQUIRE_EQ(ibv_req_notify_cq(b.rcq, 0), 0);
	REQUIRE_EQ(ibv_req_notify_cq(b.rcq, 0), 0);
	message(1, 0);
	expect_event(&b, b.rcq);
	message(2, 0);
	expect_no_event(&b);
}

/* Arming does not announce earlier completions. */
static void arming_does_not_look_back(void)
{
	set_up();
	message(1, 0);
	REQUIRE_EQ(wait_ok(b.rcq, 1, IBV_WC_RECV).byte_len, 64);
	message(2, 0);
	/* in the CQ when it is armed: the poll that must follow finds it */
	message(3, 0);
	wait_ok(b.rcq, 2, IBV_WC_RECV);
	wait_ok(b.rcq, 3, IBV_WC_RECV);
	REQUIRE_EQ(ibv_req_notify_cq(b.rcq, 0), 0);
	require_no_wc(b.rcq);
	expect_no_event(&b);
	message(4, 0);
	expect_event(&b, b.rcq);
}

static void solicited_only_wakes_for_solicited(void)
{
	set_up();
	REQUIRE_EQ(ibv_req_notify_cq(b.rcq, 1), 0);
	message(1, 0);
	expect_no_event(&b);
	message(2, IBV_SEND_SOLICITED);
	expect_event(&b, b.rcq);
	message(3, IBV_SEND_SOLICITED);
	expect_no_event(&b);
	REQUIRE_EQ(ibv_req_notify_cq(b.rcq, 0), 0);
	message(4, 0);
	expect_event(&b, b.rcq);
}

/* A WRITE with immediate can be solicited, too. */
static void solicited_write_imm_wakes(void)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr;

	set_up();
	sge = sge_of(&mem_a, 0, 64);
	REQUIRE_EQ(ibv_req_notify_cq(b.rcq, 1), 0);
	post_recv(&b, 1, NULL, 0);
	post_recv(&b, 2, NULL, 0);
	wr = wr_rdma(1, IBV_WR_RDMA_WRITE_WITH_IMM, &sge, 1,
		     (uintptr_t)mem_b.p, mem_b.mr->rkey);
	post(&a, &wr);
	wait_ok(a.scq, 1, IBV_WC_RDMA_WRITE);
	expect_no_event(&b);
	wr.send_flags |= IBV_SEND_SOLICITED;
	post(&a, &wr);
	expect_event(&b, b.rcq);
}

/* IBTA 11.4.2.2: errors count as solicited. */
static void errors_wake_solicited_only(void)
{
	set_up();
	post_recv(&b, 1, NULL, 0);
	REQUIRE_EQ(ibv_req_notify_cq(b.rcq, 1), 0);
	REQUIRE_EQ(end_to(&b, IBV_QPS_ERR), 0);
	expect_event(&b, b.rcq);
	wait_status(b.rcq, 1, IBV_WC_WR_FLUSH_ERR);
}

/* A request for solicited completions does not cancel one for any. */
static void solicited_does_not_weaken_any(void)
{
	set_up();
	REQUIRE_EQ(ibv_req_notify_cq(b.rcq, 0), 0);
	REQUIRE_EQ(ibv_req_notify_cq(b.rcq, 1), 0);
	message(1, 0);
	expect_event(&b, b.rcq);
	/* that event has come; now only solicited completions are requested */
	REQUIRE_EQ(ibv_req_notify_cq(b.rcq, 1), 0);
	message(2, 0);
	expect_no_event(&b);
	message(3, IBV_SEND_SOLICITED);
	expect_event(&b, b.rcq);
}

static void any_after_solicited_is_any(void)
{
	set_up();
	REQUIRE_EQ(ibv_req_notify_cq(b.rcq, 1), 0);
	REQUIRE_EQ(ibv_req_notify_cq(b.rcq, 0), 0);
	message(1, 0);
	expect_event(&b, b.rcq);
}

static void send_completions_wake_too(void)
{
	set_up();
	REQUIRE_EQ(ibv_req_notify_cq(a.scq, 0), 0);
	message(1, 0);
	expect_event(&a, a.scq);
}

/* Two CQs on a channel: each event names its own. */
static void events_name_their_cq(void)
{
	struct ibv_cq *first, *second;
	void *context;

	set_up();
	REQUIRE_EQ(ibv_req_notify_cq(a.scq, 0), 0);
	REQUIRE_EQ(ibv_req_notify_cq(a.rcq, 0), 0);
	message(1, 0);
	expect_event(&a, a.scq);
	REQUIRE_EQ(ibv_req_notify_cq(a.scq, 0), 0);
	post_recv(&a, 5, NULL, 0);
	message(2, 0);
	REQUIRE_EQ(end_to(&a, IBV_QPS_ERR), 0);
	REQUIRE(event_within(&a, EVENT_MS));
	REQUIRE_EQ(ibv_get_cq_event(a.channel, &first, &context), 0);
	REQUIRE(event_within(&a, EVENT_MS));
	REQUIRE_EQ(ibv_get_cq_event(a.channel, &second, &context), 0);
	REQUIRE(first == a.scq && second == a.rcq);
	ibv_ack_cq_events(first, 1);
	ibv_ack_cq_events(second, 1);
}

/* Unread events do not prevent the destruction of a CQ. */
static void destroy_with_unread_events(void)
{
	set_up();
	REQUIRE_EQ(ibv_req_notify_cq(b.rcq, 0), 0);
	message(1, 0);
	REQUIRE(event_within(&b, EVENT_MS));
	end_destroy(&b);
}

/* A CQ overflow is announced, and the QP fails. */
static void overflow_is_announced(void)
{
	struct config config = config_default;
	int i;

	config.cqe = 4;
	config.max_recv_wr = 200;
	pair_make(&a, &b, &config);
	if (b.rcq->cqe >= (int)b.cap.max_recv_wr)
		test_skip("the CQ is larger than the receive queue");
	for (i = 0; i < (int)b.cap.max_recv_wr; i++)
		post_recv(&b, i, NULL, 0);
	REQUIRE_EQ(end_to(&b, IBV_QPS_ERR), 0);
	wait_event(b.nic->ctx, IBV_EVENT_CQ_ERR);
	/* the completions that did fit are still there */
	for (i = 0; i < b.rcq->cqe; i++)
		wait_status(b.rcq, i, IBV_WC_WR_FLUSH_ERR);
}

/* ---- the race between arming and completing -------------------------------- */

enum { STRESS_MESSAGES = 20000, STRESS_DEPTH = 32 };

static void *stress_sender(void *arg)
{
	struct ibv_send_wr wr;
	struct ibv_wc wc;
	int posted = 0, done = 0;

	(void)arg;
	while (done < STRESS_MESSAGES) {
		/* irregular bursts, so that arming meets all phases */
		while (posted < STRESS_MESSAGES &&
		       posted - done < 1 + posted * 7 % STRESS_DEPTH) {
			wr = wr_send(posted++, NULL, 0);
			post(&a, &wr);
		}
		if (ibv_poll_cq(a.scq, 1, &wc) > 0) {
			REQUIRE_EQ(wc.status, IBV_WC_SUCCESS);
			done++;
		}
	}
	return NULL;
}

/* The loop of every event-driven program: sleep, arm, poll until empty. */
static void no_event_is_lost(void)
{
	struct ibv_wc wc[16];
	pthread_t sender;
	int received = 0, sleeps = 0, i, n;

	set_up();
	for (i = 0; i < STRESS_DEPTH + 16; i++)
		post_recv(&b, i, NULL, 0);
	REQUIRE_EQ(ibv_req_notify_cq(b.rcq, 0), 0);
	REQUIRE(!pthread_create(&sender, NULL, stress_sender, NULL));
	while (received < STRESS_MESSAGES) {
		expect_event(&b, b.rcq);
		sleeps++;
		REQUIRE_EQ(ibv_req_notify_cq(b.rcq, 0), 0);
		while ((n = ibv_poll_cq(b.rcq, 16, wc)) > 0) {
			for (i = 0; i < n; i++) {
				REQUIRE_EQ(wc[i].status, IBV_WC_SUCCESS);
				post_recv(&b, received++, NULL, 0);
			}
		}
	}
	pthread_join(sender, NULL);
	printf("# %d messages, %d events\n", received, sleeps);
}

/* ---- threads that arm at the same time ----------------------------------- */

enum { ARM_ROUNDS = 300 };

static void *arm_solicited(void *stop)
{
	while (!__atomic_load_n((bool *)stop, __ATOMIC_RELAXED))
		REQUIRE_EQ(ibv_req_notify_cq(b.rcq, 1), 0);
	return NULL;
}

/* A request for any completion stays, whatever another thread asks for meanwhile. */
static void solicited_of_a_thread_does_not_weaken_any(void)
{
	pthread_t other;
	bool stop = false;
	int i;

	set_up();
	REQUIRE(!pthread_create(&other, NULL, arm_solicited, &stop));
	for (i = 0; i < ARM_ROUNDS; i++) {
		REQUIRE_EQ(ibv_req_notify_cq(b.rcq, 0), 0);
		message(i, 0);
		expect_event(&b, b.rcq);
		wait_ok(b.rcq, i, IBV_WC_RECV);
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	pthread_join(other, NULL);
	expect_no_event(&b);
}

static const struct test tests[] = {
#define TEST(name) { #name, name }
	TEST(an_armed_cq_fires_once),
	TEST(a_cq_not_armed_is_silent),
	TEST(arming_twice_fires_once),
	TEST(arming_does_not_look_back),
	TEST(solicited_only_wakes_for_solicited),
	TEST(solicited_write_imm_wakes),
	TEST(errors_wake_solicited_only),
	TEST(solicited_does_not_weaken_any),
	TEST(any_after_solicited_is_any),
	TEST(send_completions_wake_too),
	TEST(events_name_their_cq),
	TEST(destroy_with_unread_events),
	TEST(overflow_is_announced),
	TEST(no_event_is_lost),
	TEST(solicited_of_a_thread_does_not_weaken_any),
	{}
};

int main(int argc, char **argv)
{
	return util_main(tests, argc, argv);
}
