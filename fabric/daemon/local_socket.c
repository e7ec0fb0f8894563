// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Unix sockets with a path. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "local_socket.h"

/* Return: false, with errno. */
static bool make_address(const char *path, struct sockaddr_un *address)
{
	*address = (struct sockaddr_un){ .sun_family = AF_UNIX };
	if (strlen(path) >= sizeof(address->sun_path)) {
		errno = ENAMETOOLONG;
		return false;
	}
	memcpy(address->sun_path, path, strlen(path) + 1);
	return true;
}

bool local_connect(int fd, const char *path)
{
	struct sockaddr_un address;

	return make_address(path, &address) && !connect(fd, (const struct sockaddr *)&address, sizeof(address));
}

int local_dial(const char *path, int type)
{
	int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0), error;

	if (fd < 0)
		return -1;
	if (local_connect(fd, path))
		return fd;
	error = errno;
	close(fd);
	errno = error;
	return -1;
}

/* Return: false, with errno: somebody listens there. */
static bool clear_path(const char *path, int type)
{
	int fd = local_dial(path, type);
	struct stat found;

	if (fd < 0) {
		/* (a file that is no socket refuses, too) */
		if (errno == ECONNREFUSED && !lstat(path, &found) && S_ISSOCK(found.st_mode))
			unlink(path);
		return true;
	}
	close(fd);
	errno = EADDRINUSE;
	return false;
}

int local_listen(const char *path, int type, int backlog)
{
	struct sockaddr_un address;
	int fd, error;
	mode_t mask;
	bool failed;

	if (!make_address(path, &address) || !clear_path(path, type))
		return -1;
	fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -1;
	/* Only its owner may connect or send. */
	mask = umask(0177);
	failed = bind(fd, (struct sockaddr *)&address, sizeof(address)) || (backlog && listen(fd, backlog));
	error = errno;
	umask(mask);
	if (!failed)
		return fd;
	close(fd);
	errno = error;
	return -1;
}
