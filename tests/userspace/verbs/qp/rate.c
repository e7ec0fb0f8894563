// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The static rate of a path: which values there are, and what is sent by it. A transfer takes
 * as long as the rate says, at least. On a machine that is slower than the lowest rate, that
 * is no test, but the data is.
 */
#include "util.h"

#include <time.h>

#define LOWEST		IBV_RATE_2_5_GBPS
#define PIECE		MIB
#define PIECES		4
#define QKEY		0x11223344
#define GRH		40
/* A device may send that much ahead. */
#define SLACK_NS	1000000

static const enum ibv_rate rates[] = {
	IBV_RATE_MAX, IBV_RATE_2_5_GBPS, IBV_RATE_5_GBPS, IBV_RATE_10_GBPS,
	IBV_RATE_20_GBPS, IBV_RATE_30_GBPS, IBV_RATE_40_GBPS, IBV_RATE_60_GBPS,
	IBV_RATE_80_GBPS, IBV_RATE_120_GBPS, IBV_RATE_14_GBPS, IBV_RATE_56_GBPS,
	IBV_RATE_112_GBPS, IBV_RATE_168_GBPS, IBV_RATE_25_GBPS, IBV_RATE_100_GBPS,
	IBV_RATE_200_GBPS, IBV_RATE_300_GBPS, IBV_RATE_28_GBPS, IBV_RATE_50_GBPS,
	IBV_RATE_400_GBPS, IBV_RATE_600_GBPS,
};

static const uint8_t no_rates[] = { 1, 63, 128, 255 };

static struct end a, b;
static struct buf from, to;

static uint64_t nanos(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

/* 3.2 ns for each byte at 2.5 Gbit/s. */
static void require_time(uint64_t begun, uint64_t bytes)
{
	uint64_t took = nanos() - begun, least = bytes * 16 / 5;

	printf("# %llu bytes took %llu ns, %llu at least\n", (unsigned long long)bytes,
	       (unsigned long long)took, (unsigned long long)least);
	REQUIRE(took + SLACK_NS >= least);
}

static struct ibv_qp_attr query(struct end *end)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	REQUIRE_EQ(ibv_query_qp(end->qp, &attr, IBV_QP_AV | IBV_QP_STATE, &init), 0);
	return attr;
}

static struct config at(enum ibv_rate rate)
{
	struct config config = config_default;

	config.rate = rate;
	return config;
}

/* ---- values ---------------------------------------------------------------- */

static void rates_are_told_as_set(void)
{
	struct address peer;
	struct config config;
	unsigned int i;

	b = end_make(nic_b(), &config_default);
	peer = end_address(&b);
	for (i = 0; i < ARRAY_SIZE(rates); i++) {
		config = at(rates[i]);
		a = end_make(nic_a(), &config);
		end_connect(&a, &peer);
		REQUIRE_EQ(query(&a).ah_attr.static_rate, rates[i]);
		end_destroy(&a);
	}
}

static void others_are_refused(void)
{
	struct address peer;
	struct config config;
	unsigned int i;

	b = end_make(nic_b(), &config_default);
	peer = end_address(&b);
	for (i = 0; i < ARRAY_SIZE(no_rates); i++) {
		config = at(no_rates[i]);
		a = end_make(nic_a(), &config);
		REQUIRE_EQ(end_to_init(&a), 0);
		REQUIRE_EQ(end_to_rtr(&a, &peer), EINVAL);
		REQUIRE_EQ(end_state(&a), IBV_QPS_INIT);
		end_destroy(&a);
	}
}

/* IBTA 11.2.5.2: a path may change in SQD. */
static void rate_changes_in_sqd(void)
{
	struct config config = at(LOWEST);
	struct ibv_qp_attr attr;

	pair_make(&a, &b, &config);
	attr = query(&a);
	attr.qp_state = IBV_QPS_SQD;
	attr.en_sqd_async_notify = 1;
	REQUIRE_EQ(ibv_modify_qp(a.qp, &attr, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY), 0);
	wait_event(a.nic->ctx, IBV_EVENT_SQ_DRAINED);
	attr.ah_attr.static_rate = 1;
	REQUIRE_EQ(ibv_modify_qp(a.qp, &attr, IBV_QP_STATE | IBV_QP_AV), EINVAL);
	REQUIRE_EQ(query(&a).ah_attr.static_rate, LOWEST);
	attr.ah_attr.static_rate = IBV_RATE_5_GBPS;
	REQUIRE_EQ(ibv_modify_qp(a.qp, &attr, IBV_QP_STATE | IBV_QP_AV), 0);
	REQUIRE_EQ(query(&a).ah_attr.static_rate, IBV_RATE_5_GBPS);
}

/* ---- connections ----------------------------------------------------------- */

