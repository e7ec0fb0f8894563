/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Memory that is not there when a packet needs it: a side of a QP has it fetched,
 * and goes on when it is.
 */
#ifndef SHCA_PAGE_WAIT_H
#define SHCA_PAGE_WAIT_H

#include "../mem/odp.h"
#include "../queue/qp.h"
#include "payload.h"

/* The context of @resume: process, no lock; the QP may be dead. */
void shca_mem_ctx_init(struct shca_mem_ctx *mem, struct shca_qp *qp,
		    void (*resume)(struct shca_qp *qp));
/*
 * The side is not told any more, and asks for nothing. What is being fetched is not waited for.
 * Context: may sleep; the QP is dead.
 */
void shca_mem_ctx_stop(struct shca_mem_ctx *mem);

/*
 * Memory is not present: have it fetched.
 * Context: the side's lock held.
 * Return: SHCA_MEM_RETRY: not yet, and resume() comes; or why it cannot be had.
 */
enum shca_mem_status shca_page_wait(struct shca_mem_ctx *mem,
				   const struct shca_odp_want *want);

#endif
