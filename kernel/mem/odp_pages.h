/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Chunks and batches of an on-demand region, counted in pages of any size */
#ifndef SHCA_ODP_PAGES_H
#define SHCA_ODP_PAGES_H

#include "../core/os.h"

/* Pages per chunk (log2). A chunk is aligned to its size. */
#define SHCA_ODP_CHUNK_SHIFT	6
#define SHCA_ODP_CHUNK_PAGES	(1u << SHCA_ODP_CHUNK_SHIFT)

/* Pages per look-up; all of one chunk. */
#define SHCA_ODP_BATCH		64u

static_assert(SHCA_ODP_BATCH <= SHCA_ODP_CHUNK_PAGES,
	      "a batch is within a chunk");

static inline unsigned long shca_odp_index(unsigned long page)
{
	return page >> SHCA_ODP_CHUNK_SHIFT;
}

/* First page of chunk @index; the region begins at @first. */
static inline unsigned long shca_odp_chunk_first(unsigned long index,
						 unsigned long first)
{
	return max_t(unsigned long, index << SHCA_ODP_CHUNK_SHIFT, first);
}

/* Last page of chunk @index; the region ends at @last. */
static inline unsigned long shca_odp_chunk_last(unsigned long index,
						unsigned long last)
{
	return min_t(unsigned long, (index << SHCA_ODP_CHUNK_SHIFT) +
		     (SHCA_ODP_CHUNK_PAGES - 1), last);
}

/* How many of the pages @page to @last one look-up takes. */
static inline unsigned int shca_odp_batch(unsigned long page, unsigned long last)
{
	last = shca_odp_chunk_last(shca_odp_index(page), last);
	return min_t(unsigned long, last - page + 1, SHCA_ODP_BATCH);
}

#endif
