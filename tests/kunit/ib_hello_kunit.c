// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The hello protocol: ports find each other, lose each other, and ignore others. */
#include "fixture.h"

#include "../../kernel/ib/core/ib_hello.h"

#define MS		1000000ull
#define PORTS		3

/* Ports on one segment: each frame reaches all others. */
struct segment {
	u64 now;
	u32 nr;
	struct shca_ib_port port[PORTS];
	u32 sent[PORTS];
	u32 ups[PORTS];
	u32 downs[PORTS];
	bool deaf[PORTS];
};

/* An address of six bytes in a frame, where each time something else is behind it. */
static const u8 *mac_of(u32 i)
{
	static u8 frame[] = { 2, 0, 0, 0, 0, 0, 0 };

	frame[5] = i + 1;
	frame[6]++;
	return frame;
}

static void note(struct segment *seg, u32 i, u32 events)
{
	seg->ups[i] += !!(events & SHCA_IB_EV_UP);
	seg->downs[i] += !!(events & SHCA_IB_EV_DOWN);
}

static void deliver(struct segment *seg, u32 from,
		    const struct shca_ib_hello *hello)
{
	u32 i;

	for (i = 0; i < seg->nr; i++)
		if (i != from && !seg->deaf[i])
			note(seg, i, shca_ib_port_rx(&seg->port[i], hello,
						     mac_of(from), seg->now));
}

static void run(struct segment *seg, u64 ms)
{
	u64 end = seg->now + ms * MS;
	struct shca_ib_hello hello;
	u32 i;

	for (; seg->now < end; seg->now += MS)
		for (i = 0; i < seg->nr; i++) {
			note(seg, i, shca_ib_port_tick(&seg->port[i], seg->now));
			if (shca_ib_port_tx(&seg->port[i], &hello, seg->now)) {
				seg->sent[i]++;
				deliver(seg, i, &hello);
			}
		}
}

static void start(struct segment *seg, u32 i, u32 session)
{
	memset(&seg->port[i], 0xff, sizeof(seg->port[i]));
	shca_ib_port_init(&seg->port[i], 0x10 + i, session, 1024);
	note(seg, i, shca_ib_port_carrier(&seg->port[i], true, seg->now));
}

static struct segment *segment(struct kunit *test, u32 nr)
{
	struct segment *seg = kunit_kzalloc(test, sizeof(*seg), GFP_KERNEL);
	u32 i;

	seg->now = 5 * MS;
	seg->nr = nr;
	for (i = 0; i < nr; i++)
		start(seg, i, 100 + i);
	return seg;
}

static void expect_up(struct kunit *test, struct segment *seg, u32 a, u32 b)
{
	KUNIT_EXPECT_EQ(test, seg->port[a].phys, SHCA_IB_PHYS_LINK_UP);
	KUNIT_EXPECT_EQ(test, seg->port[b].phys, SHCA_IB_PHYS_LINK_UP);
	KUNIT_EXPECT_EQ(test, seg->port[a].peer.guid, seg->port[b].guid);
	KUNIT_EXPECT_EQ(test, seg->port[b].peer.guid, seg->port[a].guid);
	KUNIT_EXPECT_EQ(test, memcmp(seg->port[a].peer_mac, mac_of(b),
				     SHCA_IB_MAC_BYTES), 0);
}

static void port_begins_without_carrier(struct kunit *test)
{
	struct segment *seg = segment(test, 0);
	struct shca_ib_port *port = &seg->port[0];
	struct shca_ib_hello hello = { .session = 9, .guid = 9, .heard = 8 };

	memset(port, 0xff, sizeof(*port));
	shca_ib_port_init(port, 7, 8, 4096);
	KUNIT_EXPECT_EQ(test, port->phys, SHCA_IB_PHYS_POLLING);
	KUNIT_EXPECT_EQ(test, port->downed, 0u);
	KUNIT_EXPECT_EQ(test, port->others, 0u);
	KUNIT_EXPECT_EQ(test, shca_ib_port_deadline(port), ~0ull);
	KUNIT_EXPECT_EQ(test, shca_ib_port_rx(port, &hello, mac_of(1), 0), 0u);
	KUNIT_EXPECT_EQ(test, port->phys, SHCA_IB_PHYS_POLLING);
	KUNIT_EXPECT_EQ(test, shca_ib_port_carrier(port, true, 3), 0u);
	KUNIT_EXPECT_EQ(test, shca_ib_port_deadline(port), 3ull);
	KUNIT_EXPECT_TRUE(test, shca_ib_port_tx(port, &hello, 3));
	KUNIT_EXPECT_EQ(test, hello.mtu, 4096);
	KUNIT_EXPECT_FALSE(test, hello.batches);
	port->batches = true;
	KUNIT_EXPECT_TRUE(test, shca_ib_port_bye(port).batches);
	KUNIT_EXPECT_TRUE(test, shca_ib_port_tx(port, &hello, 3 + SHCA_IB_HELLO_NS));
	KUNIT_EXPECT_TRUE(test, hello.batches);
	port->due = 3 + SHCA_IB_HELLO_NS;
	/* The same again changes nothing. */
	KUNIT_EXPECT_EQ(test, shca_ib_port_carrier(port, true, 4), 0u);
	KUNIT_EXPECT_EQ(test, shca_ib_port_disable(port, false, 4), 0u);
	KUNIT_EXPECT_EQ(test, shca_ib_port_deadline(port), 3 + SHCA_IB_HELLO_NS);
}

