// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A fail-over between two devices, as collective libraries do it: numbered messages go over
 * the first of two rails. Where it fails they go over the backup, from the first one that
 * the receiver has not counted. They return when the ports of the first rail are active
 * and a probe has passed.
 *
 *   cc -o failover failover.c -libverbs
 *   ./failover DEVICE BACKUP PEER PEER_BACKUP [MESSAGES]      0 messages: until Ctrl-C
 */
#include "numbered.h"

#include <fcntl.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#define PROBE	(~0ull)	/* the wr_id of a probe */
#define PAUSE	100	/* ms between a failed probe and the next one */

/* A rail that is DOWN is probed. The device of one that is GONE was removed. */
static struct rail {
	const char *name;
	struct end a, b;	/* a sends */
	enum { UP, DOWN, PROBING, GONE } state;
	long probe_at;
} rail[2], *at = rail;

static unsigned int messages = 1000, sent, completed, received, twice, failovers, returns;
static volatile sig_atomic_t stopped;

static long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static int connect_rail(struct rail *r)
{
	int i, err = connect_to(&r->a, &r->b) ?: connect_to(&r->b, &r->a);

	for (i = 0; i < DEPTH && !err; i++)
		err = post_receive(&r->b, i);
	return err;
}

/* A WRITE of no bytes: it arrives, and leaves nothing. */
static int post_probe(struct end *a)
{
	struct ibv_send_wr wr = { .wr_id = PROBE, .opcode = IBV_WR_RDMA_WRITE,
				  .send_flags = IBV_SEND_SIGNALED }, *bad;

	return ibv_post_send(a->qp, &wr, &bad);
}

/* One message of the receiver. What the other rail has brought already is dropped. */
static void arrived(const unsigned char *text)
{
	if (message_number(text, received) == received)
		received++;
	else
		twice++;
}

/* Return: has the sender a completion? It may have failed because of the rail. */
static int next(struct rail *r, struct ibv_wc *wc)
{
	if (ibv_poll_cq(r->a.cq, 1, wc) <= 0)
		return 0;
	switch (wc->status) {
	case IBV_WC_SUCCESS:
	case IBV_WC_RETRY_EXC_ERR:
	case IBV_WC_WR_FLUSH_ERR:
		return 1;
	default:	/* a mistake, which is one on any rail */
		fprintf(stderr, "failover: %s: %s: no other rail helps\n", r->name,
			ibv_wc_status_str(wc->status));
		exit(1);
	}
}

/* A request that fails here has a status at the sender, too, and that one decides. */
static void receive(struct rail *r)
{
	struct ibv_wc wc;

	while (ibv_poll_cq(r->b.cq, 1, &wc) > 0)
		if (wc.status == IBV_WC_SUCCESS) {
			arrived(r->b.buffer[wc.wr_id]);
			post_receive(&r->b, wc.wr_id);
		}
}

static void fail(struct rail *r, const char *why)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	/* Nothing more arrives then, so the count is final. (Errors: a device is gone.) */
	ibv_modify_qp(r->b.qp, &attr, IBV_QP_STATE);
	ibv_modify_qp(r->a.qp, &attr, IBV_QP_STATE);
	receive(r);
	if (r->state != GONE)
		r->state = DOWN;
	r->probe_at = now() + PAUSE;
	if (r != at)
		return;
	at = &rail[at == rail];
	failovers++;
	sent = completed = received;
	printf("%s: %s: message %u goes over %s\n", r->name, why, sent, at->name);
	errno = ENETDOWN;
	check(at->state != UP, at->name);
}

/* Takes completions, then events. A completion says more than an event of the same cause. */
static void look_at(struct rail *r)
{
	struct end *const end[] = { &r->a, &r->b };
	struct ibv_async_event event;
	struct ibv_wc wc;
	int i;

	receive(r);
	while (next(r, &wc)) {
		if (wc.status != IBV_WC_SUCCESS) {
			if (r->state == UP || r->state == PROBING)
				fail(r, ibv_wc_status_str(wc.status));
		} else if (wc.wr_id == PROBE) {
			r->state = UP;
		} else if (r == at) {
			completed = wc.wr_id + 1;
		}
	}
	for (i = 0; i < 2; i++)
		while (!ibv_get_async_event(end[i]->device, &event)) {
			ibv_ack_async_event(&event);
			if (event.event_type == IBV_EVENT_PORT_ACTIVE)
				r->probe_at = 0;
			if (event.event_type == IBV_EVENT_DEVICE_FATAL)
				r->state = GONE;
			if (event.event_type == IBV_EVENT_DEVICE_FATAL ||
			    ((event.event_type == IBV_EVENT_PORT_ERR ||
			      event.event_type == IBV_EVENT_QP_FATAL) && r->state != DOWN))
				fail(r, ibv_event_type_str(event.event_type));
		}
}

/* Begins a probe, if the ports are active. Its completion says whether the rail works. */
static void probe(struct rail *r)
{
	struct ibv_port_attr a, b;

	r->probe_at = now() + PAUSE;
	if (ibv_query_port(r->a.device, 1, &a) || ibv_query_port(r->b.device, 1, &b) ||
	    a.state != IBV_PORT_ACTIVE || b.state != IBV_PORT_ACTIVE)
		return;
	r->state = PROBING;
	if (connect_rail(r) || post_probe(&r->a))
		fail(r, "probe");
}

static void stop(int signal)
{
	stopped = signal;
}

int main(int argc, char **argv)
{
	struct rail *r;
	int err;

	if (argc < 5) {
		fprintf(stderr, "usage: failover DEVICE BACKUP PEER PEER_BACKUP [MESSAGES]\n");
		return 2;
	}
	if (argc > 5)
		messages = strtoul(argv[5], NULL, 10);
	alarm(300);
	signal(SIGINT, stop);
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (r = rail; r < rail + 2; r++) {
		r->name = argv[1 + (r - rail)];
		make_end(&r->a, argv[1 + (r - rail)]);
		make_end(&r->b, argv[3 + (r - rail)]);
		check(fcntl(r->a.device->async_fd, F_SETFL, O_NONBLOCK) ||
		      fcntl(r->b.device->async_fd, F_SETFL, O_NONBLOCK), "fcntl");
		check(errno = connect_rail(r), "connect");
	}
	printf("messages go over %s\n", at->name);
	while (completed < sent || (!stopped && (!messages || sent < messages))) {
		/* What went over the backup has to be through first. */
		if (at != rail && rail->state == UP && completed == sent) {
			at = rail;
			returns++;
			printf("message %u goes over %s again\n", sent, at->name);
		}
		/* A slot is free once its request has completed. */
		while ((at == rail || rail->state != UP) && !stopped && sent < completed + DEPTH &&
		       (!messages || sent < messages)) {
			err = post_send(&at->a, sent);
			if (err)
				fail(at, strerror(err));
			else
				sent++;
		}
		for (r = rail; r < rail + 2; r++) {
			if (r->state != GONE)
				look_at(r);
			if (r != at && r->state == DOWN && r->probe_at <= now())
				probe(r);
		}
	}
	printf("%u messages in order, %u of them twice, %u fail-overs, %u returns\n", received, twice,
	       failovers, returns);
	return 0;
}
