// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * `softhca up`, `down` and `run`: two network namespaces joined by a veth pair. A
 * device is at each end, to try programs with.
 *
 *   .------------ a ------------.       .------------ b ------------.
 *   |  shca0 on veth0           |       |  shca1 on veth1           |
 *   |  10.0.0.1/24              | <---> |  10.0.0.2/24              |
 *   '---------------------------'       '---------------------------'
 *
 * `up` makes what is missing of this, and takes back what it has made if it
 * fails. `down` removes the namespaces that `up` has made, and nothing else.
 */
#include "lab.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LOCK	"/run/softhca.lock"
/* How long `up` waits for a port and its GID, which come by themselves */
#define READY_SECONDS	20

/*
 * one of the two ends
 * @owner: @fd: @made: of the namespace; whether this call has made it
 */
struct end {
	const char *name;
	const char *device;
	const char *netdev;
	const char *address;
	enum netns_owner owner;
	int fd;
	bool made;
	int gid_index;
};

#define NR_ENDS	2
#define PREFIX	24

static struct end ends[NR_ENDS] = {
	{ .name = "a", .device = "shca0", .netdev = "veth0", .address = "10.0.0.1" },
	{ .name = "b", .device = "shca1", .netdev = "veth1", .address = "10.0.0.2" },
};

#define for_each_end(e) for (e = ends; e < ends + NR_ENDS; e++)

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

static void find_ends(void)
{
	struct end *e;

	for_each_end(e)
		e->owner = netns_owner(e->name, &e->fd);
}

/* ---- up ---------------------------------------------------------------------- */

/* Return: whether modprobe succeeded; otherwise it has said why, unless @quiet. */
static bool modprobe(const char *module, bool quiet)
{
	int status = -1;
	pid_t child;

	fflush(NULL);
	child = fork();
	if (!child) {
		execlp("modprobe", "modprobe", quiet ? "-q" : "--", module, NULL);
		_exit(127);
	}
	while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	return child > 0 && !status;
}

/* Loads the module, so that modprobe says what is wrong with it. */
static int load_modules(void)
{
	/* Programs that use rdma_cm need it. Mostly udev has loaded it. */
	if (access("/dev/infiniband/rdma_cm", F_OK))
		modprobe("rdma_ucm", true);
	if (!access("/sys/module/softhca", F_OK) || modprobe("softhca", false))
		return 0;
	return fail("up: the softhca module cannot be loaded (try 'softhca doctor')");
}

static void read_netdev(const char *name, const char *netdev, void *arg)
{
	const struct end *e = arg;

	/* Marks it as found. */
	if (!strcmp(name, e->device) && !strcmp(netdev, e->netdev))
		((struct end *)arg)->gid_index = 0;
}

/* Has this namespace the device, on the right network device? */
static bool has_device(const struct end *e)
{
	struct end found = *e;

	found.gid_index = -1;
	device_netdevs(read_netdev, &found);
	return found.gid_index == 0;
}

/* In the namespace: everything but the veth pair, where it is missing */
static int set_up_end(const void *arg)
{
	const struct end *e = arg;
	int err = address_add(e->netdev, inet_addr(e->address), PREFIX) ?:
		  link_set(e->netdev, true, NULL);

	if (err)
		return fail("up: namespace %s: cannot set up %s: %s", e->name,
			    e->netdev, strerror(-err));
	if (has_device(e))
		return 0;
	err = rdma_link_add(e->device, e->netdev);
	if (err == -EEXIST)
		return fail("up: an RDMA device %s exists already (see 'rdma link show', 'rdma link delete %s')",
			    e->device, e->device);
	if (err)
		return fail("up: namespace %s: cannot add the device %s to %s: %s (see 'dmesg | tail')",
			    e->name, e->device, e->netdev, strerror(-err));
	return 0;
}

static int netdev_is_missing(const void *arg)
{
	const struct end *e = arg;
	char alias[2];

	return !!link_alias(e->netdev, alias, sizeof(alias));
}

static int join_ends(const void *arg)
{
	int err = link_add_veth(ends[0].netdev, ends[1].netdev, ends[1].fd);

	(void)arg;
	return err ? fail("up: cannot join the namespaces by %s and %s: %s",
			  ends[0].netdev, ends[1].netdev, strerror(-err)) : 0;
}