/* A new peer hears of this port at once, but 10 ms after the last hello. */
static void answer_keeps_the_distance(struct kunit *test)
{
	struct segment *seg = segment(test, 1);
	struct shca_ib_port *port = &seg->port[0];
	struct shca_ib_hello hello = { .session = 9, .guid = 9 }, out;
	u64 now = seg->now;

	KUNIT_ASSERT_TRUE(test, shca_ib_port_tx(port, &out, now));
	shca_ib_port_rx(port, &hello, mac_of(1), now + 1);
	KUNIT_EXPECT_EQ(test, shca_ib_port_deadline(port),
			now + SHCA_IB_HELLO_GAP_NS);
	KUNIT_EXPECT_FALSE(test, shca_ib_port_tx(port, &out, now + 1));
	/* The same hello again changes nothing. */
	now += SHCA_IB_HELLO_GAP_NS;
	KUNIT_ASSERT_TRUE(test, shca_ib_port_tx(port, &out, now));
	shca_ib_port_rx(port, &hello, mac_of(1), now + 1);
	KUNIT_EXPECT_EQ(test, shca_ib_port_deadline(port),
			now + SHCA_IB_HELLO_NS);
	/* Nor is it if it names this port; the link is up without a further hello. */
	hello.heard = 100;
	KUNIT_EXPECT_EQ(test, shca_ib_port_rx(port, &hello, mac_of(1), now + 2),
			SHCA_IB_EV_UP);
	KUNIT_EXPECT_EQ(test, shca_ib_port_deadline(port),
			now + SHCA_IB_HELLO_NS);
	now += 2 * SHCA_IB_HELLO_GAP_NS;
	hello.bye = true;
	KUNIT_EXPECT_EQ(test, shca_ib_port_rx(port, &hello, mac_of(1), now),
			SHCA_IB_EV_DOWN);
	KUNIT_EXPECT_EQ(test, shca_ib_port_deadline(port), now);
}

/* Another one's hello changes nothing while the candidate may still answer. */
static void candidate_is_kept(struct kunit *test)
{
	struct segment *seg = segment(test, 1);
	struct shca_ib_port *port = &seg->port[0];
	struct shca_ib_hello hello = { .session = 9, .guid = 9 };

	shca_ib_port_rx(port, &hello, mac_of(1), seg->now);
	hello = (struct shca_ib_hello){ .session = 10, .guid = 10, .heard = 9 };
	KUNIT_EXPECT_EQ(test, shca_ib_port_rx(port, &hello, mac_of(2), seg->now),
			0u);
	KUNIT_EXPECT_EQ(test, port->peer.session, 9u);
	KUNIT_EXPECT_EQ(test, port->others, 1u);
	/* One that names this port is better. */
	hello.heard = 100;
	KUNIT_EXPECT_EQ(test, shca_ib_port_rx(port, &hello, mac_of(2), seg->now),
			SHCA_IB_EV_UP);
	KUNIT_EXPECT_EQ(test, port->peer.session, 10u);
	KUNIT_EXPECT_EQ(test, port->others, 1u);
	/* Not if the link is up. */
	hello = (struct shca_ib_hello){ .session = 9, .guid = 9, .heard = 100 };
	KUNIT_EXPECT_EQ(test, shca_ib_port_rx(port, &hello, mac_of(1), seg->now),
			0u);
	KUNIT_EXPECT_EQ(test, port->peer.session, 10u);
	KUNIT_EXPECT_EQ(test, port->others, 2u);
}

