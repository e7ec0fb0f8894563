// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "util.h"

#include <fcntl.h>
#include <unistd.h>

#include "failing.h"

#define MAX_FAILURES	3000

static int fail_fd = -1;

static void arm(int nth)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%d", nth);

	if (fail_fd < 0)
		fail_fd = open("/proc/thread-self/fail-nth", O_RDWR);
	if (fail_fd < 0)
		test_skip("this kernel injects no failures");
	REQUIRE_EQ(pwrite(fail_fd, text, len, 0), len);
}

/*
 * Return: whether something has failed. The last failure may be in this read
 * itself, when the verb had nothing left to fail.
 */
static bool disarm(void)
{
	char text[16] = "";
	ssize_t len = pread(fail_fd, text, sizeof(text) - 1, 0);

	if (pwrite(fail_fd, "0", 1, 0) != 1)
		REQUIRE_EQ(pwrite(fail_fd, "0", 1, 0), 1);
	return len > 0 && atoi(text) == 0;
}

/* (The network stack has no buffers where it has no memory for a route.) */
static bool is_failure(int err)
{
	return err == ENOMEM || err == ENOBUFS || err == EFAULT;
}

static void *made(const struct verb *verb)
{
	void *object;

	errno = 0;
	object = verb->make();
	if (!object)
		FAIL("without a failure: %s", strerror(errno));
	return object;
}

int fail_make(const struct verb *verb)
{
	bool failed;
	void *object;
	int nth, err;

	for (nth = 1; nth < MAX_FAILURES; nth++) {
		arm(nth);
		errno = 0;
		object = verb->make();
		err = errno;
		failed = disarm();
		if (!object && !failed)
			FAIL("not made to fail, and yet (%d): %s", nth,
			     strerror(err));
		if (!object && !is_failure(err))
			FAIL("failure %d is reported as %s", nth, strerror(err));
		if (object && verb->end) {
			err = verb->end(object);
			if (err)
				FAIL("after %d: cannot be ended: %s", nth,
				     strerror(err));
		}
		if (!failed)
			return nth - 1;
	}
	FAIL("no end of failures");
}

int fail_end(const struct verb *verb)
{
	bool failed;
	void *object;
	int nth, err;

	for (nth = 1; nth < MAX_FAILURES; nth++) {
		object = made(verb);
		arm(nth);
		err = verb->end(object);
		failed = disarm();
		if (err && !failed)
			FAIL("end: not made to fail, and yet (%d): %s", nth,
			     strerror(err));
		if (err && err != EFAULT)
			FAIL("end: failure %d is reported as %s", nth,
			     strerror(err));
		if (err) {
			err = verb->end(object);
			if (err && err != ENOENT && err != EINVAL && err != EBADF)
				FAIL("end: after failure %d, again: %s", nth,
				     strerror(err));
		}
		if (!failed)
			return nth - 1;
	}
	FAIL("end: no end of failures");
}

void *outcome(int err)
{
	static int nothing;

	if (!err)
		return &nothing;
	errno = err > 0 ? err : errno;
	return NULL;
}
