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

#include <softhca-abi.h>
#include <trace-cmd.h>

#define BTH_BYTES	12
/* PSNs of one event at most: 256 KiB in packets of 256 bytes; and of a run of packets */
#define MAX_PACKETS	1024
#define MAX_RUN		128

/* Payloads whose packet has not come. They come just before it; on each CPU some may wait. */
#define NR_PAYLOADS	1024

/* the first bytes of a packet */
struct payload {
	uint32_t qpn, psn;
	unsigned int number, length;
	bool sent;
	unsigned char *bytes;
};

/*
 * what is being read
 * @payload:	a ring; @nr_payloads counts all that were put into it
 * @waiting:	those of them that wait for their packet
 */
struct reader {
	struct trace *trace;
	struct tep_handle *tep;
	struct trace_seq text;
	bool started;
	struct payload payload[NR_PAYLOADS];
	unsigned int nr_payloads, waiting;
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
		qp = trace_take_qp(trace, e->dev, e->qpn);
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
	unsigned int qpn, peer, pid, dev = 0;
	struct trace_qp *qp;
	const char *at = strstr(text, TRACE_MARK_QP);

	/* (a recording of an earlier version has no index of the device) */
	if (at && sscanf(at, TRACE_MARK_QP "%63s qpn=%x peer=%x pid=%u dev_index=%u", device,
			 &qpn, &peer, &pid, &dev) >= 4) {
		qp = trace_take_qp(trace, dev, qpn);
		qp->device = copy(device, sizeof(device));
		qp->pid = pid;
		qp->local = true;
		return true;
	}
	at = strstr(text, TRACE_MARK_LOST);
	if (at)
		trace->lost = strtoull(at + strlen(TRACE_MARK_LOST), NULL, 10);
	return at;
}

/* Bytes of a field, which are the caller's; NULL: it has none */
static unsigned char *bytes_of(struct tep_event *event, struct tep_record *record,
			       const char *name, unsigned int length)
{
	unsigned char *bytes;
	int size = 0;
	void *raw = tep_get_field_raw(NULL, event, name, record, &size, 0);

	/* The file says where it is: it may be anybody's. */
	if (!raw || !length || size < 0 || length > (unsigned int)size ||
	    (char *)raw < (char *)record->data ||
	    (char *)raw + length > (char *)record->data + record->size)
		return NULL;
	bytes = malloc(length);
	if (!bytes)
		exit(fail("trace: out of memory"));
	return memcpy(bytes, raw, length);
}

static void read_payload(struct reader *r, struct tep_event *event, struct tep_record *record)
{
	struct payload *p = &r->payload[r->nr_payloads++ % NR_PAYLOADS];
	unsigned int length = number_of(event, record, "len");

	r->waiting -= !!p->bytes;
	free(p->bytes);
	*p = (struct payload){
		.qpn = number_of(event, record, "qpn"),
		.psn = number_of(event, record, "psn"),
		.number = number_of(event, record, "opcode"),
		.sent = number_of(event, record, "sent"),
		.bytes = bytes_of(event, record, "data", length),
		.length = length,
	};
	r->waiting += !!p->bytes;
}

static void take_payload(struct reader *r, struct trace_event *e)
{
	unsigned int i, nr = r->nr_payloads < NR_PAYLOADS ? r->nr_payloads : NR_PAYLOADS;
	struct payload *p;

	for (i = 1; r->waiting && i <= nr; i++) {
		p = &r->payload[(r->nr_payloads - i) % NR_PAYLOADS];
		if (!p->bytes || p->qpn != e->qpn || p->psn != e->psn ||
		    p->number != e->number || p->sent != (e->kind == TRACE_TX))
			continue;
		e->payload = p->bytes;
		e->payload_len = p->length < e->length ? p->length : e->length;
		p->bytes = NULL;
		r->waiting--;
		return;
	}
}

/* @e as one event more, which takes over its texts */
static struct trace_event *add_event(struct trace *trace, const struct trace_event *e)
{
	struct trace_event *added;

	trace->event = trace_grow(trace->event, trace->nr_events, sizeof(*e));
	added = &trace->event[trace->nr_events++];
	*added = *e;
	return added;
}

static unsigned char *copy_bytes(const unsigned char *bytes, unsigned int length)
{
	unsigned char *to = bytes ? malloc(length) : NULL;

	if (bytes && !to)
		exit(fail("trace: out of memory"));
	return bytes ? memcpy(to, bytes, length) : NULL;
}

/* A packet of its own out of @e, which stands for several and stays as it is */
static void add_packet(struct reader *r, const struct trace_event *e, unsigned int i)
{
	struct trace_event part = *e;
	char text[512];

	part.psn = (e->psn + i) & 0xffffff;
	part.packets = 1;
	part.length = e->length / e->packets;
	part.ackreq = e->ackreq && i == e->packets - 1;
	part.hdr = copy_bytes(e->hdr, e->hdr_len);
	if (part.hdr) {
		part.hdr[8] = part.ackreq ? 0x80 : 0;
		part.hdr[9] = part.psn >> 16;
		part.hdr[10] = part.psn >> 8;
		part.hdr[11] = part.psn;
	}
	part.word = copy(e->word, strlen(e->word));
	part.verdict = copy(e->verdict, strlen(e->verdict));
	take_payload(r, &part);
	part.info = copy(trace_packet_info(&part, text, sizeof(text)), sizeof(text));
	add_event(r->trace, &part);
}

static void forget_event(struct trace_event *e)
{
	forget(e->info);
	forget(e->word);
	forget(e->verdict);
	free(e->hdr);
	free(e->payload);
}

