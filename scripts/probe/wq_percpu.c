// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// does WQ_PERCPU exist (an enum; newer kernels warn where it is missing)?
#include <linux/workqueue.h>

struct workqueue_struct *probe(void);
struct workqueue_struct *probe(void)
{
	return alloc_workqueue("probe", WQ_PERCPU, 0);
}
