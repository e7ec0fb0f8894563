// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A recording as a drawing (SVG), for documents. It is dark where the reader's pages are. Each
 * class has its colours twice: not all programs that draw SVG know variables.
 */
#include "trace.h"

#include <stdlib.h>
#include <string.h>

#define ROW		26
/* How much lower than its beginning an arrow ends */
#define DROP		12
#define TOP		120
#define WIDTH		1180
#define X_TIME		84
#define X_LEFT		340
#define X_RIGHT		810
/* Pixels of a character at most, about: nothing measures it */
#define CHAR		7.5
/* A drawing is for a document. A page (.html) shows more. */
#define MAX_ROWS	2000

static const char *const classes[NR_TONES] = {
	[TONE_NONE] = "lane", [TONE_INK] = "ink", [TONE_SOFT] = "soft", [TONE_ASK] = "ask",
	[TONE_ANSWER] = "answer", [TONE_AGAIN] = "again", [TONE_BAD] = "bad",
	[TONE_GOOD] = "good", [TONE_MEMORY] = "memory",
};

/* light, dark */
static const char *const colours[NR_TONES][2] = {
	[TONE_NONE] = { "#dfe5ee", "#2a3442" }, [TONE_INK] = { "#17212d", "#e6ecf4" },
	[TONE_SOFT] = { "#66748a", "#93a1b5" }, [TONE_ASK] = { "#2463d6", "#6ea2ff" },
	[TONE_ANSWER] = { "#7d8ca3", "#8b9ab1" }, [TONE_AGAIN] = { "#b96a00", "#f2ae4a" },
	[TONE_BAD] = { "#d43131", "#ff6b6b" }, [TONE_GOOD] = { "#0f8a53", "#4bd08f" },
	[TONE_MEMORY] = { "#7b4ddb", "#b293ff" },
};

static void put_colours(FILE *out, int dark)
{
	int i;

	fprintf(out, "svg{background:%s}.m{stroke:%s}.band{fill:%s}\n", dark ? "#0f141b" : "#fff",
		dark ? "#0f141b" : "#fff", dark ? "#1a212c" : "#f3f5f9");
	for (i = 0; i < NR_TONES; i++)
		fprintf(out, ".%s{fill:%s}path.%s{stroke:%s}\n", classes[i], colours[i][dark],
			classes[i], colours[i][dark]);
}

static void put_style(FILE *out)
{
	fputs("<style>\n"
	      "text{font:13px system-ui,sans-serif}path{stroke-width:2}.b{font-weight:650}\n"
	      ".e{text-anchor:end}.c{text-anchor:middle}path.lane{stroke-width:3}\n"
	      ".m{text-anchor:middle;font-size:12px;paint-order:stroke;stroke-width:3px}\n"
	      ".t{text-anchor:end;font-size:12px;font-variant-numeric:tabular-nums}\n"
	      ".h{font-size:20px;font-weight:700}.long{font-size:15px}\n", out);
	put_colours(out, 0);
	fputs("@media(prefers-color-scheme:dark){\n", out);
	put_colours(out, 1);
	fputs("}</style>\n", out);
}

static void put_text(FILE *out, int x, int y, const char *class, enum trace_tone tone,
		     const char *s)
{
	fprintf(out, "<text x=\"%d\" y=\"%d\" class=\"%s %s\">", x, y, class, classes[tone]);
	for (; *s; s++)
		if (strchr("<>&\"", *s))
			fprintf(out, "&#%d;", *s);
		else
			fputc(*s, out);
	fputs("</text>\n", out);
}

/* @text and, if both fit into @room pixels, @more */
static const char *join(const char *text, const char *more, const char *between, int room,
			char *to, size_t size)
{
	bool both = *more && (strlen(text) + strlen(between) + strlen(more)) * CHAR < room;

	snprintf(to, size, "%s%s%s", text, both && *text ? between : "", both ? more : "");
	return to;
}

static void draw_beside(FILE *out, bool right, int y, const char *bold, enum trace_tone tone,
			const char *text)
{
	char class[16];

	snprintf(class, sizeof(class), "%s%s", right ? "s" : "e", bold);
	put_text(out, right ? X_RIGHT + 14 : X_LEFT - 14, y, class, tone, text);
}

static void draw_note(FILE *out, const struct trace_row *row, int y)
{
	int room = row->right ? WIDTH - X_RIGHT - 20 : X_LEFT - X_TIME - 20;
	char text[512];

	if (row->dot)
		fprintf(out, "<circle cx=\"%d\" cy=\"%d\" r=\"5.5\" class=\"%s\"/>\n",
			row->right ? X_RIGHT : X_LEFT, y, classes[row->dot]);
	draw_beside(out, row->right, y + 4, row->dot ? " b" : "", row->tone,
		    join(row->text, row->more, ", ", room, text, sizeof(text)));
}

