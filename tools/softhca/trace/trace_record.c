// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * `softhca trace record`. The events go into a tracing instance of its own, so other
 * people's tracing is not disturbed, and from there into a file.
 *
 * The file is a trace.dat of version 6, trace-cmd.dat.v6(5), which trace-cmd(1) and
 * KernelShark read, too. libtracecmd reads such files, but its interface has no call to
 * write one. trace-cmd(1) itself would add the addresses of all kernel symbols. These
 * take 10 MB, and do not belong in a file that people send to each other.
 */
#define _GNU_SOURCE
#include "../explain.h"
#include "trace.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <tracefs.h>

#define INSTANCE	"softhca-trace-"
/* Systems of events; the second has the payload alone */
#define EVENTS		"softhca"
#define EVENTS_PAYLOAD	"softhca_payload"
#define DEFAULT_MB	64
#define MAX_MB		4096
/* The kernel's ring of each CPU, which is emptied continuously */
#define RING_KB		4096
/* Events come by the page; a spool is written so many at a time */
#define SPOOL_PAGES	16
/* trace.dat's numbers of options */
#define OPTION_TRACECLOCK	4
#define OPTION_UNAME		5
/* Exit statuses that shells and env(1) use, too */
#define EXIT_CANNOT_RUN	126
#define EXIT_NOT_FOUND	127

/*
 * a recording that runs
 * @ring: @spool: of each CPU: the kernel's ring, and a file without a name
 * @buffers: of the spools
 */
struct recorder {
	struct tracefs_instance *instance;
	const char *path;
	FILE *out;
	int nr_cpus;
	int *ring;
	FILE **spool;
	char *buffers;
	uint64_t *bytes;
	uint64_t used, limit;
	bool full;
	bool payload;
	char *page;
	size_t page_size;
};

static volatile sig_atomic_t stopped;

static void stop(int number)
{
	(void)number;
	stopped = 1;
}

/* ---- the instance ------------------------------------------------------------- */

/* A recorder that was killed has left its instance. */
static void remove_stale(void)
{
	const char *dir = tracefs_tracing_dir();
	char pattern[512];
	struct tracefs_instance *old;
	glob_t found;
	size_t i;

	snprintf(pattern, sizeof(pattern), "%s/instances/" INSTANCE "*", dir);
	if (glob(pattern, GLOB_ONLYDIR, NULL, &found))
		return;
	for (i = 0; i < found.gl_pathc; i++) {
		const char *name = strrchr(found.gl_pathv[i], '/') + 1;
		pid_t pid = atoi(name + strlen(INSTANCE));

		if (pid <= 0 || !kill(pid, 0) || errno != ESRCH)
			continue;
		old = tracefs_instance_create(name);
		if (old) {
			tracefs_instance_destroy(old);
			tracefs_instance_free(old);
		}
	}
	globfree(&found);
}

struct tracefs_instance *trace_instance(void)
{
	struct tracefs_instance *instance;
	char text[64];

	remove_stale();
	snprintf(text, sizeof(text), INSTANCE "%d", getpid());
	instance = tracefs_instance_create(text);
	if (!instance)
		return NULL;
	/* Events of different CPUs are to be compared. */
	tracefs_instance_file_write(instance, "trace_clock", "mono");
	snprintf(text, sizeof(text), "%d", RING_KB);
	tracefs_instance_file_write(instance, "buffer_size_kb", text);
	return instance;
}

void trace_instance_end(struct tracefs_instance *instance)
{
	if (!instance)
		return;
	tracefs_instance_destroy(instance);
	tracefs_instance_free(instance);
}