static void two_come_up_at_once(struct kunit *test)
{
	struct segment *seg = segment(test, 2);

	KUNIT_EXPECT_EQ(test, seg->port[0].phys, SHCA_IB_PHYS_POLLING);
	run(seg, 25);
	expect_up(test, seg, 0, 1);
	KUNIT_EXPECT_EQ(test, seg->ups[0], 1u);
	KUNIT_EXPECT_EQ(test, seg->ups[1], 1u);
	KUNIT_EXPECT_EQ(test, seg->port[0].peer.mtu, 1024);
	KUNIT_EXPECT_EQ(test, seg->port[0].peer.session, 101u);
}

/* Then it is quiet: ten hellos a second, and nothing changes. */
static void link_stays_up(struct kunit *test)
{
	struct segment *seg = segment(test, 2);
	u32 sent;

	run(seg, 100);
	sent = seg->sent[0];
	run(seg, 5000);
	expect_up(test, seg, 0, 1);
	KUNIT_EXPECT_EQ(test, seg->sent[0] - sent, 50u);
	KUNIT_EXPECT_EQ(test, seg->downs[0] + seg->downs[1], 0u);
	KUNIT_EXPECT_EQ(test, seg->port[0].downed, 0u);
	KUNIT_EXPECT_EQ(test, seg->port[0].others, 0u);
}

/* Nobody is there: it polls, and says so each 100 ms. */
static void lone_port_polls(struct kunit *test)
{
	struct segment *seg = segment(test, 1);
	struct shca_ib_hello hello;

	KUNIT_EXPECT_EQ(test, shca_ib_port_deadline(&seg->port[0]), seg->now);
	run(seg, 1000);
	KUNIT_EXPECT_EQ(test, seg->port[0].phys, SHCA_IB_PHYS_POLLING);
	KUNIT_EXPECT_EQ(test, seg->sent[0], 10u);
	KUNIT_EXPECT_EQ(test, shca_ib_port_deadline(&seg->port[0]), seg->now);
	KUNIT_EXPECT_TRUE(test, shca_ib_port_tx(&seg->port[0], &hello, seg->now));
	KUNIT_EXPECT_EQ(test, hello.heard, 0u);
	KUNIT_EXPECT_EQ(test, hello.session, 100u);
	KUNIT_EXPECT_EQ(test, hello.guid, 0x10ull);
	KUNIT_EXPECT_EQ(test, hello.mtu, 1024);
	KUNIT_EXPECT_FALSE(test, hello.bye);
	KUNIT_EXPECT_EQ(test, shca_ib_port_deadline(&seg->port[0]),
			seg->now + SHCA_IB_HELLO_NS);
}

/* Frames of one direction only: no link. */
static void one_way_is_no_link(struct kunit *test)
{
	struct segment *seg = segment(test, 2);

	seg->deaf[0] = true;
	run(seg, 2000);
	KUNIT_EXPECT_EQ(test, seg->port[0].phys, SHCA_IB_PHYS_POLLING);
	KUNIT_EXPECT_EQ(test, seg->port[1].phys, SHCA_IB_PHYS_TRAINING);
	KUNIT_EXPECT_EQ(test, seg->ups[1], 0u);
}

/* The other end dies without a word, with the carrier on. */
static void silent_peer_is_lost(struct kunit *test)
{
	struct segment *seg = segment(test, 2);
	u64 heard;

	run(seg, 100);
	seg->deaf[0] = true;
	heard = seg->port[0].heard_at;
	run(seg, (heard + SHCA_IB_HELLO_LOST_NS - seg->now) / MS);
	KUNIT_EXPECT_EQ(test, seg->port[0].phys, SHCA_IB_PHYS_LINK_UP);
	KUNIT_EXPECT_EQ(test, shca_ib_port_deadline(&seg->port[0]),
			min_t(u64, heard + SHCA_IB_HELLO_LOST_NS,
			      seg->port[0].due));
	run(seg, 1);
	KUNIT_EXPECT_EQ(test, seg->port[0].phys, SHCA_IB_PHYS_POLLING);
	KUNIT_EXPECT_EQ(test, seg->downs[0], 1u);
	KUNIT_EXPECT_EQ(test, seg->port[0].downed, 1u);
	KUNIT_EXPECT_EQ(test, seg->ups[0], 1u);
	/* It tells the other end, which hears it, within the least distance. */
	run(seg, 11);
	KUNIT_EXPECT_EQ(test, seg->port[1].phys, SHCA_IB_PHYS_TRAINING);
	KUNIT_EXPECT_EQ(test, seg->downs[1], 1u);
	seg->deaf[0] = false;
	run(seg, 120);
	expect_up(test, seg, 0, 1);
}

