// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Lesson 1: a queue pair goes from state to state, sends, and is stopped. */
#include "learn.h"

static const char *const state_name[] = {
	[IBV_QPS_RESET] = "RESET", [IBV_QPS_INIT] = "INIT", [IBV_QPS_RTR] = "RTR",
	[IBV_QPS_RTS] = "RTS", [IBV_QPS_SQD] = "SQD", [IBV_QPS_SQE] = "SQE",
	[IBV_QPS_ERR] = "ERR",
};

static void show(struct end *e)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	check(errno = ibv_query_qp(e->qp, &attr, IBV_QP_STATE, &init), "ibv_query_qp");
	printf("  state %s\n", state_name[attr.qp_state]);
}

/* One step, with what it takes besides the new state */
static void step(struct end *e, struct ibv_qp_attr attr, int mask)
{
	printf("to %s: ", state_name[attr.qp_state]);
	errno = ibv_modify_qp(e->qp, &attr, IBV_QP_STATE | mask);
	printf("%s\n", errno ? strerror(errno) : "done");
	show(e);
}

int main(int argc, char **argv)
{
	struct ibv_send_wr empty = { .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED }, *bad;
	struct end a, b;

	open_both(argc, argv, &a, &b);
	make_qp(&a, NULL);
	make_qp(&b, NULL);
	printf("a queue pair: number 0x%x\n", a.qp->qp_num);
	show(&a);
	step(&a, (struct ibv_qp_attr) { .qp_state = IBV_QPS_RTS }, 0);

	/* INIT: which port, which partition, and what the peer may do to memory */
	step(&a, (struct ibv_qp_attr) { .qp_state = IBV_QPS_INIT, .port_num = 1 },
	     IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
	/* RTR, ready to receive: who the peer is, and its first packet's number */
	step(&a, (struct ibv_qp_attr) {
		.qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024, .min_rnr_timer = 12,
		.dest_qp_num = b.qp->qp_num, .rq_psn = 100,
		.ah_attr = { .is_global = 1, .port_num = 1, .grh = {
			.dgid = b.gid.gid, .sgid_index = a.gid.gid_index, .hop_limit = 64 } } },
	     IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
	     IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
	/* RTS, ready to send: the number of its own first packet, and how to repeat */
	step(&a, (struct ibv_qp_attr) {
		.qp_state = IBV_QPS_RTS, .sq_psn = 100, .timeout = 14, .retry_cnt = 7,
		.rnr_retry = 7 },
	     IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
	     IBV_QP_MAX_QP_RD_ATOMIC);

	connect_to(&b, &a);
	post_receive(&b, 0, 0, 0);
	check(errno = ibv_post_send(a.qp, &empty, &bad), "ibv_post_send");
	printf("an empty message: %s\n", ibv_wc_status_str(completion(&a).status));

	step(&a, (struct ibv_qp_attr) { .qp_state = IBV_QPS_ERR }, 0);
	check(errno = ibv_post_send(a.qp, &empty, &bad), "ibv_post_send");
	printf("another message: %s\n", ibv_wc_status_str(completion(&a).status));
	step(&a, (struct ibv_qp_attr) { .qp_state = IBV_QPS_RESET }, 0);
	return 0;
}
