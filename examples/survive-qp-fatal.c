// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A program that recovers from QP_FATAL, and is checked for it: numbered messages go through
 * a queue pair. Where it fails, both ends go through RESET, and what has no completion is
 * sent again. At the end each message has arrived, in order, with the right bytes.
 *
 *   cc -o survive-qp-fatal survive-qp-fatal.c -libverbs
 *   ./survive-qp-fatal DEVICE [PEER] [MESSAGES]      PEER: another device
 */
#include "numbered.h"

#include <poll.h>
#include <unistd.h>

static struct end a, b;
static unsigned int sent, completed, received, twice, recoveries;

/* One message of b. If it arrived and a got no completion, a sends it again. */
static void arrived(const unsigned char *text)
{
	if (message_number(text, received) == received)
		received++;
	else
		twice++;
}

/* Takes all completions. Return: whether one of them is no success. */
static int take(void)
{
	struct ibv_wc wc;
	int failed = 0;

	while (ibv_poll_cq(b.cq, 1, &wc) > 0) {
		if (wc.status != IBV_WC_SUCCESS) {
			failed = 1;
			continue;
		}
		arrived(b.buffer[wc.wr_id]);
		check(errno = post_receive(&b, wc.wr_id), "ibv_post_recv");
	}
	while (ibv_poll_cq(a.cq, 1, &wc) > 0) {
		if (wc.status == IBV_WC_SUCCESS)
			completed = wc.wr_id + 1;
		else
			failed = 1;
	}
	return failed;
}

/* Says why the queue pair has failed. The event comes by another way than the completions. */
static void tell_why(struct end *end)
{
	struct pollfd fd = { .fd = end->device->async_fd, .events = POLLIN };
	struct ibv_async_event event;

	if (poll(&fd, 1, 1000) != 1 || ibv_get_async_event(end->device, &event)) {
		printf("no event\n");
		return;
	}
	printf("event: %s\n", ibv_event_type_str(event.event_type));
	ibv_ack_async_event(&event);
}

/* Both queue pairs from RESET on, and all receives */
static void connect_both(void)
{
	unsigned int i;

	check(errno = connect_to(&b, &a) ?: connect_to(&a, &b), "ibv_modify_qp");
	for (i = 0; i < DEPTH; i++)
		check(errno = post_receive(&b, i), "ibv_post_recv");
}

/* Both ends begin anew, with what has no completion. RESET discards requests that wait. */
static void recover(void)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	recoveries++;
	tell_why(&a);
	/* No packet is on its way to b any more once its queue pair is in ERR. */
	check(errno = ibv_modify_qp(b.qp, &attr, IBV_QP_STATE), "to ERR");
	take();
	/* Completions of the time before RESET are gone then, or were taken. */
	connect_both();
	sent = completed;
}

int main(int argc, char **argv)
{
	unsigned int messages = argc > 3 ? strtoul(argv[3], NULL, 10) : 1000;

	if (argc < 2) {
		fprintf(stderr, "usage: survive-qp-fatal DEVICE [PEER] [MESSAGES]\n");
		return 2;
	}
	alarm(300);
	make_end(&a, argv[1]);
	make_end(&b, argv[argc > 2 ? 2 : 1]);
	connect_both();
	while (completed < messages || received < messages) {
		/* A slot is free once its request has completed. */
		while (sent < messages && sent < completed + DEPTH)
			check(errno = post_send(&a, sent++), "ibv_post_send");
		if (take())
			recover();
	}
	printf("%u messages in order, %u of them twice, %u recoveries\n", received, twice, recoveries);
	return 0;
}
