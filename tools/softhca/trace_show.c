// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * `softhca trace show`: a recording as a ladder in the terminal, or in a file of
 * another form. The lanes are requester, wire, responder, memory and CQ.
 */
#define _GNU_SOURCE
#include "trace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Widths of the lanes, in characters of the terminal */
#define WIDTH_TIME	11
#define WIDTH_SIDE	25
#define WIDTH_WIRE	40
#define WIDTH_MEMORY	15

enum colour {
	PLAIN,
	BOLD,
	DIM,
	GOOD,
	WARN,
	BAD,
	NR_COLOURS
};

/* how to draw: with colours, with characters beyond ASCII */
struct pen {
	FILE *out;
	bool colours;
	const char *line, *cross, *right, *left, *done, *failed, *start, *end;
};

static const struct pen pens[2] = {
	{ .line = "-", .cross = "X", .right = ">", .left = "<", .done = "ok", .failed = "!!",
	  .start = "|", .end = "|" },
	{ .line = "─", .cross = "✗", .right = "▶", .left = "◀", .done = "✓", .failed = "✗",
	  .start = "├", .end = "┤" },
};

static bool is_utf8(void)
{
	const char *locale = getenv("LC_ALL");

	if (!locale || !*locale)
		locale = getenv("LC_CTYPE");
	if (!locale || !*locale)
		locale = getenv("LANG");
	return locale && (strcasestr(locale, "utf-8") || strcasestr(locale, "utf8"));
}

static void colour(const struct pen *pen, enum colour c)
{
	static const char *const codes[NR_COLOURS] = { "0", "1", "2", "32", "33", "1;31" };

	if (pen->colours)
		fprintf(pen->out, "\033[%sm", codes[c]);
}

/* Prints text in a lane of @width characters. */
static void lane(const struct pen *pen, enum colour c, int width, const char *text)
{
	colour(pen, c);
	fprintf(pen->out, "%-*.*s", width, width, text);
	if (c != PLAIN)
		colour(pen, PLAIN);
}

static void repeat(const struct pen *pen, const char *s, int nr)
{
	for (; nr > 0; nr--)
		fputs(s, pen->out);
}

/* An arrow through the lane of the wire, with the packet's name in it */
static void arrow(const struct pen *pen, enum colour c, const char *text, bool to_right,
		  bool lost)
{
	int length = strlen(text), lines = WIDTH_WIRE - 6 - length;
	int before = to_right ? 4 : lines - 4;

	if (lines < 8) {
		before = lines < 2 ? 1 : lines / 2;
		if (lines < 2)
			length = WIDTH_WIRE - 8, lines = 2;
	}
	colour(pen, c);
	fputs(to_right ? pen->start : lost ? pen->cross : pen->left, pen->out);
	repeat(pen, pen->line, before);
	fprintf(pen->out, " %.*s ", length, text);
	repeat(pen, pen->line, lines - before);
	fputs(!to_right ? pen->end : lost ? pen->cross : pen->right, pen->out);
	colour(pen, PLAIN);
	fputs("  ", pen->out);
}

static void side(const struct pen *pen, const struct trace_event *e, enum colour c,
		 const char *text)
{
	if (e->right)
		lane(pen, PLAIN, WIDTH_SIDE + WIDTH_WIRE, "");
	colour(pen, c);
	fputs(text, pen->out);
	colour(pen, PLAIN);
}

static void print_packet(const struct pen *pen, const struct trace *t,
			 const struct trace_event *e)
{
	const struct trace_event *rx = e->kind == TRACE_TX && e->mate >= 0 ? &t->event[e->mate] :
				       e->kind == TRACE_RX ? e : NULL;
	const char *fate = trace_packet_text(t, e), *memory;
	bool lost = e->flags & TRACE_LOST, to_right = e->kind == TRACE_TX ? !e->right : e->right;
	char text[128], name[64], near[64] = "", far[64] = "";
	enum colour c = PLAIN;
	size_t used;

	if (e->conn >= 0 && t->conn[e->conn].left == t->conn[e->conn].right)
		to_right = !(e->flags & TRACE_RESPONSE);
	if (lost || (e->flags & TRACE_FAULT))
		c = BAD;
	else if (e->flags & TRACE_RETRANS)
		c = WARN;
	else if (e->flags & TRACE_RESPONSE)
		c = DIM;
	trace_packet_name(e, name, sizeof(name));
	used = snprintf(text, sizeof(text), "%s psn %u", name, e->psn);
	if (trace_last_psn(e) != e->psn)
		used += snprintf(text + used, sizeof(text) - used, "-%u", trace_last_psn(e));
	if (e->length)
		snprintf(text + used, sizeof(text) - used, " %u B", e->length);
	if (e->kind == TRACE_TX && e->flags & TRACE_RETRANS)
		snprintf(near, sizeof(near), "again");
	if (rx && e->kind == TRACE_TX)
		snprintf(far, sizeof(far), "%s +%.1f us", *fate ? fate : "arrives",
			 (rx->ns - e->ns) / 1e3);
	else if (rx)
		snprintf(far, sizeof(far), "%s%s", e->flags & TRACE_COPY ? "copy, " : "",
			 *fate ? fate : "arrives");
	else if (lost)
		snprintf(far, sizeof(far), "lost");
	lane(pen, to_right ? WARN : c, WIDTH_SIDE, to_right ? near : far);
	arrow(pen, c, text, to_right, lost);
	lane(pen, to_right && strcmp(fate, "ok") ? c : PLAIN, WIDTH_SIDE, to_right ? far : near);
	memory = rx ? trace_memory_text(t, rx, &(bool){ false }) : "";
	if (*memory)
		fprintf(pen->out, "%s", memory);
	if (*memory && e->length)
		fprintf(pen->out, " %u B", e->length);
	fputc('\n', pen->out);
}

