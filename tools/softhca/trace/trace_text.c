// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A recording as a ladder in the terminal. Between two lanes is the wire; beside each lane is
 * what its queue pair, its memory and its CQ do.
 */
#define _GNU_SOURCE
#include "trace.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define WIDTH_TIME	10
/* A terminal's width if nobody tells it, and the least and the most that is drawn */
#define WIDTH		100
#define WIDTH_MIN	80
#define WIDTH_MAX	140

/* how to draw: with colours, with characters beyond ASCII */
struct pen {
	FILE *out;
	bool colours, ascii;
	int side, wire;
	const char *line, *cross, *right, *left, *lane, *start, *end, *dot, *idle;
};

static const struct pen pens[2] = {
	{ .ascii = true, .line = "-", .cross = "X", .right = ">", .left = "<", .lane = "|",
	  .start = "|", .end = "|", .dot = "o", .idle = ":" },
	{ .line = "─", .cross = "✗", .right = "▶", .left = "◀", .lane = "│", .start = "├",
	  .end = "┤", .dot = "●", .idle = "┊" },
};

/* what is drawn in ASCII for characters of our own texts */
static const char *const plain[][2] = {
	{ "✓", "ok" }, { "✗", "!!" }, { "µ", "u" }, { "→", "to" }, { "–", "-" },
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

static void colour(const struct pen *pen, enum trace_tone tone)
{
	static const char *const codes[NR_TONES] = {
		[TONE_NONE] = "0", [TONE_INK] = "1", [TONE_SOFT] = "2", [TONE_ASK] = "0",
		[TONE_ANSWER] = "2", [TONE_AGAIN] = "33", [TONE_BAD] = "1;31",
		[TONE_GOOD] = "32", [TONE_MEMORY] = "35",
	};

	if (pen->colours)
		fprintf(pen->out, "\033[%sm", codes[tone]);
}

static void repeat(const struct pen *pen, const char *s, int nr)
{
	for (; nr > 0; nr--)
		fputs(s, pen->out);
}

/* Bytes of the character at @s */
static int char_bytes(const char *s)
{
	int n = 1;

	while ((s[n] & 0xc0) == 0x80)
		n++;
	return n;
}

static int width_of(const char *s)
{
	int n;

	for (n = 0; *s; n++)
		s += char_bytes(s);
	return n;
}

/* Copies a text as the terminal can show it. */
static void translate(const struct pen *pen, const char *s, char *to, size_t size)
{
	const char *word;
	size_t used = 0, i, n;

	for (; *s; s += n) {
		n = char_bytes(s);
		word = NULL;
		for (i = 0; pen->ascii && i < sizeof(plain) / sizeof(*plain); i++)
			if (!strncmp(s, plain[i][0], strlen(plain[i][0])))
				word = plain[i][1];
		if (used + (word ? strlen(word) : n) >= size)
			break;
		memcpy(to + used, word ?: s, word ? strlen(word) : n);
		used += word ? strlen(word) : n;
	}
	to[used] = '\0';
}

/* @text and, where there is room for it, @more: in @width characters, cut if need be */
static void join(const struct pen *pen, const char *text, const char *more, int width, char *to,
		 size_t size)
{
	const char *brief = strncmp(more, "took ", 5) ? more : more + 5;
	char all[512], *at = to;
	int n;

	snprintf(all, sizeof(all), "%s, %s", text, more);
	if (*text && *more && width_of(all) > width)
		snprintf(all, sizeof(all), "%s %s", text, brief);
	translate(pen, !*more ? text : *text ? all : more, to, size);
	if (width_of(to) <= width)
		return;
	translate(pen, text, to, size);
	if (width_of(to) <= width)
		return;
	for (n = 0; n < width - 1; n++)
		at += char_bytes(at);
	snprintf(at, size - (at - to), "%s", pen->ascii ? "~" : "…");
}

static void print_toned(const struct pen *pen, const char *s, enum trace_tone tone)
{
	colour(pen, tone);
	fputs(s, pen->out);
	colour(pen, TONE_NONE);
}

static void print_note(const struct pen *pen, const struct trace_row *row)
{
	int room = pen->side - 1, length, before;
	char text[512];

	translate(pen, row->text, text, sizeof(text));
	if (width_of(text) > room) {
		/* It goes over the wire, where nothing else is in its row. */
		join(pen, row->text, row->more, pen->side + pen->wire, text, sizeof(text));
		length = width_of(text);
		before = row->right ? 2 * pen->side + pen->wire + 2 - length : 0;
		/* The other lane goes on where it is not covered. */
		if (before > pen->side + 1) {
			fprintf(pen->out, "%*s", pen->side, "");
			print_toned(pen, pen->lane, TONE_SOFT);
			before -= pen->side + 1;
		}
		fprintf(pen->out, "%*s", before, "");
		print_toned(pen, text, row->tone);
		length = pen->side + 1 + pen->wire - length;
		if (!row->right && length > 0) {
			fprintf(pen->out, "%*s", length, "");
			print_toned(pen, pen->lane, TONE_SOFT);
		}
	} else if (!row->right) {
		join(pen, row->text, row->more, room, text, sizeof(text));
		fprintf(pen->out, "%*s", room - width_of(text), "");
		print_toned(pen, text, row->tone);
		fputc(' ', pen->out);
		print_toned(pen, row->dot ? pen->dot : pen->lane, row->dot);
		fprintf(pen->out, "%*s", pen->wire, "");
		print_toned(pen, pen->lane, TONE_SOFT);
	} else {
		join(pen, row->text, row->more, room, text, sizeof(text));
		fprintf(pen->out, "%*s", pen->side, "");
		print_toned(pen, pen->lane, TONE_SOFT);
		fprintf(pen->out, "%*s", pen->wire, "");
		print_toned(pen, row->dot ? pen->dot : pen->lane, row->dot);
		fputc(' ', pen->out);
		print_toned(pen, text, row->tone);
	}
	fputc('\n', pen->out);
}

/* The arrow between the lanes, with the packet's name in it */
static void print_arrow(const struct pen *pen, const struct trace_row *row)
{
	int lines, before;
	char text[512];

	join(pen, row->text, row->more, pen->wire - 5, text, sizeof(text));
	lines = pen->wire - 3 - width_of(text);
	before = lines - 2 < 3 ? lines / 2 : row->right ? lines - 3 : 3;
	colour(pen, row->tone);
	fputs(!row->right ? row->unseen ? pen->idle : pen->start : pen->lane, pen->out);
	if (row->right)
		fputs(row->lost ? pen->cross : pen->left, pen->out);
	repeat(pen, pen->line, before);
	fprintf(pen->out, " %s ", text);
	repeat(pen, pen->line, lines - before);
	if (!row->right)
		fputs(row->lost ? pen->cross : pen->right, pen->out);
	fputs(!row->right ? pen->lane : row->unseen ? pen->idle : pen->end, pen->out);
	colour(pen, TONE_NONE);
}

static void print_packet(const struct pen *pen, const struct trace_row *row)
{
	char far[512], time[40], flight[48] = "";

	if (row->flight) {
		flight[0] = '+';
		trace_time_text(row->flight, flight + 1, sizeof(flight) - 1);
	}
	/* (how long it was under way, where there is room or where that is odd) */
	join(pen, row->far, flight, pen->side - 1, far, sizeof(far));
	translate(pen, flight, time, sizeof(time));
	if (row->late && !strchr(far, '+'))
		snprintf(far, sizeof(far), "%s", time);
	if (row->right) {
		fprintf(pen->out, "%*s", pen->side - 1 - width_of(far), "");
		print_toned(pen, far, row->far_tone ?: TONE_SOFT);
		fputc(' ', pen->out);
	} else {
		fprintf(pen->out, "%*s", pen->side, "");
	}
	print_arrow(pen, row);
	if (!row->right && *far) {
		fputc(' ', pen->out);
		print_toned(pen, far, row->far_tone ?: TONE_SOFT);
	}
	fputc('\n', pen->out);
}

/* The names of two lanes, each over its lane */
static void print_head(const struct pen *pen, const struct trace_row *row)
{
	int left = WIDTH_TIME + 1 + pen->side - width_of(row->text) / 2;
	int right = WIDTH_TIME + 2 + pen->side + pen->wire - width_of(row->more) / 2;

	colour(pen, TONE_SOFT);
	fprintf(pen->out, "%*s", left - 2, "CQ, memory");
	colour(pen, TONE_INK);
	fprintf(pen->out, "  %s", row->text);
	left += width_of(row->text);
	fprintf(pen->out, "%*s%s", right > left ? right - left : 1, "", row->more);
	colour(pen, TONE_SOFT);
	fputs("  memory, CQ\n", pen->out);
	colour(pen, TONE_NONE);
}

static void print_idle(const struct pen *pen, const struct trace_row *row)
{
	char text[512];
	int left;

	join(pen, row->text, "", pen->wire - 2, text, sizeof(text));
	left = (pen->wire - width_of(text)) / 2;
	fprintf(pen->out, "%*s", WIDTH_TIME + 1 + pen->side, "");
	colour(pen, TONE_SOFT);
	fprintf(pen->out, "%s%*s%s%*s%s\n", pen->idle, left, "", text,
		pen->wire - left - width_of(text), "", pen->idle);
	colour(pen, TONE_NONE);
}

static void print_row(const struct pen *pen, const struct trace *t, const struct trace_row *row)
{
	char text[32], time[32];

	switch (row->kind) {
	case ROW_HEAD:
		print_head(pen, row);
		return;
	case ROW_IDLE:
		print_idle(pen, row);
		return;
	case ROW_CUT:
		print_toned(pen, row->text, TONE_BAD);
		fputc('\n', pen->out);
		return;
	default:
		break;
	}
	trace_time_text(row->ns - t->zero_ns, time, sizeof(time));
	translate(pen, time, text, sizeof(text));
	colour(pen, TONE_SOFT);
	fprintf(pen->out, "%*s%s ", WIDTH_TIME - width_of(text), "", text);
	colour(pen, TONE_NONE);
	if (row->kind == ROW_PACKET)
		print_packet(pen, row);
	else
		print_note(pen, row);
}

/* Columns of the terminal */
static int find_width(FILE *out)
{
	const char *columns = getenv("COLUMNS");
	struct winsize size;
	int width = 0;

	if (isatty(fileno(out)) && !ioctl(fileno(out), TIOCGWINSZ, &size))
		width = size.ws_col;
	if (!width && columns)
		width = atoi(columns);
	if (!width)
		width = WIDTH;
	return width < WIDTH_MIN ? WIDTH_MIN : width > WIDTH_MAX ? WIDTH_MAX : width;
}

/* A line that may be longer than the terminal, between words */
static void print_folded(const struct pen *pen, enum trace_tone tone, const char *line, int width)
{
	char text[512], *at = text, *end, *c;
	int n;

	translate(pen, line, text, sizeof(text));
	colour(pen, tone);
	while (*at) {
		end = NULL;
		for (c = at, n = 0; *c && n <= width; n++, c += char_bytes(c))
			if (*c == ' ')
				end = c;
		if (!*c && n <= width)
			end = c;
		end = end ?: c;
		fprintf(pen->out, "%.*s\n", (int)(end - at), at);
		at = *end == ' ' ? end + 1 : end;
	}
	colour(pen, TONE_NONE);
}

/* Whether the terminal knows no escape sequences (Emacs, some logs of CI). */
static bool is_dumb(void)
{
	const char *term = getenv("TERM");

	return term && !strcmp(term, "dumb");
}

void trace_to_text(FILE *out, const struct trace *t, const struct trace_choice *choice)
{
	struct pen pen = pens[is_utf8()];
	int width = find_width(out), i, *event, nr = trace_wanted(t, choice, &event);
	struct trace_rows *rows = trace_rows(t, event, nr);

	pen.out = out;
	pen.colours = isatty(fileno(out)) && !getenv("NO_COLOR") && !is_dumb();
	pen.wire = 25 + (width - WIDTH_MIN) * 2 / 5;
	pen.side = (width - WIDTH_TIME - 1 - 2 - pen.wire) / 2;
	if (nr) {
		print_folded(&pen, TONE_INK, rows->headline, width);
		print_folded(&pen, TONE_SOFT, rows->about, width);
		fputc('\n', out);
	}
	for (i = 0; i < rows->nr; i++)
		print_row(&pen, t, &rows->row[i]);
	fprintf(out, "%d events, %d queue pairs, %d work requests", t->nr_records, t->nr_qps,
		t->nr_wrs);
	if (t->lost)
		fprintf(out, "; %llu events are lost", t->lost);
	fputs(nr ? "\n" : "; none of them is asked for\n", out);
	trace_rows_free(rows);
	free(event);
}