/* The machine stands still, and its ports with it: the link is up afterwards, and was up meanwhile. */
static void own_pause_is_no_silence(struct kunit *test)
{
	struct segment *seg = segment(test, 2);
	u32 i;

	run(seg, 100);
	for (i = 0; i < 5; i++) {
		seg->now += (1 + i) * SHCA_IB_HELLO_LOST_NS;
		run(seg, 30);
	}
	expect_up(test, seg, 0, 1);
	KUNIT_EXPECT_EQ(test, seg->downs[0] + seg->downs[1], 0u);
	/* Of two ends, one stands still: the other one, which runs, takes it for lost. */
	seg->deaf[0] = true;
	run(seg, 1200);
	KUNIT_EXPECT_EQ(test, seg->downs[0], 1u);
}

/* Only what a port is late by is forgiven, so that a slow machine finds a dead peer, too. */
static void slow_port_finds_silence(struct kunit *test)
{
	struct segment *seg = segment(test, 2);
	struct shca_ib_port *port = &seg->port[0];
	struct shca_ib_hello hello;
	u32 i;

	run(seg, 100);
	/* Of each four intervals that it takes, one is the peer's. */
	seg->now = port->due;
	port->heard_at = seg->now;
	for (i = 0; i < 10; i++) {
		KUNIT_EXPECT_EQ(test, shca_ib_port_tick(port, seg->now), 0u);
		shca_ib_port_tx(port, &hello, seg->now);
		KUNIT_EXPECT_EQ(test, port->due, seg->now + SHCA_IB_HELLO_NS);
		seg->now = port->due + 3 * SHCA_IB_HELLO_NS;
	}
	KUNIT_EXPECT_EQ(test, shca_ib_port_tick(port, seg->now), SHCA_IB_EV_DOWN);
}

/* The deadline is the earlier one of: hello due, peer lost. */
static void deadline_is_the_loss(struct kunit *test)
{
	struct segment *seg = segment(test, 2);
	struct shca_ib_port *port = &seg->port[0];

	run(seg, 100);
	port->due = port->heard_at + SHCA_IB_HELLO_LOST_NS + 1;
	KUNIT_EXPECT_EQ(test, shca_ib_port_deadline(port), port->due - 1);
	port->due -= 2;
	KUNIT_EXPECT_EQ(test, shca_ib_port_deadline(port), port->due);
	/* The loss is told at once. */
	seg->now = port->heard_at + SHCA_IB_HELLO_LOST_NS;
	KUNIT_EXPECT_EQ(test, shca_ib_port_tick(port, seg->now - 1), 0u);
	KUNIT_EXPECT_EQ(test, shca_ib_port_tick(port, seg->now),
			SHCA_IB_EV_DOWN);
	KUNIT_EXPECT_EQ(test, shca_ib_port_deadline(port), seg->now);
	KUNIT_EXPECT_EQ(test, shca_ib_port_tick(port, seg->now), 0u);
}

static void bye_is_the_end_at_once(struct kunit *test)
{
	/* (what follows the address in its frame is no part of it) */
	static const u8 mac[] = { 2, 0, 0, 0, 0, 1, 0xee };
	struct segment *seg = segment(test, 2);
	struct shca_ib_hello bye;

	run(seg, 100);
	bye = shca_ib_port_bye(&seg->port[0]);
	KUNIT_EXPECT_TRUE(test, bye.bye);
	KUNIT_EXPECT_EQ(test, bye.session, 100u);
	KUNIT_EXPECT_EQ(test, bye.guid, 0x10ull);
	KUNIT_EXPECT_EQ(test, bye.mtu, 1024);
	note(seg, 0, shca_ib_port_carrier(&seg->port[0], false, seg->now));
	note(seg, 1, shca_ib_port_rx(&seg->port[1], &bye, mac, seg->now));
	KUNIT_EXPECT_EQ(test, seg->port[1].phys, SHCA_IB_PHYS_POLLING);
	KUNIT_EXPECT_EQ(test, seg->downs[1], 1u);
	/* A second one says nothing new. */
	deliver(seg, 0, &bye);
	KUNIT_EXPECT_EQ(test, seg->downs[1], 1u);
}

/* A goodbye of a third port is not the peer's, whatever session it names. */
static void bye_of_a_unknown_peer_is_ignored(struct kunit *test)
{
	struct segment *seg = segment(test, 2);
	struct shca_ib_hello bye = { .session = 7, .guid = 0x77, .bye = true };

	run(seg, 100);
	note(seg, 1, shca_ib_port_rx(&seg->port[1], &bye, mac_of(0), seg->now));
	bye.session = 100;
	note(seg, 1, shca_ib_port_rx(&seg->port[1], &bye, mac_of(2), seg->now));
	expect_up(test, seg, 0, 1);
	KUNIT_EXPECT_EQ(test, seg->downs[1], 0u);
	KUNIT_EXPECT_EQ(test, seg->ups[1], 1u);
}

