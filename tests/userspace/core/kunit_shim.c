// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Runs the suites of tests/kunit in a user process; see kunit_shim.h.
 *
 *   unit [PATTERN]   all cases, or those whose name contains PATTERN
 */
#include <unistd.h>

#include "kunit_shim.h"
#include "steps.h"

static struct kunit_suite *suites;
static const char *pattern = "";
static int nr_failed, nr_run;
static const char *running;

void kunit_shim_register(struct kunit_suite *suite)
{
	struct kunit_suite **at = &suites;

	while (*at && strcmp((*at)->name, suite->name) < 0)
		at = &(*at)->next;
	suite->next = *at;
	*at = suite;
}

void kunit_shim_fail(struct kunit *test, const char *file, int line,
		     const char *what, long long left, long long right)
{
	const char *base = strrchr(file, '/');

	if (!test->failed++)
		snprintf(test->why, sizeof(test->why),
			 "%s:%d: %s: %lld (%#llx), %lld (%#llx)",
			 base ? base + 1 : file, line, what, left, left, right,
			 right);
}

void *kunit_kzalloc(struct kunit *test, size_t size, int gfp)
{
	struct kunit_alloc *a = calloc(1, sizeof(*a) + size);

	(void)gfp;
	if (!a)
		abort();
	a->next = test->allocs;
	test->allocs = a;
	return a->memory;
}

static void free_all(struct kunit *test)
{
	struct kunit_alloc *a;

	while ((a = test->allocs)) {
		test->allocs = a->next;
		free(a);
	}
}

/* A loop of the core that never ends: nothing after it can be run. */
static void endless(void)
{
	printf("not ok %s # endless: more than %llu steps\n", running,
	       STEPS_MAX);
	fflush(stdout);
	_exit(1);
}

static void run_one(struct kunit_suite *suite, struct kunit_case *c,
		    const void *param, const char *desc)
{
	struct kunit test = { .param_value = param };
	char name[400], *p;

	snprintf(name, sizeof(name), "%s.%s%s%s", suite->name, c->name,
		 *desc ? "." : "", desc);
	for (p = name; *p; p++)
		if (*p == ' ' || *p == '#')
			*p = '-';
	if (!strstr(name, pattern))
		return;
	running = name;
	steps_begin(endless);
	if (!setjmp(test.abort)) {
		if (!suite->init || !suite->init(&test))
			c->run_case(&test);
		else
			kunit_shim_fail(&test, "init", 0, "init", 0, 0);
	}
	free_all(&test);
	nr_run++;
	nr_failed += !!test.failed;
	if (test.failed)
		printf("not ok %s # %s\n", name, test.why);
	else if (!*desc)
		printf("ok %s\n", name);
}

/* A table of rows is one line when all is well, and names the rows if not. */
static void run_rows(struct kunit_suite *suite, struct kunit_case *c)
{
	int before = nr_failed, run = nr_run;
	const void *param = NULL;
	char desc[KUNIT_PARAM_DESC_SIZE];

	for (;;) {
		desc[0] = 0;
		param = c->generate_params(param, desc);
		if (!param)
			break;
		run_one(suite, c, param, desc);
	}
	if (nr_run > run && nr_failed == before)
		printf("ok %s.%s\n# %d rows\n", suite->name, c->name,
		       nr_run - run);
}

int main(int argc, char **argv)
{
	struct kunit_suite *suite;
	struct kunit_case *c;

	if (argc > 1)
		pattern = argv[1];
	for (suite = suites; suite; suite = suite->next) {
		for (c = suite->test_cases; c->run_case; c++) {
			if (c->generate_params)
				run_rows(suite, c);
			else
				run_one(suite, c, NULL, "");
		}
	}
	printf("# %d cases, %d failed\n", nr_run, nr_failed);
	return nr_failed || !nr_run;
}
