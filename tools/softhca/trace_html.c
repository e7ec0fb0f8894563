// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A recording as one page of HTML, which needs nothing else: trace_page.html with the
 * events in the place of its mark. The page only draws: what belongs together is
 * found out here.
 */
#include "trace.h"

#include <stdlib.h>
#include <string.h>

static const char page[] =
#include "trace_page.h"
	;

#define MARK	"/*RECORDING*/"

static void write_conns(FILE *out, const struct trace *t)
{
	char name[96];
	int i;

	fputs("conns:[", out);
	for (i = 0; i < t->nr_conns; i++) {
		fprintf(out, "%s{events:%d,wrs:%d,left:", i ? "," : "", t->conn[i].nr_events,
			t->conn[i].nr_wrs);
		trace_json_string(out, trace_qp_name(t, t->conn[i].left, name, sizeof(name)));
		fputs(",right:", out);
		trace_json_string(out, trace_qp_name(t, t->conn[i].right, name, sizeof(name)));
		fprintf(out, ",self:%d}", t->conn[i].left == t->conn[i].right);
	}
	fputs("],\n", out);
}

static void write_wrs(FILE *out, const struct trace *t)
{
	const struct trace_wr *wr;
	int i;

	fputs("wrs:[", out);
	for (i = 0; i < t->nr_wrs; i++) {
		wr = &t->wr[i];
		fprintf(out, "%s[\"%#llx\",", i ? ",\n" : "", (unsigned long long)wr->wr_id);
		trace_json_string(out, wr->word);
		fprintf(out, ",%u,", wr->length);
		trace_json_string(out, wr->status);
		fprintf(out, ",%d,%d,%u,%d,%u]", wr->post, wr->done, wr->retrans, wr->conn,
			wr->qpn);
	}
	fputs("],\n", out);
}

/* Names that repeat are written once. */
struct names {
	const char **name;
	int nr;
};

static int name_index(struct names *n, const char *name)
{
	int i;

	for (i = 0; i < n->nr; i++)
		if (!strcmp(n->name[i], name))
			return i;
	n->name = trace_grow(n->name, n->nr, sizeof(*n->name));
	n->name[n->nr] = name;
	return n->nr++;
}

/* The same, of a text that does not last */
static int name_copy(struct names *n, const char *name)
{
	int i = name_index(n, name);

	if (n->name[i] == name)
		n->name[i] = strdup(name);
	if (!n->name[i])
		exit(fail("trace: out of memory"));
	return i;
}

void trace_to_html(FILE *out, const struct trace *t, const struct trace_choice *choice)
{
	const char *mark = strstr(page, MARK);
	const struct trace_event *e;
	struct names names = {};
	bool right, is_packet;
	const char *memory;
	char name[64];
	int i;

	fwrite(page, 1, mark - page, out);
	fprintf(out, "const R={lost:%llu,\n", t->lost);
	write_conns(out, t);
	write_wrs(out, t);
	/* ns, kind, flags, connection, side, PSN, last PSN, length, wr, mate, word, verdict,
	 * memory, qpn, wanted, name, packets, fields
	 */
	fputs("events:[", out);
	for (i = 0; i < t->nr_events; i++) {
		e = &t->event[i];
		memory = trace_memory_text(t, e, &right);
		is_packet = e->kind == TRACE_TX || e->kind == TRACE_RX;
		fprintf(out, "%s[%llu,%d,%u,%d,%d,%u,%u,%u,%d,%d,%d,%d,%d,%u,%d,%d,%u,",
			i ? ",\n" : "", (unsigned long long)e->ns, e->kind, e->flags, e->conn,
			e->right, e->psn, trace_last_psn(e), e->length, e->wr, e->mate,
			name_index(&names, e->word),
			name_index(&names, is_packet ? trace_packet_text(t, e) : e->verdict),
			name_index(&names, memory), e->qpn, trace_is_wanted(t, e, choice),
			name_copy(&names, is_packet ? trace_packet_name(e, name, sizeof(name)) : ""),
			e->packets);
		trace_json_string(out, e->info);
		fputc(']', out);
	}
	fputs("],\nnames:[", out);
	for (i = 0; i < names.nr; i++) {
		fputs(i ? "," : "", out);
		trace_json_string(out, names.name[i]);
	}
	fputs("]};\n", out);
	fputs(mark + strlen(MARK), out);
	free(names.name);
}