/* In exclusive mode older kernels make devices in the first namespace. */
static int bring_device(const struct end *e)
{
	int err = rdma_set_netns(e->device, e->fd);

	/* It is not in this namespace: it is in its own. */
	if (!err || err == -ENODEV)
		return 0;
	return fail("up: cannot move %s to namespace %s: %s", e->device, e->name,
		    strerror(-err));
}

/* Return: the index of the end's RoCEv2 GID, or -1 if there is none yet. */
static int find_gid(const struct end *e)
{
	char path[128], gid[64], wanted[64], type[32];
	const unsigned char *ip;
	struct in_addr address;
	FILE *file;
	int i;

	address.s_addr = inet_addr(e->address);
	ip = (unsigned char *)&address;
	snprintf(wanted, sizeof(wanted),
		 "0000:0000:0000:0000:0000:ffff:%02x%02x:%02x%02x\n", ip[0], ip[1],
		 ip[2], ip[3]);
	for (i = 0; i < 64; i++) {
		snprintf(path, sizeof(path), "/sys/class/infiniband/%s/ports/1/gids/%d",
			 e->device, i);
		file = fopen(path, "r");
		if (!file)
			return -1;
		if (!fgets(gid, sizeof(gid), file))
			*gid = '\0';
		fclose(file);
		if (strcmp(gid, wanted))
			continue;
		snprintf(path, sizeof(path),
			 "/sys/class/infiniband/%s/ports/1/gid_attrs/types/%d",
			 e->device, i);
		file = fopen(path, "r");
		if (!file)
			continue;
		if (!fgets(type, sizeof(type), file))
			*type = '\0';
		fclose(file);
		if (strstr(type, "v2"))
			return i;
	}
	return -1;
}

static bool is_active(const struct end *e)
{
	char path[128], state[32] = "";
	FILE *file;

	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/ports/1/state",
		 e->device);
	file = fopen(path, "r");
	if (!file)
		return false;
	if (!fgets(state, sizeof(state), file))
		*state = '\0';
	fclose(file);
	return strstr(state, "ACTIVE");
}

/* In the namespace: it prints the index of the GID, which programs ask for. */
static int wait_until_ready(const void *arg)
{
	struct timespec pause = { .tv_nsec = 20 * 1000 * 1000 };
	time_t end = time(NULL) + READY_SECONDS;
	const struct end *e = arg;
	int fd, index;

	/* /sys of this namespace, in which an exclusive device is, too */
	fd = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	if (fd < 0 || netns_enter(fd))
		return 255;
	for (;;) {
		index = is_active(e) ? find_gid(e) : -1;
		if (index >= 0 || time(NULL) >= end)
			return index < 0 ? 255 : index;
		nanosleep(&pause, NULL);
	}
}

static int make_end(struct end *e)
{
	if (e->owner == NETNS_OURS)
		return 0;
	e->fd = netns_make(e->name);
	if (e->fd == -EEXIST)
		return fail("up: a file /run/netns/%s exists already (see 'ip netns')",
			    e->name);
	if (e->fd < 0)
		return fail("up: cannot make the network namespace %s: %s", e->name,
			    strerror(-e->fd));
	e->owner = NETNS_OURS;
	e->made = true;
	return 0;
}

static int make_all(void)
{
	bool exclusive = rdma_is_exclusive();
	struct end *e;
	int status;

	for_each_end(e) {
		status = make_end(e);
		if (status)
			return status;
	}
	if (netns_call(ends[0].fd, netdev_is_missing, &ends[0])) {
		status = netns_call(ends[0].fd, join_ends, NULL);
		if (status)
			return status;
	}
	for_each_end(e) {
		status = netns_call(e->fd, set_up_end, e);
		if (!status && exclusive)
			status = bring_device(e);
		if (status)
			return status;
	}
	for_each_end(e) {
		e->gid_index = netns_call(e->fd, wait_until_ready, e);
		if (e->gid_index == 255)
			return fail("up: %s did not become ready in %d seconds (try 'softhca run -n %s -- softhca doctor')",
				    e->device, READY_SECONDS, e->name);
	}
	return 0;
}

static void print_ends(void)
{
	/* `run` needs root, too. */
	const char *sudo = getenv("SUDO_USER") ? "sudo " : "";
	const struct end *e;

	for_each_end(e)
		printf("namespace %s: %s on %s, %s/%d, GID index %d\n", e->name,
		       e->device, e->netdev, e->address, PREFIX, e->gid_index);
	printf("\nTry it, in two terminals:\n"
	       "  %ssofthca run -n b -- ibv_rc_pingpong -d %s -g %d\n"
	       "  %ssofthca run -n a -- ibv_rc_pingpong -d %s -g %d %s\n",
	       sudo, ends[1].device, ends[1].gid_index, sudo, ends[0].device,
	       ends[0].gid_index, ends[1].address);
}

