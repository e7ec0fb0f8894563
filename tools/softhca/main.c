// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Entry of the softhca tool. It handles the tool's own options; command.c does
 * the rest.
 */
#include "softhca.h"
#include "version.h"

#include <getopt.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* Each group is a file and has a row here. */
const struct command *const command_groups[] = {
	dev_commands,
	lab_commands,
	learn_commands,
	doctor_commands,
	explain_commands,
	fault_commands,
	trace_commands,
	top_commands,
	compat_commands,
	own_commands,
	NULL
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

int complain(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vreport(format, args);
	va_end(args);
	return EXIT_USAGE;
}

/* Prints the versions of tool and module, for bug reports. */
static int print_version(void)
{
	char module[64] = "not loaded";
	FILE *file = fopen("/sys/module/softhca/version", "r");

	if (file) {
		if (fgets(module, sizeof(module), file))
			module[strcspn(module, "\n")] = '\0';
		fclose(file);
	}
	printf("softhca %s\nmodule %s\n", SHCA_VERSION, module);
	return EXIT_SUCCESS;
}

static int show_version(const struct call *call)
{
	(void)call;
	return print_version();
}

static int show_help(const struct call *call)
{
	char *words[MAX_WORDS + 1];
	int i;

	if (!call->nr) {
		command_help(stdout);
		return EXIT_SUCCESS;
	}
	for (i = 0; i < call->nr && i < MAX_WORDS; i++)
		words[i] = call->word[i];
	words[i] = (char *)"--help";
	return command_run(i + 1, words);
}

/* What the tool tells of itself; its options do the same. */
const struct command own_commands[] = {
	{
		.name = "help",
		.pattern = "[COMMAND...]",
		.summary = "show the commands, or all of one",
		.details = "Example: softhca help fault add",
		.run = show_help,
	},
	{
		.name = "version",
		.pattern = "",
		.summary = "show the versions of tool and module",
		.run = show_version,
	},
	{}
};

static int run(int argc, char **argv)
{
	static const struct option options[] = {
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		/* For completion scripts; all following arguments are words. */
		{ "complete", no_argument, NULL, 'c' },
		{}
	};

	opterr = 0;
	switch (getopt_long(argc, argv, "+hV", options, NULL)) {
	case 'h':
		command_help(stdout);
		return EXIT_SUCCESS;
	case 'V':
		return print_version();
	case 'c':
		return command_complete(argc - optind, argv + optind);
	case '?':
		complain("unknown option '%s'", unknown_option(argv));
		fputs("Try 'softhca --help'.\n", stderr);
		return EXIT_USAGE;
	}
	if (optind == argc) {
		command_help(stderr);
		return EXIT_USAGE;
	}
	return command_run(argc - optind, argv + optind);
}

int main(int argc, char **argv)
{
	int status;

	/* Whoever ignored it had no children: then none of ours would have a status. */
	signal(SIGCHLD, SIG_DFL);
	status = run(argc, argv);
	/* A full disk or a closed pipe is a failure. */
	if (fflush(stdout) || ferror(stdout))
		return fail("cannot write the output");
	return status;
}
