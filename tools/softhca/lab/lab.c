// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * `softhca up`, `down` and `run`: network namespaces joined by veth pairs, with devices at
 * their ends, to try programs with. Without a file it is this:
 *
 *   .------------ a ------------.       .------------ b ------------.
 *   |  shca0 on veth0           |       |  shca1 on veth1           |
 *   |  10.0.0.1/24              | <---> |  10.0.0.2/24              |
 *   '---------------------------'       '---------------------------'
 *
 * `up` and `down` are a script, lab, which runs ip(8) and rdma(8).
 */
#include "lab.h"
#include "../netns.h"
#include "../softhca.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SCRIPT	LAB_DIR "/lab"

static int need_root(const char *command)
{
	if (!geteuid())
		return 0;
	return fail("%s: only root can use network namespaces (try 'sudo softhca %s')",
		    command, command);
}

/* ---- up and down --------------------------------------------------------------- */

/* `up` or `down`, with what was said after it; returns only if it cannot be run */
static int run_script(const char *command, const struct call *call)
{
	const char *word[6] = { SCRIPT, command };
	int nr = 2, status = need_root(command);

	if (status)
		return status;
	if (call->option[0])
		word[nr++] = "--json";
	if (call->option[1])
		word[nr++] = "--verbose";
	if (call->nr)
		word[nr++] = call->word[0];
	fflush(NULL);
	execv(SCRIPT, (char **)word);
	return fail("%s: " SCRIPT ": %s", command, strerror(errno));
}

static int lab_up(const struct call *call)
{
	return run_script("up", call);
}

static int lab_down(const struct call *call)
{
	return run_script("down", call);
}

int lab_make(const char *command)
{
	int status = need_root(command), out;
	pid_t child;

	if (status)
		return status;
	fflush(NULL);
	child = fork();
	if (!child) {
		out = open("/dev/null", O_WRONLY | O_CLOEXEC);
		if (out < 0 || dup2(out, STDOUT_FILENO) < 0)
			_exit(fail("%s: /dev/null: %s", command, strerror(errno)));
		execl(SCRIPT, SCRIPT, "up", NULL);
		_exit(fail("%s: " SCRIPT ": %s", command, strerror(errno)));
	}
	while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	if (child < 0)
		return fail("%s: cannot start a process: %s", command, strerror(errno));
	return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILURE;
}

void topology_names(void (*each)(const char *name, void *arg), void *arg)
{
	folder_names(TOPOLOGIES_DIR, each, arg);
}

/* ---- run --------------------------------------------------------------------- */

/* names of namespaces, as many as fit */
struct names {
	char name[512][NETNS_NAME_SIZE];
	int nr;
};

static void take_name(const char *name, void *arg)
{
	struct names *names = arg;

	if (names->nr < 512)
		strcpy(names->name[names->nr++], name);
}

/* "a", "a and b", or "a, b and c" */
static void list_names(const struct names *names, char *text, size_t size)
{
	size_t used = 0;
	int i;

	*text = '\0';
	for (i = 0; i < names->nr && used < size; i++)
		used += snprintf(text + used, size - used, "%s%s",
				 !i ? "" : i + 1 < names->nr ? ", " : " and ", names->name[i]);
}

/* Exit statuses that shells and env(1) use, too */
#define EXIT_CANNOT_RUN	126
#define EXIT_NOT_FOUND	127

static int no_namespace(const char *name)
{
	static struct names names;
	char list[256];

	netns_names(take_name, &names);
	if (!names.nr)
		return fail("run: there is no namespace %s (try 'softhca up')", name);
	list_names(&names, list, sizeof(list));
	return fail("run: there is no namespace %s (of 'softhca up' there is %s)", name, list);
}

static int lab_run(const struct call *call)
{
	const char *name = call->value[0] ? call->value[0] : "a";
	char sh[] = "/bin/sh", *shell[] = { getenv("SHELL"), NULL };
	char **command = shell;
	int fd, err, status = need_root("run");

	if (status)
		return status;
	switch (netns_owner(name, &fd)) {
	case NETNS_NONE:
		return no_namespace(name);
	case NETNS_OTHER:
		return fail("run: 'softhca up' has not made the network namespace '%s' ('ip netns exec %s' runs programs there)",
			    name, name);
	case NETNS_OURS:
		break;
	}
	err = netns_enter(fd);
	if (err)
		return fail("run: cannot enter namespace %s: %s", name, strerror(-err));
	if (call->nr)
		command = call->word;
	else if (!shell[0] || !*shell[0])
		shell[0] = sh;
	if (!call->nr && isatty(STDERR_FILENO))
		fprintf(stderr, "softhca: a shell in namespace %s; 'exit' leaves it\n",
			name);
	setenv("SOFTHCA_NAMESPACE", name, 1);
	execvp(command[0], command);
	err = errno;
	fail("run: %s: %s", command[0], strerror(err));
	return err == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN;
}

const struct command lab_commands[] = {
	{
		.name = "up",
		.pattern = "[TOPOLOGY]",
		.summary = "make network namespaces, joined, with devices in them: a with shca0, b with shca1",
		.details = "TOPOLOGY is the path of a file, - for standard input, or one of those that come with the tool:\n"
			   "  pair    namespace a: shca0 on veth0, 10.0.0.1/24; b: shca1 on veth1, 10.0.0.2/24 (if not given)\n"
			   "  rails   the same, and a second link: shca2 on veth2, 10.0.1.1/24; shca3 on veth3, 10.0.1.2/24\n"
			   "  star    a switch with four hosts, a to d, shca0 to shca3, 10.0.0.1/24 to 10.0.0.4/24\n"
			   "  subnet  two InfiniBand ports, shib0 in a and shib1 in b, for a subnet manager\n"
			   "A file has lines: link NAME [type=softhca|softhca_ib] [mtu=MTU], and for each of its ends\n"
			   "                  end ns=NAMESPACE dev=DEVICE [netdev=NETDEV] [addr=ADDRESS/PREFIX,...]\n"
			   "What exists already stays, and what is missing is added. If that fails, nothing is left.\n"
			   "Example: sudo softhca up && sudo softhca run -- ibv_devinfo -d shca0",
		.option = { { "json", "print a JSON array of objects", NULL, 0 },
			    { "verbose", "show the commands of ip(8) and rdma(8)", NULL, 'v' } },
		.run = lab_up,
	},
	{
		.name = "down",
		.pattern = "",
		.summary = "remove the namespaces and devices that 'softhca up' has made, of any topology",
		.details = "Nothing else is touched. Programs that hold a device lose it.",
		.option = { { "json", "print a JSON array of the removed namespaces", NULL, 0 },
			    { "verbose", "show the commands of ip(8) and rdma(8)", NULL, 'v' } },
		.run = lab_down,
	},
	{
		.name = "run",
		.pattern = "[-- COMMAND...]",
		.summary = "run a program, or a shell, in one of these namespaces",
		.details = "The exit status is that of the program; 126 if it cannot be run, 127 if it is not found.\n"
			   "The program sees its namespace in the environment, SOFTHCA_NAMESPACE.\n"
			   "Examples: softhca run -n b -- ibv_rc_pingpong -d shca1 -g 1\n"
			   "          softhca run -- ibv_rc_pingpong -d shca0 -g 1 10.0.0.2\n"
			   "          softhca run -n b",
		.option = { { "namespace", "the namespace; a if not given", "NAMESPACE", 'n' } },
		.run = lab_run,
	},
	{}
};