static void connect_at(enum ibv_rate rate_a, enum ibv_rate rate_b)
{
	struct config config = at(rate_a);

	a = end_make(nic_a(), &config);
	config.rate = rate_b;
	b = end_make(nic_b(), &config);
	pair_connect(&a, &b);
	from = buf_make(a.nic->pd, PIECES * PIECE, ACCESS_ALL);
	to = buf_make(b.nic->pd, PIECES * PIECE, ACCESS_ALL);
}

/* All of @from to @to, or the other way about. */
static void transfer(enum ibv_wr_opcode opcode, bool paced)
{
	struct buf *target = opcode == IBV_WR_RDMA_READ ? &from : &to;
	struct ibv_sge sge[PIECES];
	struct ibv_send_wr wr;
	uint64_t begun;
	int i;

	memset(from.p, 0, from.len);
	memset(to.p, 0, to.len);
	fill(target == &to ? from.p : to.p, to.len, opcode);
	begun = nanos();
	for (i = 0; i < PIECES; i++) {
		sge[i] = sge_of(&from, i * PIECE, PIECE);
		wr = wr_rdma(i, opcode, &sge[i], 1, (uintptr_t)to.p + i * PIECE,
			     to.mr->rkey);
		post(&a, &wr);
	}
	for (i = 0; i < PIECES; i++)
		wait_ok(a.scq, i, opcode == IBV_WR_RDMA_READ ? IBV_WC_RDMA_READ :
							       IBV_WC_RDMA_WRITE);
	if (paced)
		require_time(begun, PIECES * PIECE);
	check_fill(target->p, target->len, opcode);
}

/* A message that is received, and so is each byte of it, as nothing else tells of UC. */
static void send_message(void)
{
	struct ibv_sge sge = sge_of(&to, 0, PIECE / 64);
	struct ibv_send_wr wr;

	memset(to.p, 0, to.len);
	fill(from.p, PIECE / 64, 7);
	post_recv(&b, 1, &sge, 1);
	sge = sge_of(&from, 0, PIECE / 64);
	wr = wr_send(2, &sge, 1);
	post(&a, &wr);
	wait_ok(a.scq, 2, IBV_WC_SEND);
	wait_ok(b.rcq, 1, IBV_WC_RECV);
	check_fill(to.p, PIECE / 64, 7);
}

static void requests_at_the_rate(void)
{
	connect_at(LOWEST, IBV_RATE_MAX);
	send_message();
	transfer(IBV_WR_RDMA_WRITE, true);
	transfer(IBV_WR_RDMA_READ, false);
}

static void responses_at_the_rate(void)
{
	connect_at(IBV_RATE_MAX, LOWEST);
	transfer(IBV_WR_RDMA_READ, true);
	transfer(IBV_WR_RDMA_WRITE, false);
	transfer(IBV_WR_RDMA_READ, true);
}

/* Above what any port here has: as if there were none. */
static void highest_rate_is_none(void)
{
	connect_at(IBV_RATE_600_GBPS, IBV_RATE_600_GBPS);
	send_message();
	transfer(IBV_WR_RDMA_WRITE, false);
	transfer(IBV_WR_RDMA_READ, false);
}

static void uc_messages_at_the_rate(void)
{
	int i;

	connect_at(LOWEST, LOWEST);
	for (i = 0; i < 50; i++)
		send_message();
}

/* ---- datagrams -------------------------------------------------------------- */

static struct ibv_ah *ah_in(struct ibv_pd *pd, uint8_t rate)
{
	bool ib = nic_b()->port.link_layer == IBV_LINK_LAYER_INFINIBAND;
	struct ibv_ah_attr attr = {
		.is_global = !ib,
		.dlid = nic_b()->port.lid,
		.static_rate = rate,
		.port_num = 1,
		.grh = { .dgid = nic_b()->gid, .sgid_index = nic_a()->gid_index,
			 .hop_limit = 64 },
	};

	return ibv_create_ah(pd, &attr);
}

static struct ibv_ah *ah_at(uint8_t rate)
{
	return ah_in(nic_a()->pd, rate);
}

static struct ibv_qp *ud_make(struct ibv_pd *pd, struct ibv_cq *cq, uint32_t depth)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_UD, .send_cq = cq, .recv_cq = cq,
		.cap = { .max_send_wr = depth, .max_recv_wr = depth,
			 .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct ibv_qp_attr attr = { .port_num = 1, .qkey = QKEY, .sq_psn = 1 };
	struct ibv_qp *qp = ibv_create_qp(pd, &init);

	REQUIRE(qp);
	qp_to_rts(qp, &attr);
	return qp;
}

