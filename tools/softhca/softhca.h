/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The user's tool. A file per group of commands (dev/dev.c) has the group's rows of
 * the table. command.c parses, helps and completes from these rows only. genl.c
 * talks to the module.
 */
#ifndef SOFTHCA_TOOL_H
#define SOFTHCA_TOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <netinet/in.h>

#include <netlink/attr.h>
#include <netlink/msg.h>

#include <softhca-netlink.h>

/* Exit status of a wrong command line. EXIT_FAILURE is for a refusal or failure. */
#define EXIT_USAGE	2

/* Maximum options of a row, and maximum words after a command. */
#define MAX_OPTIONS	8
#define MAX_WORDS	16

/*
 * An option of a command.
 * @name:	without the dashes
 * @summary:	for the help text
 * @value:	its value, as a word of a pattern; NULL: it has none
 * @letter:	its short form, or 0
 */
struct option_row {
	const char *name;
	const char *summary;
	const char *value;
	char letter;
};

/*
 * A command line, matched with a row of the table.
 * @command:	the row
 * @word:	words after the command, one for each token of the pattern
 * @nr:		number of words; the part in brackets may be absent
 * @option:	which of the row's options were given
 * @value:	and their values
 */
struct call {
	const struct command *command;
	char **word;
	int nr;
	bool option[MAX_OPTIONS];
	const char *value[MAX_OPTIONS];
};

/*
 * A row of the table: one form of a command.
 * @name:	its one or two words; rows with the same name are forms of one command
 * @pattern:	words after the name. "word" is typed as it is, "one|other" is
 *		one of these values, "UPPER" is any value, "DEVICE" is the name
 *		of a softhca device. "DEVICE,..." is several names with commas.
 *		"COMMAND..." is a program and its arguments: options must come
 *		before it, and "--" may. "KEY=VALUE..." is a rule of fault
 *		injection: all words that follow. "PERSONALITY" and "TOPOLOGY" are names of one,
 *		"NAMESPACE" is one that `softhca up` has made. "RECIPE", "LESSON"
 *		and "RULE" (its number) are what their commands list. "FILE" and "OUT" are
 *		files. The part in brackets at the end is optional
 * @summary:	one line of the help text
 * @details:	more lines for the help text of the command alone, or NULL
 * @option:	ends with an empty row
 * @run:	returns an exit status. Devices exist, and values of a choice
 *		are valid
 */
struct command {
	const char *name;
	const char *pattern;
	const char *summary;
	const char *details;
	struct option_row option[MAX_OPTIONS];
	int (*run)(const struct call *call);
};

/* The table: an array of rows per group; an empty row ends each. */
extern const struct command *const command_groups[];
extern const struct command compat_commands[];
extern const struct command dev_commands[];
extern const struct command doctor_commands[];
extern const struct command explain_commands[];
extern const struct command lab_commands[];
extern const struct command fault_commands[];
extern const struct command learn_commands[];
extern const struct command own_commands[];
extern const struct command top_commands[];
extern const struct command trace_commands[];

/* command.c */

/* Match a command line with the table and run it; an exit status. */
int command_run(int argc, char **argv);

/*
 * Print the candidates for the last word, one per line.
 * @argv:	words after "softhca"; the last is incomplete or empty
 */
int command_complete(int argc, char **argv);

/* Print the help text of the tool. */
void command_help(FILE *out);

/* The option that getopt_long() has refused, as typed. */
const char *unknown_option(char **argv);

/* Index of @word in "one|other", or -1. */
int choice_index(const char *choices, const char *word);

/* main.c */

/* Print "softhca: " and a message; returns EXIT_FAILURE. */
int fail(const char *format, ...)
	__attribute__((format(printf, 1, 2)));

/* As fail(), for a wrong command line; returns EXIT_USAGE. */
int complain(const char *format, ...)
	__attribute__((format(printf, 1, 2)));

/* text.c */

/*
 * Replace control characters, and what is no UTF-8, by '?'. Programs and other users choose
 * their names, and files come from anywhere. No control character of theirs may reach the
 * terminal.
 */
