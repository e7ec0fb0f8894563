/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The grammar of rules of fault injection, for the tool and for the simulator of
 * tests/userspace/core. It knows neither netlink nor the kernel.
 */
#ifndef SOFTHCA_FAULT_WORDS_H
#define SOFTHCA_FAULT_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <softhca-fault.h>
#include <softhca-netlink.h>

/* Longest line of a file of rules, and longest text of one word. */
#define RULE_SIZE	8192
/* Rows of fault_keys[], and the empty one. */
#define FAULT_KEYS	32

enum fault_kind {
	KIND_DEVICE,
	KIND_NAME,	/* u8: index of a name */
	KIND_DIR,	/* flag: tx, or rx */
	KIND_U8,
	KIND_U32,
	KIND_U64,
	KIND_PSN,	/* two u32: FIRST or FIRST-LAST; the second attribute is the next one */
	KIND_RANGE,	/* two u64: likewise */
	KIND_KEY,	/* u32, in hexadecimal */
	KIND_TEXT,	/* a string */
	KIND_TIME,	/* u64, ns: a number with ns, us, ms or s */
	KIND_PROB,	/* u32, parts of a million: a number with % or without */
	KIND_ERRNO,
	KIND_LIST,	/* u32 each: rising numbers and ranges, with commas */
};

/*
 * A key of a rule.
 * @attr:	enum shca_fault_attr
 * @names:	of KIND_NAME
 * @min: @max:	of numbers, times in nanoseconds; @min also of indexes of names
 */
struct fault_key {
	const char *name;
	enum fault_kind kind;
	int attr;
	const char *const *names;
	uint64_t min;
	uint64_t max;
};

extern const struct fault_key fault_keys[FAULT_KEYS];

/*
 * Takes the values of a rule.
 * @put:	@length bytes for @attr, in the form of enum shca_fault_attr; false: no room
 */
struct fault_sink {
	bool (*put)(int attr, const void *data, size_t length, void *arg);
	void *arg;
};

/*
 * Read the words of a rule.
 * @where:	for messages: the command, or the line of a file
 * @device:	result: the value of dev=, or NULL
 * Return: 0, or an exit status after a message about the first wrong word.
 */
int fault_words_read(const char *where, char **word, int nr,
		     const struct fault_sink *sink, const char **device);

/* Take @line apart; how many words it has. */
int fault_split(char *line, char **word, int max);

/* Does @text begin with a decimal or hexadecimal number? Sets its @end. */
bool fault_number(const char *text, uint64_t *value, char **end);

/* Find a key by the first @length characters of @word, or NULL. */
const struct fault_key *fault_find_key(const char *word, size_t length);

/* Name at @index of a list that NULL ends; "?" beyond. */
const char *fault_name_of(const char *const *names, unsigned int index);
/* Name of a value of enum shca_fault_what. */
const char *fault_what_name(unsigned int what);
/* Name of a completion's status, as a rule has it. */
const char *fault_status_name(unsigned int status);
/* Name of an asynchronous event. */
const char *fault_event_name(unsigned int event);

/* Print a message about wrong words; its user has it. Returns an exit status. */
int complain(const char *format, ...)
	__attribute__((format(printf, 1, 2)));

#endif
