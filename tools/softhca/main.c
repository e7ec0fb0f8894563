// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Entry of the softhca tool: finds the noun, leaves the rest to its file.
 */
#include "softhca.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct command nouns[] = {
	{ "dev", dev_command, "show [NAME] [--json] | set NAME path auto|wire|host [peer DEVICE,...]" },
	{}
};

static void vreport(const char *format, va_list args)
{
	fputs("softhca: ", stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
}

int fail(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vreport(format, args);
	va_end(args);
	return EXIT_FAILURE;
}

int usage_error(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vreport(format, args);
	va_end(args);
	fputs("Try 'softhca --help'.\n", stderr);
	return EXIT_USAGE;
}

static void help(const struct command *table, const char *path, FILE *out)
{
	const char *lead = "usage:";

	for (; table->name; table++, lead = "      ")
		fprintf(out, "%s %s %s %s\n", lead, path, table->name,
			table->synopsis);
}

int command_run(const struct command *table, const char *path, int argc,
		char **argv)
{
	const struct command *c;

	if (argc < 2) {
		help(table, path, stderr);
		return EXIT_USAGE;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") ||
	    !strcmp(argv[1], "help")) {
		help(table, path, stdout);
		return EXIT_SUCCESS;
	}
	for (c = table; c->name; c++)
		if (!strcmp(argv[1], c->name))
			return c->run(argc - 1, argv + 1);
	return usage_error("unknown command '%s %s'", path, argv[1]);
}

int main(int argc, char **argv)
{
	int status = command_run(nouns, "softhca", argc, argv);

	/* A full disk or a closed pipe is not success. */
	if (fflush(stdout) || ferror(stdout))
		return fail("cannot write the output");
	return status;
}
