// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* See doorbells.h. */
#include "doorbells.h"

#include <stdarg.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <rdma/rdma_user_ioctl_cmds.h>

#include "../../../../uapi/softhca-abi.h"

__thread uint32_t my_doorbells;
uint32_t all_doorbells;

/* Replaces the C library's, for this program and all libraries. */
int ioctl(int fd, unsigned long request, ...)
{
	const struct ib_uverbs_ioctl_hdr *hdr;
	va_list args;
	void *arg;

	va_start(args, request);
	arg = va_arg(args, void *);
	va_end(args);
	hdr = arg;
	if (request == RDMA_VERBS_IOCTL && hdr->object_id == SHCA_OBJECT_DOORBELL) {
		my_doorbells++;
		__atomic_fetch_add(&all_doorbells, 1, __ATOMIC_RELAXED);
	}
	return syscall(SYS_ioctl, fd, request, arg);
}