static void carrier_and_disable_take_it_down(struct kunit *test)
{
	struct segment *seg = segment(test, 2);
	struct shca_ib_port *port = &seg->port[0];
	struct shca_ib_hello hello;

	run(seg, 100);
	note(seg, 0, shca_ib_port_carrier(port, false, seg->now));
	KUNIT_EXPECT_EQ(test, port->phys, SHCA_IB_PHYS_POLLING);
	KUNIT_EXPECT_EQ(test, seg->downs[0], 1u);
	KUNIT_EXPECT_EQ(test, shca_ib_port_deadline(port), ~0ull);
	/* the same again is no event */
	note(seg, 0, shca_ib_port_carrier(port, false, seg->now));
	run(seg, 200);
	KUNIT_EXPECT_FALSE(test, shca_ib_port_tx(port, &hello, seg->now));
	KUNIT_EXPECT_EQ(test, port->phys, SHCA_IB_PHYS_POLLING);
	note(seg, 0, shca_ib_port_carrier(port, true, seg->now));
	KUNIT_EXPECT_EQ(test, shca_ib_port_deadline(port), seg->now);
	run(seg, 25);
	expect_up(test, seg, 0, 1);

	note(seg, 0, shca_ib_port_disable(port, true, seg->now));
	KUNIT_EXPECT_EQ(test, port->phys, SHCA_IB_PHYS_DISABLED);
	KUNIT_EXPECT_EQ(test, seg->downs[0], 2u);
	KUNIT_EXPECT_EQ(test, port->downed, 2u);
	KUNIT_EXPECT_EQ(test, shca_ib_port_deadline(port), ~0ull);
	run(seg, 2000);
	KUNIT_EXPECT_EQ(test, port->phys, SHCA_IB_PHYS_DISABLED);
	KUNIT_EXPECT_EQ(test, seg->port[1].phys, SHCA_IB_PHYS_POLLING);
	note(seg, 0, shca_ib_port_disable(port, true, seg->now));
	note(seg, 0, shca_ib_port_disable(port, false, seg->now));
	run(seg, 25);
	expect_up(test, seg, 0, 1);
	KUNIT_EXPECT_EQ(test, seg->downs[0], 2u);
	KUNIT_EXPECT_EQ(test, seg->ups[0], 3u);
}

/* A request that came by the link itself is answered before the link goes down. */
static void asked_for_it_answers_first(struct kunit *test)
{
	struct segment *seg = segment(test, 2);
	struct shca_ib_port *port = &seg->port[0];
	u64 asked;

	run(seg, 100);
	asked = seg->now;
	shca_ib_port_ask(port, false, asked);
	KUNIT_EXPECT_LE(test, shca_ib_port_deadline(port),
			asked + SHCA_IB_ANSWER_NS);
	run(seg, 49);
	/* Another request does not put it off: the link is up for 50 ms, and no longer. */
	shca_ib_port_ask(port, false, seg->now);
	run(seg, 1);
	KUNIT_EXPECT_EQ(test, seg->now, asked + SHCA_IB_ANSWER_NS);
	KUNIT_EXPECT_EQ(test, seg->downs[0], 0u);
	expect_up(test, seg, 0, 1);
	run(seg, 1);
	KUNIT_EXPECT_EQ(test, seg->downs[0], 1u);
	run(seg, 100);
	expect_up(test, seg, 0, 1);
	KUNIT_EXPECT_EQ(test, seg->ups[0], 2u);

	shca_ib_port_ask(port, true, seg->now);
	run(seg, 2000);
	KUNIT_EXPECT_EQ(test, port->phys, SHCA_IB_PHYS_DISABLED);
	KUNIT_EXPECT_EQ(test, seg->downs[0], 2u);
	KUNIT_EXPECT_EQ(test, seg->port[1].phys, SHCA_IB_PHYS_POLLING);
	/* A port that is off waits for nothing, and no answer can leave by it. */
	KUNIT_EXPECT_EQ(test, shca_ib_port_deadline(port), ~0ull);
	KUNIT_EXPECT_EQ(test, shca_ib_port_ask(port, false, seg->now), 0u);
	KUNIT_EXPECT_EQ(test, port->phys, SHCA_IB_PHYS_POLLING);
	run(seg, 200);
	expect_up(test, seg, 0, 1);
	KUNIT_EXPECT_EQ(test, seg->ups[0], 3u);
}