static void print_complete(const struct pen *pen, const struct trace_event *e)
{
	bool good = !strcmp(e->verdict, "SUCCESS");

	fprintf(pen->out, "%*s", 2 * WIDTH_SIDE + WIDTH_WIRE + WIDTH_MEMORY, "");
	colour(pen, good ? GOOD : BAD);
	fprintf(pen->out, "%s %s%s%s wr %#llx", good ? pen->done : pen->failed,
		good ? "" : e->verdict, good ? "" : " ", e->word,
		(unsigned long long)e->wr_id);
	colour(pen, PLAIN);
	fprintf(pen->out, " qp %#x\n", e->qpn);
}

static void print_event(const struct pen *pen, const struct trace *t,
			const struct trace_event *e)
{
	char text[256], name[64];

	switch (e->kind) {
	case TRACE_TX:
		print_packet(pen, t, e);
		return;
	case TRACE_RX:
		print_packet(pen, t, e);
		return;
	case TRACE_COMPLETE:
		print_complete(pen, e);
		return;
	case TRACE_POST:
		snprintf(text, sizeof(text), "post %s wr %#llx %u B", e->word,
			 (unsigned long long)e->wr_id, e->length);
		side(pen, e, BOLD, text);
		break;
	case TRACE_TIMEOUT:
		snprintf(text, sizeof(text), "time-out, back to psn %u", e->psn);
		side(pen, e, BAD, text);
		break;
	case TRACE_INJECTED:
		snprintf(text, sizeof(text), "injected %s, psn %u", e->word, e->psn);
		side(pen, e, BAD, text);
		break;
	case TRACE_STATE:
		snprintf(text, sizeof(text), "%#x: %s", e->qpn, e->word);
		side(pen, e, e->flags & TRACE_FAULT ? BAD : DIM, text);
		break;
	case TRACE_EVENT:
		snprintf(text, sizeof(text), "event %s", e->word);
		side(pen, e, WARN, text);
		break;
	case TRACE_REFUSED_RX:
		snprintf(text, sizeof(text), "refuses %s psn %u: %s",
			 trace_packet_name(e, name, sizeof(name)), e->psn, e->verdict);
		side(pen, e, BAD, text);
		break;
	default:
		snprintf(text, sizeof(text), "refused: %s", e->word);
		side(pen, e, BAD, text);
	}
	fputc('\n', pen->out);
}

static void print_head(const struct pen *pen, const struct trace *t, int conn)
{
	const struct trace_conn *c = &t->conn[conn];
	char left[128], right[128];

	trace_qp_name(t, c->left, left, sizeof(left));
	trace_qp_name(t, c->right, right, sizeof(right));
	lane(pen, PLAIN, WIDTH_TIME + 2, "");
	lane(pen, BOLD, WIDTH_SIDE, left);
	lane(pen, BOLD, WIDTH_WIRE, "");
	lane(pen, BOLD, WIDTH_SIDE, c->right >= 0 ? right : "");
	fputc('\n', pen->out);
}

/* A verdict, and a packet that was seen to be sent, are in the line of that packet. */
static bool has_line(const struct trace_event *e)
{
	if (e->kind == TRACE_VERDICT)
		return e->mate < 0;
	return e->kind != TRACE_RX || e->mate < 0;
}

void trace_to_text(FILE *out, const struct trace *t, const struct trace_choice *choice)
{
	struct pen pen = pens[is_utf8()];
	const struct trace_event *e;
	int i, conn = -1, printed = 0;

	pen.out = out;
	pen.colours = isatty(fileno(out)) && !getenv("NO_COLOR");
	lane(&pen, DIM, WIDTH_TIME + 2, "         us");
	lane(&pen, DIM, WIDTH_SIDE, "requester");
	lane(&pen, DIM, WIDTH_WIRE, "wire");
	lane(&pen, DIM, WIDTH_SIDE, "responder");
	lane(&pen, DIM, WIDTH_MEMORY, "memory");
	fputs("CQ\n", out);
	for (i = 0; i < t->nr_events; i++) {
		e = &t->event[i];
		if (!trace_is_wanted(t, e, choice) || !has_line(e))
			continue;
		if (e->conn >= 0 && e->conn != conn) {
			conn = e->conn;
			print_head(&pen, t, conn);
		}
		if (e->flags & TRACE_GAP)
			fputs("            ... events are lost here ...\n", out);
		fprintf(out, "%*.1f  ", WIDTH_TIME, e->ns / 1e3);
		print_event(&pen, t, e);
		printed++;
	}
	fprintf(out, "%d events, %d queue pairs, %d work requests", t->nr_records, t->nr_qps,
		t->nr_wrs);
	if (t->lost)
		fprintf(out, "; %llu events are lost", t->lost);
	fputs(printed ? "\n" : "; none of them is asked for\n", out);
}

