// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// is there a dma_buf_vmap_unlocked()?
#include <linux/dma-buf.h>

int probe(struct dma_buf *buf, struct iosys_map *map);
int probe(struct dma_buf *buf, struct iosys_map *map)
{
	return dma_buf_vmap_unlocked(buf, map);
}
