/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Shared by both ways of polling: the slot of a completion, and the marks of
 * dead completions. Context: cq->lock held.
 */
#ifndef SOFTHCA_CQ_H
#define SOFTHCA_CQ_H

#include "ring.h"

/* The completion @index, or NULL if the kernel has not written it. */
static inline const struct shca_cqe *shca_cq_peek(const struct shca_cq *cq,
						  uint32_t index)
{
	const struct shca_cqe *cqe = &cq->ring[index & cq->mask];

	return shca_cqe_is_valid(cqe, index) ? cqe : NULL;
}

/* Is it a completion of tag matching? Then it has a tag in place of a path. */
static inline bool shca_cqe_is_tm(const struct shca_cqe *cqe)
{
	return cqe->opcode >= IBV_WC_TM_ADD && cqe->opcode <= IBV_WC_TM_NO_TAG;
}

static inline bool shca_cq_is_dead(const struct shca_cq *cq, uint32_t index)
{
	uint32_t slot = index & cq->mask;

	return cq->dead[slot / 8] & (1u << slot % 8);
}

static inline void shca_cq_set_dead(struct shca_cq *cq, uint32_t index)
{
	uint32_t slot = index & cq->mask;

	cq->dead[slot / 8] |= 1u << slot % 8;
	cq->nr_dead++;
}

static inline void shca_cq_clear_dead(struct shca_cq *cq, uint32_t index)
{
	uint32_t slot = index & cq->mask;

	cq->dead[slot / 8] &= ~(1u << slot % 8);
	cq->nr_dead--;
}

#endif
