// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * `softhca learn`: lists the lessons of docs/learn, and builds and runs one of them
 * in the namespaces of `softhca up`. Each command that this takes is printed first.
 */
#include "lab.h"
#include "../netns.h"
#include "../rtnl.h"
#include "../softhca.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef LEARN_DIR
#define LEARN_DIR	"/usr/local/share/softhca/learn"
#endif

/*
 * one lesson
 * @file:	its name in LEARN_DIR, with .c and .md
 * @see:	what is to be seen
 * @before:	shell commands for namespace a, which the lesson needs
 * @after:	and one that undoes them
 * @addresses:	it is two programs, which are given IP addresses, not devices
 */
struct lesson {
	const char *file;
	const char *title;
	const char *see;
	const char *before[4];
	const char *after;
	bool addresses;
};

static const struct lesson lessons[] = {
	{
		.file = "01-queue-pair",
		.title = "what a queue pair is",
		.see = "A step that is left out is refused. In state ERR a request is flushed, not executed.",
	}, {
		.file = "02-memory-region",
		.title = "memory regions, keys and rights",
		.see = "Only a WRITE inside the region, with its key and the right, succeeds.",
	}, {
		.file = "03-send-receive",
		.title = "SEND and receive requests",
		.see = "Messages take the receive requests in order. The third message is too long for its request.",
	}, {
		.file = "04-write-read",
		.title = "RDMA WRITE and READ",
		.see = "The memory of b changes without a completion at b, until the WRITE has immediate data.",
	}, {
		.file = "05-completions",
		.title = "completions and events",
		.see = "Eight requests give two completions. An event comes only for a completion after the queue was armed.",
	}, {
		.file = "06-rdma-cm",
		.title = "connections by IP address (rdma_cm)",
		.see = "The client knows an address and a port; nobody exchanges queue pair numbers by hand.",
		.addresses = true,
	}, {
		.file = "07-shared-receive-queue",
		.title = "one receive queue for many queue pairs (SRQ)",
		.see = "Both queue pairs take the requests 0 to 3. An event says that few are left.",
	}, {
		.file = "08-atomics",
		.title = "atomics",
		.see = "Each operation returns the old value. No addition of two requesters is lost.",
	}, {
		.file = "09-errors",
		.title = "errors, and the way back",
		.see = "The first error stops the queue pair, and the request behind it is flushed.",
	}, {
		.file = "10-loss",
		.title = "lost packets",
		.see = "One packet in fifty is lost, and no message is wrong. A peer that is gone costs the whole retry time.",
		.before = {
			"ip link set dev veth0 gso_max_segs 1",
			"tc qdisc replace dev veth0 root netem loss 2%",
		},
		.after = "tc qdisc del dev veth0 root; ip link set dev veth0 gso_max_segs 65535",
	}, {
		.file = "11-congestion",
		.title = "congestion and ECN",
		.see = "Marked packets draw notifications (CNPs), which slow the senders down before the queue overflows.",
		.before = {
			"ip link set dev veth0 gso_max_segs 1",
			"tc qdisc replace dev veth0 root handle 1: tbf rate 5mbit burst 10kb limit 2000kb",
			"tc qdisc add dev veth0 parent 1:1 handle 2: red limit 600kb min 20kb max 60kb avpkt 1100 burst 30 probability 0.1 bandwidth 5mbit ecn",
		},
		.after = "tc qdisc del dev veth0 root; ip link set dev veth0 gso_max_segs 65535",
	}, {
		.file = "12-wire",
		.title = "what the wire looks like",
		.see = "A message of up to 1024 bytes is one packet. A READ is answered with its data, all others with an acknowledgement.",
	},
};

#define NR_LESSONS	((int)(sizeof(lessons) / sizeof(*lessons)))

