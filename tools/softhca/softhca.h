/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The user's tool: one file per noun (dev.c, later faults.c, trace.c, top.c),
 * a row for each in the table of main.c; genl.c talks to the kernel.
 */
#ifndef SOFTHCA_TOOL_H
#define SOFTHCA_TOOL_H

#include <stdbool.h>

#include <netlink/attr.h>
#include <netlink/msg.h>

#include <softhca-netlink.h>

/* Exit status: of the command, of a wrong command line. */
#define EXIT_USAGE	2

/**
 * struct command - a noun, or a verb under it
 * @name:	as typed
 * @run:	argv[0] is the name; returns an exit status
 * @synopsis:	what follows the name, for the help text
 */
struct command {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *synopsis;
};

/* main.c */

/**
 * command_run() - run the row of @table that argv[1] names
 * @path:	words typed so far, for messages
 */
int command_run(const struct command *table, const char *path, int argc,
		char **argv);

/** fail() - print "softhca: " and the text; returns EXIT_FAILURE */
int fail(const char *format, ...)
	__attribute__((format(printf, 1, 2)));

/** usage_error() - as fail(), with a hint at --help; returns EXIT_USAGE */
int usage_error(const char *format, ...)
	__attribute__((format(printf, 1, 2)));

/* dev.c */
int dev_command(int argc, char **argv);

/* genl.c */

/** genl_reply_fn - called for each message of a reply */
typedef void genl_reply_fn(struct nlattr **attrs, void *arg);

/**
 * genl_open() - connect to the softhca family
 *
 * Return: 0; else an exit status, the reason is printed.
 */
int genl_open(void);

/**
 * genl_request() - a request of the family, to be filled and sent
 * @flags:	NLM_F_DUMP or 0
 *
 * Return: never NULL (exits when out of memory).
 */
struct nl_msg *genl_request(enum shca_genl_cmd cmd, int flags);

/**
 * genl_send() - send @msg, wait for the answer, free @msg
 * @what:	the subject of an error message, such as a device name
 * @reply:	may be NULL
 *
 * Return: 0; else an exit status, the kernel's reason is printed.
 */
int genl_send(struct nl_msg *msg, const char *what, genl_reply_fn *reply,
	      void *arg);

#endif
