// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A first program: two queue pairs, one SEND. Both ends are in this process, so
 * it shows verbs only. Programs on two machines exchange QPN and GID over a
 * socket. It uses no library, for a reader wants to see each call.
 *
 *   cc -o hello hello.c -libverbs
 *   ./hello DEVICE [PEER]      PEER: another device (default: DEVICE itself)
 */
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <errno.h>

static const char text[] = "hello, world";

/* the objects of one end */
struct end {
	struct ibv_context *device;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	struct ibv_qp *qp;
	struct ibv_gid_entry gid;
	char buffer[64];
};

static void check(int bad, const char *what)
{
	if (!bad)
		return;
	fprintf(stderr, "hello: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* Opens a device by name, and creates the objects of a queue pair, and the pair. */
static void make_end(struct end *end, const char *name)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
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

	/* The first GID that is an IPv4 address (::ffff:a.b.c.d). */
	for (i = 0; ; i++) {
		check(ibv_query_gid_ex(end->device, 1, i, &end->gid, 0), "no GID of an IPv4 address");
		if (end->gid.gid_type == IBV_GID_TYPE_ROCE_V2 &&
		    !memcmp(end->gid.gid.raw, "\0\0\0\0\0\0\0\0\0\0\xff\xff", 12))
			break;
	}
	check(!(end->pd = ibv_alloc_pd(end->device)), "ibv_alloc_pd");
	check(!(end->cq = ibv_create_cq(end->device, 1, NULL, NULL, 0)), "ibv_create_cq");
	check(!(end->mr = ibv_reg_mr(end->pd, end->buffer, sizeof(end->buffer), IBV_ACCESS_LOCAL_WRITE)),
	      "ibv_reg_mr");
	init.send_cq = init.recv_cq = end->cq;
	check(!(end->qp = ibv_create_qp(end->pd, &init)), "ibv_create_qp");
}

/* RESET -> INIT -> RTR -> RTS: the queue pair knows its peer and can send. */
static void connect_to(struct end *end, const struct end *peer)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };

	check(errno = ibv_modify_qp(end->qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				    IBV_QP_ACCESS_FLAGS), "to INIT");
	attr = (struct ibv_qp_attr) {
		.qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024, .dest_qp_num = peer->qp->qp_num,
		.rq_psn = 1, .min_rnr_timer = 12,
		.ah_attr = { .is_global = 1, .port_num = 1, .grh = {
			.dgid = peer->gid.gid, .sgid_index = end->gid.gid_index, .hop_limit = 64 } },
	};
	check(errno = ibv_modify_qp(end->qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
				    IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				    IBV_QP_MIN_RNR_TIMER), "to RTR");
	attr = (struct ibv_qp_attr) {
		.qp_state = IBV_QPS_RTS, .sq_psn = 1, .timeout = 14, .retry_cnt = 7, .rnr_retry = 7,
	};
	check(errno = ibv_modify_qp(end->qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT |
				    IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC), "to RTS");
}

/* Waits for the next completion, which must be successful. */
static void complete(struct end *end, const char *what)
{
	struct ibv_wc wc;

	while (!ibv_poll_cq(end->cq, 1, &wc))
		;
	printf("%s: %s\n", what, ibv_wc_status_str(wc.status));
	if (wc.status != IBV_WC_SUCCESS)
		exit(1);
}

int main(int argc, char **argv)
{
	static struct end a, b;
	struct ibv_sge from, to;
	struct ibv_recv_wr receive = { .sg_list = &to, .num_sge = 1 }, *bad_receive;
	struct ibv_send_wr send = { .sg_list = &from, .num_sge = 1, .opcode = IBV_WR_SEND,
				    .send_flags = IBV_SEND_SIGNALED }, *bad_send;

	if (argc < 2) {
		fprintf(stderr, "usage: hello DEVICE [PEER]\n");
		return 2;
	}
	make_end(&a, argv[1]);
	make_end(&b, argv[argc > 2 ? 2 : 1]);
	connect_to(&a, &b);
	connect_to(&b, &a);

	to = (struct ibv_sge) { (uintptr_t)b.buffer, sizeof(b.buffer), b.mr->lkey };
	check(errno = ibv_post_recv(b.qp, &receive, &bad_receive), "ibv_post_recv");
	strcpy(a.buffer, text);
	from = (struct ibv_sge) { (uintptr_t)a.buffer, strlen(text) + 1, a.mr->lkey };
	check(errno = ibv_post_send(a.qp, &send, &bad_send), "ibv_post_send");

	complete(&a, "send");
	complete(&b, "receive");
	printf("%s says: %s\n", argv[1], b.buffer);
	return strcmp(b.buffer, text) != 0;
}
