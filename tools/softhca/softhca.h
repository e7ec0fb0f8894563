/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The user's tool: a file per group of commands (dev.c), each with its rows of the
 * one table; command.c parses, helps and completes by these rows alone; genl.c talks
 * to the kernel.
 */
#ifndef SOFTHCA_TOOL_H
#define SOFTHCA_TOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <netlink/attr.h>
#include <netlink/msg.h>

#include <softhca-netlink.h>

/* Exit status of a wrong command line; EXIT_FAILURE: of what was refused or failed. */
#define EXIT_USAGE	2

/* At most as many options in a row, and words behind a command. */
#define MAX_OPTIONS	8
#define MAX_WORDS	16

/**
 * struct option_row - an option of a command, without a value
 * @name:	without the dashes
 * @summary:	for the help text
 */
struct option_row {
	const char *name;
	const char *summary;
};

/**
 * struct call - what was typed, as the row of the table has it
 * @command:	that row
 * @word:	the words behind the command, one for each of its pattern
 * @nr:		how many; a part in brackets may be absent
 * @option:	whether each of the row's options was given
 */
struct call {
	const struct command *command;
	char **word;
	int nr;
	bool option[MAX_OPTIONS];
};

/**
 * struct command - a row of the table: one form of a command
 * @name:	its one or two words; rows with the same name are forms of one command
 * @pattern:	what follows: "word" is typed as it is, "one|other" is a value that is
 *		one of these, "UPPER" any value, "DEVICE" the name of a softhca device,
 *		"DEVICE,..." names with commas between them.  What is in brackets at the
 *		end may be left out
 * @summary:	one line of the help text
 * @details:	more lines for the command's own help text, or NULL
 * @option:	ends with an empty row
 * @run:	returns an exit status; devices are known to exist, values of a choice are
 *		of it
 */
struct command {
	const char *name;
	const char *pattern;
	const char *summary;
	const char *details;
	struct option_row option[MAX_OPTIONS];
	int (*run)(const struct call *call);
};

/* The table: an array of rows for each group, each ends with an empty row. */
extern const struct command *const command_groups[];
extern const struct command dev_commands[];

/* command.c */

/** command_run() - parse a command line by the table, and do it; an exit status */
int command_run(int argc, char **argv);

/**
 * command_complete() - print what the last of the words may become, a line each
 * @argv:	what was typed behind "softhca"; the last is incomplete or empty
 */
int command_complete(int argc, char **argv);

/** command_help() - print the help text of the tool */
void command_help(FILE *out);

/** unknown_option() - the option that getopt_long() has just refused, as typed */
const char *unknown_option(char **argv);

/** choice_index() - the number of @word in "one|other"; -1: it is none of them */
int choice_index(const char *choices, const char *word);

/* main.c */

/** fail() - print "softhca: " and the text; returns EXIT_FAILURE */
int fail(const char *format, ...)
	__attribute__((format(printf, 1, 2)));

/** complain() - as fail(), but for a wrong command line; returns EXIT_USAGE */
int complain(const char *format, ...)
	__attribute__((format(printf, 1, 2)));

/* dev.c */

/**
 * struct device - what a command has to know of a device
 * @nr_pkeys:	entries of its P_Key table
 */
struct device {
	int nr_pkeys;
};

/**
 * device_find() - ask the kernel for a device
 *
 * Return: 0; else an exit status, the reason is printed.
 */
int device_find(const char *name, struct device *device);

/** device_check_name() - 0, or the exit status of a name that no device can have */
int device_check_name(const char *name);

/** device_names() - call @each for every device of this network namespace */
void device_names(void (*each)(const char *name, void *arg), void *arg);

/* genl.c */

/** genl_reply_fn - called for each message of a reply */
typedef void genl_reply_fn(struct nlattr **attrs, void *arg);

/**
 * genl_open() - connect to the softhca family, once
 * @quiet:	say nothing where it is not there
 *
 * Return: 0; else an exit status, the reason is printed.
 */
int genl_open(bool quiet);

/**
 * genl_request() - a request of the family, to be filled and sent
 * @flags:	NLM_F_DUMP or 0
 *
 * Return: never NULL (exits when out of memory).
 */
struct nl_msg *genl_request(enum shca_genl_cmd cmd, int flags);

/**
 * genl_send() - send @msg, wait for the answer, free @msg
 * @what:	the subject of an error message, such as a device name; NULL: say nothing
 * @reply:	may be NULL
 *
 * Return: 0; else an exit status, the kernel's reason is printed.
 */
int genl_send(struct nl_msg *msg, const char *what, genl_reply_fn *reply,
	      void *arg);

#endif