static int instance_open(struct recorder *r)
{
	const char *dir = geteuid() ? NULL : tracefs_tracing_dir();
	char path[512];

	if (geteuid())
		return fail("trace record: only root can trace, for the events are root's (try 'sudo softhca trace record ...')");
	if (!dir)
		return fail("trace record: tracefs is not there (try 'mount -t tracefs tracefs /sys/kernel/tracing')");
	snprintf(path, sizeof(path), "%s/events/softhca", dir);
	if (access(path, F_OK))
		return fail("trace record: the softhca module is not loaded (try 'modprobe softhca')");
	r->instance = trace_instance();
	if (!r->instance)
		return fail("trace record: cannot make a tracing instance: %s", strerror(errno));
	return 0;
}

static void instance_close(struct recorder *r)
{
	int i;

	if (!r->instance)
		return;
	for (i = 0; i < r->nr_cpus; i++)
		if (r->ring[i] >= 0)
			close(r->ring[i]);
	tracefs_print_close(r->instance);
	trace_instance_end(r->instance);
	r->instance = NULL;
}

static int rings_open(struct recorder *r)
{
	char name[64];
	int i;

	r->nr_cpus = sysconf(_SC_NPROCESSORS_CONF);
	r->page_size = sysconf(_SC_PAGESIZE);
	r->ring = malloc(r->nr_cpus * sizeof(*r->ring));
	r->spool = calloc(r->nr_cpus, sizeof(*r->spool));
	r->bytes = calloc(r->nr_cpus, sizeof(*r->bytes));
	r->page = malloc(r->page_size);
	r->buffers = malloc(r->nr_cpus * SPOOL_PAGES * r->page_size);
	if (!r->ring || !r->spool || !r->bytes || !r->page || !r->buffers)
		return fail("trace record: out of memory");
	for (i = 0; i < r->nr_cpus; i++)
		r->ring[i] = -1;
	for (i = 0; i < r->nr_cpus; i++) {
		snprintf(name, sizeof(name), "per_cpu/cpu%d/trace_pipe_raw", i);
		r->ring[i] = tracefs_instance_file_open(r->instance, name,
							O_RDONLY | O_NONBLOCK | O_CLOEXEC);
		/* A CPU that was never there has no ring. */
		if (r->ring[i] < 0 && errno == ENOENT)
			continue;
		r->spool[i] = r->ring[i] < 0 ? NULL : tmpfile();
		if (!r->spool[i])
			return fail("trace record: cannot read the events of CPU %d: %s",
				    i, strerror(errno));
		setvbuf(r->spool[i], r->buffers + i * SPOOL_PAGES * r->page_size, _IOFBF,
			SPOOL_PAGES * r->page_size);
	}
	return 0;
}

/* Moves what is in the rings to the spools. Return: false if these are full. */
static bool drain(struct recorder *r)
{
	ssize_t got;
	int i;

	for (i = 0; i < r->nr_cpus; i++)
		while (r->ring[i] >= 0 &&
		       (got = read(r->ring[i], r->page, r->page_size)) > 0) {
			if (r->used + r->page_size > r->limit ||
			    fwrite(r->page, 1, got, r->spool[i]) != (size_t)got)
				return false;
			r->bytes[i] += got;
			r->used += got;
		}
	return true;
}

/* Return: how many events the rings had no room for. */
static unsigned long long count_lost(struct recorder *r)
{
	unsigned long long lost = 0;
	char name[64], *stats, *at;
	int i;

	for (i = 0; i < r->nr_cpus; i++) {
		snprintf(name, sizeof(name), "per_cpu/cpu%d/stats", i);
		stats = tracefs_instance_file_read(r->instance, name, NULL);
		if (!stats)
			continue;
		at = strstr(stats, "overrun: ");
		lost += at ? strtoull(at + strlen("overrun: "), NULL, 10) : 0;
		at = strstr(stats, "dropped events: ");
		lost += at ? strtoull(at + strlen("dropped events: "), NULL, 10) : 0;
		free(stats);
	}
	return lost;
}

/* ---- marks: the names of what has no event of its own -------------------------- */