/* As soon as the answer has left, and counted from the first request. */
static void asked_for_it_is_done_on_time(struct kunit *test)
{
	struct segment *seg = segment(test, 2);
	struct shca_ib_port *port = &seg->port[0];
	u64 asked, due;

	run(seg, 100);
	asked = seg->now;
	due = asked + SHCA_IB_ANSWER_NS;
	KUNIT_EXPECT_EQ(test, shca_ib_port_ask(port, false, asked), 0u);
	port->due = ~0ull;	/* (no hello is due before) */
	KUNIT_EXPECT_EQ(test, shca_ib_port_deadline(port), due);
	KUNIT_EXPECT_EQ(test, shca_ib_port_ask(port, false, asked + MS), 0u);
	KUNIT_EXPECT_EQ(test, shca_ib_port_deadline(port), due);
	KUNIT_EXPECT_EQ(test, shca_ib_port_tick(port, due - 1), 0u);
	KUNIT_EXPECT_EQ(test, shca_ib_port_tick(port, due), SHCA_IB_EV_DOWN);
}

/* What is asked of a link that is down does not take it down once it is up. */
static void asked_while_it_is_down(struct kunit *test)
{
	struct segment *seg = segment(test, 2);
	struct shca_ib_port *port = &seg->port[0];

	KUNIT_EXPECT_EQ(test, shca_ib_port_ask(port, false, seg->now), 0u);
	run(seg, 200);
	expect_up(test, seg, 0, 1);
	KUNIT_EXPECT_EQ(test, seg->downs[0], 0u);
	KUNIT_EXPECT_EQ(test, seg->ups[0], 1u);

	/* Nor is it kept for later, where the link goes down while the answer leaves. */
	shca_ib_port_ask(port, false, seg->now);
	KUNIT_EXPECT_EQ(test, shca_ib_port_carrier(port, false, seg->now),
			SHCA_IB_EV_DOWN);
	shca_ib_port_ask(port, false, seg->now);
	shca_ib_port_carrier(port, true, seg->now);
	run(seg, 200);
	expect_up(test, seg, 0, 1);
	KUNIT_EXPECT_EQ(test, port->downed, 1u);

	/* But a port that is to be disabled is, with or without a link. */
	shca_ib_port_carrier(&seg->port[1], false, seg->now);
	run(seg, 2000);
	KUNIT_EXPECT_EQ(test, port->phys, SHCA_IB_PHYS_POLLING);
	KUNIT_EXPECT_EQ(test, shca_ib_port_ask(port, true, seg->now), 0u);
	KUNIT_EXPECT_EQ(test, port->phys, SHCA_IB_PHYS_DISABLED);
}

/* A peer that has started again has another session: down, and up. */
static void restart_of_the_peer(struct kunit *test)
{
	struct segment *seg = segment(test, 2);

	run(seg, 100);
	start(seg, 1, 555);
	run(seg, 120);
	expect_up(test, seg, 0, 1);
	KUNIT_EXPECT_EQ(test, seg->downs[0], 1u);
	KUNIT_EXPECT_EQ(test, seg->ups[0], 2u);
	KUNIT_EXPECT_EQ(test, seg->port[0].peer.session, 555u);
}

/* Even if its first hello already names this port, the link was down in between. */
static void restart_is_down_and_up(struct kunit *test)
{
	struct segment *seg = segment(test, 2);
	struct shca_ib_hello hello = { .session = 555, .guid = 0x11, .heard = 100 };

	run(seg, 100);
	KUNIT_EXPECT_EQ(test, shca_ib_port_rx(&seg->port[0], &hello, mac_of(1),
					      seg->now),
			SHCA_IB_EV_DOWN | SHCA_IB_EV_UP);
	KUNIT_EXPECT_EQ(test, seg->port[0].downed, 1u);
}

/* A link is between two. A third one waits, and gets in when one has gone. */
static void third_port_stays_out(struct kunit *test)
{
	struct segment *seg = segment(test, 3);

	seg->nr = 2;
	run(seg, 100);
	seg->nr = 3;
	run(seg, 3000);
	expect_up(test, seg, 0, 1);
	KUNIT_EXPECT_NE(test, seg->port[2].phys, SHCA_IB_PHYS_LINK_UP);
	KUNIT_EXPECT_EQ(test, seg->downs[0] + seg->downs[1], 0u);
	KUNIT_EXPECT_GT(test, seg->port[0].others, 20u);
	KUNIT_EXPECT_LT(test, seg->port[0].others, 100u);
	KUNIT_EXPECT_EQ(test, seg->ups[0], 1u);
	note(seg, 1, shca_ib_port_carrier(&seg->port[1], false, seg->now));
	run(seg, 1500);
	expect_up(test, seg, 0, 2);
}