/* One packet, or one of the direct path, which stays one. @e is used up. */
static void add_whole(struct reader *r, struct trace_event *e)
{
	char text[512];

	if (e->kind == TRACE_TX || e->kind == TRACE_RX) {
		take_payload(r, e);
		forget(e->info);
		e->info = copy(trace_packet_info(e, text, sizeof(text)), sizeof(text));
	}
	add_event(r->trace, e);
}

/* It leaves and arrives in one. @e is used up. */
static void add_direct(struct reader *r, struct trace_event *e)
{
	struct trace_event there = *e;
	struct trace_qp *qp = trace_take_qp(r->trace, 0, e->dqpn);

	qp->has_direct = true;
	qp->direct_psn = e->psn;
	there.kind = TRACE_RX;
	there.dev = qp->dev;	/* (unknown, if nothing has happened there before) */
	there.qpn = e->dqpn;
	there.hdr = copy_bytes(e->hdr, e->hdr_len);
	there.word = copy(e->word, strlen(e->word));
	there.info = "";
	there.flags = 0;
	add_whole(r, e);
	add_whole(r, &there);
}

static void add_packets(struct reader *r, struct trace_event *e)
{
	struct trace_qp *qp = trace_qp(r->trace, e->dev, e->qpn);
	unsigned int i;

	if (e->kind == TRACE_RX)
		qp->has_direct = false;
	if ((e->kind != TRACE_TX && e->kind != TRACE_RX && e->kind != TRACE_VERDICT) ||
	    e->packets == 1 || e->packets > MAX_RUN ||
	    (e->kind == TRACE_VERDICT && qp->has_direct && qp->direct_psn == e->psn)) {
		add_whole(r, e);
		return;
	}
	for (i = 0; i < e->packets; i++)
		add_packet(r, e, i);
	forget_event(e);
}

static int read_event(struct tracecmd_input *input, struct tep_record *record,
		      int cpu, void *arg)
{
	struct reader *r = arg;
	struct trace *trace = r->trace;
	struct tep_event *event = tep_find_event_by_record(r->tep, record);
	struct trace_event e;
	struct trace_qp *qp;
	char comm[64];
	bool direct;
	int kind;

	(void)input;
	(void)cpu;
	if (!event)
		return 0;
	if (!strcmp(event->name, "shca_payload")) {
		read_payload(r, event, record);
		return 0;
	}
	trace_seq_reset(&r->text);
	tep_print_event(r->tep, &r->text, record, "%s", TEP_PRINT_INFO);
	trace_seq_terminate(&r->text);
	r->text.buffer[strcspn(r->text.buffer, "\n")] = '\0';
	text_clean(r->text.buffer);
	if (!strcmp(event->name, "print")) {
		read_mark(trace, r->text.buffer);
		return 0;
	}
	direct = !strcmp(event->name, "shca_direct");
	for (kind = direct ? TRACE_TX : 0;
	     kind < TRACE_NR_KINDS && !direct && strcmp(kinds[kind], event->name); kind++)
		;
	if (kind == TRACE_NR_KINDS)
		return 0;
	if (!r->started)
		trace->start_ns = record->ts;
	r->started = true;
	trace->nr_records++;
	e = (struct trace_event){
		.ns = record->ts - trace->start_ns,
		.kind = kind,
		.flags = record->missed_events ? TRACE_GAP : 0,
		.dev = number_of(event, record, "dev_index"),
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
		.hdr_len = number_of(event, record, "hdr_len"),
		.pid = tep_data_pid(r->tep, record),
		.word = "", .verdict = "",
		.mate = -1, .judged = -1, .wr = -1, .conn = -1,
	};
	if (kind == TRACE_POST && number_of(event, record, "flags") & SHCA_SEND_SIGNALED)
		e.flags |= TRACE_SIGNALED;
	if (e.packets < 1 || e.packets > MAX_PACKETS)
		e.packets = 1;
	if (e.hdr_len >= BTH_BYTES && e.hdr_len <= TRACE_HDR_MAX)
		e.hdr = bytes_of(event, record, "hdr", e.hdr_len);
	if (!e.hdr)
		e.hdr_len = 0;
	e.info = copy(r->text.buffer, strlen(r->text.buffer));
	read_names(trace, &e);
	if (!e.qpn) {
		add_event(trace, &e);
		return 0;
	}
	qp = trace_take_qp(trace, e.dev, e.qpn);
	/* A state changes in the process that owns the QP. */
	if (kind == TRACE_STATE && e.pid > 0 && !qp->pid) {
		qp->pid = e.pid;
		snprintf(comm, sizeof(comm), "%s", tep_data_comm_from_pid(r->tep, e.pid));
		text_clean(comm);
		qp->comm = copy(comm, sizeof(comm));
	}
	if (direct)
		add_direct(r, &e);
	else
		add_packets(r, &e);
	return 0;
}

int trace_read(const char *path, struct trace *trace)
{
	static struct reader r;
	struct tracecmd_input *input;
	unsigned int i;

	memset(trace, 0, sizeof(*trace));
	r = (struct reader){ .trace = trace };
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
	for (i = 0; i < NR_PAYLOADS; i++)
		free(r.payload[i].bytes);
	return 0;
}

void trace_free(struct trace *trace)
{
	int i;

	for (i = 0; i < trace->nr_events; i++)
		forget_event(&trace->event[i]);
	for (i = 0; i < trace->nr_qps; i++) {
		forget(trace->qp[i].device);
		forget(trace->qp[i].comm);
	}
	free(trace->event);
	free(trace->wr);
	free(trace->qp);
	free(trace->conn);
}
