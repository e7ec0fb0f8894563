// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* A congestion window by marks and by delay: core/requester/window.h. */
#include "fixture.h"

#include "../../kernel/core/requester/window.h"

#define MOST	128u
#define PKT	(1u << SHCA_WIN_SHIFT)
#define WHOLE	(MOST << SHCA_WIN_SHIFT)
#define RTT	(1 * FX_MS)

/* A window whose path takes RTT, at time RTT. */
static void win_make(struct shca_window *win)
{
	shca_window_start(win, MOST);
	shca_window_rtt(win, RTT, RTT, RTT);
}

/* Round trips, until the ones before are forgotten. */
static void win_path(struct shca_window *win, u64 rtt, u64 now)
{
	int i;

	for (i = 0; i < 8; i++)
		shca_window_path(win, rtt, now);
}

static void window_begins_at_its_most(struct kunit *test)
{
	struct shca_window win;

	shca_window_start(&win, MOST);
	KUNIT_EXPECT_EQ(test, win.cwnd, MOST * PKT);
	KUNIT_EXPECT_FALSE(test, shca_window_limits(&win));
	shca_window_ack(&win, 1000);
	KUNIT_EXPECT_EQ(test, win.cwnd, MOST * PKT);
}

/* The first takes a half: nobody has sized the window. Then once a window of packets. */
static void window_falls_once_a_round(struct kunit *test)
{
	struct shca_window win;

	win_make(&win);
	shca_window_cnp(&win);
	KUNIT_EXPECT_EQ(test, win.cwnd, MOST / 2 * PKT);
	KUNIT_EXPECT_TRUE(test, shca_window_limits(&win));
	shca_window_cnp(&win);
	shca_window_ack(&win, MOST - 1);
	shca_window_cnp(&win);
	KUNIT_EXPECT_EQ(test, win.cwnd, MOST / 2 * PKT);
	shca_window_ack(&win, 1);
	KUNIT_EXPECT_EQ(test, win.cwnd, MOST / 2 * PKT);
	shca_window_cnp(&win);
	KUNIT_EXPECT_TRUE(test, win.cwnd <= MOST / 2 * PKT * 17 / 32);
	KUNIT_EXPECT_TRUE(test, win.cwnd >= MOST / 4 * PKT);
}

/* alpha: a sixteenth of the difference in each round (RFC 8257). */
static void window_falls_by_the_share_of_marked_rounds(struct kunit *test)
{
	struct shca_window win;
	u32 before;
	int i;

	win_make(&win);
	for (i = 0; i < 64; i++)
		shca_window_ack(&win, MOST);
	/* (15/16)^64 is 1.6 percent */
	KUNIT_EXPECT_TRUE(test, win.alpha < SHCA_WIN_ALPHA / 32);
	before = win.cwnd;
	shca_window_cnp(&win);
	KUNIT_EXPECT_TRUE(test, win.cwnd < before);
	KUNIT_EXPECT_TRUE(test, win.cwnd > before - before / 32);
	for (i = 0; i < 64; i++) {
		shca_window_ack(&win, MOST);
		shca_window_cnp(&win);
	}
	KUNIT_EXPECT_TRUE(test, win.alpha > SHCA_WIN_ALPHA * 9 / 10);
	KUNIT_EXPECT_TRUE(test, win.alpha <= SHCA_WIN_ALPHA);
}

/* By a packet for each window that arrives, and not in the round of a cut. */
static void window_grows_by_a_packet_a_round(struct kunit *test)
{
	struct shca_window win;
	u32 i;

	win_make(&win);
	shca_window_cnp(&win);
	shca_window_ack(&win, MOST);
	KUNIT_EXPECT_EQ(test, win.cwnd, 64 * PKT);
	shca_window_ack(&win, 64);
	KUNIT_EXPECT_EQ(test, win.cwnd, 65 * PKT);
	for (i = 0; i < 10000; i++)
		shca_window_ack(&win, 64);
	KUNIT_EXPECT_EQ(test, win.cwnd, MOST * PKT);
}

static void window_below_a_packet_grows_by_packets(struct kunit *test)
{
	struct shca_window win;
	int i;

	win_make(&win);
	win.cwnd = SHCA_WIN_LEAST;
	shca_window_cnp(&win);
	KUNIT_EXPECT_EQ(test, win.cwnd, SHCA_WIN_LEAST);
	/* one packet is the round of the cut */
	for (i = 0; i < 2; i++)
		shca_window_ack(&win, 1);
	KUNIT_EXPECT_EQ(test, win.cwnd, SHCA_WIN_LEAST + PKT);
}

