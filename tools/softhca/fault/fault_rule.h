/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Rules of fault injection as attributes: fault_words.c has the words, fault.c the commands. */
#ifndef SOFTHCA_FAULT_RULE_H
#define SOFTHCA_FAULT_RULE_H

#include "fault_words.h"
#include "../softhca.h"

/*
 * Write the words of a rule into @msg.
 * @where:	for messages: the command, or the line of a file
 * @held:	the rule is to end with this process
 * Return: 0, or an exit status after a message about the first wrong word.
 */
int rule_put(const char *where, struct nl_msg *msg, char **word, int nr, bool held);

/*
 * Print the words of a rule, without its device, each after a space.
 * @tb:		attributes of the nest SHCA_A_FAULT
 * @json:	print members of an object, each after a comma
 * @when:	print also those that say when, among what fits
 */
void rule_print(struct nlattr **tb, bool json, bool when);
/* Write the words of a rule into @words, without its device. */
void rule_text(struct nlattr **tb, char *words, size_t size);
/* Print the numbers of an attribute, as at= takes them. */
void rule_print_list(const struct nlattr *attr);

#endif
