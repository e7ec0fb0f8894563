// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Reads a recording: ours, or one that `trace-cmd record -e softhca` has made. The
 * file tells the layout of events and the names of numbers, so those of another
 * version of the module are understood, too.
 */
#define _GNU_SOURCE
#include "trace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <trace-cmd.h>

/* what is being read */
struct reader {
	struct trace *trace;
	struct tep_handle *tep;
	struct trace_seq text;
	bool started;
};

static const char *const kinds[TRACE_NR_KINDS] = {
	[TRACE_POST] = "shca_post",
	[TRACE_TX] = "shca_tx",
	[TRACE_RX] = "shca_rx",
	[TRACE_VERDICT] = "shca_rx_verdict",
	[TRACE_REFUSED_RX] = "shca_rx_refused",
	[TRACE_TIMEOUT] = "shca_timeout",
	[TRACE_COMPLETE] = "shca_complete",
	[TRACE_STATE] = "shca_state",
	[TRACE_EVENT] = "shca_event",
	[TRACE_REFUSED] = "shca_refused",
	[TRACE_INJECTED] = "shca_fault",
};

void *trace_grow(void *array, int nr, size_t size)
{
	/* Each power of two is a new size. */
	if (nr & (nr - 1))
		return array;
	array = realloc(array, (nr ? 2 * (size_t)nr : 1) * size);
	if (!array)
		exit(fail("trace: out of memory"));
	return array;
}

/* "" is never allocated. */
static const char *copy(const char *s, size_t length)
{
	char *text;

	if (!length || !*s)
		return "";
	text = strndup(s, length);
	if (!text)
		exit(fail("trace: out of memory"));
	return text;
}

static void forget(const char *text)
{
	if (*text)
		free((char *)text);
}

struct trace_qp *trace_qp(const struct trace *trace, uint32_t qpn)
{
	int i;

	for (i = 0; i < trace->nr_qps; i++)
		if (trace->qp[i].qpn == qpn)
			return &trace->qp[i];
	return NULL;
}

/* The QP with this number, which may be new */
static struct trace_qp *take_qp(struct trace *trace, uint32_t qpn)
{
	struct trace_qp *qp = trace_qp(trace, qpn);

	if (qp)
		return qp;
	trace->qp = trace_grow(trace->qp, trace->nr_qps, sizeof(*qp));
	qp = &trace->qp[trace->nr_qps++];
	*qp = (struct trace_qp){ .qpn = qpn, .device = "", .comm = "", .conn = -1 };
	return qp;
}

/* The word after "name=" in the event's text; the rest of the text if @rest */
static const char *word_of(const char *info, const char *name, bool rest)
{
	size_t length = strlen(name);
	const char *at = info;

	while ((at = strstr(at, name))) {
		if ((at == info || at[-1] == ' ') && at[length] == '=') {
			at += length + 1;
			return copy(at, rest ? strlen(at) : strcspn(at, " "));
		}
		at += length;
	}
	return "";
}

static uint64_t number_of(struct tep_event *event, struct tep_record *record,
			  const char *name)
{
	unsigned long long value = 0;

	tep_get_field_val(NULL, event, name, record, &value, 0);
	return value;
}

/* Control characters of a file that somebody sends do not reach the terminal. */
static void clean(char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			*text = *text == '\n' && !text[1] ? '\0' : ' ';
}

static void read_names(struct trace *trace, struct trace_event *e)
{
	const char *from, *to;
	struct trace_qp *qp;
	char text[64];

	switch (e->kind) {
	case TRACE_STATE:
		from = word_of(e->info, "from", false);
		to = word_of(e->info, "to", false);
		snprintf(text, sizeof(text), "%s to %s", from, to);
		forget(from);
		forget(to);
		e->word = copy(text, sizeof(text));
		qp = take_qp(trace, e->qpn);
		if (!*qp->device)
			qp->device = word_of(e->info, "dev", false);
		return;
	case TRACE_EVENT:
		e->word = word_of(e->info, "event", false);
		return;
	case TRACE_INJECTED:
		e->word = word_of(e->info, "what", false);
		return;
	case TRACE_REFUSED:
		e->word = word_of(e->info, "why", true);
		return;
	case TRACE_VERDICT:
		e->verdict = word_of(e->info, "verdict", false);
		break;
	case TRACE_REFUSED_RX:
		e->verdict = word_of(e->info, "reason", false);
		break;
	case TRACE_COMPLETE:
		e->verdict = word_of(e->info, "status", false);
		break;
	default:
		break;
	}
	e->word = word_of(e->info, "opcode", false);
}