/* So does a window of one packet: the queue on the path is that of others. */
static void window_of_a_packet_grows_by_a_packet(struct kunit *test)
{
	struct shca_window win;

	win_make(&win);
	win_path(&win, 2 * RTT, 2 * RTT);
	win.cwnd = PKT;
	shca_window_ack(&win, 1);
	KUNIT_EXPECT_EQ(test, win.cwnd, 2 * PKT);
}

struct delay_row {
	const char *name;
	u64 rtt;
	u64 target;
	u32 cwnd;	/* after it */
};

static const struct delay_row delay_rows[] = {
	{ "below the target", RTT, RTT, WHOLE },
	{ "at the target", 2 * RTT, RTT, WHOLE },
	{ "a fifth above", 5 * RTT, 3 * RTT, WHOLE - WHOLE / 5 },
	{ "a half at most", 50 * RTT, RTT, WHOLE / 2 },
};

static void delay_desc(const struct delay_row *row, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", row->name);
}

KUNIT_ARRAY_PARAM(delay, delay_rows, delay_desc);

/* By its share of the round trip. */
static void window_falls_by_the_delay_above_the_target(struct kunit *test)
{
	const struct delay_row *row = test->param_value;
	struct shca_window win;

	win_make(&win);
	shca_window_rtt(&win, row->rtt, row->target, 100 * RTT);
	KUNIT_EXPECT_EQ(test, win.cwnd, row->cwnd);
	KUNIT_EXPECT_EQ(test, win.base_ns, RTT);
}

/* A path may become longer: the least round trip is of the last ten seconds. */
static void window_forgets_the_least_round_trip(struct kunit *test)
{
	struct shca_window win;
	u64 now;

	win_make(&win);
	shca_window_rtt(&win, 3 * RTT, 9 * RTT, 4000 * FX_MS);
	KUNIT_EXPECT_EQ(test, win.base_ns, RTT);
	for (now = 4000 * FX_MS; now < 15000 * FX_MS; now += 1000 * FX_MS)
		shca_window_rtt(&win, 3 * RTT, 9 * RTT, now);
	KUNIT_EXPECT_EQ(test, win.base_ns, 3 * RTT);
	shca_window_rtt(&win, 2 * RTT, 9 * RTT, now);
	KUNIT_EXPECT_EQ(test, win.base_ns, 2 * RTT);
}

/* A queue makes the round trip four times as long: a sixteenth of a packet a round. */
static void window_grows_slower_behind_a_queue(struct kunit *test)
{
	struct shca_window win;

	win_make(&win);
	shca_window_cnp(&win);
	shca_window_ack(&win, MOST);
	win_path(&win, 4 * RTT, 2 * RTT);
	shca_window_ack(&win, 64);
	KUNIT_EXPECT_EQ(test, win.cwnd, 64 * PKT + PKT / 16);
	shca_window_path(&win, RTT, 3 * RTT);
	shca_window_ack(&win, 64);
	KUNIT_EXPECT_TRUE(test, win.cwnd >= 65 * PKT);
	/* a 32nd at least, and whatever arrives counts */
	win.cwnd = 64 * PKT;
	win_path(&win, 1000000 * RTT, 4 * RTT);
	shca_window_ack(&win, 64);
	KUNIT_EXPECT_EQ(test, win.cwnd, 64 * PKT + PKT / 32);
	shca_window_ack(&win, 1);
	KUNIT_EXPECT_EQ(test, win.cwnd, 64 * PKT + PKT / 32 + 1);
}

struct queue_row {
	const char *name;
	u64 rtt;
	u32 part;	/* that a CNP takes, of 16 */
};

static const struct queue_row queue_rows[] = {
	{ "no queue", RTT, 0 },
	{ "less than a quarter more", RTT * 5 / 4, 0 },
	{ "a quarter", RTT * 4 / 3 + 1, 4 },
	{ "three eighths", RTT * 8 / 5 + 1, 6 },
	{ "a half", 2 * RTT, 8 },
	{ "a half at most", 50 * RTT, 8 },
};

static void queue_desc(const struct queue_row *row, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", row->name);
}

KUNIT_ARRAY_PARAM(queue, queue_rows, queue_desc);

/* A CNP takes what stands in the queue, if nearly no round had a CNP. */
static void window_falls_by_what_is_queued(struct kunit *test)
{
	const struct queue_row *row = test->param_value;
	struct shca_window win;
	u32 cut;

	win_make(&win);
	win.alpha = 0;
	win_path(&win, row->rtt, 2 * RTT);
	shca_window_cnp(&win);
	cut = WHOLE - win.cwnd;
	KUNIT_EXPECT_TRUE(test, cut <= WHOLE / 16 * row->part);
	KUNIT_EXPECT_TRUE(test, cut + PKT >= WHOLE / 16 * row->part);
}

