/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Commands for a running fabric: cables are cut, mended and made bad, ports are shown. A command
 * and its answer are one packet each, of a Unix socket of type SOCK_SEQPACKET. An answer begins
 * with a line "ok", or "error: " and what is wrong.
 */
#ifndef SHCA_FABRIC_COMMAND_H
#define SHCA_FABRIC_COMMAND_H

#include "loop.h"
#include "../topology/topology.h"

struct control;

/*
 * Take commands at a socket with this path, which only the owner of the process may use.
 *
 * Return: NULL, with a message on stderr.
 */
struct control *control_open(struct topology *topo, struct loop *loop, const char *path);

/* Remove the socket. */
void control_close(struct control *control);

/*
 * Send a command, and print the answer.
 *
 * Return: status of a program: 0, 1: refused, 2: nobody is there.
 */
int control_ask(const char *path, char *const *words);

#endif
