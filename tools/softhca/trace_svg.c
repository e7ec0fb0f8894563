// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A recording as a drawing (SVG), for documents. Each event has a row, in their order,
 * so a time-out of a second does not push them apart.
 */
#include "trace.h"

#include <stdlib.h>
#include <string.h>

#define ROW		22
#define TOP		60
#define WIDTH		1180
/* A drawing is for a document. A page (.html) shows more. */
#define MAX_ROWS	2000

static const int x_left = 300, x_right = 690, x_memory = 860, x_cq = 960;

static void put_text(FILE *out, int x, int y, const char *class, const char *s)
{
	fprintf(out, "<text x=\"%d\" y=\"%d\" class=\"%s\">", x, y, class);
	for (; *s; s++)
		if (strchr("<>&\"", *s))
			fprintf(out, "&#%d;", *s);
		else
			fputc(*s, out);
	fputs("</text>\n", out);
}

static const char *class_of(const struct trace_event *e)
{
	if (e->flags & (TRACE_LOST | TRACE_FAULT))
		return "bad";
	if (e->flags & TRACE_RETRANS)
		return "again";
	return e->flags & TRACE_RESPONSE ? "answer" : "ask";
}

/* An event that is no packet: beside its lane */
static void draw_note(FILE *out, const struct trace_event *e, int y)
{
	char s[160];
	bool bad = e->flags & TRACE_FAULT;

	switch (e->kind) {
	case TRACE_POST:
		snprintf(s, sizeof(s), "post %s wr %#llx, %u B",
			 !strncmp(e->word, "RDMA_", 5) ? e->word + 5 : e->word,
			 (unsigned long long)e->wr_id, e->length);
		break;
	case TRACE_TIMEOUT:
		snprintf(s, sizeof(s), "time-out, back to PSN %u", e->psn);
		break;
	case TRACE_INJECTED:
		snprintf(s, sizeof(s), "injected %s, PSN %u", e->word, e->psn);
		break;
	case TRACE_REFUSED_RX:
		snprintf(s, sizeof(s), "refuses PSN %u: %s", e->psn, e->verdict);
		break;
	case TRACE_COMPLETE:
		snprintf(s, sizeof(s), "%s wr %#llx %s", e->word, (unsigned long long)e->wr_id,
			 bad ? e->verdict : "");
		fprintf(out, "<circle cx=\"%d\" cy=\"%d\" r=\"5\" class=\"%s\"/>\n", x_cq, y,
			bad ? "dot-bad" : "dot-good");
		put_text(out, x_cq + 12, y + 4, bad ? "t bad-t" : "t", s);
		return;
	default:
		snprintf(s, sizeof(s), "%s", e->word);
	}
	put_text(out, e->right ? x_right + 12 : x_left - 12, y + 4,
	     e->right ? bad ? "t bad-t" : "t" : bad ? "e bad-t" : "e", s);
}

/* The head of an arrow, which is nearly level */
static void draw_head(FILE *out, int from, int y, int to, int y_end, const char *class)
{
	int back = to > from ? to - 10 : to + 10;
	int middle = y_end - (y_end - y) * 10 / abs(to - from);

	fprintf(out, "<path d=\"M%d %dL%d %dV%dZ\" class=\"%s head\"/>\n", to, y_end, back,
		middle - 4, middle + 4, class);
}

static void draw_packet(FILE *out, const struct trace *t, const struct trace_event *e, int y,
			int y_end)
{
	const struct trace_event *rx = e->mate < 0 ? NULL : &t->event[e->mate];
	bool self = e->conn >= 0 && t->conn[e->conn].left == t->conn[e->conn].right;
	bool to_right = self ? !(e->flags & TRACE_RESPONSE) : !e->right;
	const char *fate = trace_packet_text(t, e), *class = class_of(e), *memory;
	int from = to_right ? x_left : x_right, to = to_right ? x_right : x_left;
	char s[160], name[64], last[16] = "";
	bool right;

	if (e->flags & TRACE_LOST) {
		to = (from + 2 * to) / 3;
		y_end = y + ROW / 2;
		fprintf(out, "<path d=\"M%d %dl10 10m0 -10l-10 10\" class=\"bad\"/>\n", to - 5,
			y_end - 5);
	}
	fprintf(out, "<path d=\"M%d %dL%d %d\" class=\"%s\"/>\n", from, y, to, y_end, class);
	if (!(e->flags & TRACE_LOST))
		draw_head(out, from, y, to, y_end, class);
	trace_packet_name(e, name, sizeof(name));
	if (trace_last_psn(e) != e->psn)
		snprintf(last, sizeof(last), "-%u", trace_last_psn(e));
	snprintf(s, sizeof(s), "%s PSN %u%s%s", name, e->psn, last,
		 e->flags & TRACE_RETRANS ? " (again)" : "");
	put_text(out, (from + to) / 2, (y + y_end) / 2 + 4, "m", s);
	if (*fate && strcmp(fate, "ok") && !(e->flags & TRACE_LOST))
		put_text(out, to_right ? to + 12 : to - 12, y_end + 4,
		     to_right ? "t bad-t" : "e bad-t", fate);
	memory = rx ? trace_memory_text(t, rx, &right) : "";
	if (*memory) {
		fprintf(out, "<circle cx=\"%d\" cy=\"%d\" r=\"4\" class=\"dot-memory\"/>\n",
			x_memory, y_end);
		put_text(out, x_memory + 10, y_end + 4, "t dim", memory);
	}
}

