// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The loop of the daemon, around epoll. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "loop.h"

#define EVENTS			64
#define NS_PER_S		1000000000ull

u64 loop_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * NS_PER_S + t.tv_nsec;
}

bool loop_add(struct loop *loop, struct watch *watch)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = watch };

	return !epoll_ctl(loop->epoll, EPOLL_CTL_ADD, watch->fd, &event);
}

void loop_want_room(struct loop *loop, struct watch *watch, bool wants)
{
	struct epoll_event event = { .events = EPOLLIN | (wants ? EPOLLOUT : 0), .data.ptr = watch };

	/* (it needs no memory) */
	epoll_ctl(loop->epoll, EPOLL_CTL_MOD, watch->fd, &event);
}

static void signals_ready(struct watch *watch)
{
	struct loop *loop = (struct loop *)((char *)watch - offsetof(struct loop, signals));

	loop->ends = true;
}

bool loop_open(struct loop *loop)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	loop->epoll = epoll_create1(EPOLL_CLOEXEC);
	loop->signals = (struct watch){ signalfd(-1, &set, SFD_CLOEXEC), signals_ready };
	if (loop->epoll >= 0 && loop->signals.fd >= 0 && loop_add(loop, &loop->signals))
		return true;
	perror("softhca-fabric: epoll");
	return false;
}

void loop_close(struct loop *loop)
{
	close(loop->signals.fd);
	close(loop->epoll);
}

void loop_wait(struct loop *loop, u64 deadline)
{
	u64 now = loop_now(), wait = deadline > now ? deadline - now : 0;
	struct timespec time = { .tv_sec = wait / NS_PER_S, .tv_nsec = wait % NS_PER_S };
	struct epoll_event events[EVENTS];
	int nr = epoll_pwait2(loop->epoll, events, EVENTS, deadline == ~0ull ? NULL : &time, NULL), i;

	for (i = 0; i < nr; i++) {
		struct watch *watch = events[i].data.ptr;

		watch->ready(watch);
	}
}
