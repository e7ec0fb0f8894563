// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The verbs sanitizer: SOFTHCA_LINT, and reports.
 *
 * A report is one write, so reports of several processes do not mix. A finding is
 * reported once for each stack of callers; after that it is only counted.
 */
#define _GNU_SOURCE	/* secure_getenv(), dladdr() */
#include "doorbell.h"
#include "lint.h"

#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SHCA_LINT_SEEN		4096

enum shca_lint_level { SHCA_LINT_OFF, SHCA_LINT_ERROR, SHCA_LINT_HINT };

static const struct {
	enum shca_lint_level level;
	const char *name;
} shca_lint_findings[] = {
#define F(id, level, name) { SHCA_LINT_##level, name },
	SHCA_LINT_FINDINGS(F)
#undef F
};

/* All of this belongs to the process, and the lock protects it. */
static pthread_mutex_t shca_lint_lock = PTHREAD_MUTEX_INITIALIZER;
static enum shca_lint_level shca_lint_level;
/* Where it reports: its own copy, and which file that is. */
static int shca_lint_fd = -1;
static struct stat shca_lint_file;
static bool shca_lint_off;
/* How reading SOFTHCA_LINT went: 0, or an errno; -1: it has not been read. */
static int shca_lint_err = -1;
static pid_t shca_lint_pid;
static unsigned int shca_lint_errors, shca_lint_hints, shca_lint_repeated;
/* Hashes of what was reported, an open table; 0: free. */
static uint64_t shca_lint_seen[SHCA_LINT_SEEN];
static unsigned int shca_lint_nr_seen;

bool shca_lint_wants(enum shca_lint_finding finding)
{
	return shca_lint_findings[finding].level <= shca_lint_level;
}

/* ---- stacks -------------------------------------------------------------- */

/* Is it a frame of this library, or of the one that calls it? */
static bool shca_lint_is_inner(const Dl_info *frame)
{
	Dl_info own, verbs;

	return (dladdr(&shca_lint_level, &own) &&
		frame->dli_fbase == own.dli_fbase) ||
	       (dladdr(ibv_get_device_list, &verbs) &&
		frame->dli_fbase == verbs.dli_fbase);
}

void shca_lint_stack_get(struct shca_lint_stack *stack)
{
	stack->nr = backtrace(stack->frame, SHCA_LINT_FRAMES);
}

static void shca_lint_print_stack(FILE *out, const char *what,
				  const struct shca_lint_stack *stack)
{
	bool inner = true, found;
	int i, nr = 0;
	Dl_info info;

	fprintf(out, "softhca lint:   %s\n", what);
	for (i = 0; i < stack->nr; i++) {
		/* The address is where the call returns to. */
		char *frame = (char *)stack->frame[i] - 1;

		found = dladdr(frame, &info);
		inner = inner && found && shca_lint_is_inner(&info);
		if (inner)
			continue;
		fprintf(out, "softhca lint:     #%d ", nr++);
		if (!found)
			fprintf(out, "%p\n", frame);
		else
			fprintf(out, "%s+0x%tx%s%s%s\n", info.dli_fname,
				frame - (char *)info.dli_fbase,
				info.dli_sname ? " (" : "",
				info.dli_sname ? info.dli_sname : "",
				info.dli_sname ? ")" : "");
	}
}

/* ---- reports ------------------------------------------------------------- */

static uint64_t shca_lint_hash(enum shca_lint_finding finding,
			       const struct shca_lint_stack *stack)
{
	uint64_t hash = finding + 1;
	int i;

	for (i = 0; stack && i < stack->nr; i++)
		hash = (hash ^ (uintptr_t)stack->frame[i]) * 0x9e3779b97f4a7c15ull;
	return hash ? hash : 1;
}