/* A queue that stays is not the path: the least round trip before it counts. */
static void window_remembers_the_path_before_its_queue(struct kunit *test)
{
	struct shca_window win;
	u64 now;

	win_make(&win);
	for (now = 1000 * FX_MS; now < 60000 * FX_MS; now += 1000 * FX_MS) {
		shca_window_cnp(&win);
		shca_window_path(&win, 3 * RTT, now);
	}
	KUNIT_EXPECT_EQ(test, win.base_ns, RTT);
	/* no CNP any more: the path is that long */
	for (; now < 75000 * FX_MS; now += 1000 * FX_MS)
		shca_window_path(&win, 3 * RTT, now);
	KUNIT_EXPECT_EQ(test, win.base_ns, 3 * RTT);
}

/* The least one of ten seconds is kept as that of either half. */
static void window_keeps_the_least_round_trip_of_each_half(struct kunit *test)
{
	u64 begin = RTT, half = 5000 * FX_MS;
	struct shca_window win;

	win_make(&win);
	shca_window_path(&win, 2 * RTT, begin + half - 1);
	shca_window_path(&win, 4 * RTT, begin + half);
	shca_window_path(&win, 3 * RTT, begin + half + 1);
	shca_window_path(&win, 5 * RTT, begin + 2 * half - 1);
	KUNIT_EXPECT_EQ(test, win.base_ns, RTT);
	shca_window_path(&win, 6 * RTT, begin + 2 * half);
	KUNIT_EXPECT_EQ(test, win.base_ns, 3 * RTT);
}

/* 0 is that nothing was measured. */
static void window_round_trip_takes_time(struct kunit *test)
{
	struct shca_window win;

	shca_window_start(&win, MOST);
	shca_window_path(&win, 0, RTT);
	KUNIT_EXPECT_EQ(test, win.base_ns, 1ull);
}

/* alpha: by a 16th, at the end of each round of a window of packets (RFC 8257). */
static void window_counts_rounds_with_a_cnp(struct kunit *test)
{
	struct shca_window win;
	u32 alpha;

	shca_window_start(&win, MOST);
	KUNIT_EXPECT_EQ(test, win.alpha, SHCA_WIN_ALPHA);
	shca_window_ack(&win, 1);
	alpha = win.alpha;
	shca_window_ack(&win, MOST - 1);
	KUNIT_EXPECT_EQ(test, win.alpha, alpha);
	shca_window_ack(&win, 1);
	alpha -= alpha / 16;
	KUNIT_EXPECT_EQ(test, win.alpha, alpha);
	/* a round with one, and another without, of half as many packets */
	shca_window_cnp(&win);
	shca_window_ack(&win, MOST);
	alpha -= alpha / 16;
	alpha += SHCA_WIN_ALPHA / 16;
	KUNIT_EXPECT_EQ(test, win.alpha, alpha);
	shca_window_ack(&win, win.cwnd >> SHCA_WIN_SHIFT);
	alpha -= alpha / 16;
	KUNIT_EXPECT_EQ(test, win.alpha, alpha);
}

/* A half more: 170 / 256 of the growth, squared. */
static void window_growth_is_rounded_down(struct kunit *test)
{
	struct shca_window win;

	win_make(&win);
	win.cwnd = 64 * PKT;
	win_path(&win, RTT * 3 / 2, 2 * RTT);
	shca_window_ack(&win, 64);
	KUNIT_EXPECT_EQ(test, win.cwnd, 64 * PKT + 170 * 170 / 256);
}

/* alpha is 0: what stands in the queue is 460 / 1024, or is not known. */
static void window_falls_by_a_known_queue(struct kunit *test)
{
	struct shca_window win;

	win_make(&win);
	win.alpha = 0;
	win_path(&win, 1818506, 2 * RTT);
	shca_window_cnp(&win);
	KUNIT_EXPECT_EQ(test, win.cwnd, WHOLE - WHOLE / 1024 * 460);
	shca_window_start(&win, MOST);
	win.alpha = 0;
	shca_window_cnp(&win);
	KUNIT_EXPECT_EQ(test, win.cwnd, WHOLE);
}

