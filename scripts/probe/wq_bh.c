// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// are there work items that run in softirq (they replaced tasklets in 6.9)?
#include <linux/workqueue.h>

bool probe(struct work_struct *work);
bool probe(struct work_struct *work)
{
	return queue_work(system_bh_wq, work) && WQ_BH;
}