/* Context: shca_lint_lock held. */
static bool shca_lint_is_new(uint64_t hash)
{
	unsigned int i = hash % SHCA_LINT_SEEN;

	while (shca_lint_seen[i] && shca_lint_seen[i] != hash)
		i = (i + 1) % SHCA_LINT_SEEN;
	/* The table keeps a free place, at which searches end. */
	if (shca_lint_seen[i] || shca_lint_nr_seen == SHCA_LINT_SEEN - 1)
		return false;
	shca_lint_seen[i] = hash;
	shca_lint_nr_seen++;
	return true;
}

static void shca_lint_write(const char *text, size_t length)
{
	struct stat file;
	ssize_t done;

	/* The program may have closed it, and another file has its number. */
	if (fstat(shca_lint_fd, &file) ||
	    file.st_dev != shca_lint_file.st_dev ||
	    file.st_ino != shca_lint_file.st_ino)
		return;
	while (length) {
		done = write(shca_lint_fd, text, length);
		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return;
		text += done;
		length -= done;
	}
}

static const char *shca_lint_opcode(const struct shca_lint_queue *queue,
				    const struct shca_lint_post *post)
{
#define SHCA_LINT_NAME(name, ...) [SHCA_WR_##name] = #name,
	static const char *const names[] = { SHCA_SEND_OPS(SHCA_LINT_NAME) };
#undef SHCA_LINT_NAME

	if (!queue->is_send)
		return "RECV";
	if (post->opcode < sizeof(names) / sizeof(*names) && names[post->opcode])
		return names[post->opcode];
	return "request";
}

void shca_lint_say(struct shca_lint *lint, enum shca_lint_finding finding,
		   const struct shca_lint_queue *queue,
		   const struct shca_lint_post *post,
		   const struct shca_lint_stack *now, const char *format, ...)
{
	const char *name = shca_lint_findings[finding].name;
	bool is_error = shca_lint_findings[finding].level == SHCA_LINT_ERROR;
	char *text = NULL;
	size_t length;
	va_list args;
	int saved;
	FILE *out;

	if (!shca_lint_wants(finding))
		return;
	pthread_mutex_lock(&shca_lint_lock);
	if (!shca_lint_is_new(shca_lint_hash(finding, now ? now : post ? &post->stack : NULL))) {
		shca_lint_repeated++;
		goto out;
	}
	if (is_error)
		shca_lint_errors++;
	else
		shca_lint_hints++;
	/* (its errno is the program's) */
	saved = errno;
	shca_doorbell_found(lint->ibctx, !is_error);
	errno = saved;
	out = open_memstream(&text, &length);
	if (!out)
		goto out;
	fprintf(out, "softhca lint: %s: %s: %s", is_error ? "error" : "hint",
		name, lint->ibctx->device->name);
	if (queue && queue->qp)
		fprintf(out, " QP %u", queue->qp->qp_num);
	else if (queue)
		fprintf(out, " SRQ");
	if (post)
		fprintf(out, " %s wr_id 0x%llx", shca_lint_opcode(queue, post),
			(unsigned long long)post->wr_id);
	fprintf(out, ": ");
	va_start(args, format);
	vfprintf(out, format, args);
	va_end(args);
	fputc('\n', out);
	if (post)
		shca_lint_print_stack(out, "posted at", &post->stack);
	if (now)
		shca_lint_print_stack(out, "found at", now);
	if (!fclose(out))
		shca_lint_write(text, length);
	free(text);
out:
	pthread_mutex_unlock(&shca_lint_lock);
}

/* The sum at the end of the process, if it has linted, and is not a child of the one. */
static void __attribute__((destructor)) shca_lint_end(void)
{
	char text[128];
	int length;

	if (!shca_lint_pid || shca_lint_pid != getpid())
		return;
	length = snprintf(text, sizeof(text),
			  "softhca lint: %u errors, %u hints, %u repeated\n",
			  shca_lint_errors, shca_lint_hints, shca_lint_repeated);
	shca_lint_write(text, length);
}

/* ---- SOFTHCA_LINT -------------------------------------------------------- */

static int shca_lint_wrong(const char *word, const char *why)
{
	fprintf(stderr, "softhca: SOFTHCA_LINT: %s: %s\n", word, why);
	return EINVAL;
}