/* Each of three takes the next one for its peer: two of them come up. */
static void circle_of_three_is_broken(struct kunit *test)
{
	struct segment *seg = segment(test, 3);
	struct shca_ib_hello hello;
	u32 i, up = 0;

	for (i = 0; i < 3; i++) {
		KUNIT_ASSERT_TRUE(test, shca_ib_port_tx(&seg->port[i], &hello,
							seg->now));
		note(seg, (i + 2) % 3,
		     shca_ib_port_rx(&seg->port[(i + 2) % 3], &hello, mac_of(i),
				     seg->now));
	}
	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_EQ(test, seg->port[i].phys, SHCA_IB_PHYS_TRAINING);
	run(seg, 500);
	for (i = 0; i < 3; i++)
		up += seg->port[i].phys == SHCA_IB_PHYS_LINK_UP;
	KUNIT_EXPECT_EQ(test, up, 2u);
}

/* A frame of its own comes back (a loop of cables): no link with itself. */
static void own_frames_are_ignored(struct kunit *test)
{
	struct segment *seg = segment(test, 1);
	struct shca_ib_port *port = &seg->port[0];
	struct shca_ib_hello hello = { .session = 100, .guid = 0x99 };

	KUNIT_EXPECT_EQ(test, shca_ib_port_rx(port, &hello, mac_of(1), seg->now),
			0u);
	KUNIT_EXPECT_EQ(test, port->phys, SHCA_IB_PHYS_POLLING);
}

/* A cable joins two ports of one switch, which have one GUID. */
static void ports_of_one_guid_come_up(struct kunit *test)
{
	struct segment *seg = segment(test, 2);

	seg->port[1].guid = seg->port[0].guid;
	run(seg, 25);
	expect_up(test, seg, 0, 1);
}

/* Whatever comes in, hellos leave 10 ms apart at least. */
static void flood_does_not_echo(struct kunit *test)
{
	struct segment *seg = segment(test, 1);
	struct shca_ib_hello hello = { .guid = 0x77 }, out;
	u32 i, sent = 0;

	for (i = 0; i < 1000; i++) {
		hello.session = 1000 + i;
		shca_ib_port_rx(&seg->port[0], &hello, mac_of(1), seg->now);
		sent += shca_ib_port_tx(&seg->port[0], &out, seg->now);
		seg->now += MS / 10;
	}
	KUNIT_EXPECT_EQ(test, sent, 10u);
}

static void downs_saturate(struct kunit *test)
{
	struct segment *seg = segment(test, 2);

	run(seg, 100);
	seg->port[0].downed = ~0u;
	note(seg, 0, shca_ib_port_carrier(&seg->port[0], false, seg->now));
	KUNIT_EXPECT_EQ(test, seg->downs[0], 1u);
	KUNIT_EXPECT_EQ(test, seg->port[0].downed, ~0u);
}

/* ---- on the wire ------------------------------------------------------------ */

