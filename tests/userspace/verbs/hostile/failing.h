/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Injects one failure after the other into a system call of this thread, by
 * /proc/thread-self/fail-nth, until none is left.
 *
 * It needs a kernel with CONFIG_FAULT_INJECTION, FAILSLAB, FAIL_PAGE_ALLOC and
 * FAULT_INJECTION_USERCOPY, set up as in tests/guest/hostile/failures.sh, and
 * privileges.
 */
#ifndef FAILING_H
#define FAILING_H

/**
 * struct verb - a pair of create and destroy, or a verb that leaves nothing
 * @make:	returns NULL, with errno, on failure
 * @end:	returns 0 or an errno; NULL if nothing is left
 */
struct verb {
	void *(*make)(void);
	int (*end)(void *object);
};

/** outcome() - return value of a make() that leaves nothing; @err: 0, an errno or -1 */
void *outcome(int err);

/**
 * fail_make() - call make() with the first failure, with the second, and so on
 *
 * A failed verb reports ENOMEM, or EFAULT for a copy, and can be repeated.
 * Return: the number of failures.
 */
int fail_make(const struct verb *verb);

/**
 * fail_end() - the same for end(), which must not fail for lack of memory
 *
 * A copy may fail: of the request, or of the response after the work is done.
 */
int fail_end(const struct verb *verb);

#endif
