/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Unix sockets with a path. */
#ifndef SHCA_FABRIC_LOCAL_SOCKET_H
#define SHCA_FABRIC_LOCAL_SOCKET_H

#include <stdbool.h>

/*
 * Listen at a path, for processes of this user. What a killed process has left there is replaced.
 * @type:	SOCK_DGRAM or SOCK_SEQPACKET
 * @backlog:	as listen() has it; 0: of datagrams
 *
 * Return: the socket, which does not block; -1, with errno: EADDRINUSE: somebody listens there.
 */
int local_listen(const char *path, int type, int backlog);

/* Connect a socket with what listens at a path. Return: false, with errno. */
bool local_connect(int fd, const char *path);

/* Return: a socket that is connected with what listens at a path; -1, with errno. */
int local_dial(const char *path, int type);

#endif
