// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A recording as one page of HTML, which needs nothing else. It is trace_page.html with the
 * rows of the ladder, and trace_page.js, in the place of its marks. The page only draws: what
 * belongs together, and in which words, is found out here.
 */
#include "trace.h"

#include <stdlib.h>
#include <string.h>

static const char page[] =
#include "trace_page.h"
	;
static const char script[] =
#include "trace_script.h"
	;

/* Events of each connection, one behind the other; @from has where those of each begin. */
struct shares {
	int *event, *from;
};

static void share(const struct trace *t, const int *event, int nr, struct shares *shares)
{
	int *from = trace_grow(NULL, 0, (t->nr_conns + 2) * sizeof(*from)), i, conn;

	shares->event = trace_grow(NULL, 0, (nr + 1) * sizeof(*shares->event));
	shares->from = from;
	memset(from, 0, (t->nr_conns + 2) * sizeof(*from));
	for (i = 0; i < nr; i++) {
		conn = t->event[event[i]].conn;
		if (conn >= 0)
			from[conn + 2]++;
	}
	for (i = 2; i <= t->nr_conns; i++)
		from[i] += from[i - 1];
	for (i = 0; i < nr; i++) {
		conn = t->event[event[i]].conn;
		if (conn >= 0)
			shares->event[from[conn + 1]++] = event[i];
	}
}

static void write_wrs(FILE *out, const struct trace *t)
{
	const struct trace_wr *wr;
	int i;

	fputs("\"wrs\":[", out);
	for (i = 0; i < t->nr_wrs; i++) {
		wr = &t->wr[i];
		fprintf(out, "%s[\"0x%llx\",", i ? ",\n" : "", (unsigned long long)wr->wr_id);
		trace_json_string(out, wr->word);
		fprintf(out, ",%u,", wr->length);
		trace_json_string(out, wr->status);
		fprintf(out, ",%lld,%lld,%u,%d,\"0x%x\"]",
			wr->post < 0 ? -1ll : (long long)t->event[wr->post].ns,
			wr->done < 0 ? -1ll : (long long)t->event[wr->done].ns, wr->retrans,
			wr->conn, wr->qpn);
	}
	fputs("],\n", out);
}

/* Bits of a row, as the page knows them */
static unsigned int row_bits(const struct trace_row *row, const struct trace_event *e)
{
	unsigned int flags = e ? e->flags : 0;

	return row->right << 0 | row->lost << 1 | row->unseen << 2 | row->late << 3 |
	       !!(flags & TRACE_RETRANS) << 4 | !!(flags & TRACE_FAULT) << 5 |
	       !!(flags & TRACE_RESPONSE) << 6 | !!(flags & TRACE_COPY) << 7;
}

/* kind, ns, flight, bits, tone, tone at the far end, wr, PSN, last PSN, text, more, far */
static void write_row(FILE *out, const struct trace *t, const struct trace_row *row)
{
	const struct trace_event *e = row->event < 0 ? NULL : &t->event[row->event];
	bool has_psn = e && e->nth != INT32_MIN;
	int last = has_psn ? e->nth + (int)((trace_last_psn(e) - e->psn) & 0xffffff) : -1;

	fprintf(out, "[%d,%llu,%llu,%u,%d,%d,%d,%d,%d,",
		e ? (int)e->kind : row->kind == ROW_IDLE ? TRACE_NR_KINDS : TRACE_NR_KINDS + 1,
		(unsigned long long)row->ns, (unsigned long long)row->flight, row_bits(row, e),
		row->tone, row->far_tone, e ? e->wr : -1, has_psn ? e->nth : -1, last);
	trace_json_string(out, row->text);
	fputc(',', out);
	trace_json_string(out, row->more);
	fputc(',', out);
	trace_json_string(out, row->far);
	fputc(']', out);
}

static void write_conn(FILE *out, const struct trace *t, int conn, const struct trace_rows *rows)
{
	const struct trace_conn *c = &t->conn[conn];
	const struct trace_sum *sum = &rows->sum;
	int i, written = 0;
	char name[96];

	fprintf(out, "{\"id\":%d,\"self\":%s,\"left\":", conn, c->left == c->right ? "true" : "false");
	trace_json_string(out, trace_qp_name(t, c->left, name, sizeof(name)));
	fputs(",\"right\":", out);
	trace_json_string(out, trace_qp_name(t, c->right, name, sizeof(name)));
	fputs(",\"headline\":", out);
	trace_json_string(out, rows->headline);
	fputs(",\"about\":", out);
	trace_json_string(out, rows->about);
	fprintf(out, ",\"sum\":{\"events\":%d,\"requests\":%d,\"packets\":%d,\"again\":%d,\"lost\":%d,\"waits\":%d,\"timeouts\":%d,\"failed\":%d},\n\"rows\":[",
		sum->events, sum->requests, sum->packets, sum->again, sum->lost, sum->waits,
		sum->timeouts, sum->failed);
	for (i = 0; i < rows->nr; i++) {
		if (rows->row[i].kind == ROW_HEAD)
			continue;
		fputs(written++ ? ",\n" : "", out);
		write_row(out, t, &rows->row[i]);
	}
	fputs("]}", out);
}

/* The fields of each row's event, which the page reads only when somebody asks for them */
static void write_fields(FILE *out, const struct trace *t, const struct trace_rows *rows, bool first)
{
	int i, written = 0;

	fputs(first ? "[" : ",\n[", out);
	for (i = 0; i < rows->nr; i++) {
		if (rows->row[i].kind == ROW_HEAD)
			continue;
		fputs(written++ ? ",\n" : "", out);
		trace_json_string(out, rows->row[i].event < 0 ? "" : t->event[rows->row[i].event].info);
	}
	fputs("]", out);
}

/* The page, up to @mark. Return: what is behind it */
static const char *write_page(FILE *out, const char *from, const char *mark)
{
	const char *at = strstr(from, mark);

	fwrite(from, 1, at - from, out);
	return at + strlen(mark);
}

void trace_to_html(FILE *out, const struct trace *t, const struct trace_choice *choice)
{
	int *event, nr = trace_wanted(t, choice, &event), i, written = 0;
	struct trace_rows **rows = trace_grow(NULL, 0, (t->nr_conns + 1) * sizeof(*rows));
	const char *rest;
	struct shares s;

	share(t, event, nr, &s);
	rest = write_page(out, page, "/*RECORDING*/");
	fprintf(out, "{\"lost\":%llu,\"zero\":%llu,\n", t->lost, (unsigned long long)t->zero_ns);
	write_wrs(out, t);
	fputs("\"conns\":[", out);
	for (i = 0; i < t->nr_conns; i++) {
		rows[i] = trace_rows(t, s.event + s.from[i], s.from[i + 1] - s.from[i]);
		if (!rows[i]->nr)
			continue;
		fputs(written++ ? ",\n" : "", out);
		write_conn(out, t, i, rows[i]);
	}
	fputs("]}", out);
	rest = write_page(out, rest, "/*FIELDS*/");
	fputc('[', out);
	for (i = 0, written = 0; i < t->nr_conns; i++) {
		if (rows[i]->nr)
			write_fields(out, t, rows[i], !written++);
		trace_rows_free(rows[i]);
	}
	fputc(']', out);
	rest = write_page(out, rest, "/*SCRIPT*/");
	fputs(script, out);
	fputs(rest, out);
	free(rows);
	free(s.event);
	free(s.from);
	free(event);
}
