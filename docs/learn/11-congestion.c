// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Lesson 11: eight queue pairs share a slow link whose queue marks packets. */
#include "learn.h"
#include <time.h>

#define PAIRS	8
#define SECONDS	3

int main(int argc, char **argv)
{
	static const char *const name[] = { "np_ecn_marked_roce_packets", "np_cnp_sent", "rp_cnp_handled" };
	static const char *const meaning[] = { "packets arrived with a mark", "notifications (CNPs) sent",
					       "notifications received" };
	struct end a[PAIRS], b[PAIRS], *at[] = { b, b, a };
	int pending = 0, least, most, done[PAIRS] = {};
	long before[3];
	struct ibv_wc wc;
	time_t end;

	open_both(argc, argv, a, b);
	for (int i = 0; i < PAIRS; i++) {
		a[i] = *a;
		b[i] = *b;
		make_qp(a + i, NULL);
		make_qp(b + i, NULL);
		a[i].timeout = 18;	/* a second: a long queue is no loss */
		connect_both(a + i, b + i);
	}
	for (int i = 0; i < 3; i++)
		before[i] = counter(at[i], name[i]);

	/* Each pair has 4 messages in flight all the time. */
	for (int i = 0; i < PAIRS * 4; i++, pending++)
		post(a + i % PAIRS, b, IBV_WR_RDMA_WRITE, 0, SIZE, i % PAIRS, IBV_SEND_SIGNALED);
	end = time(NULL) + SECONDS;
	for (; pending; pending--) {
		wc = completion(a);
		if (wc.status != IBV_WC_SUCCESS) {
			printf("%s\n", ibv_wc_status_str(wc.status));
			return 1;
		}
		if (time(NULL) >= end)
			continue;
		done[wc.wr_id]++;
		post(a + wc.wr_id, b, IBV_WR_RDMA_WRITE, 0, SIZE, wc.wr_id, IBV_SEND_SIGNALED);
		pending++;
	}

	least = most = *done;
	for (int i = 0; i < PAIRS; i++) {
		least = done[i] < least ? done[i] : least;
		most = done[i] > most ? done[i] : most;
	}
	for (int i = 0; i < 3; i++)
		printf("%s: %s ~%ld\n", at[i] == a ? "a" : "b", meaning[i], counter(at[i], name[i]) - before[i]);
	printf("messages of a pair: ~%d to ~%d\n", least, most);
	return 0;
}