static int shca_lint_word(const char *word)
{
	int fd;

	if (!strcmp(word, "off")) {
		shca_lint_off = true;
		return 0;
	}
	if (!strcmp(word, "on") || !strcmp(word, "errors")) {
		if (shca_lint_level < SHCA_LINT_ERROR)
			shca_lint_level = SHCA_LINT_ERROR;
		return 0;
	}
	if (!strcmp(word, "hints")) {
		shca_lint_level = SHCA_LINT_HINT;
		return 0;
	}
	if (strncmp(word, "file=", 5))
		return shca_lint_wrong(word, "wrong (expected: off, on, errors, hints or file=PATH, separated by commas)");
	fd = open(word + 5, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	if (fd < 0)
		return shca_lint_wrong(word, strerror(errno));
	shca_lint_fd = fd;
	return 0;
}

/* Context: shca_lint_lock held. Return: 0 or an errno. */
static int shca_lint_read(const char *value)
{
	char *words = strdup(value), *rest = words, *word;
	int err = 0;

	if (!words)
		return ENOMEM;
	while (!err && (word = strsep(&rest, ",")))
		if (*word)
			err = shca_lint_word(word);
	free(words);
	return err;
}

/* What the process asks for, or else the device's administrator. */
static int shca_lint_ask(uint64_t features)
{
	/* Not from one who starts a program with more rights than his own. */
	const char *value = secure_getenv("SOFTHCA_LINT");
	struct shca_lint_stack stack;

	if (value && *value && shca_lint_err < 0)
		shca_lint_err = shca_lint_read(value);
	if (shca_lint_err > 0 || shca_lint_off)
		return shca_lint_err;
	if (features & SHCA_FEATURE_LINT_HINTS)
		shca_lint_level = SHCA_LINT_HINT;
	else if (shca_lint_level == SHCA_LINT_OFF &&
		 (features & SHCA_FEATURE_LINT || (value && *value)))
		shca_lint_level = SHCA_LINT_ERROR;
	if (shca_lint_level == SHCA_LINT_OFF || shca_lint_pid)
		return 0;
	shca_lint_pid = getpid();
	/* Descriptor 2 may become another file of the program's. */
	if (shca_lint_fd < 0)
		shca_lint_fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	fstat(shca_lint_fd, &shca_lint_file);
	/* The first one loads a library. */
	shca_lint_stack_get(&stack);
	return 0;
}

int shca_lint_start(struct shca_context *ctx, struct verbs_context_ops *ops)
{
	const char *value = secure_getenv("SOFTHCA_LINT");
	struct shca_lint *lint;
	int err, i;

	if ((!value || !*value) && !(ctx->features & SHCA_FEATURE_LINT))
		return 0;
	pthread_mutex_lock(&shca_lint_lock);
	err = shca_lint_ask(ctx->features);
	pthread_mutex_unlock(&shca_lint_lock);
	if (err || shca_lint_off)
		return err;
	lint = calloc(1, sizeof(*lint));
	if (!lint)
		return ENOMEM;
	pthread_mutex_init(&lint->lock, NULL);
	lint->ibctx = &ctx->vctx.context;
	lint->next = *ops;
	for (i = 0; i < SHCA_LINT_BUCKETS; i++) {
		list_head_init(&lint->qps[i]);
		list_head_init(&lint->mrs[i]);
	}
	list_head_init(&lint->srqs);
	ctx->lint = lint;
	shca_lint_set_ops(ops);
	return 0;
}

void shca_lint_stop(struct shca_context *ctx)
{
	struct shca_lint *lint = ctx->lint;
	struct shca_lint_mr *mr;
	int i;

	if (!lint)
		return;
	/* A program may close its device with regions left. */
	for (i = 0; i < SHCA_LINT_BUCKETS; i++)
		while ((mr = list_pop(&lint->mrs[i], struct shca_lint_mr, entry)))
			free(mr);
	pthread_mutex_destroy(&lint->lock);
	free(lint);
}
