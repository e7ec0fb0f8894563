/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * One failure after the other is injected into a system call of this thread, by
 * /proc/thread-self/fail-nth, until there are no more.
 *
 * Needs a kernel with CONFIG_FAULT_INJECTION, FAILSLAB, FAIL_PAGE_ALLOC and
 * FAULT_INJECTION_USERCOPY, set up as tests/guest/78-failures.sh does, and privileges.
 */
#ifndef FAILING_H
#define FAILING_H

/**
 * struct verb - a pair that makes something and ends it, or one that leaves nothing
 * @make:	NULL, with errno, where it fails
 * @end:	returns 0 or an errno; NULL: nothing is left
 */
struct verb {
	void *(*make)(void);
	int (*end)(void *object);
};

/** outcome() - what make() returns that leaves nothing; @err: 0, an errno or -1 */
void *outcome(int err);

/**
 * fail_make() - make it with the first failure, with the second, and so on
 *
 * What fails reports ENOMEM, or EFAULT for a copy, and can be repeated.
 * Return: how many there are.
 */
int fail_make(const struct verb *verb);

/**
 * fail_end() - the same of the end, which must not fail for lack of memory
 *
 * A copy may: of the request, or of the answer when all is done.
 */
int fail_end(const struct verb *verb);

#endif