static void hello_both_ways(struct kunit *test)
{
	static const u8 wire[] = {
		0x12, 0, 0, 16, 0x01, 0x02, 0x03, 0x04,
		0xa1, 0xa2, 0xa3, 0xa4, 0xa5, 0xa6, 0xa7, 0xa8,
		0xb1, 0xb2, 0xb3, 0xb4, 0x08, 0x01, 0x07, 0x04,
	};
	u8 built[SHCA_IB_SHIM_BYTES + SHCA_IB_HELLO_BYTES];
	struct shca_ib_hello hello;
	struct shca_ib_shim shim;

	KUNIT_ASSERT_EQ(test, shca_ib_shim_parse(&shim, wire, sizeof(wire)),
			SHCA_IB_OK);
	KUNIT_ASSERT_EQ(test, shca_ib_hello_parse(&hello, &shim, wire + 8),
			SHCA_IB_OK);
	KUNIT_EXPECT_EQ(test, hello.session, 0x01020304u);
	KUNIT_EXPECT_EQ(test, hello.guid, 0xa1a2a3a4a5a6a7a8ull);
	KUNIT_EXPECT_EQ(test, hello.heard, 0xb1b2b3b4u);
	KUNIT_EXPECT_EQ(test, hello.mtu, 0x0801);
	KUNIT_EXPECT_TRUE(test, hello.bye);
	KUNIT_EXPECT_EQ(test, hello.lanes, 4);
	KUNIT_EXPECT_TRUE(test, hello.credits);
	KUNIT_EXPECT_TRUE(test, hello.batches);
	memset(built, 0xff, sizeof(built));
	KUNIT_EXPECT_EQ(test, shca_ib_hello_build(&hello, built), sizeof(wire));
	KUNIT_EXPECT_EQ(test, memcmp(built, wire, sizeof(wire)), 0);
	hello.bye = false;
	hello.credits = false;
	hello.batches = false;
	shca_ib_hello_build(&hello, built);
	KUNIT_EXPECT_EQ(test, built[22], 0);
	KUNIT_ASSERT_EQ(test, shca_ib_hello_parse(&hello, &shim, built + 8),
			SHCA_IB_OK);
	KUNIT_EXPECT_FALSE(test, hello.bye);
	/* Later versions may be longer; shorter ones are none. */
	shim.len = 17;
	KUNIT_EXPECT_EQ(test, shca_ib_hello_parse(&hello, &shim, wire + 8),
			SHCA_IB_OK);
	shim.len = 15;
	KUNIT_EXPECT_EQ(test, shca_ib_hello_parse(&hello, &shim, wire + 8),
			SHCA_IB_SHORT);
}

static void hello_flags_are_apart(struct kunit *test)
{
	u8 built[SHCA_IB_SHIM_BYTES + SHCA_IB_HELLO_BYTES];
	u8 *body = built + SHCA_IB_SHIM_BYTES;
	struct shca_ib_hello hello = { .session = 1 };
	struct shca_ib_shim shim;
	u8 flags;

	shca_ib_hello_build(&hello, built);
	KUNIT_ASSERT_EQ(test, shca_ib_shim_parse(&shim, built, sizeof(built)),
			SHCA_IB_OK);
	for (flags = 0; flags < 8; flags++) {
		body[14] = flags;
		body[15] = 0xff;
		KUNIT_ASSERT_EQ(test, shca_ib_hello_parse(&hello, &shim, body),
				SHCA_IB_OK);
		KUNIT_EXPECT_EQ(test, hello.bye, !!(flags & 1));
		KUNIT_EXPECT_EQ(test, hello.credits, !!(flags & 2));
		KUNIT_EXPECT_EQ(test, hello.batches, !!(flags & 4));
		KUNIT_EXPECT_EQ(test, hello.lanes, 15);
		shca_ib_hello_build(&hello, built);
		KUNIT_EXPECT_EQ(test, body[14], flags);
		KUNIT_EXPECT_EQ(test, body[15], 15);
	}
}

static struct kunit_case ib_hello_cases[] = {
	KUNIT_CASE(port_begins_without_carrier),
	KUNIT_CASE(answer_keeps_the_distance),
	KUNIT_CASE(candidate_is_kept),
	KUNIT_CASE(two_come_up_at_once),
	KUNIT_CASE(link_stays_up),
	KUNIT_CASE(lone_port_polls),
	KUNIT_CASE(one_way_is_no_link),
	KUNIT_CASE(silent_peer_is_lost),
	KUNIT_CASE(own_pause_is_no_silence),
	KUNIT_CASE(slow_port_finds_silence),
	KUNIT_CASE(deadline_is_the_loss),
	KUNIT_CASE(bye_is_the_end_at_once),
	KUNIT_CASE(bye_of_a_unknown_peer_is_ignored),
	KUNIT_CASE(carrier_and_disable_take_it_down),
	KUNIT_CASE(asked_for_it_answers_first),
	KUNIT_CASE(asked_for_it_is_done_on_time),
	KUNIT_CASE(asked_while_it_is_down),
	KUNIT_CASE(restart_of_the_peer),
	KUNIT_CASE(restart_is_down_and_up),
	KUNIT_CASE(third_port_stays_out),
	KUNIT_CASE(circle_of_three_is_broken),
	KUNIT_CASE(own_frames_are_ignored),
	KUNIT_CASE(ports_of_one_guid_come_up),
	KUNIT_CASE(flood_does_not_echo),
	KUNIT_CASE(downs_saturate),
	KUNIT_CASE(hello_both_ways),
	KUNIT_CASE(hello_flags_are_apart),
	{}
};

static struct kunit_suite ib_hello_suite = {
	.name = "softhca_ib_hello",
	.test_cases = ib_hello_cases,
};

kunit_test_suites(&ib_hello_suite);
