// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Network namespaces with names, as ip-netns(8) has them: files in /run/netns.
 * Those that this tool makes have a mark, the alias of their loopback device,
 * which exists as long as the namespace. So the tool never takes another's
 * namespace for its own, even if that has the same name or the same number.
 */
#define _GNU_SOURCE
#include "netns.h"
#include "rtnl.h"
#include "softhca.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/magic.h>

#define FOLDER	"/run/netns"
#define MARK	"made by softhca up"

static void path_of(const char *name, char *path, size_t size)
{
	snprintf(path, size, FOLDER "/%s", name);
}

int netns_call(int fd, int (*fn)(const void *arg), const void *arg)
{
	int status = -1;	/* of a child that cannot be waited for */
	pid_t child;

	fflush(NULL);
	child = fork();
	if (child < 0)
		return fail("cannot start a process: %s", strerror(errno));
	if (!child) {
		if (setns(fd, CLONE_NEWNET))
			_exit(fail("cannot enter the network namespace: %s",
				   strerror(errno)));
		status = fn(arg);
		fflush(NULL);
		_exit(status);
	}
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILURE;
}

static int has_mark(const void *arg)
{
	char alias[sizeof(MARK) + 1];

	(void)arg;
	return link_alias("lo", alias, sizeof(alias)) || strcmp(alias, MARK);
}

bool netns_valid_name(const char *name)
{
	const char *c = name;

	while (isalnum((unsigned char)*c) || (*c && strchr("-_.", *c)))
		c++;
	return isalnum((unsigned char)*name) && !*c && c - name < NETNS_NAME_SIZE;
}

enum netns_owner netns_owner(const char *name, int *fd)
{
	char path[64];
	struct statfs fs;

	*fd = -1;
	if (!netns_valid_name(name))
		return NETNS_NONE;
	path_of(name, path, sizeof(path));
	*fd = open(path, O_RDONLY | O_CLOEXEC);
	if (*fd < 0)
		return errno == ENOENT ? NETNS_NONE : NETNS_OTHER;
	/* Without privilege nobody can look for the mark. */
	if (!fstatfs(*fd, &fs) && fs.f_type == NSFS_MAGIC && !geteuid() &&
	    !netns_call(*fd, has_mark, NULL))
		return NETNS_OURS;
	close(*fd);
	*fd = -1;
	return NETNS_OTHER;
}

/* passes netns_names()'s arguments on */
struct each_name {
	void (*each)(const char *name, void *arg);
	void *arg;
};

static void pass_ours(const char *name, void *arg)
{
	const struct each_name *x = arg;
	enum netns_owner owner;
	int fd;

	owner = netns_owner(name, &fd);
	if (fd >= 0)
		close(fd);
	if (owner == NETNS_OURS || (geteuid() && netns_valid_name(name)))
		x->each(name, x->arg);
}

void netns_names(void (*each)(const char *name, void *arg), void *arg)
{
	struct each_name x = { each, arg };

	folder_names(FOLDER, pass_ours, &x);
}

/* ---- everywhere -------------------------------------------------------------- */

/* @same: the current namespace has a name */
struct current {
	struct stat netns;
	bool same;
};

static void compare(const char *name, void *arg)
{
	struct current *current = arg;
	struct stat named;
	char path[64];

	path_of(name, path, sizeof(path));
	if (!stat(path, &named) && named.st_ino == current->netns.st_ino &&
	    named.st_dev == current->netns.st_dev)
		current->same = true;
}

static bool has_name(void)
{
	struct current current = {};

	if (stat("/proc/self/ns/net", &current.netns))
		return true;
	folder_names(FOLDER, compare, &current);
	return current.same;
}

/* passes netns_everywhere()'s arguments on; @home: where the process was */
struct walk {
	bool (*fn)(void *arg);
	void *arg;
	int home;
	bool done;
};

static const char *current_name = "";

const char *netns_current(void)
{
	return current_name;
}

/* A netlink socket stays in the namespace in which it was opened. */
static bool move_to(int fd)
{
	genl_close();
	return !setns(fd, CLONE_NEWNET);
}

static void visit(const char *name, void *arg)
{
	struct walk *walk = arg;
	int fd;

	if (walk->done || netns_owner(name, &fd) != NETNS_OURS)
		return;
	if (move_to(fd)) {
		current_name = name;
		walk->done = walk->fn(walk->arg);
		current_name = "";
		if (!walk->done && !move_to(walk->home))
			exit(fail("cannot leave the network namespace %s: %s", name,
				  strerror(errno)));
	}
	close(fd);
}

bool netns_everywhere(bool (*fn)(void *arg), void *arg)
{
	struct walk walk = { .fn = fn, .arg = arg };

	if (fn(arg))
		return true;
	if (geteuid() || has_name())
		return false;
	walk.home = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	if (walk.home < 0)
		return false;
	folder_names(FOLDER, visit, &walk);
	close(walk.home);
	return walk.done;
}

static void count_name(const char *name, void *arg)
{
	(void)name;
	++*(int *)arg;
}

void netns_hint(void)
{
	int nr = 0;

	if (geteuid() && !has_name())
		netns_names(count_name, &nr);
	if (nr)
		fprintf(stderr, "softhca: nothing here (with sudo it looks into the namespaces of 'softhca up', too)\n");
}

/* Mounts below /sys that belong to the machine, not to a network namespace */
static const char *const kept[] = {
	"/sys/fs/cgroup", "/sys/fs/bpf", "/sys/kernel/debug",
	"/sys/kernel/security", "/sys/kernel/tracing",
};

#define NR_KEPT	((int)(sizeof(kept) / sizeof(*kept)))

int netns_enter(int fd)
{
	int tree[NR_KEPT], i;

	if (setns(fd, CLONE_NEWNET) || unshare(CLONE_NEWNS) ||
	    mount("", "/", "none", MS_SLAVE | MS_REC, NULL))
		return -errno;
	/* /sys/class/net shows the namespace in which sysfs was mounted. */
	for (i = 0; i < NR_KEPT; i++)
		tree[i] = open_tree(AT_FDCWD, kept[i],
				    OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC |
				    AT_RECURSIVE);
	umount2("/sys", MNT_DETACH);
	if (mount("sysfs", "/sys", "sysfs", 0, NULL))
		return -errno;
	for (i = 0; i < NR_KEPT; i++) {
		if (tree[i] < 0)
			continue;
		/* What is missing there is missing outside, too. */
		move_mount(tree[i], "", AT_FDCWD, kept[i], MOVE_MOUNT_F_EMPTY_PATH);
		close(tree[i]);
	}
	return 0;
}
