// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Two QPs joined by a link that loses, copies and reorders as the input says.
 * Their owners post any work requests, as a process may write them to its ring.  In
 * the end the link is perfect.  Everything posted must complete, and what a
 * requester was told is done must have been done.
 */
#include "fuzz.h"
#include "../../../kernel/core/requester/req_internal.h"

#define ON_THE_WAY	64

struct way {
	struct fuzz_wire wires[ON_THE_WAY];
	u32 nr;
};

static struct fuzz_end ends[2];
static struct way ways[2];	/* to the end of that number */

static void take_out(struct way *way, u32 i)
{
	way->wires[i] = way->wires[--way->nr];
}

static void in_order_out(struct way *way)
{
	way->nr--;
	memmove(way->wires, way->wires + 1, way->nr * sizeof(way->wires[0]));
}

/* Packets of end @i onto the link. */
static void pump(u32 i, u32 max)
{
	struct way *way = &ways[!i];
	struct fuzz_wire wire;
	u32 side;

	for (side = 0; side < 2; side++) {
		while (way->nr < ON_THE_WAY && max--) {
			if (!fuzz_end_tx(&ends[i], side, &wire))
				break;
			if (wire.len)
				way->wires[way->nr++] = wire;
		}
	}
}

static void deliver(u32 i, u32 which)
{
	struct way *way = &ways[i];
	struct fuzz_wire wire;

	if (!way->nr)
		return;
	wire = way->wires[which % way->nr];
	if (which)
		take_out(way, which % way->nr);
	else
		in_order_out(way);
	fuzz_end_rx(&ends[i], &wire);
	free(wire.buf);
}

static void lose(u32 i, u32 which)
{
	if (!ways[i].nr)
		return;
	which %= ways[i].nr;
	free(ways[i].wires[which].buf);
	take_out(&ways[i], which);
}

static void copy(u32 i)
{
	struct way *way = &ways[i];
	struct fuzz_wire wire;

	if (!way->nr || way->nr == ON_THE_WAY)
		return;
	wire = way->wires[0];
	wire.buf = malloc(wire.len);
	memcpy(wire.buf, way->wires[0].buf, wire.len);
	way->wires[way->nr++] = wire;
}

static void pass_time(u32 i)
{
	u64 deadline = shca_req_deadline(&ends[i].req);
	u64 now = deadline > ends[i].now ? deadline : ends[i].now + 1000;

	ends[0].now = now;
	ends[1].now = now;
	shca_req_timer(&ends[0].req, now);
	shca_req_timer(&ends[1].req, now);
	fuzz_end_step(&ends[0]);
	fuzz_end_step(&ends[1]);
}

static bool is_done(const struct fuzz_end *end)
{
	return end->req.state != SHCA_SIDE_READY ||
	       (end->req.ring.una == end->req.ring.prod && shca_req_idle(&end->req));
}

/* Without faults: posted requests must end, one way or the other. */
static void settle(struct fuzz_in *in)
{
	u32 i, rounds = 0;

	for (i = 0; i < 2; i++) {
		ends[i].memory.verdicts = NULL;
		ends[i].req.draining = false;
		shca_req_stall(&ends[i].req, 0);
	}
	while (!is_done(&ends[0]) || !is_done(&ends[1])) {
		fuzz_check(rounds++ < 20000, "endless: %u and %u posted",
			   ends[0].posted, ends[1].posted);
		for (i = 0; i < 2; i++) {
			/* a receive for a side that waits; length in its time */
			if (ends[i].resp.stands == SHCA_STANDS_RNR &&
			    ends[i].memory.posted == ends[i].memory.taken)
				fuzz_memory_post(&ends[i].memory, in);
			pump(i, 64);
		}
		if (!ways[0].nr && !ways[1].nr) {
			if (!ends[0].req_attr.timeout_ns)
				break;	/* a loss stands for ever */
			pass_time(is_done(&ends[0]));
		}
		while (ways[0].nr)
			deliver(0, 0);
		while (ways[1].nr)
			deliver(1, 0);
	}
}

static void start(struct fuzz_in *in)
{
	u32 i;

	for (i = 0; i < 2; i++)
		fuzz_end_init(&ends[i], in);
	/* the two must agree */
	ends[1].req_attr.transport = ends[0].req_attr.transport;
	ends[1].resp_attr.transport = ends[0].req_attr.transport;
	ends[1].req_attr.timeout_ns = ends[0].req_attr.timeout_ns;
	for (i = 0; i < 2; i++) {
		ends[i].req_attr.mtu = ends[0].req_attr.mtu;
		ends[i].resp_attr.mtu = ends[0].req_attr.mtu;
		ends[i].resp_attr.rq_psn = ends[!i].req_attr.sq_psn;
		ends[i].memory.loc_base = 0x10000;
		ends[i].memory.rem_base = ends[0].memory.rem_base;
		fuzz_end_start(&ends[i]);
	}
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct fuzz_in in = { .p = data, .end = data + size };
	u32 i;

	start(&in);
	while (in_more(&in)) {
		u8 b = in_u8(&in);

		i = b >> 7;
		switch (b & 15) {
		case 0 ... 4:
			fuzz_end_post(&ends[i], &in);
			fuzz_end_step(&ends[i]);
			break;
		case 5 ... 6:
			if (ends[i].resp_attr.recvs == SHCA_RECVS_TM && b & 0x40)
				fuzz_memory_tag(&ends[i].memory, &in);
			else
				fuzz_memory_post(&ends[i].memory, &in);
			break;
		case 7 ... 8:
			pump(i, 1 + (b >> 4 & 7) * 4);
			break;
		case 9 ... 10:
			deliver(i, 0);
			break;
		case 11:
			deliver(i, in_u8(&in));
			break;
		case 12:
			lose(i, in_u8(&in));
			break;
		case 13:
			copy(i);
			break;
		case 14:
			pass_time(i);
			break;
		case 15:
			ends[i].req.draining = b & 0x10;
			break;
		}
	}
	settle(&in);
	for (i = 0; i < 2; i++)
		fuzz_check(!req_is_rc(&ends[0].req) ||
			   ends[i].consumed <= ends[!i].received,
			   "end %u: %u are done, %u were received", i,
			   ends[i].consumed, ends[!i].received);
	for (i = 0; i < 2; i++) {
		while (ways[i].nr)
			lose(i, 0);
		fuzz_end_exit(&ends[i]);
	}
	return 0;
}