/* A queue is what each of the last round trips has more, five of them to eight. */
static void window_takes_no_late_round_trip_for_a_queue(struct kunit *test)
{
	struct shca_window win;
	int i;

	win_make(&win);
	win.alpha = 0;
	for (i = 0; i < 7; i++)
		shca_window_path(&win, 3 * RTT, 2 * RTT);
	shca_window_cnp(&win);
	KUNIT_EXPECT_EQ(test, win.cwnd, WHOLE);
	shca_window_ack(&win, MOST);
	shca_window_path(&win, 3 * RTT, 2 * RTT);
	shca_window_cnp(&win);
	KUNIT_EXPECT_EQ(test, win.cwnd, WHOLE / 2);
	/* one of the path: no queue from here on, and so for seven more */
	shca_window_ack(&win, MOST);
	shca_window_path(&win, RTT, 2 * RTT);
	for (i = 0; i < 7; i++) {
		win.alpha = 0;
		win.cwnd = WHOLE / 2;
		shca_window_cnp(&win);
		KUNIT_EXPECT_EQ(test, win.cwnd, WHOLE / 2);
		shca_window_ack(&win, MOST / 2);
		shca_window_path(&win, 3 * RTT, 2 * RTT);
	}
	win.cwnd = WHOLE / 2;
	shca_window_cnp(&win);
	KUNIT_EXPECT_EQ(test, win.cwnd, WHOLE / 4);
}

/* A quarter more is no queue yet. */
static void window_takes_a_little_more_for_no_queue(struct kunit *test)
{
	struct shca_window win;

	win_make(&win);
	win.alpha = 0;
	win_path(&win, RTT * 5 / 4, 2 * RTT);
	shca_window_cnp(&win);
	KUNIT_EXPECT_EQ(test, win.cwnd, WHOLE);
	shca_window_ack(&win, MOST);
	win.alpha = 0;
	win_path(&win, RTT * 5 / 4 + 1, 2 * RTT);
	shca_window_cnp(&win);
	KUNIT_EXPECT_EQ(test, win.cwnd, WHOLE - WHOLE / 1024 * 204);
}

struct forged_row {
	const char *name;
	u32 every;	/* rounds */
};

static const struct forged_row forged_rows[] = {
	{ "30 a second", 33 },
	{ "100 a second", 10 },
};

static void forged_desc(const struct forged_row *row, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", row->name);
}

KUNIT_ARRAY_PARAM(forged, forged_rows, forged_desc);

/*
 * CNPs of someone who sees no packet, on a path of 1 ms without a queue, where round trips
 * are late now and then. They cost little, and ten rounds later nothing.
 */
static void window_bears_forged_cnps(struct kunit *test)
{
	const struct forged_row *row = test->param_value;
	struct shca_window win;
	u32 i;

	win_make(&win);
	for (i = 1; i <= 10 * row->every + 200; i++) {
		shca_window_path(&win, RTT + i % 4 * RTT / 2, i * RTT);
		if (shca_window_limits(&win))
			shca_window_ack(&win, win.cwnd >> SHCA_WIN_SHIFT);
		if (!(i % row->every))
			shca_window_cnp(&win);
		if (i > 200)
			KUNIT_EXPECT_GE(test, win.cwnd, MOST * 3 / 4 * PKT);
	}
	for (i = 0; i < 10; i++)
		shca_window_ack(&win, win.cwnd >> SHCA_WIN_SHIFT);
	KUNIT_EXPECT_FALSE(test, shca_window_limits(&win));
}

static struct kunit_case cc_window_cases[] = {
	KUNIT_CASE(window_takes_no_late_round_trip_for_a_queue),
	KUNIT_CASE(window_takes_a_little_more_for_no_queue),
	KUNIT_CASE_PARAM(window_bears_forged_cnps, forged_gen_params),
	KUNIT_CASE(window_keeps_the_least_round_trip_of_each_half),
	KUNIT_CASE(window_round_trip_takes_time),
	KUNIT_CASE(window_counts_rounds_with_a_cnp),
	KUNIT_CASE(window_growth_is_rounded_down),
	KUNIT_CASE(window_falls_by_a_known_queue),
	KUNIT_CASE(window_begins_at_its_most),
	KUNIT_CASE(window_falls_once_a_round),
	KUNIT_CASE(window_falls_by_the_share_of_marked_rounds),
	KUNIT_CASE(window_grows_by_a_packet_a_round),
	KUNIT_CASE(window_below_a_packet_grows_by_packets),
	KUNIT_CASE(window_of_a_packet_grows_by_a_packet),
	KUNIT_CASE_PARAM(window_falls_by_the_delay_above_the_target,
			 delay_gen_params),
	KUNIT_CASE(window_forgets_the_least_round_trip),
	KUNIT_CASE(window_grows_slower_behind_a_queue),
	KUNIT_CASE_PARAM(window_falls_by_what_is_queued, queue_gen_params),
	KUNIT_CASE(window_remembers_the_path_before_its_queue),
	{}
};

static struct kunit_suite cc_window_suite = {
	.name = "softhca_cc_window",
	.test_cases = cc_window_cases,
};

kunit_test_suites(&cc_window_suite);