static void handles_have_the_same_rates(void)
{
	struct ibv_ah *ah;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(rates); i++) {
		ah = ah_at(rates[i]);
		REQUIRE(ah);
		REQUIRE_EQ(ibv_destroy_ah(ah), 0);
	}
	for (i = 0; i < ARRAY_SIZE(no_rates); i++)
		REQUIRE_ERRNO(ah_at(no_rates[i]), EINVAL);
}

enum { AT_ONCE = 16, ROUNDS = 128 };

static struct ibv_cq *scq, *rcq;
static struct ibv_qp *sender, *receiver;
static uint32_t dg_len;

static void ud_pair(uint32_t depth)
{
	dg_len = mtu_bytes(nic_a()->port.active_mtu);
	scq = ibv_create_cq(nic_a()->ctx, 4 * depth, NULL, NULL, 0);
	rcq = ibv_create_cq(nic_b()->ctx, 4 * depth, NULL, NULL, 0);
	REQUIRE(scq && rcq);
	sender = ud_make(nic_a()->pd, scq, depth);
	receiver = ud_make(nic_b()->pd, rcq, depth);
	from = buf_make(nic_a()->pd, AT_ONCE * dg_len, ACCESS_ALL);
	to = buf_make(nic_b()->pd, AT_ONCE * (GRH + dg_len), ACCESS_ALL);
}

/* Posted in one go; they arrive in order. */
static void datagrams(struct ibv_ah *const ah[], unsigned int nr_ah, int round)
{
	struct ibv_send_wr wr[AT_ONCE], *bad;
	struct ibv_recv_wr recv, *bad_recv;
	struct ibv_sge sge[AT_ONCE], at_b;
	int i;

	for (i = 0; i < AT_ONCE; i++) {
		at_b = sge_of(&to, i * (GRH + dg_len), GRH + dg_len);
		recv = (struct ibv_recv_wr){ .wr_id = i, .sg_list = &at_b, .num_sge = 1 };
		REQUIRE_EQ(ibv_post_recv(receiver, &recv, &bad_recv), 0);
		fill(from.p + i * dg_len, dg_len, round + i);
		sge[i] = sge_of(&from, i * dg_len, dg_len);
		wr[i] = wr_send(i, &sge[i], 1);
		wr[i].wr.ud.ah = ah[i % nr_ah];
		wr[i].wr.ud.remote_qpn = receiver->qp_num;
		wr[i].wr.ud.remote_qkey = QKEY;
		wr[i].next = i + 1 < AT_ONCE ? &wr[i + 1] : NULL;
	}
	REQUIRE_EQ(ibv_post_send(sender, wr, &bad), 0);
	for (i = 0; i < AT_ONCE; i++) {
		wait_ok(rcq, i, IBV_WC_RECV);
		wait_ok(scq, i, IBV_WC_SEND);
		check_fill(to.p + i * (GRH + dg_len) + GRH, dg_len, round + i);
	}
}

static void datagrams_at_the_rate(void)
{
	struct ibv_ah *ah = ah_at(LOWEST);
	uint64_t begun;
	int i;

	REQUIRE(ah);
	ud_pair(AT_ONCE);
	begun = nanos();
	for (i = 0; i < ROUNDS; i++)
		datagrams(&ah, 1, i);
	require_time(begun, (uint64_t)ROUNDS * AT_ONCE * dg_len);
}

/* To one receiver, by three handles. */
static void datagrams_of_several_rates_keep_their_order(void)
{
	struct ibv_ah *ah[] = { ah_at(IBV_RATE_MAX), ah_at(LOWEST), ah_at(IBV_RATE_5_GBPS) };
	int i;

	REQUIRE(ah[0] && ah[1] && ah[2]);
	ud_pair(AT_ONCE);
	for (i = 0; i < ROUNDS; i++)
		datagrams(ah, ARRAY_SIZE(ah), i);
	/* afterwards those without one go as ever */
	for (i = 0; i < ROUNDS; i++)
		datagrams(ah, 1, i);
}

enum { MANY = 512 };

/* In one go, so that a queue at its rate has most of them still to read. */
static void post_many(struct ibv_qp *qp, struct ibv_ah *ah, uint32_t lkey)
{
	static struct ibv_send_wr wr[MANY];
	struct ibv_send_wr *bad;
	struct ibv_sge sge;
	int i;

	sge = (struct ibv_sge){ .addr = (uintptr_t)from.p, .length = dg_len, .lkey = lkey };
	for (i = 0; i < MANY; i++) {
		wr[i] = wr_send(i, &sge, 1);
		wr[i].wr.ud.ah = ah;
		wr[i].wr.ud.remote_qpn = receiver->qp_num;
		wr[i].wr.ud.remote_qkey = QKEY;
		wr[i].next = i + 1 < MANY ? &wr[i + 1] : NULL;
	}
	REQUIRE_EQ(ibv_post_send(qp, wr, &bad), 0);
}

