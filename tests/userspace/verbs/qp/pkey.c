// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The P_Key table. tests/guest/verbs/pkeys.sh has set these entries on each
 * device. SHCA_CHANGE_PKEY has a command that changes entry 4 of the first
 * device:
 *
 *	0: 0xffff	1: 0x8001	2: 0x0001 (limited)	3: 0x8002	4: empty
 */
#include "util.h"

#include <poll.h>

enum { LEN = 100, QKEY = 0x1234 };

static const struct {
	int a, b;
	bool fits;
} cases[] = {
	{ 0, 0, true }, { 1, 1, true }, { 1, 2, true }, { 2, 1, true },
	{ 2, 2, false }, { 1, 3, false }, { 0, 1, false }, { 4, 4, false },
};

static struct end a, b;
static struct buf mem_a, mem_b;

static void to_init(struct end *end, int index)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT, .port_num = 1, .pkey_index = index,
		.qp_access_flags = ACCESS_ALL,
	};

	REQUIRE_EQ(ibv_modify_qp(end->qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX |
				 IBV_QP_PORT | IBV_QP_ACCESS_FLAGS), 0);
}

static void connect_by(int index_a, int index_b)
{
	struct config config = config_default;
	struct address to_a, to_b;

	config.timeout = 10;
	config.retry_cnt = 2;
	a = end_make(nic_a(), &config);
	b = end_make(nic_b(), &config);
	to_a = end_address(&a);
	to_b = end_address(&b);
	to_init(&a, index_a);
	to_init(&b, index_b);
	REQUIRE_EQ(end_to_rtr(&a, &to_b), 0);
	REQUIRE_EQ(end_to_rtr(&b, &to_a), 0);
	REQUIRE_EQ(end_to_rts(&a), 0);
	REQUIRE_EQ(end_to_rts(&b), 0);
	mem_a = buf_make(nic_a()->pd, 4096, ACCESS_ALL);
	mem_b = buf_make(nic_b()->pd, 4096, ACCESS_ALL);
}

static void send_one(enum ibv_wc_status status)
{
	struct ibv_sge sge = sge_of(&mem_a, 0, LEN), to = sge_of(&mem_b, 0, LEN);
	struct ibv_send_wr wr = wr_send(1, &sge, 1);

	post_recv(&b, 2, &to, 1);
	post(&a, &wr);
	wait_status(a.scq, 1, status);
	if (status == IBV_WC_SUCCESS)
		wait_ok(b.rcq, 2, IBV_WC_RECV);
	else
		require_no_wc(b.rcq);
}

static void connection_is_within_a_partition(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		printf("# %d to %d\n", cases[i].a, cases[i].b);
		connect_by(cases[i].a, cases[i].b);
		send_one(cases[i].fits ? IBV_WC_SUCCESS : IBV_WC_RETRY_EXC_ERR);
	}
}

static struct ibv_qp *make_ud(struct end *end, int index)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_UD, .send_cq = end->scq, .recv_cq = end->rcq,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4,
			 .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT, .port_num = 1, .pkey_index = index,
		.qkey = QKEY,
	};
	struct ibv_qp *qp = ibv_create_qp(end->nic->pd, &init);

	REQUIRE(qp);
	qp_to_rts(qp, &attr);
	return qp;
}

static void datagram_is_within_a_partition(void)
{
	struct ibv_ah_attr attr;
	struct ibv_qp *from, *to;
	struct ibv_recv_wr recv, *bad_recv;
	struct ibv_send_wr wr, *bad;
	struct ibv_sge sge, at;
	struct ibv_ah *ah;
	size_t i;

	connect_by(0, 0);
	attr = (struct ibv_ah_attr){
		.is_global = 1, .port_num = 1,
		.grh = { .dgid = nic_b()->gid, .hop_limit = 64,
			 .sgid_index = nic_a()->gid_index },
	};
	ah = ibv_create_ah(nic_a()->pd, &attr);
	REQUIRE(ah);
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		from = make_ud(&a, cases[i].a);
		to = make_ud(&b, cases[i].b);
		at = sge_of(&mem_b, 0, 1000);
		recv = (struct ibv_recv_wr){ .wr_id = i, .sg_list = &at,
					     .num_sge = 1 };
		REQUIRE_EQ(ibv_post_recv(to, &recv, &bad_recv), 0);
		sge = sge_of(&mem_a, 0, LEN);
		wr = wr_send(i, &sge, 1);
		wr.wr.ud.ah = ah;
		wr.wr.ud.remote_qpn = to->qp_num;
		wr.wr.ud.remote_qkey = QKEY;
		REQUIRE_EQ(ibv_post_send(from, &wr, &bad), 0);
		wait_ok(a.scq, i, IBV_WC_SEND);
		if (cases[i].fits)
			wait_ok(b.rcq, i, IBV_WC_RECV);
		else
			require_quiet(b.rcq);
		REQUIRE_EQ(ibv_destroy_qp(to), 0);
		REQUIRE_EQ(ibv_destroy_qp(from), 0);
	}
}

static void table_is_what_was_set(void)
{
	static const uint16_t expected[] = { 0xffff, 0x8001, 0x0001, 0x8002, 0 };
	int nr = nic_a()->port.pkey_tbl_len, i;
	__be16 pkey;

	REQUIRE_EQ(nic_a()->attr.max_pkeys, nr);
	REQUIRE(nr > (int)ARRAY_SIZE(expected));
	for (i = 0; i < nr; i++) {
		REQUIRE_EQ(ibv_query_pkey(nic_a()->ctx, 1, i, &pkey), 0);
		REQUIRE_EQ(be16toh(pkey), i < (int)ARRAY_SIZE(expected) ?
			   expected[i] : 0);
	}
	REQUIRE(ibv_query_pkey(nic_a()->ctx, 1, nr, &pkey));
}

static void index_beyond_the_table(void)
{
	struct end end = end_make(nic_a(), &config_default);
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT, .port_num = 1,
		.pkey_index = nic_a()->port.pkey_tbl_len,
	};

	REQUIRE_EQ(ibv_modify_qp(end.qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX |
				 IBV_QP_PORT | IBV_QP_ACCESS_FLAGS), EINVAL);
	REQUIRE_EQ(end_state(&end), IBV_QPS_RESET);
}

/* A QP uses the current P_Key of its entry, whenever it was written. */
static void change_is_told_and_counts(void)
{
	const char *command = getenv("SHCA_CHANGE_PKEY");
	char line[200];

	if (!command)
		test_skip("SHCA_CHANGE_PKEY is not set");
	connect_by(4, 1);
	snprintf(line, sizeof(line), "%s 0x8001", command);
	REQUIRE_EQ(system(line), 0);
	wait_event(nic_a()->ctx, IBV_EVENT_PKEY_CHANGE);
	send_one(IBV_WC_SUCCESS);
	snprintf(line, sizeof(line), "%s 0", command);
	REQUIRE_EQ(system(line), 0);
	wait_event(nic_a()->ctx, IBV_EVENT_PKEY_CHANGE);
	send_one(IBV_WC_RETRY_EXC_ERR);
}

static const struct test tests[] = {
#define TEST(name) { #name, name }
	TEST(table_is_what_was_set),
	TEST(connection_is_within_a_partition),
	TEST(datagram_is_within_a_partition),
	TEST(index_beyond_the_table),
	TEST(change_is_told_and_counts),
	{}
};

int main(int argc, char **argv)
{
	return util_main(tests, argc, argv);
}
