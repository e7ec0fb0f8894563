// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A recording in the Trace Event Format, for Perfetto and chrome://tracing. A connection is a
 * process. Its threads are the two queue pairs, and rows of requests: a request is one slice
 * in the first row that is free.
 */
#include "trace.h"

#include <stdlib.h>
#include <string.h>

void trace_json_string(FILE *out, const char *s)
{
	fputc('"', out);
	for (; *s; s++)
		/* "<" could end a script element of HTML */
		if ((unsigned char)*s < ' ' || strchr("\"\\<>&'", *s))
			fprintf(out, "\\u%04x", (unsigned char)*s);
		else if (text_is_c1(s))
			fprintf(out, "\\u%04x", (unsigned char)*++s);
		else
			fputc(*s, out);
	fputc('"', out);
}

/* Threads of a connection */
#define TRACK_LEFT	1
#define TRACK_RIGHT	2
#define TRACK_REQUESTS	10
/* A packet is a point in time, which Perfetto has no slice for */
#define PACKET_NS	200

/*
 * What is being written.
 * @next:	by event: when the next packet is at the same queue pair
 * @last:	by work request: its last event
 * @free_at:	by connection and row: when its request ends; @rows of them are in use
 */
struct json {
	FILE *out;
	const struct trace *trace;
	uint64_t *next;
	int *last;
	uint64_t **free_at;
	int *rows;
	int nr;
};

static int track_of(const struct json *j, const struct trace_event *e)
{
	return trace_is_right(j->trace, e) ? TRACK_RIGHT : TRACK_LEFT;
}

static void json_begin(struct json *j, const char *phase, int conn, int track, uint64_t ns,
		       const char *name)
{
	fprintf(j->out, "%s\n{\"ph\": \"%s\", \"pid\": %d, \"tid\": %d, \"ts\": %llu.%03u, \"name\": ",
		j->nr++ ? "," : "", phase, conn + 2, track, (unsigned long long)(ns / 1000),
		(unsigned int)(ns % 1000));
	trace_json_string(j->out, name);
}

static void json_name(struct json *j, int conn, int track, const char *what, const char *name)
{
	fprintf(j->out, "%s\n{\"ph\": \"M\", \"pid\": %d, \"tid\": %d, \"name\": \"%s\", \"args\": {\"name\": ",
		j->nr++ ? "," : "", conn + 2, track, what);
	trace_json_string(j->out, name);
	fputs("}}", j->out);
}

static bool is_number(const char *s)
{
	return *s && strlen(s) < 16 && strspn(s, "0123456789") == strlen(s) &&
	       (*s != '0' || !s[1]);
}

/*
 * "name=value" of each field; a word without "=" belongs to the value before. Return: whether
 * there is any
 */
static bool json_fields(struct json *j, const char *info)
{
	char text[1024], *at = text, *next, *value;
	bool first = true;

	snprintf(text, sizeof(text), "%s", info);
	for (; at && *at; at = next) {
		next = strchr(at, ' ');
		while (next && strcspn(next + 1, " ") == strcspn(next + 1, " ="))
			next = strchr(next + 1, ' ');
		if (next)
			*next++ = '\0';
		value = strchr(at, '=');
		if (!value)
			continue;
		*value++ = '\0';
		fputs(first ? "" : ", ", j->out);
		first = false;
		trace_json_string(j->out, at);
		fputs(": ", j->out);
		if (is_number(value))
			fputs(value, j->out);
		else
			trace_json_string(j->out, value);
	}
	return !first;
}

static void json_args(struct json *j, const struct trace_event *e)
{
	const char *fate = e->kind == TRACE_TX || e->kind == TRACE_RX ?
			   trace_packet_text(j->trace, e) : "";

	bool some;

	fputs(", \"args\": {", j->out);
	some = json_fields(j, e->info);
	if (*fate) {
		fputs(some ? ", \"outcome\": " : "\"outcome\": ", j->out);
		trace_json_string(j->out, fate);
	}
	fputs("}}", j->out);
}

/* A request: from its post to its completion, or to the last that is known of it */
static void json_request(struct json *j, const struct trace_event *e)
{
	const struct trace_wr *wr = &j->trace->wr[e->wr];
	int conn = e->conn + 1, row;
	uint64_t end = j->trace->event[wr->done >= 0 ? wr->done : j->last[e->wr]].ns;

	for (row = 0; row < j->rows[conn] && j->free_at[conn][row] > e->ns; row++)
		;
	if (row == j->rows[conn]) {
		j->free_at[conn] = trace_grow(j->free_at[conn], row, sizeof(end));
		j->rows[conn]++;
	}
	/* (one that begins where it ends would be inside the next) */
	j->free_at[conn][row] = end > e->ns ? end : e->ns + 1;
	json_begin(j, "X", e->conn, TRACK_REQUESTS + row, e->ns, wr->word);
	fprintf(j->out, ", \"cat\": \"request%s\", \"dur\": %llu.%03u, \"args\": {\"wr_id\": \"0x%llx\", \"qpn\": \"0x%x\", \"length\": %u, \"signaled\": %s, \"sent_again\": %u, \"status\": ",
		*wr->status && strcmp(wr->status, "SUCCESS") ? ",fault" : "",
		(unsigned long long)((end - e->ns) / 1000), (unsigned int)((end - e->ns) % 1000),
		(unsigned long long)wr->wr_id, wr->qpn, wr->length, wr->signaled ? "true" : "false",
		wr->retrans);
	trace_json_string(j->out, *wr->status ? wr->status : "no completion of its own");
	fputs("}}", j->out);
}