static void mark_qp(struct nlattr **attrs, void *arg)
{
	struct recorder *r = arg;
	struct shca_dump_fate fate = {};
	size_t size;

	if (!attrs[SHCA_A_DEV_NAME] || !attrs[SHCA_A_FATE])
		return;
	size = nla_len(attrs[SHCA_A_FATE]);
	memcpy(&fate, nla_data(attrs[SHCA_A_FATE]),
	       size < sizeof(fate) ? size : sizeof(fate));
	if (!(fate.flags & SHCA_FATE_DESTROYED))
		tracefs_printf(r->instance, TRACE_MARK_QP "%s qpn=%#x peer=%#x pid=%u\n",
			       nla_get_string(attrs[SHCA_A_DEV_NAME]), fate.qpn,
			       fate.dest_qpn, fate.pid);
}

static void mark_qps(struct recorder *r)
{
	if (!genl_open(true))
		genl_send(genl_request(SHCA_CMD_FATE_GET, NLM_F_DUMP), NULL, mark_qp, r);
}

/* ---- the file ------------------------------------------------------------------- */

static void put(struct recorder *r, const void *data, size_t size)
{
	fwrite(data, 1, size, r->out);
}

static void put_u16(struct recorder *r, uint16_t n) { put(r, &n, sizeof(n)); }
static void put_u32(struct recorder *r, uint32_t n) { put(r, &n, sizeof(n)); }
static void put_u64(struct recorder *r, uint64_t n) { put(r, &n, sizeof(n)); }
static void put_name(struct recorder *r, const char *s) { put(r, s, strlen(s) + 1); }

/* A file of tracefs with its size before it, which has 8 bytes */
static void put_file(struct recorder *r, const char *name)
{
	int size = 0;
	char *text = tracefs_instance_file_read(NULL, name, &size);

	put_u64(r, text ? size : 0);
	if (text)
		put(r, text, size);
	free(text);
}

/* The events of a system that the kernel has */
static void put_system(struct recorder *r, const char *system)
{
	const char *skip = tracefs_tracing_dir();
	char pattern[512];
	glob_t found;
	size_t i;

	put_name(r, system);
	snprintf(pattern, sizeof(pattern), "%s/events/%s/*/format", skip, system);
	if (glob(pattern, 0, NULL, &found)) {
		put_u32(r, 0);
		return;
	}
	put_u32(r, found.gl_pathc);
	for (i = 0; i < found.gl_pathc; i++)
		put_file(r, found.gl_pathv[i] + strlen(skip) + 1);
	globfree(&found);
}

static void put_formats(struct recorder *r)
{
	/* of ftrace's own events only that of the marks */
	put_u32(r, 1);
	put_file(r, "events/ftrace/print/format");
	put_u32(r, r->payload ? 2 : 1);
	put_system(r, EVENTS);
	if (r->payload)
		put_system(r, EVENTS_PAYLOAD);
}

static void put_option(struct recorder *r, int number, const char *text)
{
	put_u16(r, number);
	put_u32(r, strlen(text) + 1);
	put_name(r, text);
}

static void put_head(struct recorder *r)
{
	static const unsigned char magic[] = { 0x17, 0x08, 0x44 };
	const uint16_t one = 1;
	struct utsname uts;
	char text[256], *clock;

	put(r, magic, sizeof(magic));
	put(r, "tracing", 7);
	put_name(r, "6");
	fputc(*(const unsigned char *)&one ? 0 : 1, r->out);	/* byte order */
	fputc(sizeof(long), r->out);
	put_u32(r, r->page_size);
	put_name(r, "header_page");
	put_file(r, "events/header_page");
	put_name(r, "header_event");
	put_file(r, "events/header_event");
	put_formats(r);
	put_u32(r, 0);		/* addresses of kernel symbols */
	put_u32(r, 0);		/* formats of trace_printk() */
	put_file(r, "saved_cmdlines");
	put_u32(r, r->nr_cpus);
	put(r, "options  ", 10);
	clock = tracefs_instance_file_read(r->instance, "trace_clock", NULL);
	put_option(r, OPTION_TRACECLOCK, clock ? clock : "[mono]");
	free(clock);
	uname(&uts);
	snprintf(text, sizeof(text), "%.60s %.60s", uts.sysname, uts.release);
	put_option(r, OPTION_UNAME, text);
	put_u16(r, 0);
	put(r, "flyrecord", 10);
}

