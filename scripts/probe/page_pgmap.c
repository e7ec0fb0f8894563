// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// is there page_pgmap()?
#include <linux/mm.h>

struct dev_pagemap *probe(const struct page *page);
struct dev_pagemap *probe(const struct page *page)
{
	return page_pgmap(page);
}
