// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// does get_user_pages_remote() take no array of areas?
#include <linux/mm.h>

long probe(struct mm_struct *mm, struct page **pages, int *locked);
long probe(struct mm_struct *mm, struct page **pages, int *locked)
{
	return get_user_pages_remote(mm, 0, 1, 0, pages, locked);
}