/* ---- the command ------------------------------------------------------------------ */

/* the forms of files, by the end of the name */
static const struct form {
	const char *end;
	trace_writer *write;
} forms[] = {
	{ ".html", trace_to_html },
	{ ".svg", trace_to_svg },
	{ ".json", trace_to_json },
	{ ".pcapng", trace_to_pcapng },
	{ ".txt", trace_to_text },
};

static trace_writer *find_form(const char *path)
{
	size_t i, length = strlen(path), end;

	for (i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
		end = strlen(forms[i].end);
		if (length > end && !strcmp(path + length - end, forms[i].end))
			return forms[i].write;
	}
	return NULL;
}

/* Microseconds since the first event. Return: 0, or an exit status. */
static int parse_time(const char *text, const char *option, uint64_t *ns)
{
	double us;
	char *end;

	if (!text)
		return 0;
	us = strtod(text, &end);
	if (end == text || *end || !(us >= 0 && us < 1e15))
		return complain("trace show: US of --%s must be microseconds, not '%s'",
				option, text);
	*ns = us * 1e3;
	return 0;
}

static int parse_choice(const struct call *call, struct trace_choice *choice)
{
	const char *qp = call->value[1], *wr_id = call->value[2];
	unsigned long n;
	char *end;

	if (qp) {
		n = strtoul(qp, &end, 0);
		if (!*qp || *end || n < 1 || n > 0xffffff)
			return complain("trace show: QPN must be 1 to 0xffffff, not '%s'", qp);
		choice->qpn = n;
	}
	if (wr_id) {
		errno = 0;
		choice->wr_id = strtoull(wr_id, &end, 0);
		if (!*wr_id || *end || errno)
			return complain("trace show: ID must be a number, not '%s'", wr_id);
		choice->has_wr_id = true;
	}
	return parse_time(call->value[3], "from", &choice->from_ns) ?:
		parse_time(call->value[4], "to", &choice->to_ns);
}

static int trace_show_run(const struct call *call)
{
	const char *path = call->nr ? call->word[0] : TRACE_FILE, *to = call->value[0];
	trace_writer *write = to ? find_form(to) : trace_to_text;
	struct trace_choice choice = { .to_ns = UINT64_MAX };
	struct trace trace;
	int status = parse_choice(call, &choice);
	FILE *out = stdout;

	if (status)
		return status;
	if (!write)
		return complain("trace show: '%s' tells no form (expected: .html, .svg, .json, .pcapng or .txt)",
				to);
	status = trace_read(path, &trace);
	if (status)
		return status;
	trace_model(&trace);
	if (to)
		out = fopen(to, "we");
	if (!out)
		return fail("trace show: %s: %s", to, strerror(errno));
	write(out, &trace, &choice);
	if (to && (ferror(out) | fclose(out)))
		status = fail("trace show: cannot write %s: %s", to, strerror(errno));
	trace_free(&trace);
	return status;
}

const struct command trace_commands[] = {
	{
		.name = "trace record",
		.pattern = "[-- COMMAND...]",
		.summary = "record what all devices do, until the program ends, or until Ctrl-C",
		.details = "The file is a trace.dat, which trace-cmd and KernelShark read, too. Needs root.\n"
			   "The exit status is that of the program. Other people's tracing is not disturbed.\n"
			   "--payload needs CAP_NET_RAW, as a packet capture does.\n"
			   "Example: softhca trace record -o pingpong.dat -- ./my-program",
		.option = {
			{ "output", "the file; trace.dat if not given", "FILE", 'o' },
			{ "size", "how much to keep at most, 1 to 4096; 64 if not given", "MB", 0 },
			{ "payload", "keep the first 256 bytes of each packet's payload, too", NULL, 0 },
		},
		.run = trace_record_run,
	},
	{
		.name = "trace show",
		.pattern = "[FILE]",
		.summary = "draw a recording as a ladder: requester, wire, responder, memory, CQ",
		.details = "The name after --output tells the form: .html (a page to zoom in), .svg, .json (for\n"
			   "Perfetto or chrome://tracing), .pcapng (for Wireshark), .txt.\n"
			   "Examples: softhca trace show pingpong.dat --wr-id 1\n"
			   "          softhca trace show pingpong.dat -o pingpong.html",
		.option = {
			{ "output", "write a file instead, in the form that its name tells", "OUT", 'o' },
			{ "qp", "only this queue pair and its peer", "QPN", 0 },
			{ "wr-id", "follow work requests with this wr_id", "ID", 0 },
			{ "from", "only from this time on, in microseconds", "US", 0 },
			{ "to", "only up to this time, in microseconds", "US", 0 },
		},
		.run = trace_show_run,
	},
	{}
};
