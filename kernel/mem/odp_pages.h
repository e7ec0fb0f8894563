/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The arithmetic of on-demand regions: which pages of a process are one chunk of
 * a region, and how many of them one look-up may be about.  In pages, so that it
 * is the same for pages of any size.
 */
#ifndef SHCA_ODP_PAGES_H
#define SHCA_ODP_PAGES_H

#include "../core/os.h"

/* Pages of a chunk, which begins at a multiple of that. */
#define SHCA_ODP_CHUNK_SHIFT	6
#define SHCA_ODP_CHUNK_PAGES	(1u << SHCA_ODP_CHUNK_SHIFT)

/* Pages looked up at once; all of them are of one chunk. */
#define SHCA_ODP_BATCH		64u

static_assert(SHCA_ODP_BATCH <= SHCA_ODP_CHUNK_PAGES,
	      "a batch is within a chunk");

/** shca_odp_index() - the number of the chunk that @page is in */
static inline unsigned long shca_odp_index(unsigned long page)
{
	return page >> SHCA_ODP_CHUNK_SHIFT;
}

/** shca_odp_chunk_first() - first page of chunk @index of a region from @first on */
static inline unsigned long shca_odp_chunk_first(unsigned long index,
						 unsigned long first)
{
	return max_t(unsigned long, index << SHCA_ODP_CHUNK_SHIFT, first);
}

/** shca_odp_chunk_last() - its last page, where @last is the region's */
static inline unsigned long shca_odp_chunk_last(unsigned long index,
						unsigned long last)
{
	return min_t(unsigned long, (index << SHCA_ODP_CHUNK_SHIFT) +
		     (SHCA_ODP_CHUNK_PAGES - 1), last);
}

/** shca_odp_batch() - of the pages @page to @last, how many are looked up first */
static inline unsigned int shca_odp_batch(unsigned long page, unsigned long last)
{
	last = shca_odp_chunk_last(shca_odp_index(page), last);
	return min_t(unsigned long, last - page + 1, SHCA_ODP_BATCH);
}

#endif
