// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * How long requests take, from the ring to their completion, for `softhca top`. The
 * kernel does not measure that. Two of its trace events tell it while top runs; at
 * other times it costs nothing. As with all tracing, it needs root.
 */
#define _GNU_SOURCE
#include "top.h"
#include "../trace/trace.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <softhca-abi.h>
#include <tracefs.h>

/* A completion's opcode: it is of a receive. Equal to IBV_WC_RECV. */
#define OPCODE_RECV	(1u << 7)
/* Requests of a QP that wait at most; then the oldest is forgotten. */
#define MAX_WAITING	65536
#define MIN_WAITING	64

/* a request that a completion will name */
struct waiting {
	uint64_t wr_id;
	uint64_t ns;
};

/* a QP: a ring of a power of two, of which @head to @tail are in use */
struct timed_qp {
	uint32_t qpn;
	struct waiting *ring;
	uint32_t size, head, tail;
	struct top_latency latency;
};

/* where an event has what */
struct fields {
	int id;
	struct tep_format_field *qpn, *wr_id, *flags, *opcode;
};

static struct {
	struct tracefs_instance *instance;
	struct tep_handle *tep;
	struct fields post, complete;
	struct timed_qp **qp;
	uint32_t size, nr_qps;
} timer;

/* ---- distributions --------------------------------------------------------------- */

/* Eight slots for each power of two: a slot's ends are an eighth apart. */
static int slot_of(uint64_t ns)
{
	int octave;

	if (ns < 8)
		return ns;
	octave = 63 - __builtin_clzll(ns);
	if (octave > TOP_OCTAVES - 1)
		return TOP_SLOTS - 1;
	return octave * 8 + (ns >> (octave - 3) & 7);
}

static double slot_start(int slot)
{
	int octave = slot / 8;

	return octave < 3 ? slot : (double)((8ull + slot % 8) << (octave - 3));
}

double latency_part(const struct top_latency *latency, double part)
{
	double want = part * latency->nr, seen = 0, from, to;
	int i;

	for (i = 0; i < TOP_SLOTS; i++) {
		if (!latency->slot[i])
			continue;
		seen += latency->slot[i];
		if (seen < want)
			continue;
		from = slot_start(i);
		to = i + 1 < TOP_SLOTS ? slot_start(i + 1) : from;
		return (from + (to - from) * (1 - (seen - want) / latency->slot[i])) / 1e3;
	}
	return 0;
}

uint64_t latency_bucket(const struct top_latency *latency, int octave)
{
	uint64_t nr = 0;
	int i;

	for (i = octave * 8; i < octave * 8 + 8; i++)
		nr += latency->slot[i];
	return nr;
}

void latency_sum(struct top_latency *to, const struct top_latency *from)
{
	int i;

	to->nr += from->nr;
	for (i = 0; i < TOP_SLOTS; i++)
		to->slot[i] += from->slot[i];
}

/* ---- requests --------------------------------------------------------------------- */

static void *allocate(void *old, size_t nr, size_t size)
{
	void *array = reallocarray(old, nr, size);

	if (!array)
		exit(fail("top: out of memory"));
	return array;
}

/* Where a QP is, or would be: a table of a power of two, at most half full */
static struct timed_qp **slot_of_qp(uint32_t qpn)
{
	uint32_t mask = timer.size - 1, at;

	/* (Knuth's number spreads what is close) */
	for (at = qpn * 2654435761u & mask; timer.qp[at] && timer.qp[at]->qpn != qpn; at = (at + 1) & mask)
		;
	return &timer.qp[at];
}

static void grow_table(void)
{
	uint32_t i, size = timer.size;
	struct timed_qp **old = timer.qp;

	timer.size = size ? 2 * size : 64;
	timer.qp = allocate(NULL, timer.size, sizeof(*timer.qp));
	memset(timer.qp, 0, timer.size * sizeof(*timer.qp));
	for (i = 0; i < size; i++)
		if (old[i])
			*slot_of_qp(old[i]->qpn) = old[i];
	free(old);
}

static struct timed_qp *timed_qp(uint32_t qpn, bool make)
{
	struct timed_qp **slot;

	if (2 * timer.nr_qps >= timer.size)
		grow_table();
	slot = slot_of_qp(qpn);
	if (!*slot && make) {
		*slot = allocate(NULL, 1, sizeof(**slot));
		**slot = (struct timed_qp){ .qpn = qpn };
		timer.nr_qps++;
	}
	return *slot;
}