static void print_ends_json(void)
{
	const struct end *e;

	putchar('[');
	for_each_end(e)
		printf("%s\n  {\"namespace\": \"%s\", \"device\": \"%s\", \"netdev\": \"%s\", \"address\": \"%s/%d\", \"gid_index\": %d}",
		       e == ends ? "" : ",", e->name, e->device, e->netdev,
		       e->address, PREFIX, e->gid_index);
	puts("\n]");
}

static void take_down(struct end *e);

int lab_make(const char *command)
{
	struct end *e;
	int status = need_root(command) ?: take_lock(command);

	if (status)
		return status;
	find_ends();
	for_each_end(e)
		if (e->owner == NETNS_OTHER)
			return fail("up: a network namespace '%s' exists that 'softhca up' has not made (see 'ip netns'); nothing was changed",
				    e->name);
	status = load_modules() ?: make_all();
	if (!status)
		return 0;
	for_each_end(e)
		if (e->made)
			take_down(e);
	return status;
}

static int lab_up(const struct call *call)
{
	int status = lab_make("up");

	if (status)
		return status;
	if (call->option[0])
		print_ends_json();
	else
		print_ends();
	return 0;
}

/* ---- down -------------------------------------------------------------------- */

static void delete_device(const char *name, const char *netdev, void *arg)
{
	(void)arg;
	(void)netdev;
	rdma_link_delete(name);
}

/*
 * Devices of the namespace go first, and one after the other, so that their names
 * are free at once.
 */
static int empty_namespace(const void *arg)
{
	const struct end *e = arg;

	device_netdevs(delete_device, NULL);
	link_delete(e->netdev);
	return 0;
}

static void take_down(struct end *e)
{
	/* A device of exclusive mode that was not moved is found from outside only. */
	netns_call(e->fd, empty_namespace, e);
	netns_remove(e->name);
}

/* Names the processes that are still in the namespace, for they keep it. */
static void name_processes(const struct end *e)
{
	struct stat netns, other;
	char list[256] = "";
	size_t used = 0, i;
	glob_t found;
	int nr = 0;

	if (fstat(e->fd, &netns) || glob("/proc/[0-9]*/ns/net", 0, NULL, &found))
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
			nr, nr == 1 ? " is" : "es are", e->name, list);
}

static int lab_down(const struct call *call)
{
	int status = need_root("down") ?: take_lock("down"), nr = 0;
	struct end *e;

	if (status)
		return status;
	find_ends();
	if (call->option[0])
		putchar('[');
	for_each_end(e) {
		if (e->owner == NETNS_OTHER)
			status = fail("down: 'softhca up' has not made the network namespace '%s'; it is left alone",
				      e->name);
		if (e->owner != NETNS_OURS)
			continue;
		take_down(e);
		name_processes(e);
		if (call->option[0])
			printf("%s\"%s\"", nr++ ? ", " : "", e->name);
	}
	if (call->option[0])
		puts("]");
	return status;
}

/* ---- run --------------------------------------------------------------------- */

/* Exit statuses that shells and env(1) use, too */
#define EXIT_CANNOT_RUN	126
#define EXIT_NOT_FOUND	127

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
		return fail("run: there is no namespace %s (try 'softhca up')", name);
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
		.pattern = "",
		.summary = "make namespaces a and b, joined, with the devices shca0 and shca1",
		.details = "namespace a: shca0 on veth0, 10.0.0.1/24; namespace b: shca1 on veth1, 10.0.0.2/24\n"
			   "What exists already stays, and what is missing is added. If that fails, nothing is left.\n"
			   "Example: sudo softhca up && sudo softhca run -- ibv_devinfo -d shca0",
		.option = { { "json", "print a JSON array of objects", NULL, 0 } },
		.run = lab_up,
	},
	{
		.name = "down",
		.pattern = "",
		.summary = "remove the namespaces and devices that 'softhca up' has made",
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
		.option = { { "namespace", "the namespace; a if not given", LAB_NAMES, 'n' } },
		.run = lab_run,
	},
	{}
};
