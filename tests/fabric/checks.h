/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What the tests of fabric/core share. PROGRAM, defined before, is a string that names of tests
 * begin with. CHECK() keeps the first failure, which tell() prints.
 */
#ifndef SHCA_FABRIC_CHECKS_H
#define SHCA_FABRIC_CHECKS_H

#include <stdio.h>
#include <stdlib.h>

#include "../../kernel/core/os.h"
#include "../userspace/core/steps.h"

static const char *failed;
static u32 failed_line;
static u64 failed_is, failed_wanted;

#define CHECK(is, wanted)	check((is), (wanted), #is, __LINE__)

static void check(u64 is, u64 wanted, const char *what, u32 line)
{
	if (is == wanted || failed)
		return;
	failed = what;
	failed_line = line;
	failed_is = is;
	failed_wanted = wanted;
}

/* Print the outcome of a test. Return: 1: it has failed. */
static u32 tell(const char *name)
{
	if (failed)
		printf("not ok " PROGRAM ".%s # line %u: %s is %llu (0x%llx), not %llu (0x%llx)\n", name, failed_line,
		       failed, (unsigned long long)failed_is, (unsigned long long)failed_is,
		       (unsigned long long)failed_wanted, (unsigned long long)failed_wanted);
	else
		printf("ok " PROGRAM ".%s\n", name);
	return failed ? 1 : 0;
}

/* Only mutants count steps (tests/fabric/mutants). */
static void endless(void)
{
	printf("not ok " PROGRAM ".endless # a loop without an end\n");
	exit(1);
}

static void *zeros(size_t bytes)
{
	void *memory = calloc(1, bytes);

	if (!memory)
		exit(2);
	return memory;
}

#endif
