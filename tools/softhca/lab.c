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
 * `up` makes what is missing, and takes back what it has made if it fails. `down` removes
 * the namespaces that `up` has made, and nothing else.
 */
#include "topology.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOCK	"/run/softhca.lock"

/* Two calls at a time would undo each other. The lock ends with the process. */
static int take_lock(const char *command)
{
	int fd = open(LOCK, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	if (fd < 0 || flock(fd, LOCK_EX))
		return fail("%s: cannot lock " LOCK ": %s", command, strerror(errno));
	return 0;
}

static int need_root(const char *command)
{
	if (!geteuid())
		return 0;
	return fail("%s: only root can use network namespaces (try 'sudo softhca %s')",
		    command, command);
}

/* ---- up ---------------------------------------------------------------------- */

static void print_end(const struct topology *t, const struct lab_end *e)
{
	int i;

	printf("namespace %s: %s on %s", t->netns[e->netns].name, e->device, e->netdev);
	if (t->link[e->link].infiniband)
		printf(", InfiniBand, GUID 0x%s, %s", e->guid, e->state);
	for (i = 0; i < e->nr_addresses; i++) {
		printf(", %s", e->address[i].text);
		if (!t->link[e->link].infiniband)
			printf(", GID index %d", e->address[i].gid_index);
	}
	putchar('\n');
}

/* The first address that ibv_rc_pingpong's server listens at, or NULL */
static const struct lab_address *ipv4_of(const struct lab_end *e)
{
	int i;

	for (i = 0; i < e->nr_addresses; i++)
		if (e->address[i].family == AF_INET)
			return &e->address[i];
	return NULL;
}

static void print_pingpong(const struct topology *t, const struct lab_end *e, const char *sudo,
			   const char *server)
{
	const struct lab_address *a = ipv4_of(e);

	printf("  %ssofthca run -n %s -- ibv_rc_pingpong -d %s", sudo, t->netns[e->netns].name,
	       e->device);
	if (!t->link[e->link].infiniband)
		printf(" -g %d", a->gid_index);
	if (server)
		printf(" %.*s", (int)strcspn(server, "/"), server);
	putchar('\n');
}

/* A traffic between the ends of the first link */
static void print_proposal(const struct topology *t)
{
	/* `run` needs root, too. */
	const char *sudo = getenv("SUDO_USER") ? "sudo " : "";
	const struct lab_end *client = &t->end[t->link[0].first], *server = client + 1;

	if (!ipv4_of(client) || !ipv4_of(server))
		return;
	if (t->link[0].infiniband && strcmp(client->state, "Active"))
		printf("\nThe ports become Active by a subnet manager:\n"
		       "  %ssofthca run -n %s -- opensm -B -g 0x%s\n",
		       sudo, t->netns[client->netns].name, client->guid);
	printf("\nTry it, in two terminals:\n");
	print_pingpong(t, server, sudo, NULL);
	print_pingpong(t, client, sudo, ipv4_of(server)->text);
}

static void print_all(const struct topology *t)
{
	int i;

	for (i = 0; i < t->nr_ends; i++)
		print_end(t, &t->end[i]);
	for (i = 0; i < t->nr_links; i++)
		if (t->link[i].netns >= 0)
			printf("namespace %s: a switch, with %d ports\n", t->link[i].name,
			       t->link[i].nr);
	print_proposal(t);
}

static void print_member(const char *name, const char *value)
{
	printf(", \"%s\": ", name);
	print_json_string(value);
}

static void print_end_json(const struct topology *t, const struct lab_end *e)
{
	const struct lab_link *l = &t->link[e->link];
	int i;

	/* Names of namespaces and links need no escapes. */
	printf("%s\n  {\"namespace\": \"%s\"", e == t->end ? "" : ",", t->netns[e->netns].name);
	print_member("device", e->device);
	print_member("netdev", e->netdev);
	print_member("type", l->infiniband ? "softhca_ib" : "softhca");
	print_member("link", l->name);
	printf(", \"switch\": %s", l->netns < 0 ? "false" : "true");
	if (l->infiniband) {
		print_member("guid", e->guid);
		print_member("state", e->state);
	}
	/* The first one by itself is what a program mostly wants. */
	if (e->nr_addresses)
		print_member("address", e->address[0].text);
	if (e->nr_addresses && !l->infiniband)
		printf(", \"gid_index\": %d", e->address[0].gid_index);
	printf(", \"addresses\": [");
	for (i = 0; i < e->nr_addresses; i++) {
		printf("%s{\"address\": \"%s\"", i ? ", " : "", e->address[i].text);
		if (!l->infiniband)
			printf(", \"gid_index\": %d", e->address[i].gid_index);
		putchar('}');
	}
	printf("]}");
}

static void print_all_json(const struct topology *t)
{
	int i;

	putchar('[');
	for (i = 0; i < t->nr_ends; i++)
		print_end_json(t, &t->end[i]);
	puts("\n]");
}

/* What lab_make() does, of any topology. @result: what there is then */
static int make(const char *command, const char *name, struct topology **result)
{
	struct topology *t;
	int status = need_root(command);

	if (status)
		return status;
	/* Children in the namespaces write to it. */
	t = mmap(NULL, sizeof(*t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (t == MAP_FAILED)
		return fail("%s: out of memory", command);
	*result = t;
	status = topology_read(t, name) ?: take_lock(command);
	return status ?: topology_make(t);
}

int lab_make(const char *command)
{
	struct topology *t;

	return make(command, NULL, &t);
}

static int lab_up(const struct call *call)
{
	struct topology *t;
	int status = make("up", call->nr ? call->word[0] : NULL, &t);

	if (status)
		return status;
	if (call->option[0])
		print_all_json(t);
	else
		print_all(t);
	return 0;
}

/* ---- what is there ----------------------------------------------------------- */

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

/* ---- down -------------------------------------------------------------------- */

/* Names the processes that are still in the namespace, for they keep it. */
static void name_processes(const char *name, int fd)
{
	struct stat netns, other;
	char list[256] = "";
	size_t used = 0, i;
	glob_t found;
	int nr = 0;

	if (fstat(fd, &netns) || glob("/proc/[0-9]*/ns/net", 0, NULL, &found))
		return;
	for (i = 0; i < found.gl_pathc; i++) {
		if (stat(found.gl_pathv[i], &other) || other.st_ino != netns.st_ino ||
		    other.st_dev != netns.st_dev)
			continue;
		nr++;
		if (used < sizeof(list) - 16)
			used += sprintf(list + used, " %d",
					atoi(found.gl_pathv[i] + strlen("/proc/")));
	}
	globfree(&found);
	if (nr)
		fprintf(stderr, "softhca: down: %d process%s still in namespace %s, which has no device any more:%s\n",
			nr, nr == 1 ? " is" : "es are", name, list);
}

/*
 * If another has made namespaces with the names of the pair, the user is told that they
 * stay. Beside a topology with names of its own they do not matter.
 */
static int name_foreign(bool others)
{
	static const char *const pair[] = { "a", "b" };
	int i, fd, status = 0;

	for (i = 0; i < 2 && !others; i++)
		if (netns_owner(pair[i], &fd) == NETNS_OTHER)
			status = fail("down: 'softhca up' has not made the network namespace '%s'; it is left alone",
				      pair[i]);
	return status;
}

static int lab_down(const struct call *call)
{
	static struct names names;
	int status = need_root("down") ?: take_lock("down"), i, fd, nr = 0;
	bool others = false;

	if (status)
		return status;
	netns_names(take_name, &names);
	if (call->option[0])
		putchar('[');
	for (i = 0; i < names.nr; i++) {
		const char *name = names.name[i];

		if (netns_owner(name, &fd) != NETNS_OURS)
			continue;
		others |= strcmp(name, "a") && strcmp(name, "b");
		topology_remove_netns(name, fd);
		name_processes(name, fd);
		close(fd);
		if (call->option[0])
			printf("%s\"%s\"", nr++ ? ", " : "", name);
	}
	if (call->option[0])
		puts("]");
	return name_foreign(others);
}

/* ---- run --------------------------------------------------------------------- */

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
		.option = { { "json", "print a JSON array of objects", NULL, 0 } },
		.run = lab_up,
	},
	{
		.name = "down",
		.pattern = "",
		.summary = "remove the namespaces and devices that 'softhca up' has made, of any topology",
		.details = "Nothing else is touched. Programs that hold a device lose it.",
		.option = { { "json", "print a JSON array of the removed namespaces", NULL, 0 } },
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
