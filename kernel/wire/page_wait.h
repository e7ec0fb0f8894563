/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Memory that is not present when a packet needs it: a side has it fetched, and resumes then. */
#ifndef SHCA_PAGE_WAIT_H
#define SHCA_PAGE_WAIT_H

#include "../mem/odp.h"
#include "../queue/qp.h"
#include "payload.h"

/* @resume: see shca_side_init() */
void shca_mem_ctx_init(struct shca_mem_ctx *mem, struct shca_qp *qp,
		    void (*resume)(struct shca_qp *qp));
/*
 * No resume() runs from here on, and the side requests no fetch. A fetch that goes on is not
 * waited for. Context: may sleep; the QP is dead.
 */
void shca_mem_ctx_stop(struct shca_mem_ctx *mem);

/*
 * Have memory fetched that is not present.
 * Context: the side's lock held.
 * Return: SHCA_MEM_RETRY: resume() follows, unless mem->starved; or why it cannot be had.
 */
enum shca_mem_status shca_page_wait(struct shca_mem_ctx *mem,
				   const struct shca_odp_want *want);

#endif
