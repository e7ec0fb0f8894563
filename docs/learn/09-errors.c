// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Lesson 9: how requests fail, what happens to those behind them, and the way back. */
#include "learn.h"

static struct end a, b;

static void show_completion(const char *who, struct end *e)
{
	struct ibv_wc wc = completion(e);

	printf("  %s, request %d: %s\n", who, (int)wc.wr_id, ibv_wc_status_str(wc.status));
}

static void show_state(const char *who, struct end *e)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	check(errno = ibv_query_qp(e->qp, &attr, IBV_QP_STATE, &init), "ibv_query_qp");
	printf("  %s: state %s\n", who, attr.qp_state == IBV_QPS_ERR ? "ERR" :
	       attr.qp_state == IBV_QPS_RTS ? "RTS" : "?");
}

/* A request that fails, and a good one behind it */
static void fail(const char *title, enum ibv_wr_opcode opcode, uint32_t lkey, uint32_t rkey)
{
	struct ibv_sge sge = { (uintptr_t)a.buffer, 64, lkey };
	struct ibv_send_wr wr = {
		.wr_id = 1, .sg_list = &sge, .num_sge = 1, .opcode = opcode,
		.send_flags = IBV_SEND_SIGNALED, .wr.rdma = { (uintptr_t)b.buffer, rkey },
	}, *bad;

	printf("%s:\n", title);
	connect_both(&a, &b);
	check(errno = ibv_post_send(a.qp, &wr, &bad), "ibv_post_send");
	post(&a, &b, IBV_WR_RDMA_WRITE, 0, 64, 2, 0);
	show_completion("a", &a);
	show_completion("a", &a);
	show_state("a", &a);
	show_state("b", &b);
}

int main(int argc, char **argv)
{
	struct ibv_async_event event;
	struct ibv_mr *closed;

	open_both(argc, argv, &a, &b);
	make_qp(&a, NULL);
	make_qp(&b, NULL);
	/* a gives up when b has no receive request; 7 would mean: ask for ever. */
	a.rnr_retry = 0;
	check(!(closed = ibv_reg_mr(b.pd, b.buffer, SIZE, 0)), "ibv_reg_mr");

	fail("SEND without a receive request", IBV_WR_SEND, a.mr->lkey, 0);
	fail("WRITE from memory with a wrong lkey", IBV_WR_RDMA_WRITE, a.mr->lkey ^ 0x5500, b.mr->rkey);
	fail("WRITE to memory without the right", IBV_WR_RDMA_WRITE, a.mr->lkey, closed->rkey);
	check(ibv_get_async_event(b.device, &event), "ibv_get_async_event");
	printf("  b: event: %s\n", ibv_event_type_str(event.event_type));
	ibv_ack_async_event(&event);

	printf("both from RESET to RTS again:\n");
	connect_both(&a, &b);
	post(&a, &b, IBV_WR_RDMA_WRITE, 0, 64, 3, IBV_SEND_SIGNALED);
	show_completion("a", &a);
	return 0;
}