static const char head[] =
	"<style>\n"
	"svg{background:#fff;font:12px system-ui,sans-serif}text{fill:#1c2530}\n"
	".e{text-anchor:end}\n"
	".m{text-anchor:middle;font-size:11px;paint-order:stroke;stroke:#fff;stroke-width:6px}\n"
	".dim{fill:#66717f}.h{font-weight:600;text-anchor:middle;font-size:14px}\n"
	".s{text-anchor:middle;fill:#66717f}\n"
	".time{text-anchor:end;fill:#8a94a1;font-size:10px}\n"
	".lane{stroke:#d5dbe3;stroke-width:2}\n"
	".ask,.answer,.again,.bad{fill:none;stroke-width:1.7}.ask{stroke:#2266cc}\n"
	".answer{stroke:#6b7a8d}.again{stroke:#d9820b}.bad{stroke:#d22f2f}\n"
	".bad-t{fill:#d22f2f}.dot-good{fill:#1f9d55}.dot-bad{fill:#d22f2f}\n"
	".dot-memory{fill:#7a4fd0}.ask.head{fill:#2266cc}.answer.head{fill:#6b7a8d}\n"
	".again.head{fill:#d9820b}.bad.head{fill:#d22f2f}.head{stroke:none}\n"
	"</style>\n";

static void draw_lanes(FILE *out, int height)
{
	static const char *const names[] = { "requester", "responder", "memory", "CQ" };
	const int at[] = { x_left, x_right, x_memory, x_cq };
	int i;

	for (i = 0; i < 4; i++) {
		fprintf(out, "<path d=\"M%d %dV%d\" class=\"lane\"/>\n", at[i], TOP - 26, height - 10);
		put_text(out, at[i], 26, "h", names[i]);
	}
	put_text(out, (x_left + x_right) / 2, 26, "h dim", "wire");
}

/* The lanes are those of this connection from here on. */
static void draw_conn(FILE *out, const struct trace *t, int conn, int y)
{
	const struct trace_conn *c = &t->conn[conn];
	char name[96];

	fprintf(out, "<path d=\"M12 %dH%d\" class=\"lane\"/>\n", y - 14, WIDTH - 12);
	put_text(out, x_left, y + 3, "s", trace_qp_name(t, c->left, name, sizeof(name)));
	if (c->right >= 0)
		put_text(out, x_right, y + 3, "s", trace_qp_name(t, c->right, name, sizeof(name)));
}

void trace_to_svg(FILE *out, const struct trace *t, const struct trace_choice *choice)
{
	const struct trace_event *e;
	int *row = trace_grow(NULL, 0, (t->nr_events + 1) * sizeof(*row));
	int i, y, rows = 0, conn = -1, cut = 0;
	char time[32];

	for (i = 0; i < t->nr_events; i++) {
		e = &t->event[i];
		row[i] = -1;
		if (!trace_is_wanted(t, e, choice) || (e->kind == TRACE_VERDICT && e->mate >= 0))
			continue;
		if (rows == MAX_ROWS) {
			cut++;
			continue;
		}
		rows += e->conn >= 0 && e->conn != conn;
		conn = e->conn < 0 ? conn : e->conn;
		row[i] = rows++;
	}
	fprintf(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\">\n%s",
		WIDTH, TOP + (rows + 2) * ROW, WIDTH, TOP + (rows + 2) * ROW, head);
	draw_lanes(out, TOP + (rows + 1) * ROW);
	conn = -1;
	for (i = 0; i < t->nr_events; i++) {
		e = &t->event[i];
		if (row[i] < 0)
			continue;
		y = TOP + row[i] * ROW;
		if (e->conn >= 0 && e->conn != conn) {
			conn = e->conn;
			draw_conn(out, t, conn, y - ROW);
		}
		snprintf(time, sizeof(time), "%.1f us", e->ns / 1e3);
		put_text(out, 82, y + 4, "time", time);
		if (e->kind == TRACE_TX)
			draw_packet(out, t, e, y, e->mate < 0 || row[e->mate] < 0 ? y :
				    TOP + row[e->mate] * ROW);
		else if (e->kind != TRACE_RX)
			draw_note(out, e, y);
	}
	if (cut) {
		snprintf(time, sizeof(time), "%d more events", cut);
		put_text(out, WIDTH / 2, TOP + (rows + 1) * ROW, "s", time);
	}
	fputs("</svg>\n", out);
	free(row);
}