static void take_post(struct timed_qp *qp, uint64_t wr_id, uint64_t ns)
{
	uint32_t i, used = qp->tail - qp->head, size;
	struct waiting *ring;

	if (used == MAX_WAITING) {
		qp->head++;
	} else if (used == qp->size) {
		size = used ? 2 * used : MIN_WAITING;
		ring = allocate(NULL, size, sizeof(*ring));
		for (i = 0; i < used; i++)
			ring[i] = qp->ring[(qp->head + i) & (qp->size - 1)];
		free(qp->ring);
		qp->ring = ring;
		qp->size = size;
		qp->head = 0;
		qp->tail = used;
	}
	qp->ring[qp->tail++ & (qp->size - 1)] = (struct waiting){ .wr_id = wr_id, .ns = ns };
}

/* Requests of a QP complete in order: what is before it was missed. */
static void take_complete(struct timed_qp *qp, uint64_t wr_id, uint64_t ns)
{
	struct waiting *w;
	uint32_t at;

	for (at = qp->head; at != qp->tail; at++) {
		w = &qp->ring[at & (qp->size - 1)];
		if (w->wr_id != wr_id)
			continue;
		qp->head = at + 1;
		if (ns < w->ns)
			return;
		qp->latency.slot[slot_of(ns - w->ns)]++;
		qp->latency.nr++;
		return;
	}
}

/* ---- events ------------------------------------------------------------------------ */

static uint64_t value_of(struct tep_format_field *field, struct tep_record *record)
{
	return tep_read_number(timer.tep, (char *)record->data + field->offset, field->size);
}

static int take_event(struct tep_event *event, struct tep_record *record, int cpu, void *arg)
{
	const struct fields *post = &timer.post, *complete = &timer.complete;
	struct timed_qp *qp;
	uint32_t i;

	(void)cpu;
	(void)arg;
	/* A completion would be taken for that of an earlier request with its wr_id. */
	for (i = 0; record->missed_events && i < timer.size; i++)
		if (timer.qp[i])
			timer.qp[i]->head = timer.qp[i]->tail;
	if (event->id == post->id && value_of(post->flags, record) & SHCA_SEND_SIGNALED) {
		qp = timed_qp(value_of(post->qpn, record), true);
		take_post(qp, value_of(post->wr_id, record), record->ts);
	} else if (event->id == complete->id &&
		   !(value_of(complete->opcode, record) & OPCODE_RECV)) {
		qp = timed_qp(value_of(complete->qpn, record), false);
		if (qp)
			take_complete(qp, value_of(complete->wr_id, record), record->ts);
	}
	return 0;
}

static bool find_fields(struct fields *f, const char *name, bool post)
{
	struct tep_event *event = tep_find_event_by_name(timer.tep, "softhca", name);

	if (!event)
		return false;
	f->id = event->id;
	f->qpn = tep_find_field(event, "qpn");
	f->wr_id = tep_find_field(event, "wr_id");
	f->flags = tep_find_field(event, "flags");
	f->opcode = tep_find_field(event, "opcode");
	return f->qpn && f->wr_id && f->opcode && (f->flags || !post);
}

bool latency_open(void)
{
	static const char *const systems[] = { "softhca", NULL };

	if (geteuid() || !tracefs_tracing_dir())
		return false;
	timer.tep = tracefs_local_events_system(NULL, systems);
	if (timer.tep && find_fields(&timer.post, "shca_post", true) &&
	    find_fields(&timer.complete, "shca_complete", false)) {
		timer.instance = trace_instance();
		if (timer.instance &&
		    !tracefs_event_enable(timer.instance, "softhca", "shca_post") &&
		    !tracefs_event_enable(timer.instance, "softhca", "shca_complete"))
			return true;
	}
	latency_close();
	return false;
}

void latency_read(void)
{
	if (timer.instance)
		tracefs_iterate_raw_events(timer.tep, timer.instance, NULL, 0, take_event, NULL);
}

bool latency_take(struct top *top)
{
	struct timed_qp *timed;
	struct top_qp *qp;
	uint32_t at;
	int i, j;

	if (!timer.instance)
		return false;
	latency_read();
	for (i = 0; i < top->nr_qps; i++) {
		qp = &top->qp[i];
		timed = timed_qp(qp->qpn, false);
		if (!timed)
			continue;
		qp->latency = timed->latency;
		for (j = 0; j < top->nr_devices; j++)
			if (top->device[j].index == qp->device_index)
				latency_sum(&top->device[j].latency, &qp->latency);
	}
	for (at = 0; at < timer.size; at++)
		if (timer.qp[at])
			memset(&timer.qp[at]->latency, 0, sizeof(timer.qp[at]->latency));
	return true;
}

void latency_close(void)
{
	uint32_t i;

	trace_instance_end(timer.instance);
	tep_free(timer.tep);
	for (i = 0; i < timer.size; i++) {
		if (timer.qp[i])
			free(timer.qp[i]->ring);
		free(timer.qp[i]);
	}
	free(timer.qp);
	memset(&timer, 0, sizeof(timer));
}