/* Return: 0, or a negative errno. */
static int write_file(struct recorder *r)
{
	uint64_t at;
	size_t got;
	int i;

	put_head(r);
	at = ftell(r->out) + 16ull * r->nr_cpus;
	for (i = 0; i < r->nr_cpus; i++) {
		at = (at + r->page_size - 1) / r->page_size * r->page_size;
		put_u64(r, at);
		put_u64(r, r->bytes[i]);
		at += r->bytes[i];
	}
	for (i = 0; i < r->nr_cpus; i++) {
		at = ftell(r->out);
		while (at++ % r->page_size)
			fputc(0, r->out);
		if (!r->spool[i])
			continue;
		if (fflush(r->spool[i]))
			return -errno;
		rewind(r->spool[i]);
		while ((got = fread(r->page, 1, r->page_size, r->spool[i])))
			put(r, r->page, got);
	}
	return fflush(r->out) || ferror(r->out) ? -errno : 0;
}

/* ---- the command ---------------------------------------------------------------- */

/* Starts a program that waits until *@gate is closed. Return: its process, or -1. */
static pid_t start_program(char **word, int *gate)
{
	int fd[2], err;
	pid_t child;
	char byte;

	if (pipe2(fd, O_CLOEXEC))
		return -1;
	fflush(NULL);
	child = fork();
	if (!child) {
		close(fd[1]);
		/* Ctrl-C is for the program, as without us. */
		signal(SIGINT, SIG_DFL);
		signal(SIGTERM, SIG_DFL);
		signal(SIGHUP, SIG_DFL);
		if (read(fd[0], &byte, 1) < 0)
			_exit(EXIT_CANNOT_RUN);
		execvp(word[0], word);
		err = errno;
		fail("trace record: %s: %s", word[0], strerror(err));
		_exit(err == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN);
	}
	close(fd[0]);
	*gate = fd[1];
	return child;
}

/* Records until the program has ended, or until a signal. Return: the program's status. */
static int record(struct recorder *r, pid_t child)
{
	const struct timespec pause = { .tv_nsec = 10000000 };
	int status = 0;

	while (child || !stopped) {
		if (!r->full && !drain(r)) {
			r->full = true;
			tracefs_trace_off(r->instance);
		}
		if (r->full && !child)
			break;
		if (child && waitpid(child, &status, WNOHANG) == child)
			break;
		nanosleep(&pause, NULL);
	}
	return status;
}

/*
 * The file is new, or a plain one of the caller: of who calls sudo, who is to read it
 * without. It is no link, so that nobody else can have it written elsewhere.
 */
