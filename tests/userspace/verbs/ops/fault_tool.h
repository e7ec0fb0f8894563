/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The tool `softhca fault`, as programs of tests use it. */
#ifndef FAULT_TOOL_H
#define FAULT_TOOL_H

#include "util.h"

/** fault_enter_netns() - rules are made in that of the device: SHCA_NETNS, if it is another */
void fault_enter_netns(void);

/** fault_tool() - run the tool, which must succeed */
void fault_tool(const char *words);
/** fault_ask() - the first line that it prints */
void fault_ask(const char *words, char *line, size_t size);

/** fault_read_recipes() - all, once: a process takes its time in an emulated guest */
void fault_read_recipes(void);
/** fault_recipe() - make the rule that has the name of this test, and no other; @qpn if it wants one */
void fault_recipe(uint32_t qpn);
/** fault_hits() - how often that rule, or the first one, was hit */
unsigned long long fault_hits(void);
/** fault_counter() - of the port's hw_counters */
unsigned long long fault_counter(const char *name);

#endif