/* Return: whether it is one of our marks. */
static bool read_mark(struct trace *trace, const char *text)
{
	char device[64];
	unsigned int qpn, peer, pid;
	struct trace_qp *qp;
	const char *at = strstr(text, TRACE_MARK_QP);

	if (at && sscanf(at, TRACE_MARK_QP "%63s qpn=%x peer=%x pid=%u", device, &qpn,
			 &peer, &pid) == 4) {
		qp = take_qp(trace, qpn);
		qp->device = copy(device, sizeof(device));
		qp->pid = pid;
		return true;
	}
	at = strstr(text, TRACE_MARK_LOST);
	if (at)
		trace->lost = strtoull(at + strlen(TRACE_MARK_LOST), NULL, 10);
	return at;
}

static int read_event(struct tracecmd_input *input, struct tep_record *record,
		      int cpu, void *arg)
{
	struct reader *r = arg;
	struct trace *trace = r->trace;
	struct tep_event *event = tep_find_event_by_record(r->tep, record);
	struct trace_event *e;
	struct trace_qp *qp;
	int kind;

	(void)input;
	(void)cpu;
	if (!event)
		return 0;
	trace_seq_reset(&r->text);
	tep_print_event(r->tep, &r->text, record, "%s", TEP_PRINT_INFO);
	trace_seq_terminate(&r->text);
	if (!strcmp(event->name, "print")) {
		read_mark(trace, r->text.buffer);
		return 0;
	}
	for (kind = 0; kind < TRACE_NR_KINDS && strcmp(kinds[kind], event->name); kind++)
		;
	if (kind == TRACE_NR_KINDS)
		return 0;
	if (!r->started)
		trace->start_ns = record->ts;
	r->started = true;
	trace->event = trace_grow(trace->event, trace->nr_events, sizeof(*e));
	e = &trace->event[trace->nr_events++];
	*e = (struct trace_event){
		.ns = record->ts - trace->start_ns,
		.kind = kind,
		.flags = record->missed_events ? TRACE_GAP : 0,
		.qpn = number_of(event, record, "qpn"),
		.dqpn = number_of(event, record, "dqpn"),
		.psn = number_of(event, record, "psn"),
		.msn = number_of(event, record, "msn"),
		.number = number_of(event, record, "opcode"),
		.wr_id = number_of(event, record, "wr_id"),
		.syndrome = number_of(event, record, "syndrome"),
		.ackreq = number_of(event, record, "ackreq"),
		.vendor_err = number_of(event, record, "vendor_err"),
		.length = number_of(event, record, kind == TRACE_POST ? "length" :
				    kind == TRACE_COMPLETE ? "byte_len" : "paylen"),
		.packets = number_of(event, record, "packets"),
		.pid = tep_data_pid(r->tep, record),
		.word = "", .verdict = "",
		.mate = -1, .judged = -1, .wr = -1, .conn = -1,
	};
	if (!e->packets)
		e->packets = 1;
	clean(r->text.buffer);
	e->info = copy(r->text.buffer, strlen(r->text.buffer));
	read_names(trace, e);
	if (!e->qpn)
		return 0;
	qp = take_qp(trace, e->qpn);
	qp->local = true;
	/* A state changes in the process that owns the QP. */
	if (kind == TRACE_STATE && e->pid > 0 && !qp->pid) {
		qp->pid = e->pid;
		qp->comm = copy(tep_data_comm_from_pid(r->tep, e->pid), 64);
	}
	return 0;
}

int trace_read(const char *path, struct trace *trace)
{
	struct reader r = { .trace = trace };
	struct tracecmd_input *input;

	memset(trace, 0, sizeof(*trace));
	if (access(path, R_OK))
		return fail("trace show: %s: %s%s", path, strerror(errno),
			    errno == ENOENT ? " ('softhca trace record' makes one)" : "");
	tracecmd_set_loglevel(TEP_LOG_NONE);
	input = tracecmd_open_head(path, TRACECMD_FL_LOAD_NO_PLUGINS);
	if (!input)
		return fail("trace show: %s is no recording of 'softhca trace record' or trace-cmd",
			    path);
	/* (libtracecmd 1.3 dies in tracecmd_close() after this, and so in tracecmd_open()) */
	if (tracecmd_init_data(input) < 0)
		return fail("trace show: %s is not complete", path);
	r.tep = tracecmd_get_tep(input);
	trace_seq_init(&r.text);
	tracecmd_iterate_events(input, NULL, 0, read_event, &r);
	trace_seq_destroy(&r.text);
	tracecmd_close(input);
	return 0;
}

void trace_free(struct trace *trace)
{
	int i;

	for (i = 0; i < trace->nr_events; i++) {
		forget(trace->event[i].info);
		forget(trace->event[i].word);
		forget(trace->event[i].verdict);
	}
	for (i = 0; i < trace->nr_qps; i++) {
		forget(trace->qp[i].device);
		forget(trace->qp[i].comm);
	}
	free(trace->event);
	free(trace->wr);
	free(trace->qp);
	free(trace->conn);
}