/* Waits for @child; its exit status as of a shell. */
static int wait_for(pid_t child)
{
	int status;

	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return EXIT_FAILURE;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/*
 * Starts a shell command, in the namespace unless it is NULL. Its output goes to @out
 * unless that is negative. Ctrl-C ends the command and not this tool, which has to
 * clean up.
 */
static pid_t start(const char *namespace, const char *command, int out)
{
	pid_t child;
	int fd;

	fflush(NULL);
	child = fork();
	if (child)
		return child;
	signal(SIGINT, SIG_DFL);
	if (out >= 0)
		dup2(out, STDOUT_FILENO);
	if (namespace) {
		if (netns_owner(namespace, &fd) != NETNS_OURS || netns_enter(fd))
			_exit(fail("learn: cannot enter namespace %s", namespace));
		setenv("SOFTHCA_NAMESPACE", namespace, 1);
	}
	execl("/bin/sh", "sh", "-c", command, NULL);
	_exit(EXIT_FAILURE);
}

static void show_command(const char *namespace, const char *command)
{
	printf("%s$ %s\n", namespace ? namespace : "", command);
}

static int run_shell(const char *namespace, const char *command)
{
	pid_t child;

	show_command(namespace, command);
	child = start(namespace, command, -1);
	return child < 0 ? EXIT_FAILURE : wait_for(child);
}

/* Was the lesson changed after @program was made of it? */
static bool is_changed(const char *source, const char *program)
{
	static const char header[] = LEARN_DIR "/learn.h";
	struct stat of_source, of_header, of_program;

	if (stat(source, &of_source) || stat(program, &of_program))
		return false;
	return of_source.st_mtime > of_program.st_mtime ||
	       (!stat(header, &of_header) && of_header.st_mtime > of_program.st_mtime);
}

/*
 * Builds the lesson into @dir; @program is then what to run.
 *
 * A program beside the source, as in the project's own guest, serves where there is
 * no compiler, or only its front end. It does not serve for a source that was changed.
 */
static int build(const struct lesson *lesson, const char *dir, char *program, size_t size)
{
	const char *cc = getenv("CC");
	char command[1024];

	if (!cc || !*cc)
		cc = "cc";
	snprintf(command, sizeof(command), "echo 'int x;' | %s -x c -c -o /dev/null - 2>/dev/null", cc);
	if (wait_for(start(NULL, command, -1))) {
		snprintf(program, size, LEARN_DIR "/%s", lesson->file);
		snprintf(command, sizeof(command), LEARN_DIR "/%s.c", lesson->file);
		if (!access(program, X_OK) && !is_changed(command, program))
			return 0;
		return fail("learn: there is no C compiler '%s' (try 'apt-get install gcc libc6-dev libibverbs-dev librdmacm-dev')",
			    cc);
	}
	snprintf(program, size, "%s/%s", dir, lesson->file);
	snprintf(command, sizeof(command), "%s -O2 -Wall -o %s " LEARN_DIR "/%s.c -libverbs%s",
		 cc, program, lesson->file, lesson->addresses ? " -lrdmacm" : "");
	if (!run_shell(NULL, command))
		return 0;
	return fail("learn: the program cannot be built (try 'apt-get install libc6-dev libibverbs-dev librdmacm-dev')");
}

/*
 * rdma_cm asks for an address, so each end runs in its namespace. The client starts
 * when the server has printed its first line, for then the server listens.
 */
static int run_pair(const char *program)
{
	char command[512], text[512];
	int status = EXIT_FAILURE, out[2];
	bool started = false;
	ssize_t length;
	pid_t server;

	if (pipe(out))
		return fail("learn: no pipe: %s", strerror(errno));
	show_command("b", program);
	server = start("b", program, out[1]);
	close(out[1]);
	snprintf(command, sizeof(command), "%s 10.0.0.2", program);
	while ((length = read(out[0], text, sizeof(text))) > 0) {
		fwrite(text, 1, length, stdout);
		if (!started && memchr(text, '\n', length)) {
			started = true;
			status = run_shell("a", command);
			if (status)
				kill(server, SIGTERM);
		}
	}
	close(out[0]);
	return (server < 0 ? EXIT_FAILURE : wait_for(server)) ?: status;
}

static int run_program(const struct lesson *lesson, const char *program)
{
	char command[512];

	if (lesson->addresses)
		return run_pair(program);
	/* In exclusive mode no process sees both devices. */
	if (rdma_is_exclusive()) {
		snprintf(command, sizeof(command), "%s shca0", program);
		return run_shell("a", command);
	}
	snprintf(command, sizeof(command), "%s shca0 shca1", program);
	return run_shell(NULL, command);
}

static int run_lesson(const struct lesson *lesson)
{
	char dir[] = "/tmp/softhca-learn.XXXXXX", program[128];
	const char *const *command;
	int status = lab_make("learn");

	if (status)
		return status;
	if (!mkdtemp(dir))
		return fail("learn: cannot make a folder in /tmp: %s", strerror(errno));
	signal(SIGINT, SIG_IGN);
	printf("Lesson %d: %s\n\n", (int)(lesson - lessons) + 1, lesson->title);
	status = build(lesson, dir, program, sizeof(program));
	for (command = lesson->before; !status && *command; command++)
		if (run_shell("a", *command))
			status = fail("learn: a command that the lesson needs has failed");
	if (!status)
		status = run_program(lesson, program);
	if (lesson->after)
		run_shell("a", lesson->after);
	snprintf(program, sizeof(program), "%s/%s", dir, lesson->file);
	unlink(program);
	rmdir(dir);
	if (status)
		return status;
	printf("\n%s\nRead on:  " LEARN_DIR "/%s.md\nProgram:  " LEARN_DIR "/%s.c\n",
	       lesson->see, lesson->file, lesson->file);
	return 0;
}

static void list_json(void)
{
	int i;

	putchar('[');
	for (i = 0; i < NR_LESSONS; i++) {
		printf("%s\n  {\"lesson\": %d, \"title\": ", i ? "," : "", i + 1);
		print_json_string(lessons[i].title);
		printf(", \"program\": \"" LEARN_DIR "/%s.c\", \"text\": \"" LEARN_DIR "/%s.md\"}",
		       lessons[i].file, lessons[i].file);
	}
	puts("\n]");
}

void lesson_numbers(void (*each)(const char *number, void *arg), void *arg)
{
	char text[16];
	int i;

	for (i = 1; i <= NR_LESSONS; i++) {
		snprintf(text, sizeof(text), "%d", i);
		each(text, arg);
	}
}

static int lessons_list_or_run(const struct call *call)
{
	char *end;
	long nr;
	int i;

	if (call->nr) {
		nr = strtol(call->word[0], &end, 10);
		if (*end || end == call->word[0] || nr < 1 || nr > NR_LESSONS)
			return complain("learn: LESSON must be 1 to %d, not '%s'", NR_LESSONS,
					call->word[0]);
		return run_lesson(&lessons[nr - 1]);
	}
	if (call->option[0]) {
		list_json();
		return 0;
	}
	for (i = 0; i < NR_LESSONS; i++)
		printf("%2d  %s\n", i + 1, lessons[i].title);
	puts("\n'sudo softhca learn 1' runs the first. Texts and programs: " LEARN_DIR);
	return 0;
}

const struct command learn_commands[] = {
	{
		.name = "learn",
		.pattern = "[LESSON]",
		.summary = "list the lessons about verbs, or build and run one, by its number",
		.details = "Lessons are small C programs, each with a text. They run between the devices of\n"
			   "'softhca up', which is done first. This needs root and a C compiler ($CC or cc).\n"
			   "Example: sudo softhca learn 1",
		.option = { { "json", "print the list as a JSON array of objects", NULL, 0 } },
		.run = lessons_list_or_run,
	},
	{}
};
