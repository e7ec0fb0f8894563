// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A program that recovers from QP_FATAL, and is checked for it: numbered messages go through
 * a queue pair. Where it fails, both ends go through RESET, and what has no completion is
 * sent again. At the end each message has arrived, in order, with the right bytes.
 *
 *   cc -o survive-qp-fatal survive-qp-fatal.c -libverbs
 *   ./survive-qp-fatal DEVICE [PEER] [MESSAGES]      PEER: another device
 */
#include <errno.h>
#include <infiniband/verbs.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEPTH	16	/* requests at a time */
#define SIZE	1024

/* the objects of one end */
struct end {
	struct ibv_context *device;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	struct ibv_qp *qp;
	struct ibv_gid_entry gid;
	unsigned char buffer[DEPTH][SIZE];
};

static struct end a, b;
static unsigned int sent, completed, received, twice, recoveries;

static void check(int bad, const char *what)
{
	if (!bad)
		return;
	fprintf(stderr, "survive-qp-fatal: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void make_end(struct end *end, const char *name)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.cap = { DEPTH, DEPTH, 1, 1, 0 },
	};
	struct ibv_device **list = ibv_get_device_list(NULL);
	int i;

	check(!list, "ibv_get_device_list");
	for (i = 0; list[i] && strcmp(ibv_get_device_name(list[i]), name); i++)
		;
	errno = ENODEV;
	check(!list[i], name);
	check(!(end->device = ibv_open_device(list[i])), "ibv_open_device");
	ibv_free_device_list(list);
	/* The first GID that is an IPv4 address (::ffff:a.b.c.d) */
	for (i = 0; end->gid.gid_type != IBV_GID_TYPE_ROCE_V2 ||
	     memcmp(end->gid.gid.raw, "\0\0\0\0\0\0\0\0\0\0\xff\xff", 12); i++)
		check(ibv_query_gid_ex(end->device, 1, i, &end->gid, 0), "no IPv4 address");
	check(!(end->pd = ibv_alloc_pd(end->device)), "ibv_alloc_pd");
	check(!(end->cq = ibv_create_cq(end->device, 2 * DEPTH, NULL, NULL, 0)), "ibv_create_cq");
	check(!(end->mr = ibv_reg_mr(end->pd, end->buffer, sizeof(end->buffer),
				     IBV_ACCESS_LOCAL_WRITE)), "ibv_reg_mr");
	init.send_cq = init.recv_cq = end->cq;
	check(!(end->qp = ibv_create_qp(end->pd, &init)), "ibv_create_qp");
}

/* RESET, whatever the state was, INIT, RTR, RTS */
static void connect_to(struct end *end, const struct end *peer)
{
	struct ibv_qp_attr attr = {
		.port_num = 1, .path_mtu = IBV_MTU_1024, .dest_qp_num = peer->qp->qp_num,
		.rq_psn = 1, .min_rnr_timer = 12, .sq_psn = 1, .timeout = 14, .retry_cnt = 7,
		.rnr_retry = 7,
		.ah_attr = { .is_global = 1, .port_num = 1, .grh = {
			.dgid = peer->gid.gid, .sgid_index = end->gid.gid_index, .hop_limit = 64 } },
	};
	static const struct { enum ibv_qp_state state; int mask; } step[] = {
		{ IBV_QPS_RESET, 0 },
		{ IBV_QPS_INIT, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS },
		{ IBV_QPS_RTR, IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			       IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER },
		{ IBV_QPS_RTS, IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
			       IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC },
	};
	int i;

	for (i = 0; i < 4; i++) {
		attr.qp_state = step[i].state;
		check(errno = ibv_modify_qp(end->qp, &attr, IBV_QP_STATE | step[i].mask),
		      "ibv_modify_qp");
	}
}

static void post_receive(unsigned int slot)
{
	struct ibv_sge sge = { (uintptr_t)b.buffer[slot], SIZE, b.mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = slot, .sg_list = &sge, .num_sge = 1 }, *bad;

	check(errno = ibv_post_recv(b.qp, &wr, &bad), "ibv_post_recv");
}

/* Message @nr: its number, and bytes that follow from it */
static void post_send(unsigned int nr)
{
	unsigned char *text = a.buffer[nr % DEPTH];
	struct ibv_sge sge = { (uintptr_t)text, SIZE, a.mr->lkey };
	struct ibv_send_wr wr = { .wr_id = nr, .sg_list = &sge, .num_sge = 1,
				  .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED }, *bad;

	memset(text, nr * 7 + 1, SIZE);
	memcpy(text, &nr, sizeof(nr));
	check(errno = ibv_post_send(a.qp, &wr, &bad), "ibv_post_send");
}

/* One message of b. What has arrived although a heard nothing of it comes twice. */
static void arrived(const unsigned char *text)
{
	unsigned int nr, i;

	memcpy(&nr, text, sizeof(nr));
	for (i = sizeof(nr); i < SIZE && text[i] == (unsigned char)(nr * 7 + 1); i++)
		;
	if (i < SIZE || nr > received) {
		fprintf(stderr, "message %u in place of %u, byte %u wrong\n", nr, received, i);
		exit(1);
	}
	if (nr < received)
		twice++;
	else
		received++;
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
		post_receive(wc.wr_id);
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

/* Both ends begin anew, with what has no completion. RESET discards requests that wait. */
static void recover(void)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	unsigned int i;

	recoveries++;
	tell_why(&a);
	/* No packet is on its way to b any more once its queue pair is in ERR. */
	check(errno = ibv_modify_qp(b.qp, &attr, IBV_QP_STATE), "to ERR");
	take();
	connect_to(&b, &a);
	connect_to(&a, &b);
	/* Completions of the time before RESET are gone, or were taken. */
	for (i = 0; i < DEPTH; i++)
		post_receive(i);
	sent = completed;
}

int main(int argc, char **argv)
{
	unsigned int messages = argc > 3 ? strtoul(argv[3], NULL, 10) : 1000, i;

	if (argc < 2) {
		fprintf(stderr, "usage: survive-qp-fatal DEVICE [PEER] [MESSAGES]\n");
		return 2;
	}
	alarm(300);
	make_end(&a, argv[1]);
	make_end(&b, argv[argc > 2 ? 2 : 1]);
	connect_to(&a, &b);
	connect_to(&b, &a);
	for (i = 0; i < DEPTH; i++)
		post_receive(i);
	while (completed < messages || received < messages) {
		/* A slot is free once its request has completed. */
		while (sent < messages && sent < completed + DEPTH)
			post_send(sent++);
		if (take())
			recover();
	}
	printf("%u messages in order, %u of them twice, %u recoveries\n", received, twice, recoveries);
	return 0;
}
