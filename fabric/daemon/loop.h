/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Waits for file descriptors, for a time, and for SIGINT and SIGTERM. */
#ifndef SHCA_FABRIC_LOOP_H
#define SHCA_FABRIC_LOOP_H

#include "../../kernel/core/os.h"

/**
 * struct watch - a file descriptor that is watched
 * @fd:		it
 * @ready:	called when it can be read, or has an error
 */
struct watch {
	int fd;
	void (*ready)(struct watch *watch);
};

struct loop {
	int epoll;
	struct watch signals;
	bool ends;
};

/* Return: false, with a message on stderr. */
bool loop_open(struct loop *loop);
void loop_close(struct loop *loop);

/* Return: false: no memory. */
bool loop_add(struct loop *loop, struct watch *watch);

/* Call @watch->ready when its file can be written, too, or not any longer. */
void loop_want_room(struct loop *loop, struct watch *watch, bool wants);

/* Wait until something is ready, @deadline (~0: none) has come, or a signal @ends the loop. */
void loop_wait(struct loop *loop, u64 deadline);

/* Time in ns. */
u64 loop_now(void);

#endif
