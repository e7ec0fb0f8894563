// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Lesson 10: packets are lost and sent again; and a peer that does not answer at all. */
#include "learn.h"
#include <time.h>

#define MESSAGES	500

static struct end a, b;

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

int main(int argc, char **argv)
{
	static const char *const name[] = { "out_of_sequence", "packet_seq_err", "duplicate_request" };
	struct end *const at[] = { &b, &a, &b };
	long before[3];
	double start;
	int wrong = 0;

	open_both(argc, argv, &a, &b);
	make_qp(&a, NULL);
	make_qp(&b, NULL);
	a.timeout = 12;		/* 4.096 us << 12: 17 ms */
	a.retry_cnt = 7;
	connect_both(&a, &b);
	for (int i = 0; i < 3; i++)
		before[i] = counter(at[i], name[i]);

	/* Each message is 8192 bytes: eight packets */
	for (int i = 0; i < MESSAGES; i++) {
		memset(a.buffer, i, SIZE);
		post(&a, &b, IBV_WR_RDMA_WRITE, 0, SIZE, i, IBV_SEND_SIGNALED);
		if (completion(&a).status != IBV_WC_SUCCESS || memcmp(a.buffer, b.buffer, SIZE))
			wrong++;
	}
	printf("%d messages, %d wrong\n", MESSAGES, wrong);
	for (int i = 0; i < 3; i++)
		printf("%s: %s ~%ld\n", at[i] == &a ? "a" : "b", name[i], counter(at[i], name[i]) - before[i]);

	/* b's queue pair goes away without a word. */
	check(errno = ibv_destroy_qp(b.qp), "ibv_destroy_qp");
	post(&a, &b, IBV_WR_RDMA_WRITE, 0, 64, 0, IBV_SEND_SIGNALED);
	start = now_ms();
	printf("no peer: %s", ibv_wc_status_str(completion(&a).status));
	printf(" after ~%.0f ms\n", now_ms() - start);
	return wrong != 0;
}
