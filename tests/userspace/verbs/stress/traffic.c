// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Verified traffic while something else happens to its devices: RC, UC and UD
 * pairs between two devices, each operation, each byte checked.
 *
 *   traffic [-d DEVICE] [-p PEER] [-f 4|6] [-q rc|uc|ud] [-u TIMEOUT] [-n ROUNDS]
 *
 * It prints "ready", and "TYPE QPN PSN PEER-QPN PEER-PSN QKEY" for each pair.
 * It runs until SIGTERM (status 0), for ROUNDS, or until an error (status 1,
 * with the reason). TIMEOUT is the local ACK timeout of RC as in IBTA, default
 * 17 (0.5 s: the machine may be busy). Messages of UC and UD may be lost, but
 * never changed; lost ones are counted and sent again. An RC message is never
 * lost.
 */
#include "util.h"

#include <getopt.h>
#include <sched.h>
#include <signal.h>
#include <sys/random.h>

#define LEN		3000	/* some packets of any MTU of a veth */
#define GRH		40
#define LOST_MS		1000	/* times slow_factor() */
/* A link that loses more than this is not what the test is about. */
#define MAX_LOST	1000

static volatile sig_atomic_t stop;
static uint8_t timeout = 17;

static void on_term(int sig)
{
	(void)sig;
	stop = 1;
}

/* One direction of traffic: @a requests, @b responds. */
struct flow {
	enum ibv_qp_type type;
	const char *name;
	struct nic *nic_a, *nic_b;
	struct ibv_cq *cq_a, *cq_b;
	struct ibv_qp *a, *b;
	struct buf src, dst, back;
	struct ibv_ah *ah;
	uint32_t psn_a, psn_b, qkey;
	uint64_t rounds, lost;
};

static uint32_t random_u32(void)
{
	uint32_t value;

	if (getrandom(&value, sizeof(value), 0) != sizeof(value))
		FAIL("getrandom");
	return value;
}

