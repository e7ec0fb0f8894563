// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A recording as the rows of a ladder, for all forms of a drawing. A packet has one row, with
 * what becomes of it at its other end. Idle time, in which no event happens at all, is a row,
 * however long it is.
 */
#include "trace_rows.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Idle time is folded from so many times the median distance of rows on */
#define IDLE_MEDIANS	10
#define IDLE_MIN_NS	20000

/* texts that stay until the rows are freed */
struct trace_text {
	struct trace_text *next;
	size_t used;
	char text[4000];
};

static const char *keep(struct trace_rows *rows, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static const char *keep(struct trace_rows *rows, const char *format, ...)
{
	struct trace_text *at = rows->texts;
	char text[256], *kept;
	va_list args;
	size_t size;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	size = strlen(text) + 1;
	if (size == 1)
		return "";
	if (!at || at->used + size > sizeof(at->text)) {
		at = trace_grow(NULL, 0, sizeof(*at));
		at->used = 0;
		at->next = rows->texts;
		rows->texts = at;
	}
	kept = memcpy(at->text + at->used, text, size);
	at->used += size;
	return kept;
}

static struct trace_row *add_row(struct trace_rows *rows, enum trace_row_kind kind,
				 uint64_t ns, int event)
{
	struct trace_row *row;

	rows->row = trace_grow(rows->row, rows->nr, sizeof(*row));
	row = &rows->row[rows->nr++];
	*row = (struct trace_row){ .kind = kind, .ns = ns, .event = event, .text = "",
				   .more = "", .far = "" };
	return row;
}

/* ---- words --------------------------------------------------------------------- */

/* "WRITE WITH IMM" of RDMA_WRITE_WITH_IMM */
static const char *work_name(const char *word, char *text, size_t size)
{
	const char *from = word;
	size_t used = 0;

	while (*from && used + 1 < size) {
		if (!strncmp(from, "RDMA_", 5) && (from == word || from[-1] == '_')) {
			from += 5;
			continue;
		}
		text[used++] = *from == '_' ? ' ' : *from;
		from++;
	}
	text[used] = '\0';
	return text;
}

/* "#1", "#1–#5"; "" of what has no PSN */
static const char *psn_name(const struct trace_event *e, char *text, size_t size)
{
	int last = e->nth + (int)((trace_last_psn(e) - e->psn) & 0xffffff);

	if (e->nth == INT32_MIN)
		*text = '\0';
	else if (last == e->nth)
		snprintf(text, size, "#%d", e->nth);
	else
		snprintf(text, size, "#%d–#%d", e->nth, last);
	return text;
}

/* A QP that sends to itself has one lane for requests and one for answers. */
bool trace_is_right(const struct trace *t, const struct trace_event *e)
{
	const struct trace_conn *c = e->conn < 0 ? NULL : &t->conn[e->conn];

	if (!c || c->left != c->right)
		return e->right;
	if (e->kind == TRACE_TX || e->kind == TRACE_RX)
		return !!(e->flags & TRACE_RESPONSE) != (e->kind == TRACE_RX);
	return e->kind == TRACE_COMPLETE && !strncmp(e->word, "RECV", 4);
}

static enum trace_tone packet_tone(const struct trace_event *e)
{
	if (e->flags & (TRACE_LOST | TRACE_FAULT))
		return TONE_BAD;
	if (e->flags & TRACE_RETRANS)
		return TONE_AGAIN;
	return e->flags & TRACE_RESPONSE ? TONE_ANSWER : TONE_ASK;
}

/* What a packet does where it arrives. (The name of a NAK says enough of it.) */
static void say_far(struct trace_rows *rows, const struct trace *t, struct trace_row *row,
		    const struct trace_event *e, const struct trace_event *rx)
{
	const char *memory = rx ? trace_memory_text(t, rx) : "", *fate = trace_packet_text(t, e);
	bool copy = rx && rx->flags & TRACE_COPY;

	if (e->flags & TRACE_LOST) {
		row->far = "lost";
		row->far_tone = TONE_BAD;
	} else if (*memory) {
		row->far = rx->length ? keep(rows, "%s %u B", memory, rx->length) : memory;
		row->far_tone = TONE_MEMORY;
	} else if (copy || (*fate && strcmp(fate, "ok") && strcmp(fate, "cnp") &&
			    strcmp(fate, "gap") && strncmp(fate, "nak-", 4))) {
		row->far = keep(rows, "%s%s", copy ? "copy: " : "", fate);
		row->far_tone = TONE_BAD;
	}
}

static void add_packet(struct trace_rows *rows, const struct trace *t,
		       const struct trace_event *e)
{
	const struct trace_event *rx = e->kind == TRACE_RX ? e :
				       e->mate < 0 ? NULL : &t->event[e->mate];
	struct trace_row *row = add_row(rows, ROW_PACKET, e->ns, e - t->event);
	char name[64], psn[32];

	psn_name(e, psn, sizeof(psn));
	row->right = trace_is_right(t, e) != (e->kind == TRACE_RX);
	row->unseen = e->kind == TRACE_RX;
	row->lost = e->flags & TRACE_LOST;
	row->tone = packet_tone(e);
	if (rx && e->kind == TRACE_TX && rx->ns > e->ns)
		row->flight = rx->ns - e->ns;
	if (e->flags & TRACE_MISSING)
		row->text = keep(rows, "GAP: %s missing", psn);
	else
		row->text = keep(rows, "%s%s%s%s", trace_packet_name(e, name, sizeof(name)),
				 *psn ? " " : "", psn, e->flags & TRACE_RETRANS ? " again" : "");
	if (e->length)
		row->more = keep(rows, "%u B", e->length);
	say_far(rows, t, row, e, rx);
}

static bool is_state(const struct trace *t, const struct trace_row *row)
{
	return row->event >= 0 && t->event[row->event].kind == TRACE_STATE;
}

/* A queue pair begins like this. */
static bool is_new(const char *word) { return !strcmp(word, "RESET to RESET"); }

/* State changes that follow each other are one row for each queue pair. */
static bool fold_state(struct trace_rows *rows, const struct trace *t,
		       const struct trace_event *e)
{
	const char *to = strstr(e->word, " to ");
	struct trace_row *row;
	int i;

	for (i = rows->nr - 1; i >= 0 && is_state(t, &rows->row[i]); i--) {
		row = &rows->row[i];
		if (t->event[row->event].qp != e->qp)
			continue;
		/* (the text must not become longer than one can be) */
		if (!to || strlen(row->text) > 100)
			return false;
		if (!is_new(e->word))
			row->text = keep(rows, "%s → %s", row->text, to + 4);
		if (e->flags & TRACE_FAULT)
			row->tone = TONE_BAD;
		return true;
	}
	return false;
}

static void say_complete(struct trace_rows *rows, const struct trace *t, struct trace_row *row,
			 const struct trace_event *e)
{
	const struct trace_wr *wr = e->wr < 0 ? NULL : &t->wr[e->wr];
	bool good = !strcmp(e->verdict, "SUCCESS");
	char name[64], took[32];

	row->tone = row->dot = good ? TONE_GOOD : TONE_BAD;
	row->text = keep(rows, "%s %s%s%s 0x%llx", good ? "✓" : "✗", good ? "" : e->verdict,
			 good ? "" : " ", work_name(e->word, name, sizeof(name)),
			 (unsigned long long)e->wr_id);
	if (wr && wr->done == e - t->event && wr->post >= 0)
		row->more = keep(rows, "took %s", trace_time_text(e->ns - t->event[wr->post].ns,
								  took, sizeof(took)));
}

static void add_note(struct trace_rows *rows, const struct trace *t, const struct trace_event *e)
{
	struct trace_row *row = add_row(rows, ROW_NOTE, e->ns, e - t->event);
	const char *to = strstr(e->word, " to ") ?: e->word;
	char name[64], psn[32];

	row->right = trace_is_right(t, e);
	row->tone = TONE_BAD;
	psn_name(e, psn, sizeof(psn));
	switch (e->kind) {
	case TRACE_POST:
		row->tone = TONE_INK;
		row->dot = TONE_ASK;
		row->text = keep(rows, "post %s 0x%llx", work_name(e->word, name, sizeof(name)),
				 (unsigned long long)e->wr_id);
		row->more = keep(rows, "%u B", e->length);
		break;
	case TRACE_COMPLETE:
		say_complete(rows, t, row, e);
		break;
	case TRACE_TIMEOUT:
		row->dot = TONE_BAD;
		row->text = keep(rows, "time-out, back to %s", psn);
		break;
	case TRACE_INJECTED:
		row->text = keep(rows, "rule: %s %s", e->word, psn);
		break;
	case TRACE_STATE:
		row->tone = e->flags & TRACE_FAULT ? TONE_BAD : TONE_SOFT;
		row->text = is_new(e->word) ? "RESET" :
			    keep(rows, "%.*s → %s", (int)(to - e->word), e->word, to + 4);
		break;
	case TRACE_EVENT:
		row->tone = TONE_AGAIN;
		row->text = keep(rows, "event %s", e->word);
		break;
	case TRACE_REFUSED_RX:
		row->text = keep(rows, "refuses %s %s: %s",
				 trace_packet_name(e, name, sizeof(name)), psn, e->verdict);
		break;
	default:
		row->text = keep(rows, "refused: %s", e->kind == TRACE_VERDICT ? e->verdict : e->word);
	}
}

/* ---- numbers, and the answer on top --------------------------------------------- */

static int compare_ns(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static void add_up(struct trace_sum *sum, const struct trace *t, const int *event, int nr)
{
	uint64_t *took = trace_grow(NULL, 0, (nr + 1) * sizeof(*took)), first = 0;
	const struct trace_event *e;
	const struct trace_wr *wr;
	int i, timed = 0;

	sum->events = nr;
	sum->slowest = -1;
	for (i = 0; i < nr; i++) {
		e = &t->event[event[i]];
		if (e->kind == TRACE_POST && !sum->requests++)
			first = e->ns;
		if (e->kind == TRACE_TX) {
			sum->packets += e->packets;
			sum->lost += !!(e->flags & TRACE_LOST);
			sum->again += !!(e->flags & TRACE_RETRANS);
			sum->waits += e->flags & TRACE_RNR && e->flags & TRACE_RESPONSE;
		}
		sum->timeouts += e->kind == TRACE_TIMEOUT;
		if (e->kind != TRACE_COMPLETE)
			continue;
		sum->failed += !!(e->flags & TRACE_FAULT);
		wr = e->wr < 0 ? NULL : &t->wr[e->wr];
		if (!wr || wr->done != event[i] || wr->post < 0)
			continue;
		took[timed] = e->ns - t->event[wr->post].ns;
		if (sum->slowest < 0 || took[timed] > sum->slowest_ns) {
			sum->slowest = e->wr;
			sum->slowest_ns = took[timed];
		}
		timed++;
	}
	if (nr)
		sum->span_ns = t->event[event[nr - 1]].ns -
			       (sum->requests ? first : t->event[event[0]].ns);
	qsort(took, timed, sizeof(*took), compare_ns);
	sum->median_ns = timed ? took[timed / 2] : 0;
	free(took);
}

/* Adds "2 packets lost" to a list, unless there is none of it. */
static void say_count(char *text, size_t size, int nr, const char *one, const char *many)
{
	size_t used = strlen(text);

	if (nr && used < size)
		snprintf(text + used, size - used, "%s%d %s", used ? ", " : "", nr,
			 nr == 1 ? one : many);
}

static void say_headline(struct trace_rows *rows, const struct trace *t)
{
	const struct trace_sum *sum = &rows->sum;
	const struct trace_wr *wr = sum->slowest < 0 ? NULL : &t->wr[sum->slowest];
	char list[128] = "", what[32] = "", span[32], slowest[32], median[32], name[32];
	size_t size = sizeof(rows->headline), used;

	say_count(list, sizeof(list), sum->lost, "packet lost", "packets lost");
	say_count(list, sizeof(list), sum->again, "sent again", "sent again");
	say_count(list, sizeof(list), sum->waits, "wait for a receive", "waits for a receive");
	say_count(list, sizeof(list), sum->timeouts, "time-out", "time-outs");
	say_count(list, sizeof(list), sum->failed, "failed", "failed");
	say_count(what, sizeof(what), sum->requests, "request", "requests");
	trace_time_text(sum->span_ns, span, sizeof(span));
	used = snprintf(rows->headline, size, "%s in %s: %s", *what ? what : "no request", span,
			*list ? list : "no losses");
	if (!wr || used >= size)
		return;
	trace_time_text(sum->slowest_ns, slowest, sizeof(slowest));
	trace_time_text(sum->median_ns, median, sizeof(median));
	work_name(wr->word, name, sizeof(name));
	if (sum->requests == 1)
		snprintf(rows->headline + used, size - used, "; it took %s", slowest);
	else
		snprintf(rows->headline + used, size - used, "; slowest %s 0x%llx %s, median %s",
			 name, (unsigned long long)wr->wr_id, slowest, median);
}

/* Whose it is, and where PSNs begin, if it is one connection */
static void say_about(struct trace_rows *rows, const struct trace *t, int conn)
{
	const struct trace_conn *c = conn < 0 ? NULL : &t->conn[conn];
	char left[96], right[96], psns[64] = "";
	bool sent_left, sent_right;

	if (!c || c->left < 0 || c->right < 0) {
		snprintf(rows->about, sizeof(rows->about),
			 "time from the first post; # is the PSN from the first packet of each direction");
		return;
	}
	trace_qp_name(t, c->left, left, sizeof(left));
	trace_qp_name(t, c->right, right, sizeof(right));
	sent_left = t->qp[c->left].has_first[0];
	sent_right = c->left != c->right && t->qp[c->right].has_first[0];
	if (sent_left && sent_right)
		snprintf(psns, sizeof(psns), "; #0 is PSN %u one way, %u the other",
			 t->qp[c->left].first_psn[0], t->qp[c->right].first_psn[0]);
	else if (sent_left || sent_right)
		snprintf(psns, sizeof(psns), "; #0 is PSN %u",
			 t->qp[sent_left ? c->left : c->right].first_psn[0]);
	snprintf(rows->about, sizeof(rows->about), "%s and %s; time from the first post%s", left,
		 right, psns);
}

/* ---- rows ---------------------------------------------------------------------- */

/* A verdict, and a packet that was seen to be sent, are in the row of that packet. */
static bool has_row(const struct trace_event *e)
{
	if (e->kind == TRACE_VERDICT)
		return e->mate < 0;
	return e->kind != TRACE_RX || e->mate < 0;
}

/* From which distance of two events on nothing has happened between them, as far as rows tell */
static uint64_t find_idle(const struct trace *t, const int *event, int nr)
{
	uint64_t *gap = trace_grow(NULL, 0, (nr + 1) * sizeof(*gap)), ns, before = 0;
	const struct trace_event *e;
	int i, gaps = 0;

	for (i = 0; i < nr; i++) {
		e = &t->event[event[i]];
		if (!has_row(e) || e->kind == TRACE_STATE)
			continue;
		if (before && e->ns > before)
			gap[gaps++] = e->ns - before;
		before = e->ns;
	}
	qsort(gap, gaps, sizeof(*gap), compare_ns);
	ns = gaps ? IDLE_MEDIANS * gap[gaps / 2] : 0;
	free(gap);
	return ns > IDLE_MIN_NS ? ns : IDLE_MIN_NS;
}

static void add_head(struct trace_rows *rows, const struct trace *t, const struct trace_event *e)
{
	const struct trace_conn *c = &t->conn[e->conn];
	struct trace_row *row = add_row(rows, ROW_HEAD, e->ns, -1);
	char name[96];

	row->tone = TONE_INK;
	row->text = keep(rows, "%s", trace_qp_name(t, c->left, name, sizeof(name)));
	row->more = c->right < 0 ? "" :
		    keep(rows, "%s", trace_qp_name(t, c->right, name, sizeof(name)));
}

static void add_idle(struct trace_rows *rows, uint64_t ns, uint64_t idle)
{
	struct trace_row *row = add_row(rows, ROW_IDLE, ns, -1);
	char text[32];

	row->tone = TONE_SOFT;
	row->flight = idle;
	row->text = keep(rows, "%s nothing", trace_time_text(idle, text, sizeof(text)));
}

struct trace_rows *trace_rows(const struct trace *t, const int *event, int nr)
{
	struct trace_rows *rows = trace_grow(NULL, 0, sizeof(*rows));
	uint64_t idle_from = find_idle(t, event, nr), idle = 0, before = 0;
	const struct trace_event *e;
	int i, conn = -1, conns = 0;

	memset(rows, 0, sizeof(*rows));
	for (i = 0; i < nr; i++) {
		e = &t->event[event[i]];
		if (i && e->ns - before >= idle_from && e->ns - before > idle)
			idle = e->ns - before;
		before = e->ns;
		if (e->flags & TRACE_GAP)
			add_row(rows, ROW_CUT, e->ns, -1)->text = "events are lost here";
		if (!has_row(e))
			continue;
		/* (how long it takes to set up a connection is of no interest) */
		if (e->kind == TRACE_STATE && rows->nr && is_state(t, &rows->row[rows->nr - 1]))
			idle = 0;
		if (e->kind == TRACE_STATE && e->conn == conn && fold_state(rows, t, e))
			continue;
		if (idle)
			add_idle(rows, e->ns, idle);
		idle = 0;
		if (e->conn >= 0 && e->conn != conn) {
			conn = e->conn;
			conns++;
			add_head(rows, t, e);
		}
		if (e->kind == TRACE_TX || e->kind == TRACE_RX)
			add_packet(rows, t, e);
		else
			add_note(rows, t, e);
		rows->row[rows->nr - 1].late = rows->row[rows->nr - 1].flight >= idle_from;
	}
	add_up(&rows->sum, t, event, nr);
	say_headline(rows, t);
	say_about(rows, t, conns == 1 ? conn : -1);
	return rows;
}

void trace_rows_free(struct trace_rows *rows)
{
	struct trace_text *next;

	for (; rows->texts; rows->texts = next) {
		next = rows->texts->next;
		free(rows->texts);
	}
	free(rows->row);
	free(rows);
}

int trace_wanted(const struct trace *t, const struct trace_choice *choice, int **event)
{
	int *wanted = trace_grow(NULL, 0, (t->nr_events + 1) * sizeof(*wanted)), i, nr = 0;

	for (i = 0; i < t->nr_events; i++)
		if (trace_is_wanted(t, &t->event[i], choice))
			wanted[nr++] = i;
	*event = wanted;
	return nr;
}
