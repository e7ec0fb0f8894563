// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What `softhca top` makes of many queue pairs: top_data.c, and a kernel that is made up. Rates
 * and sums are known, and what is executed is counted: eight times as many queue pairs take
 * about eight times as much.
 */
#include "kernel.h"

static unsigned long blocks;

void __sanitizer_cov_trace_pc(void)
{
	blocks++;
}

static bool says(const char *name, bool right)
{
	printf("%sok %s\n", right ? "" : "not ", name);
	return right;
}

/* Return: blocks of two looks. @right: all is as it was made up */
static unsigned long look(uint32_t nr, bool *right)
{
	struct top first, second;
	double gained = 0, seconds;
	uint32_t i;

	nr_qps = nr;
	nr_looks = 0;
	blocks = 0;
	top_look(&first, NULL, NULL);
	top_look(&second, &first, &first);
	seconds = second.when - first.when;
	*right = (uint32_t)second.nr_qps == nr && (uint32_t)second.nr_processes == nr / QPS_OF_A_PROCESS;
	for (i = 0; *right && i < nr; i++) {
		/* The busiest is the last one that was made up. */
		*right = second.busy[i]->qpn == number_of(nr - 1 - i) &&
			 second.busy[i]->gained == nr - 1 - i && second.busy[i]->known &&
			 second.busy[i]->device_index == 3 + (nr - 1 - i) % 2;
		gained += second.busy[i]->gained;
	}
	for (i = 0; *right && i < (uint32_t)second.nr_processes; i++) {
		gained -= second.process[i].gained;
		*right = second.process[i].nr_qps == QPS_OF_A_PROCESS;
	}
	*right = *right && !gained && seconds >= 0;
	top_free(&first);
	top_free(&second);
	return blocks;
}

int main(void)
{
	unsigned long few, many;
	bool right, all = true;
	double start;

	few = look(2000, &right);
	all &= says("top.of_2000_is_right", right);
	start = top_now();
	many = look(16000, &right);
	all &= says("top.of_16000_is_right", right);
	printf("# 2,000 queue pairs: %lu blocks; 16,000: %lu, %.1f times as many; %.3f s for two looks\n",
	       few, many, (double)many / few, top_now() - start);
	all &= says("top.takes_little_more_than_in_proportion", many < 12 * few);
	return !all;
}
