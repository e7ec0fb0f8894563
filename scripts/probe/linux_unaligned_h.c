// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// is unaligned access in linux/unaligned.h (else: asm/unaligned.h)?
#include <linux/unaligned.h>

u32 probe(const void *p);
u32 probe(const void *p)
{
	return get_unaligned_be32(p);
}
