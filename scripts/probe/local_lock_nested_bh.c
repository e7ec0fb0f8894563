// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// is there a lock per CPU for those that have bottom halves off?
#include <linux/spinlock.h>
#include <linux/percpu.h>
#include <linux/local_lock.h>

static DEFINE_PER_CPU(local_lock_t, lock);

void probe(void);
void probe(void)
{
	local_lock_nested_bh(&lock);
	local_unlock_nested_bh(&lock);
}