void text_clean(char *text);
/* Bytes of the character at @s, in UTF-8; 0: a control character, or none. */
size_t text_length(const char *s);
/* Are the next two bytes a control character from 0x80 to 0x9f? */
bool text_is_c1(const char *s);

/* Print @s in quotes, whatever it contains. */
void print_json_string(const char *s);

/* Read the first line of a file, without its end; "" if there is none. */
void file_line(const char *path, char *line, size_t size);

/* Read the name of a process, clean; "" if there is none. */
void process_comm(unsigned int pid, char *comm, size_t size);

/* Call @each for each visible file of the folder @path, by name. */
void folder_names(const char *path, void (*each)(const char *name, void *arg), void *arg);

/* device.c */

/*
 * Properties of a device.
 * @nr_pkeys:	entries of its P_Key table
 */
struct device {
	int nr_pkeys;
};

/*
 * Ask the kernel for a device. It may be in a namespace of `softhca up`. The process is in its
 * namespace then.
 * Return: 0, or an exit status after a message.
 */
int device_find(const char *name, struct device *device);

/* Is the device one of the current network namespace? */
bool device_is_here(const char *name);

/* Return: 0, or an exit status if no device can have this name. */
int device_check_name(const char *name);

/* Make a request about one device; NULL: about all. */
struct nl_msg *device_request(const char *name);

/* Call @each for every device of this network namespace; no message. */
void device_netdevs(void (*each)(const char *name, const char *netdev, void *arg),
		    void *arg);

/* Call @each for every GID of RoCEv2 of a device's port, with its index. */
void device_gids(const char *name, void (*each)(int index, const struct in6_addr *gid, void *arg),
		 void *arg);

/* The largest path MTU that a network device of this MTU carries, or 0. */
int device_path_mtu(int mtu, bool infiniband);

/* Call @each for every device of this network namespace, and of `softhca up`. */
void device_names(void (*each)(const char *name, void *arg), void *arg);

/* fault.c */

/*
 * Make a rule of @words for @device, which ends with this process.
 * @id:		0 of an event
 * Return: an exit status.
 */
int fault_make(const char *device, const char *words, uint32_t *id);

/* How often a rule has hit. */
uint64_t fault_hits(uint32_t id);
/* Delete a rule, or with 0 all of this network namespace; an exit status. */
int fault_end(uint32_t id);

/* Call @each for the number of each rule. */
void fault_ids(void (*each)(const char *id, void *arg), void *arg);
/* Call @each for each file of rules that came with the tool. */
void profile_names(void (*each)(const char *name, void *arg), void *arg);

/* learn.c */

/* Call @each for the number of each lesson. */
void lesson_numbers(void (*each)(const char *number, void *arg), void *arg);

/* fault_rule.c */

/* Call @offer for what may complete a word KEY=VALUE. */
void fault_complete(const char *word, void (*offer)(const char *, void *),
		    void *arg);

/* provoke.c */

/* Print the recipes, or run one; an exit status. */
int fault_recipes(const struct call *call);

/* Call @each for each recipe. */
void recipe_names(void (*each)(const char *name, void *arg), void *arg);

/* genl.c */

/* Called for each message of a reply. */
typedef void genl_reply_fn(struct nlattr **attrs, void *arg);

/*
 * Connect to the softhca family, once.
 * @quiet:	print no message if there is no such family
 * Return: 0, or an exit status after a message.
 */
int genl_open(bool quiet);

/* The next genl_open() connects to the family of the network namespace that is current then. */
void genl_close(void);

/*
 * Allocate a request of the family.
 * @flags:	NLM_F_DUMP or 0
 * Return: never NULL (exits when out of memory).
 */
struct nl_msg *genl_request(enum shca_genl_cmd cmd, int flags);

/*
 * Send @msg, wait for the reply, free @msg.
 * @what:	subject of an error message, such as a device name; NULL for no
 *		message
 * @reply:	may be NULL
 * Return: 0, or an exit status after the kernel's message.
 */
int genl_send(struct nl_msg *msg, const char *what, genl_reply_fn *reply,
	      void *arg);

#endif