static void draw_packet(FILE *out, const struct trace_row *row, int y)
{
	int from = row->right ? X_RIGHT : X_LEFT, to = row->right ? X_LEFT : X_RIGHT;
	int ahead = row->right ? -1 : 1, end = y + DROP;
	const char *class = classes[row->tone];
	char text[512], flight[48] = "";

	if (row->lost) {
		to = from + (to - from) * 3 / 5;
		end = y + DROP * 3 / 5;
	}
	fprintf(out, "<path d=\"M%d %dL%d %d\" class=\"%s\"%s/>\n", from, y, to - 5 * ahead, end,
		class, row->unseen ? " stroke-dasharray=\"5 4\"" : "");
	if (row->lost)
		fprintf(out, "<path d=\"M%d %dl12 12m0 -12l-12 12\" class=\"bad\"/>\n", to - 6,
			end - 6);
	else
		fprintf(out, "<path d=\"M%d %dl%d -5v10Z\" class=\"%s\" style=\"stroke:none\"/>\n",
			to, end, -11 * ahead, class);
	put_text(out, (from + to) / 2, (y + end) / 2 - 5, "m", row->tone,
		 join(row->text, row->more, ", ", X_RIGHT - X_LEFT, text, sizeof(text)));
	if (row->lost) {
		put_text(out, to + 12 * ahead, end + 4, ahead > 0 ? "b" : "e b", TONE_BAD, row->far);
		return;
	}
	if (row->late) {
		flight[0] = '+';
		trace_time_text(row->flight, flight + 1, sizeof(flight) - 1);
	}
	if (*row->far || *flight)
		draw_beside(out, !row->right, end + 4, "", row->far_tone ?: TONE_SOFT,
			    join(row->far, flight, " ", X_LEFT - X_TIME, text, sizeof(text)));
}

/* The two lanes, down to where those of another connection begin */
static void draw_lanes(FILE *out, const struct trace_row *row, int y, int y_end)
{
	put_text(out, X_LEFT - 150, y, "c b", TONE_SOFT, "CQ, memory");
	put_text(out, X_LEFT, y, "c b", TONE_INK, row->text);
	put_text(out, (X_LEFT + X_RIGHT) / 2, y, "c b", TONE_SOFT, "wire");
	put_text(out, X_RIGHT, y, "c b", TONE_INK, row->more);
	put_text(out, X_RIGHT + 150, y, "c b", TONE_SOFT, "memory, CQ");
	fprintf(out, "<path d=\"M%d %dV%dM%d %dV%d\" class=\"lane\"/>\n", X_LEFT, y + 10, y_end,
		X_RIGHT, y + 10, y_end);
}

static void draw_idle(FILE *out, const struct trace_row *row, int y)
{
	fprintf(out, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"20\" rx=\"6\" class=\"band\"/>\n",
		X_LEFT - 4, y - 9, X_RIGHT - X_LEFT + 8);
	put_text(out, (X_LEFT + X_RIGHT) / 2, y + 5, "c", TONE_SOFT, row->text);
}

static void draw_row(FILE *out, const struct trace *t, const struct trace_row *row, int y)
{
	char time[32];

	if (row->kind == ROW_IDLE) {
		draw_idle(out, row, y);
		return;
	}
	if (row->kind == ROW_CUT)
		put_text(out, X_TIME, y + 4, "s", TONE_BAD, row->text);
	if (row->kind != ROW_NOTE && row->kind != ROW_PACKET)
		return;
	put_text(out, X_TIME, y + 4, "t", TONE_SOFT,
		 trace_time_text(row->ns - t->zero_ns, time, sizeof(time)));
	if (row->kind == ROW_PACKET)
		draw_packet(out, row, y);
	else
		draw_note(out, row, y);
}

void trace_to_svg(FILE *out, const struct trace *t, const struct trace_choice *choice)
{
	int *event, nr = trace_wanted(t, choice, &event), i, to, height;
	struct trace_rows *rows = trace_rows(t, event, nr);
	char more[64];

	nr = rows->nr < MAX_ROWS ? rows->nr : MAX_ROWS;
	height = TOP + (nr + (nr < rows->nr)) * ROW;
	fprintf(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\">\n",
		WIDTH, height, WIDTH, height);
	put_style(out);
	put_text(out, 20, 32, strlen(rows->headline) * 12 < WIDTH ? "h" : "h long", TONE_INK,
		 rows->headline);
	put_text(out, 20, 54, "s", TONE_SOFT, rows->about);
	/* (what is drawn first is behind) */
	for (i = 0; i < nr; i = to) {
		for (to = i + 1; to < nr && rows->row[to].kind != ROW_HEAD; to++)
			;
		if (rows->row[i].kind == ROW_HEAD)
			draw_lanes(out, &rows->row[i], TOP - ROW + i * ROW, TOP - ROW + to * ROW - 14);
	}
	for (i = 0; i < nr; i++)
		draw_row(out, t, &rows->row[i], TOP - ROW + i * ROW + 4);
	if (nr < rows->nr) {
		snprintf(more, sizeof(more), "%d more rows", rows->nr - nr);
		put_text(out, WIDTH / 2, height - 10, "c", TONE_SOFT, more);
	}
	fputs("</svg>\n", out);
	trace_rows_free(rows);
	free(event);
}