static int open_output(struct recorder *r)
{
	const char *uid = getenv("SUDO_UID"), *gid = getenv("SUDO_GID");
	uid_t caller = uid ? (uid_t)atoi(uid) : getuid();
	struct stat old;
	int fd;

	fd = open(r->path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0 && errno == EEXIST) {
		fd = open(r->path, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
		if (fd < 0 || fstat(fd, &old) || !S_ISREG(old.st_mode) ||
		    old.st_nlink > 1 || old.st_uid != caller || ftruncate(fd, 0))
			return fail("trace record: %s is there, and is no plain file of user %u: give another name or remove it",
				    r->path, caller);
	}
	r->out = fd < 0 ? NULL : fdopen(fd, "w");
	if (!r->out)
		return fail("trace record: %s: %s", r->path, strerror(errno));
	if (uid && gid && fchown(fd, caller, atoi(gid)))
		fail("trace record: %s stays root's: %s", r->path, strerror(errno));
	return 0;
}

static int parse_size(const char *text, uint64_t *bytes)
{
	unsigned long mb = DEFAULT_MB;
	char *end;

	if (text) {
		mb = strtoul(text, &end, 10);
		if (!*text || *end || mb < 1 || mb > MAX_MB)
			return complain("trace record: MB must be 1 to %d, not '%s'", MAX_MB, text);
	}
	*bytes = (uint64_t)mb << 20;
	return 0;
}

/* What the user is told at the end */
static void report(const struct recorder *r, unsigned long long lost)
{
	struct stat file = {};

	fflush(r->out);
	fstat(fileno(r->out), &file);
	if (r->full)
		fprintf(stderr, "softhca: trace record: the first %llu MB are kept; the rest was not recorded (--size)\n",
			(unsigned long long)r->limit >> 20);
	if (lost)
		fprintf(stderr, "softhca: trace record: %llu events are lost: they came faster than they could be read\n",
			lost);
	fprintf(stderr, "softhca: %llu kB in %s; 'softhca trace show %s' draws it\n",
		(unsigned long long)file.st_size >> 10, r->path, r->path);
}

/* The kernel lets those have payload who may capture packets. */
static int enable_events(struct recorder *r)
{
	if (r->payload && tracefs_event_enable(r->instance, EVENTS_PAYLOAD, "shca_payload")) {
		if (errno == EPERM)
			return fail("trace record: --payload needs CAP_NET_RAW, as a packet capture does");
		return fail("trace record: cannot enable the event of payloads: %s", strerror(errno));
	}
	if (tracefs_event_enable(r->instance, EVENTS, NULL))
		return fail("trace record: cannot enable the events: %s", strerror(errno));
	return 0;
}

static int record_to_file(struct recorder *r, const struct call *call)
{
	unsigned long long lost;
	int gate = -1, status, err;
	pid_t child = 0;

	status = instance_open(r);
	if (!status)
		status = rings_open(r);
	if (!status)
		status = open_output(r);
	if (status)
		return status;
	if (call->nr) {
		child = start_program(call->word, &gate);
		if (child < 0)
			return fail("trace record: cannot start a process: %s", strerror(errno));
	}
	mark_qps(r);
	status = enable_events(r);
	if (status) {
		if (child)
			kill(child, SIGKILL);
		return status;
	}
	if (!child)
		fprintf(stderr, "softhca: recording; Ctrl-C ends it\n");
	if (gate >= 0)
		close(gate);
	status = record(r, child);
	tracefs_event_disable(r->instance, EVENTS, NULL);
	if (r->payload)
		tracefs_event_disable(r->instance, EVENTS_PAYLOAD, NULL);
	lost = count_lost(r);
	if (lost)
		tracefs_printf(r->instance, TRACE_MARK_LOST "%llu\n", lost);
	if (!r->full)
		drain(r);
	err = write_file(r);
	if (err)
		return fail("trace record: %s: %s", r->path, strerror(-err));
	report(r, lost);
	if (WIFSIGNALED(status))
		return 128 + WTERMSIG(status);
	return WEXITSTATUS(status);
}

int trace_record_run(const struct call *call)
{
	struct sigaction action = { .sa_handler = stop };
	struct recorder r = {
		.path = call->value[0] ? call->value[0] : TRACE_FILE,
		.payload = call->option[2],
	};
	int i, status = parse_size(call->value[1], &r.limit);

	if (status)
		return status;
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
	status = record_to_file(&r, call);
	instance_close(&r);
	for (i = 0; r.spool && i < r.nr_cpus; i++)
		if (r.spool[i])
			fclose(r.spool[i]);
	if (r.out && fclose(r.out))
		status = fail("trace record: %s: %s", r.path, strerror(errno));
	free(r.ring);
	free(r.spool);
	free(r.buffers);
	free(r.bytes);
	free(r.page);
	return status;
}
