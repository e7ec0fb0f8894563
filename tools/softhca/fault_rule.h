/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Words of a rule of fault injection: fault_rule.c knows them, fault.c has the commands. */
#ifndef SOFTHCA_FAULT_RULE_H
#define SOFTHCA_FAULT_RULE_H

#include "softhca.h"

/* Longest line of a file of rules, and longest text of one word. */
#define RULE_SIZE	8192

/** rule_number() - does @text begin with a decimal or hexadecimal number? Sets its @end */
bool rule_number(const char *text, uint64_t *value, char **end);

/**
 * rule_put() - write the words of a rule into @msg
 * @where:	for messages: the command, or the line of a file
 *
 * Return: 0, or an exit status after a message about the first wrong word.
 */
int rule_put(const char *where, struct nl_msg *msg, char **word, int nr);

/**
 * rule_print() - print the words of a rule, without its device, each after a space
 * @tb:		attributes of the nest SHCA_A_FAULT
 * @json:	print members of an object, each after a comma
 * @when:	print also those that say when, among what fits
 */
void rule_print(struct nlattr **tb, bool json, bool when);
/** rule_print_list() - print the numbers of an attribute, as at= takes them */
void rule_print_list(const struct nlattr *attr);

/** rule_what_name() - of enum shca_fault_what */
const char *rule_what_name(unsigned int what);

#endif