static struct ibv_qp *make_qp(struct nic *nic, struct ibv_cq *cq,
			      const struct flow *flow)
{
	struct ibv_qp_init_attr init = {
		.qp_type = flow->type,
		.send_cq = cq,
		.recv_cq = cq,
		.cap = { .max_send_wr = 16, .max_recv_wr = 16,
			 .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct ibv_qp_attr attr = {
		.port_num = 1,
		.qkey = flow->qkey,
	};
	struct ibv_qp *qp = ibv_create_qp(nic->pd, &init);

	REQUIRE(qp);
	if (flow->type != IBV_QPT_UD)
		attr.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
	if (flow->type == IBV_QPT_RC)
		attr.qp_access_flags |= IBV_ACCESS_REMOTE_READ |
					IBV_ACCESS_REMOTE_ATOMIC;
	REQUIRE_EQ(qp_to(qp, &attr, IBV_QPS_INIT), 0);
	return qp;
}

static void to_rts(struct ibv_qp *qp, const struct nic *nic,
		   const struct nic *peer, const struct ibv_qp *peer_qp,
		   uint32_t psn, uint32_t peer_psn)
{
	struct ibv_qp_attr attr = {
		.path_mtu = nic->port.active_mtu,
		.dest_qp_num = peer_qp->qp_num,
		.rq_psn = peer_psn,
		.max_dest_rd_atomic = 4,
		.min_rnr_timer = 12,
		.ah_attr = path_to(nic, peer),
		.sq_psn = psn,
		.timeout = timeout,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.max_rd_atomic = 4,
	};

	REQUIRE_EQ(qp_to(qp, &attr, IBV_QPS_RTR), 0);
	REQUIRE_EQ(qp_to(qp, &attr, IBV_QPS_RTS), 0);
}

static void flow_make(struct flow *flow)
{
	flow->nic_a = nic_a();
	flow->nic_b = nic_b();
	flow->qkey = random_u32() & 0x7fffffff;
	flow->psn_a = random_u32() & 0xffffff;
	flow->psn_b = random_u32() & 0xffffff;
	flow->cq_a = ibv_create_cq(flow->nic_a->ctx, 64, NULL, NULL, 0);
	flow->cq_b = ibv_create_cq(flow->nic_b->ctx, 64, NULL, NULL, 0);
	REQUIRE(flow->cq_a && flow->cq_b);
	flow->a = make_qp(flow->nic_a, flow->cq_a, flow);
	flow->b = make_qp(flow->nic_b, flow->cq_b, flow);
	flow->src = buf_make(flow->nic_a->pd, LEN, ACCESS_ALL);
	flow->back = buf_make(flow->nic_a->pd, LEN, ACCESS_ALL);
	flow->dst = buf_make(flow->nic_b->pd, LEN,
			     ACCESS_ALL | IBV_ACCESS_REMOTE_ATOMIC);
	to_rts(flow->a, flow->nic_a, flow->nic_b, flow->b, flow->psn_a,
	       flow->psn_b);
	to_rts(flow->b, flow->nic_b, flow->nic_a, flow->a, flow->psn_b,
	       flow->psn_a);
	if (flow->type == IBV_QPT_UD) {
		struct ibv_ah_attr attr = {
			.is_global = 1,
			.dlid = flow->nic_b->port.lid,
			.port_num = 1,
			.grh = { .dgid = flow->nic_b->gid, .hop_limit = 64,
				 .sgid_index = flow->nic_a->gid_index },
		};

		flow->ah = ibv_create_ah(flow->nic_a->pd, &attr);
		REQUIRE(flow->ah);
	}
	printf(" %s %u %u %u %u %u", flow->name, flow->a->qp_num, flow->psn_a,
	       flow->b->qp_num, flow->psn_b, flow->qkey);
}

static void check_guards(const struct flow *flow)
{
	buf_check_guards(&flow->src);
	buf_check_guards(&flow->dst);
	buf_check_guards(&flow->back);
}

/* Waits for the next completion. False: none within @ms, allowed for UC and UD only. */
static bool next_wc(const struct flow *flow, struct ibv_cq *cq,
		    struct ibv_wc *wc, unsigned int ms)
{
	uint64_t until = millis() + ms;
	int n;

	while (!(n = ibv_poll_cq(cq, 1, wc))) {
		if (millis() > until)
			return false;
		sched_yield();
	}
	REQUIRE_EQ(n, 1);
	if (wc->status != IBV_WC_SUCCESS)
		FAIL("%s: round %llu: %s (vendor %u)", flow->name,
		     (unsigned long long)flow->rounds,
		     ibv_wc_status_str(wc->status), wc->vendor_err);
	return true;
}

/* After that a message is lost, and not late: a second one in its place would be one too many. */
static int lost_ms(void)
{
	return LOST_MS * slow_factor();
}

static void request(struct flow *flow, enum ibv_wr_opcode opcode,
		    struct ibv_sge *sge)
{
	struct ibv_send_wr wr = wr_rdma(flow->rounds, opcode, sge, 1,
					(uintptr_t)flow->dst.p,
					flow->dst.mr->rkey);
	struct ibv_send_wr *bad;
	struct ibv_wc wc;

	if (flow->type == IBV_QPT_UD) {
		wr.wr.ud.ah = flow->ah;
		wr.wr.ud.remote_qpn = flow->b->qp_num;
		wr.wr.ud.remote_qkey = flow->qkey;
	} else if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD ||
		   opcode == IBV_WR_ATOMIC_CMP_AND_SWP) {
		/* the region's address is a multiple of eight */
		wr.wr.atomic.remote_addr = (uintptr_t)flow->dst.p;
		wr.wr.atomic.rkey = flow->dst.mr->rkey;
		/* the sum is all ones, which the other atomic finds and swaps */
		wr.wr.atomic.compare_add = flow->rounds;
		if (opcode == IBV_WR_ATOMIC_CMP_AND_SWP)
			wr.wr.atomic.compare_add = UINT64_MAX;
		wr.wr.atomic.swap = flow->rounds;
	}
	wr.imm_data = flow->rounds;
	REQUIRE_EQ(ibv_post_send(flow->a, &wr, &bad), 0);
	/* 30 s: RC retries for some seconds. */
	if (!next_wc(flow, flow->cq_a, &wc, 30000))
		FAIL("%s: round %llu: no completion", flow->name,
		     (unsigned long long)flow->rounds);
	REQUIRE_EQ(wc.wr_id, flow->rounds);
}

/* A message that needs a receive; it is resent if lost. */
static void message(struct flow *flow, enum ibv_wr_opcode opcode, uint32_t len)
{
	uint32_t head = flow->type == IBV_QPT_UD ? GRH : 0;
	struct ibv_sge from = sge_of(&flow->src, 0, len);
	struct ibv_sge to = sge_of(&flow->dst, 0, len + head);
	struct ibv_recv_wr recv = { .wr_id = ~flow->rounds, .sg_list = &to,
				    .num_sge = 1 };
	struct ibv_recv_wr *bad;
	struct ibv_wc wc;

	fill(flow->src.p, len, flow->rounds);
	memset(flow->dst.p, 0, LEN);
	REQUIRE_EQ(ibv_post_recv(flow->b, &recv, &bad), 0);
	for (;;) {
		request(flow, opcode, &from);
		if (next_wc(flow, flow->cq_b, &wc,
			    flow->type == IBV_QPT_RC ? 10000 : lost_ms()))
			break;
		if (flow->type == IBV_QPT_RC || ++flow->lost > MAX_LOST)
			FAIL("%s: %llu messages were lost", flow->name,
			     (unsigned long long)flow->lost);
	}
	REQUIRE_EQ(wc.wr_id, ~flow->rounds);
	REQUIRE_EQ(wc.byte_len, len + head);
	REQUIRE_EQ(wc.opcode, opcode == IBV_WR_RDMA_WRITE_WITH_IMM ?
		   IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV);
	REQUIRE_EQ(!!(wc.wc_flags & IBV_WC_WITH_IMM), opcode != IBV_WR_SEND);
	if (opcode != IBV_WR_SEND)
		REQUIRE_EQ(wc.imm_data, (uint32_t)flow->rounds);
	if (flow->type == IBV_QPT_UD)
		REQUIRE_EQ(wc.src_qp, flow->a->qp_num);
	check_fill(flow->dst.p + head, len, flow->rounds);
}

/* UC completes a WRITE that has left; a lost one is resent. */
static void plain_write(struct flow *flow, uint32_t len)
{
	struct ibv_sge sge = sge_of(&flow->src, 0, len);
	uint64_t until;

	fill(flow->src.p, len, ~flow->rounds);
	memset(flow->dst.p, 0, LEN);
	do {
		request(flow, IBV_WR_RDMA_WRITE, &sge);
		until = millis() + lost_ms();
		while (flow->type == IBV_QPT_UC && millis() < until &&
		       !is_same(flow->dst.p, flow->src.p, len))
			sched_yield();
		if (flow->type != IBV_QPT_UC || millis() < until)
			break;
	} while (++flow->lost <= MAX_LOST);
	check_fill(flow->dst.p, len, ~flow->rounds);
	check_bytes(flow->dst.p + len, LEN - len, 0);
}

static void read_and_atomics(struct flow *flow)
{
	struct ibv_sge sge = sge_of(&flow->back, 0, LEN);
	uint64_t *cell = (uint64_t *)flow->dst.p;
	uint64_t got;

	fill(flow->dst.p, LEN, flow->rounds);
	memset(flow->back.p, 0, LEN);
	request(flow, IBV_WR_RDMA_READ, &sge);
	check_fill(flow->back.p, LEN, flow->rounds);
	*cell = ~flow->rounds;
	sge = sge_of(&flow->back, 8, 8);
	request(flow, IBV_WR_ATOMIC_FETCH_AND_ADD, &sge);
	REQUIRE_EQ(*cell, ~0ll);
	memcpy(&got, flow->back.p + 8, sizeof(got));
	REQUIRE_EQ(got, ~flow->rounds);
	request(flow, IBV_WR_ATOMIC_CMP_AND_SWP, &sge);
	REQUIRE_EQ(*cell, flow->rounds);
	memcpy(&got, flow->back.p + 8, sizeof(got));
	REQUIRE_EQ(got, ~0ll);
}

static void one_round(struct flow *flow)
{
	uint32_t len = 1 + flow->rounds * 37 % (LEN - GRH);

	flow->rounds++;
	if (flow->type == IBV_QPT_UD)
		len = len % 1000 + 1;
	message(flow, IBV_WR_SEND, len);
	message(flow, IBV_WR_SEND_WITH_IMM, len);
	if (flow->type != IBV_QPT_UD) {
		message(flow, IBV_WR_RDMA_WRITE_WITH_IMM, len);
		plain_write(flow, len);
	}
	if (flow->type == IBV_QPT_RC)
		read_and_atomics(flow);
	check_guards(flow);
}

int main(int argc, char **argv)
{
	struct sigaction term = { .sa_handler = on_term };
	struct flow flows[] = {
		{ .type = IBV_QPT_RC, .name = "rc" },
		{ .type = IBV_QPT_UC, .name = "uc" },
		{ .type = IBV_QPT_UD, .name = "ud" },
	};
	uint64_t rounds = UINT64_MAX;
	const char *only = NULL;
	size_t i;
	int c;

	while ((c = getopt(argc, argv, "d:p:f:q:u:n:")) >= 0) {
		if (c == 'd')
			options.device = optarg;
		else if (c == 'p')
			options.peer = optarg;
		else if (c == 'f')
			options.family = atoi(optarg);
		else if (c == 'q')
			only = optarg;
		else if (c == 'u')
			timeout = atoi(optarg);
		else if (c == 'n')
			rounds = atoi(optarg);
		else
			return 2;
	}
	sigaction(SIGTERM, &term, NULL);
	printf("ready");
	for (i = 0; i < ARRAY_SIZE(flows); i++)
		if (!only || !strcmp(only, flows[i].name))
			flow_make(&flows[i]);
	printf("\n");
	fflush(stdout);
	while (!stop && rounds--)
		for (i = 0; i < ARRAY_SIZE(flows); i++)
			if (flows[i].a)
				one_round(&flows[i]);
	for (i = 0; i < ARRAY_SIZE(flows); i++)
		printf("%s: %llu rounds verified, %llu messages lost\n",
		       flows[i].name, (unsigned long long)flows[i].rounds,
		       (unsigned long long)flows[i].lost);
	return 0;
}