/* A packet: a slice at each end, with an arrow between them */
static void json_packet(struct json *j, const struct trace_event *e, int at)
{
	uint64_t room = j->next[at] - e->ns;
	bool sent = e->kind == TRACE_TX;
	int track = track_of(j, e);
	char name[64];

	trace_packet_name(e, name, sizeof(name));
	json_begin(j, "X", e->conn, track, e->ns, name);
	fprintf(j->out, ", \"cat\": \"%s%s%s\", \"dur\": 0.%03u", sent ? "tx" : "rx",
		e->flags & TRACE_FAULT || e->flags & TRACE_LOST ? ",fault" : "",
		e->flags & TRACE_RETRANS ? ",again" : "",
		(unsigned int)(room < PACKET_NS ? room : PACKET_NS));
	json_args(j, e);
	if (e->mate < 0)
		return;
	json_begin(j, sent ? "s" : "f", e->conn, track, e->ns, "wire");
	fprintf(j->out, ", \"cat\": \"wire\", \"id\": %d%s}", sent ? at : e->mate,
		sent ? "" : ", \"bp\": \"e\"");
}

static void json_event(struct json *j, const struct trace_event *e, int at)
{
	if (e->kind == TRACE_TX || e->kind == TRACE_RX) {
		json_packet(j, e, at);
		return;
	}
	if (e->kind == TRACE_POST && e->wr >= 0) {
		json_request(j, e);
		return;
	}
	/* (the end of a request's slice) */
	if (e->kind == TRACE_COMPLETE && e->wr >= 0 && j->trace->wr[e->wr].done == at)
		return;
	json_begin(j, "i", e->conn, track_of(j, e), e->ns,
		   e->kind == TRACE_TIMEOUT ? "time-out" : *e->word ? e->word : e->verdict);
	fprintf(j->out, ", \"cat\": \"%s%s\", \"s\": \"t\"",
		e->kind == TRACE_COMPLETE ? "completion" : "event",
		e->flags & TRACE_FAULT ? ",fault" : "");
	json_args(j, e);
}

/* What comes after each event: from the last one back */
static void look_ahead(struct json *j, const int *event, int nr)
{
	const struct trace *t = j->trace;
	uint64_t *next = trace_grow(NULL, 0, 2 * (t->nr_conns + 1) * sizeof(*next));
	const struct trace_event *e;
	int i, key;

	memset(next, 0xff, 2 * (t->nr_conns + 1) * sizeof(*next));
	for (i = nr - 1; i >= 0; i--) {
		e = &t->event[event[i]];
		if (e->wr >= 0 && j->last[e->wr] < 0)
			j->last[e->wr] = event[i];
		if (e->kind != TRACE_TX && e->kind != TRACE_RX)
			continue;
		key = 2 * (e->conn + 1) + trace_is_right(t, e);
		j->next[event[i]] = next[key];
		next[key] = e->ns;
	}
	free(next);
}

static void json_names(struct json *j, int conn)
{
	const struct trace_conn *c = &j->trace->conn[conn];
	char left[96], right[96], text[224];
	int row;

	trace_qp_name(j->trace, c->left, left, sizeof(left));
	trace_qp_name(j->trace, c->right, right, sizeof(right));
	snprintf(text, sizeof(text), "%s - %s", left, right);
	json_name(j, conn, 0, "process_name", text);
	json_name(j, conn, TRACK_LEFT, "thread_name", left);
	json_name(j, conn, TRACK_RIGHT, "thread_name", right);
	for (row = 0; row < j->rows[conn + 1]; row++)
		json_name(j, conn, TRACK_REQUESTS + row, "thread_name", "requests");
}

void trace_to_json(FILE *out, const struct trace *t, const struct trace_choice *choice)
{
	int *event, nr = trace_wanted(t, choice, &event), i, conns = t->nr_conns + 1;
	struct json j = {
		.out = out, .trace = t,
		.next = trace_grow(NULL, 0, (t->nr_events + 1) * sizeof(*j.next)),
		.last = trace_grow(NULL, 0, (t->nr_wrs + 1) * sizeof(*j.last)),
		.free_at = calloc(conns, sizeof(*j.free_at)),
		.rows = calloc(conns, sizeof(*j.rows)),
	};
	bool *seen = calloc(conns, sizeof(*seen));

	if (!j.free_at || !j.rows || !seen)
		exit(fail("trace: out of memory"));
	memset(j.last, 0xff, (t->nr_wrs + 1) * sizeof(*j.last));
	look_ahead(&j, event, nr);
	fputs("{\"displayTimeUnit\": \"ns\", \"traceEvents\": [", out);
	for (i = 0; i < nr; i++) {
		seen[t->event[event[i]].conn + 1] = true;
		if (t->event[event[i]].kind != TRACE_VERDICT || t->event[event[i]].mate < 0)
			json_event(&j, &t->event[event[i]], event[i]);
	}
	if (seen[0])
		json_name(&j, -1, 0, "process_name", "not of a connection");
	for (i = 0; i < t->nr_conns; i++)
		if (seen[i + 1])
			json_names(&j, i);
	fputs("\n]}\n", out);
	for (i = 0; i < conns; i++)
		free(j.free_at[i]);
	free(j.free_at);
	free(j.rows);
	free(j.next);
	free(j.last);
	free(seen);
	free(event);
}