static void receive_many(unsigned int nr)
{
	struct ibv_sge sge = sge_of(&to, 0, GRH + dg_len);
	struct ibv_recv_wr recv = { .sg_list = &sge, .num_sge = 1 }, *bad;

	while (nr--)
		REQUIRE_EQ(ibv_post_recv(receiver, &recv, &bad), 0);
}

/* An adapter has a copy of the address when a post returns. */
static void handle_may_go_before_its_datagrams(void)
{
	struct ibv_ah *ah = ah_at(LOWEST);
	struct ibv_qp *other;
	int i;

	REQUIRE(ah);
	ud_pair(2 * MANY);
	other = ud_make(nic_a()->pd, scq, MANY);
	receive_many(2 * MANY);
	post_many(sender, ah, from.mr->lkey);
	post_many(other, ah, from.mr->lkey);
	REQUIRE_EQ(ibv_destroy_ah(ah), 0);
	for (i = 0; i < 2 * MANY; i++)
		wait_ok(rcq, 0, IBV_WC_RECV);
}

/* A handle that lives on is no object of the program's, and holds up none. */
static void queues_may_go_before_their_datagrams(void)
{
	struct ibv_pd *pd = ibv_alloc_pd(nic_a()->ctx);
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };
	struct ibv_qp *first, *second;
	struct ibv_ah *ah;
	struct ibv_mr *mr;

	ud_pair(2 * MANY);
	REQUIRE(pd);
	mr = ibv_reg_mr(pd, from.p, from.len, ACCESS_ALL);
	ah = ah_in(pd, LOWEST);
	REQUIRE(mr && ah);
	first = ud_make(pd, scq, MANY);
	second = ud_make(pd, scq, MANY);
	receive_many(2 * MANY);
	post_many(first, ah, mr->lkey);
	post_many(second, ah, mr->lkey);
	REQUIRE_EQ(ibv_destroy_ah(ah), 0);
	REQUIRE_EQ(ibv_modify_qp(first, &attr, IBV_QP_STATE), 0);
	REQUIRE_EQ(ibv_destroy_qp(second), 0);
	REQUIRE_EQ(ibv_destroy_qp(first), 0);
	REQUIRE_EQ(ibv_dereg_mr(mr), 0);
	REQUIRE_EQ(ibv_dealloc_pd(pd), 0);
}

/*
 * One of the rates is near what this machine can, whose sender then has both more to do and
 * a time that has passed. (It once waited for itself, for ever.)
 */
static void datagrams_at_every_rate(void)
{
	struct ibv_ah *ah;
	unsigned int i;
	int j;

	ud_pair(MANY);
	for (i = 0; i < 4 * ARRAY_SIZE(rates); i++) {
		ah = ah_at(rates[i % ARRAY_SIZE(rates)]);
		REQUIRE(ah);
		receive_many(MANY);
		post_many(sender, ah, from.mr->lkey);
		for (j = 0; j < MANY; j++)
			wait_ok(scq, j, IBV_WC_SEND);
		for (j = 0; j < MANY; j++)
			wait_ok(rcq, 0, IBV_WC_RECV);
		REQUIRE_EQ(ibv_destroy_ah(ah), 0);
	}
}

/* A domain that cannot go yet leaves everything as it was. */
static void refused_end_of_their_domain_changes_nothing(void)
{
	struct ibv_ah *ah = ah_at(LOWEST);
	int i;

	REQUIRE(ah);
	ud_pair(MANY);
	receive_many(MANY);
	post_many(sender, ah, from.mr->lkey);
	REQUIRE_EQ(ibv_destroy_ah(ah), 0);
	REQUIRE_EQ(ibv_dealloc_pd(nic_a()->pd), EBUSY);
	for (i = 0; i < MANY; i++)
		wait_ok(rcq, 0, IBV_WC_RECV);
}

static const struct test tests[] = {
#define TEST(name) { #name, name }
	TEST(rates_are_told_as_set),
	TEST(others_are_refused),
	TEST(rate_changes_in_sqd),
	TEST(requests_at_the_rate),
	TEST(responses_at_the_rate),
	TEST(highest_rate_is_none),
	TEST(handles_have_the_same_rates),
	TEST(datagrams_at_the_rate),
	TEST(datagrams_of_several_rates_keep_their_order),
	TEST(handle_may_go_before_its_datagrams),
	TEST(queues_may_go_before_their_datagrams),
	TEST(refused_end_of_their_domain_changes_nothing),
	TEST(datagrams_at_every_rate),
	{}
};

static const struct test uc_tests[] = {
	TEST(rates_are_told_as_set),
	TEST(others_are_refused),
	TEST(uc_messages_at_the_rate),
	{}
};

int main(int argc, char **argv)
{
	return util_main_rc_uc(tests, uc_tests, argc, argv);
}
