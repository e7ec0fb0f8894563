// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Lesson 7: two queue pairs take their receive requests from one queue. */
#include "learn.h"

static struct ibv_srq *srq;
static struct end a1, a2, b1, b2;

static void post_shared(int nr)
{
	struct ibv_sge sge = { (uintptr_t)b1.buffer + 64 * nr, 64, b1.mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = nr, .sg_list = &sge, .num_sge = 1 }, *bad;

	check(errno = ibv_post_srq_recv(srq, &wr, &bad), "ibv_post_srq_recv");
}

/* @from sends; one of the shared requests receives. */
static void send_to(struct end *from, struct end *to, const char *text)
{
	struct ibv_wc wc;

	strcpy(from->buffer, text);
	post(from, to, IBV_WR_SEND, 0, 64, 0, IBV_SEND_SIGNALED);
	wc = completion(from);
	if (wc.status != IBV_WC_SUCCESS) {
		printf("send: %s\n", ibv_wc_status_str(wc.status));
		return;
	}
	wc = completion(to);
	printf("queue pair %s received \"%s\" in request %d\n",
	       wc.qp_num == b1.qp->qp_num ? "b1" : "b2", b1.buffer + 64 * wc.wr_id, (int)wc.wr_id);
}

int main(int argc, char **argv)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 16, .max_sge = 1 } };
	struct ibv_srq_attr limit = { .srq_limit = 2 };
	struct ibv_async_event event;

	open_both(argc, argv, &a1, &b1);
	check(!(srq = ibv_create_srq(b1.pd, &init)), "ibv_create_srq");
	/* A second queue pair at each end, with the other objects of the first */
	a2 = a1;
	b2 = b1;
	make_qp(&a1, NULL);
	make_qp(&a2, NULL);
	make_qp(&b1, srq);
	make_qp(&b2, srq);
	a1.rnr_retry = 0;
	a2.rnr_retry = 0;
	connect_both(&a1, &b1);
	connect_both(&a2, &b2);

	for (int i = 0; i < 4; i++)
		post_shared(i);
	/* One event when fewer than two are left */
	check(errno = ibv_modify_srq(srq, &limit, IBV_SRQ_LIMIT), "ibv_modify_srq");

	send_to(&a1, &b1, "first of a1");
	send_to(&a1, &b1, "second of a1");
	send_to(&a2, &b2, "first of a2");
	check(ibv_get_async_event(b1.device, &event), "ibv_get_async_event");
	printf("event: %s\n", ibv_event_type_str(event.event_type));
	ibv_ack_async_event(&event);
	send_to(&a2, &b2, "second of a2");
	/* Nothing is left, for none of them; and nobody was told to try again. */
	send_to(&a1, &b1, "third of a1");
	return 0;
}
