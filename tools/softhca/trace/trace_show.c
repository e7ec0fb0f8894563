// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * `softhca trace show`: a recording as a ladder in the terminal, or in a file of
 * another form
 */
#include "trace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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

/* Microseconds since the first post. Return: 0, or an exit status. */
static int parse_time(const char *text, const char *option, int64_t *ns)
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
	trace_writer *write = to ? find_form(to) : call->option[5] ? trace_to_json : trace_to_text;
	struct trace_choice choice = { .from_ns = INT64_MIN, .to_ns = INT64_MAX };
	struct trace trace;
	int status = parse_choice(call, &choice);
	FILE *out = stdout;

	if (status)
		return status;
	if (to && call->option[5])
		return complain("trace show: --json prints, --output writes a file: not both");
	if (!write)
		return complain("trace show: '%s' tells no form (expected: .html, .svg, .json, .pcapng or .txt)",
				to);
	status = trace_read(path, &trace);
	if (status)
		return status;
	trace_model(&trace);
	trace_number(&trace);
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
		.summary = "draw a recording as a ladder: two queue pairs, and what crosses the wire between them",
		.details = "The name after --output tells the form: .html (a page to zoom in), .svg, .json (for\n"
			   "Perfetto or chrome://tracing), .pcapng (for Wireshark), .txt.\n"
			   "Examples: softhca trace show pingpong.dat --wr-id 1\n"
			   "          softhca trace show pingpong.dat -o pingpong.html",
		.option = {
			{ "output", "write a file instead, in the form that its name tells", "OUT", 'o' },
			{ "qp", "only this queue pair and its peer", "QPN", 0 },
			{ "wr-id", "follow work requests with this wr_id", "ID", 0 },
			{ "from", "only from this time on, in microseconds from the first post", "US", 0 },
			{ "to", "only up to this time, in microseconds from the first post", "US", 0 },
			{ "json", "print what --output OUT.json writes", NULL, 0 },
		},
		.run = trace_show_run,
	},
	{}
};
