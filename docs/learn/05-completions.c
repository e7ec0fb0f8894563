// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Lesson 5: which requests complete, and how to sleep until one does. */
#include "learn.h"

static struct end a, b;

static int poll_all(void)
{
	struct ibv_wc wc;
	int nr = 0;

	while (ibv_poll_cq(a.cq, 1, &wc)) {
		printf("  request %d: %s\n", (int)wc.wr_id, ibv_wc_status_str(wc.status));
		nr++;
	}
	return nr;
}

int main(int argc, char **argv)
{
	struct ibv_cq *cq;
	void *context;
	int nr = 0;

	open_both(argc, argv, &a, &b);
	make_qp(&a, NULL);
	make_qp(&b, NULL);
	connect_both(&a, &b);

	printf("eight WRITEs; 3 and 7 are signaled:\n");
	for (int i = 0; i < 8; i++)
		post(&a, &b, IBV_WR_RDMA_WRITE, 0, 64, i, i % 4 == 3 ? IBV_SEND_SIGNALED : 0);
	while (nr < 2)
		nr += poll_all();

	/* To sleep: arm, look once more, and only then wait. */
	printf("a SEND whose receive request comes late:\n");
	post(&a, &b, IBV_WR_SEND, 0, 64, 8, IBV_SEND_SIGNALED);
	check(errno = ibv_req_notify_cq(a.cq, 0), "ibv_req_notify_cq");
	printf("  armed, %d completions\n", poll_all());
	post_receive(&b, 0, 64, 0);
	check(ibv_get_cq_event(a.channel, &cq, &context), "ibv_get_cq_event");
	ibv_ack_cq_events(cq, 1);
	printf("  an event\n");
	poll_all();

	/* A completion that is there before the queue is armed sends no event. */
	printf("a WRITE that completes before the queue is armed:\n");
	post(&a, &b, IBV_WR_RDMA_WRITE, 0, 64, 9, IBV_SEND_SIGNALED);
	sleep(1);
	check(errno = ibv_req_notify_cq(a.cq, 0), "ibv_req_notify_cq");
	printf("  armed; %d completion is found by the second look\n", poll_all());
	return 0;
}
