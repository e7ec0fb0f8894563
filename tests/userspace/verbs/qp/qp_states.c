// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The life of an RC queue pair: valid state transitions, the attributes that
 * each needs, refused values, and when requests may be posted.
 */
#include "util.h"

static struct end qp, other;

static const enum ibv_qp_state all_states[] = {
	IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS, IBV_QPS_SQD,
	IBV_QPS_SQE, IBV_QPS_ERR,
};

static const char *const state_names[] = {
	"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR",
};

/* Attributes of each step: all that are required, and no others. */
#define INIT_MASK	(IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | \
			 IBV_QP_ACCESS_FLAGS)
#define RTR_MASK	(IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | \
			 IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | \
			 IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER)
#define RTS_MASK	(IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | \
			 IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | \
			 IBV_QP_MAX_QP_RD_ATOMIC)

static struct ibv_qp_attr good_attr(enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = {
		.qp_state = state,
		.port_num = 1,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE,
		.path_mtu = IBV_MTU_512,
		.dest_qp_num = 0x123456,
		.rq_psn = 0xabcdef,
		.sq_psn = 0xfedcba,
		.max_dest_rd_atomic = 3,
		.max_rd_atomic = 2,
		.min_rnr_timer = 11,
		.timeout = 13,
		.retry_cnt = 5,
		.rnr_retry = 6,
		.ah_attr = {
			.is_global = 1,
			.port_num = 1,
			.sl = 3,
			.grh = {
				.dgid = nic_b()->gid,
				.sgid_index = nic_a()->gid_index,
				.hop_limit = 33,
				.traffic_class = 0x48,
				.flow_label = 0x12345,
			},
		},
	};

	return attr;
}

static int mask_of(enum ibv_qp_state from, enum ibv_qp_state to)
{
	switch (to) {
	case IBV_QPS_INIT:
		return INIT_MASK;
	case IBV_QPS_RTR:
		return RTR_MASK;
	case IBV_QPS_RTS:
		return from == IBV_QPS_RTR ? RTS_MASK : IBV_QP_STATE;
	default:
		return IBV_QP_STATE;
	}
}

static int step(enum ibv_qp_state from, enum ibv_qp_state to)
{
	struct ibv_qp_attr attr = good_attr(to);

	return ibv_modify_qp(qp.qp, &attr, mask_of(from, to));
}

/* Moves from RTS to SQD, and waits until it is drained. */
static void drain(void)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_SQD,
		.en_sqd_async_notify = 1,
	};

	REQUIRE_EQ(ibv_modify_qp(qp.qp, &attr, IBV_QP_STATE |
				 IBV_QP_EN_SQD_ASYNC_NOTIFY), 0);
	wait_event(qp.nic->ctx, IBV_EVENT_SQ_DRAINED);
	REQUIRE_EQ(end_state(&qp), IBV_QPS_SQD);
}

/* Creates a QP in @state. */
static void bring_to(enum ibv_qp_state state)
{
	static const enum ibv_qp_state way[] = {
		IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS,
	};
	uint32_t i, last = state < IBV_QPS_RTS ? state : IBV_QPS_RTS;

	qp = end_make(nic_a(), &config_default);
	if (state == IBV_QPS_ERR)
		last = IBV_QPS_INIT;
	for (i = 1; i <= last; i++)
		REQUIRE_EQ(step(way[i - 1], way[i]), 0);
	if (state == IBV_QPS_SQD)
		drain();
	else if (state > IBV_QPS_RTS)
		REQUIRE_EQ(step(way[last], state), 0);
	REQUIRE_EQ(end_state(&qp), state);
}

/* IBTA 10.3.1 and 11.2.5.2: transitions of RC; others are refused. */
static bool is_legal(enum ibv_qp_state from, enum ibv_qp_state to)
{
	switch (to) {
	case IBV_QPS_RESET:
		return true;
	case IBV_QPS_INIT:
		return from == IBV_QPS_RESET || from == IBV_QPS_INIT;
	case IBV_QPS_RTR:
		return from == IBV_QPS_INIT;
	case IBV_QPS_RTS:
		return from == IBV_QPS_RTR || from == IBV_QPS_RTS ||
		       from == IBV_QPS_SQD;
	case IBV_QPS_SQD:
		return from == IBV_QPS_RTS || from == IBV_QPS_SQD;
	case IBV_QPS_ERR:
		return from != IBV_QPS_RESET;
	default:
		return false;
	}
}

static void only_legal_transitions(void)
{
	enum ibv_qp_state from, to;
	uint32_t i, j;
	int err;

	for (i = 0; i < ARRAY_SIZE(all_states); i++) {
		from = all_states[i];
		if (from == IBV_QPS_SQE)	/* not for RC */
			continue;
		for (j = 0; j < ARRAY_SIZE(all_states); j++) {
			to = all_states[j];
			bring_to(from);
			err = step(from, to);
			if (err != (is_legal(from, to) ? 0 : EINVAL))
				FAIL("%s to %s: %s", state_names[from],
				     state_names[to], strerror(err));
			REQUIRE_EQ(end_state(&qp), err ? from : to);
			end_destroy(&qp);
		}
	}
}

/* Leaves out each required attribute. */
static void missing_attributes_are_refused(void)
{
	static const struct {
		enum ibv_qp_state from, to;
	} steps[] = {
		{ IBV_QPS_RESET, IBV_QPS_INIT },
		{ IBV_QPS_INIT, IBV_QPS_RTR },
		{ IBV_QPS_RTR, IBV_QPS_RTS },
	};
	struct ibv_qp_attr attr;
	uint32_t i;
	int bit, mask;

	for (i = 0; i < ARRAY_SIZE(steps); i++) {
		bring_to(steps[i].from);
		attr = good_attr(steps[i].to);
		mask = mask_of(steps[i].from, steps[i].to);
		for (bit = 1; bit <= mask; bit <<= 1) {
			if (!(mask & bit) || bit == IBV_QP_STATE)
				continue;
			printf("# to %s without 0x%x\n",
			       state_names[steps[i].to], bit);
			REQUIRE_EQ(ibv_modify_qp(qp.qp, &attr, mask & ~bit),
				   EINVAL);
			REQUIRE_EQ(end_state(&qp), steps[i].from);
		}
		REQUIRE_EQ(ibv_modify_qp(qp.qp, &attr, mask), 0);
	}
}

/* Adds attributes that this step does not allow. */
static void superfluous_attributes_are_refused(void)
{
	struct ibv_qp_attr attr;

	bring_to(IBV_QPS_RESET);
	attr = good_attr(IBV_QPS_INIT);
	REQUIRE_EQ(ibv_modify_qp(qp.qp, &attr, INIT_MASK | IBV_QP_RQ_PSN),
		   EINVAL);
	REQUIRE_EQ(ibv_modify_qp(qp.qp, &attr, INIT_MASK | IBV_QP_QKEY),
		   EINVAL);
	REQUIRE_EQ(ibv_modify_qp(qp.qp, &attr, INIT_MASK), 0);
	attr = good_attr(IBV_QPS_RTR);
	REQUIRE_EQ(ibv_modify_qp(qp.qp, &attr, RTR_MASK | IBV_QP_SQ_PSN),
		   EINVAL);
	REQUIRE_EQ(ibv_modify_qp(qp.qp, &attr, RTR_MASK | IBV_QP_PORT),
		   EINVAL);
	REQUIRE_EQ(ibv_modify_qp(qp.qp, &attr, RTR_MASK), 0);
	attr = good_attr(IBV_QPS_RTS);
	REQUIRE_EQ(ibv_modify_qp(qp.qp, &attr, RTS_MASK | IBV_QP_PATH_MTU),
		   EINVAL);
	REQUIRE_EQ(ibv_modify_qp(qp.qp, &attr, RTS_MASK), 0);
}

/* REFUSED(to, field, value): a step with this one wrong value must fail. */
#define REFUSED(to, field, value)					\
	do {								\
		struct ibv_qp_attr attr_ = good_attr(to);		\
									\
		attr_.field = (value);					\
		if (ibv_modify_qp(qp.qp, &attr_, mask_of((to) - 1, to)) !=	\
		    EINVAL)						\
			FAIL("%s = %s is not refused", #field, #value);	\
		REQUIRE_EQ(end_state(&qp), (to) - 1);			\
	} while (0)

static void wrong_values_are_refused(void)
{
	struct ibv_device_attr *limit = &nic_a()->attr;
	enum ibv_mtu active = nic_a()->port.active_mtu;

	bring_to(IBV_QPS_RESET);
	REFUSED(IBV_QPS_INIT, port_num, 0);
	REFUSED(IBV_QPS_INIT, port_num, 2);
	REFUSED(IBV_QPS_INIT, pkey_index, limit->max_pkeys);
	REFUSED(IBV_QPS_INIT, pkey_index, 0xffff);
	end_destroy(&qp);

	bring_to(IBV_QPS_INIT);
	REFUSED(IBV_QPS_RTR, path_mtu, 0);
	REFUSED(IBV_QPS_RTR, path_mtu, IBV_MTU_4096 + 1);
	if (active < IBV_MTU_4096)
		REFUSED(IBV_QPS_RTR, path_mtu, active + 1);
	REFUSED(IBV_QPS_RTR, ah_attr.is_global, 0);
	REFUSED(IBV_QPS_RTR, ah_attr.port_num, 2);
	REFUSED(IBV_QPS_RTR, ah_attr.grh.sgid_index, 255);
	REFUSED(IBV_QPS_RTR, min_rnr_timer, 32);
	if (limit->max_qp_rd_atom < 255)
		REFUSED(IBV_QPS_RTR, max_dest_rd_atomic,
			limit->max_qp_rd_atom + 1);
	end_destroy(&qp);

	bring_to(IBV_QPS_RTR);
	REFUSED(IBV_QPS_RTS, timeout, 32);
	REFUSED(IBV_QPS_RTS, retry_cnt, 8);
	REFUSED(IBV_QPS_RTS, rnr_retry, 8);
	if (limit->max_qp_init_rd_atom < 255)
		REFUSED(IBV_QPS_RTS, max_rd_atomic,
			limit->max_qp_init_rd_atom + 1);
}

/* There is one path; to say that it is the one in use changes nothing. */
static void there_are_no_alternate_paths(void)
{
	struct ibv_qp_attr attr = good_attr(IBV_QPS_RTS);

	bring_to(IBV_QPS_RTR);
	attr.path_mig_state = IBV_MIG_REARM;
	REQUIRE_EQ(ibv_modify_qp(qp.qp, &attr, RTS_MASK |
				 IBV_QP_PATH_MIG_STATE), EINVAL);
	attr.path_mig_state = IBV_MIG_MIGRATED;
	REQUIRE_EQ(ibv_modify_qp(qp.qp, &attr, RTS_MASK |
				 IBV_QP_PATH_MIG_STATE), 0);
}

/* Adapters ignore the upper bits, too. */
static void number_of_the_peer_has_24_bits(void)
{
	struct ibv_qp_attr attr = good_attr(IBV_QPS_RTR), got;
	struct ibv_qp_init_attr init;

	bring_to(IBV_QPS_INIT);
	attr.dest_qp_num |= 0xab000000;
	REQUIRE_EQ(ibv_modify_qp(qp.qp, &attr, RTR_MASK), 0);
	REQUIRE_EQ(ibv_query_qp(qp.qp, &got, IBV_QP_DEST_QPN, &init), 0);
	REQUIRE_EQ(got.dest_qp_num & 0xffffff, attr.dest_qp_num & 0xffffff);
}

static void wrong_current_state_is_refused(void)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS,
		.cur_qp_state = IBV_QPS_SQD,
	};

	bring_to(IBV_QPS_RTS);
	REQUIRE_EQ(ibv_modify_qp(qp.qp, &attr,
				 IBV_QP_STATE | IBV_QP_CUR_STATE), EINVAL);
	attr.cur_qp_state = IBV_QPS_RTS;
	REQUIRE_EQ(ibv_modify_qp(qp.qp, &attr,
				 IBV_QP_STATE | IBV_QP_CUR_STATE), 0);
}

static void query_tells_what_was_set(void)
{
	struct ibv_qp_attr want = good_attr(IBV_QPS_RTS), got;
	struct ibv_qp_init_attr init;

	bring_to(IBV_QPS_RTS);
	REQUIRE_EQ(ibv_query_qp(qp.qp, &got, (1 << 21) - 1, &init), 0);
	REQUIRE_EQ(got.qp_state, IBV_QPS_RTS);
	REQUIRE_EQ(got.cur_qp_state, IBV_QPS_RTS);
	REQUIRE_EQ(got.path_mtu, want.path_mtu);
	REQUIRE_EQ(got.port_num, want.port_num);
	REQUIRE_EQ(got.pkey_index, 0);
	REQUIRE_EQ(got.qp_access_flags, want.qp_access_flags);
	REQUIRE_EQ(got.dest_qp_num, want.dest_qp_num);
	REQUIRE_EQ(got.rq_psn, want.rq_psn);
	REQUIRE_EQ(got.sq_psn, want.sq_psn);
	REQUIRE_EQ(got.max_rd_atomic, want.max_rd_atomic);
	REQUIRE_EQ(got.max_dest_rd_atomic, want.max_dest_rd_atomic);
	REQUIRE_EQ(got.min_rnr_timer, want.min_rnr_timer);
	REQUIRE_EQ(got.timeout, want.timeout);
	REQUIRE_EQ(got.retry_cnt, want.retry_cnt);
	REQUIRE_EQ(got.rnr_retry, want.rnr_retry);
	REQUIRE_EQ(got.ah_attr.is_global, 1);
	REQUIRE_EQ(got.ah_attr.sl, want.ah_attr.sl);
	REQUIRE_EQ(got.ah_attr.grh.sgid_index, want.ah_attr.grh.sgid_index);
	REQUIRE_EQ(got.ah_attr.grh.traffic_class,
		   want.ah_attr.grh.traffic_class);
	REQUIRE_EQ(got.ah_attr.grh.flow_label, want.ah_attr.grh.flow_label);
	REQUIRE(!memcmp(&got.ah_attr.grh.dgid, &want.ah_attr.grh.dgid, 16));
	REQUIRE_EQ(got.cap.max_send_wr, qp.cap.max_send_wr);
	REQUIRE_EQ(got.cap.max_recv_wr, qp.cap.max_recv_wr);
	REQUIRE_EQ(got.cap.max_send_sge, qp.cap.max_send_sge);
	REQUIRE_EQ(got.cap.max_recv_sge, qp.cap.max_recv_sge);
	REQUIRE_EQ(init.qp_type, IBV_QPT_RC);
	REQUIRE(init.send_cq == qp.scq && init.recv_cq == qp.rcq);
}

/* IBTA 10.3.1: sends from RTS on, receives from INIT on. */
static void what_may_be_posted_when(void)
{
	static const enum ibv_qp_state states[] = {
		IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS,
		IBV_QPS_ERR,
	};
	struct ibv_send_wr send = wr_send(1, NULL, 0), *bad_send;
	struct ibv_recv_wr recv = { .wr_id = 2 }, *bad_recv;
	bool may_send, may_recv;
	uint32_t i;

	for (i = 0; i < ARRAY_SIZE(states); i++) {
		printf("# in %s\n", state_names[states[i]]);
		may_send = states[i] >= IBV_QPS_RTS;
		may_recv = states[i] >= IBV_QPS_INIT;
		bring_to(states[i]);
		bad_send = NULL;
		bad_recv = NULL;
		REQUIRE_EQ(ibv_post_recv(qp.qp, &recv, &bad_recv),
			   may_recv ? 0 : EINVAL);
		REQUIRE(may_recv || bad_recv == &recv);
		REQUIRE_EQ(ibv_post_send(qp.qp, &send, &bad_send),
			   may_send ? 0 : EINVAL);
		REQUIRE(may_send || bad_send == &send);
		end_destroy(&qp);
	}
}

/* Receives posted in INIT are used; the first packet raises COMM_EST. */
static void rtr_receives_and_tells_so(void)
{
	struct address to_qp, to_other;
	struct ibv_send_wr wr;

	qp = end_make(nic_a(), &config_default);
	other = end_make(nic_b(), &config_default);
	to_qp = end_address(&qp);
	to_other = end_address(&other);
	REQUIRE_EQ(end_to_init(&qp), 0);
	post_recv(&qp, 1, NULL, 0);
	REQUIRE_EQ(end_to_rtr(&qp, &to_other), 0);
	end_connect(&other, &to_qp);
	wr = wr_send(2, NULL, 0);
	post(&other, &wr);
	wait_ok(other.scq, 2, IBV_WC_SEND);
	wait_ok(qp.rcq, 1, IBV_WC_RECV);
	wait_event(qp.nic->ctx, IBV_EVENT_COMM_EST);
	REQUIRE_EQ(end_state(&qp), IBV_QPS_RTR);

	/* then it goes on to RTS and answers */
	REQUIRE_EQ(end_to_rts(&qp), 0);
	post_recv(&other, 3, NULL, 0);
	wr = wr_send(4, NULL, 0);
	post(&qp, &wr);
	wait_ok(other.rcq, 3, IBV_WC_RECV);
	wait_ok(qp.scq, 4, IBV_WC_SEND);
}

/* SQD completes requests in progress, and starts no new ones until RTS. */
static void sqd_drains_and_holds(void)
{
	struct ibv_send_wr wr;
	int i;

	pair_make(&qp, &other, &config_default);
	for (i = 0; i < 10; i++) {
		post_recv(&other, i, NULL, 0);
		wr = wr_send(i, NULL, 0);
		post(&qp, &wr);
	}
	for (i = 0; i < 10; i++)
		wait_ok(qp.scq, i, IBV_WC_SEND);
	drain();
	post_recv(&other, 10, NULL, 0);
	wr = wr_send(10, NULL, 0);
	post(&qp, &wr);
	require_quiet(qp.scq);

	/* it still receives */
	post_recv(&qp, 20, NULL, 0);
	wr.wr_id = 21;
	post(&other, &wr);
	wait_ok(qp.rcq, 20, IBV_WC_RECV);

	REQUIRE_EQ(end_to(&qp, IBV_QPS_RTS), 0);
	wait_ok(qp.scq, 10, IBV_WC_SEND);
}

/* A responder for one READ becomes one for sixteen here. */
static void sqd_changes_what_the_responder_keeps(void)
{
	struct config few = config_default, many = config_default;
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_SQD,
		.max_dest_rd_atomic = 16,
	};
	struct ibv_send_wr wr[16];
	struct ibv_sge sge[16];
	struct buf from, to;
	int i;

	few.max_dest_rd_atomic = 1;
	few.qp_access = ACCESS_ALL;
	many.max_rd_atomic = 16;
	qp = end_make(nic_a(), &few);
	other = end_make(nic_b(), &many);
	pair_connect(&qp, &other);
	from = buf_make(nic_a()->pd, 16 * 4096, ACCESS_ALL);
	to = buf_make(nic_b()->pd, 16 * 4096, ACCESS_ALL);
	fill(from.p, from.len, 1);
	drain();
	REQUIRE_EQ(ibv_modify_qp(qp.qp, &attr, IBV_QP_STATE |
				 IBV_QP_MAX_DEST_RD_ATOMIC), 0);
	for (i = 0; i < 16; i++) {
		sge[i] = sge_of(&to, i * 4096, 4096);
		wr[i] = wr_rdma(i, IBV_WR_RDMA_READ, &sge[i], 1,
				(uintptr_t)from.p + i * 4096, from.mr->rkey);
		wr[i].next = i < 15 ? &wr[i + 1] : NULL;
	}
	post(&other, wr);
	for (i = 0; i < 16; i++)
		wait_ok(other.scq, i, IBV_WC_RDMA_READ);
	check_fill(to.p, to.len, 1);
}

/*
 * As ConnectX has it, a QP that may have none outstanding has one, and says so: READs
 * work, one after the other.
 */
static void max_rd_atomic_of_zero_is_one(void)
{
	struct config none = config_default;
	struct ibv_qp_init_attr init;
	struct buf words, result;
	struct ibv_qp_attr got;
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	int i;

	none.max_rd_atomic = 0;
	pair_make(&qp, &other, &none);
	REQUIRE_EQ(ibv_query_qp(qp.qp, &got, IBV_QP_MAX_QP_RD_ATOMIC, &init), 0);
	REQUIRE_EQ(got.max_rd_atomic, 1);
	words = buf_make(nic_b()->pd, 4096, ACCESS_ALL);
	result = buf_make(nic_a()->pd, 4096, ACCESS_ALL);
	fill(words.p, words.len, 1);
	for (i = 0; i < 4; i++) {
		sge = sge_of(&result, i * 1024, 1024);
		wr = wr_rdma(i, IBV_WR_RDMA_READ, &sge, 1,
			     (uintptr_t)words.p + i * 1024, words.mr->rkey);
		post(&qp, &wr);
	}
	for (i = 0; i < 4; i++)
		wait_ok(qp.scq, i, IBV_WC_RDMA_READ);
	check_fill(result.p, result.len, 1);
}

/* Many cycles of states, with data in each. */
static void many_lives(void)
{
	struct ibv_send_wr wr;
	int i;

	pair_make(&qp, &other, &config_default);
	for (i = 0; i < 200; i++) {
		post_recv(&other, i, NULL, 0);
		wr = wr_send(i, NULL, 0);
		post(&qp, &wr);
		wait_ok(qp.scq, i, IBV_WC_SEND);
		wait_ok(other.rcq, i, IBV_WC_RECV);
		REQUIRE_EQ(end_to(&qp, IBV_QPS_RESET), 0);
		REQUIRE_EQ(end_to(&other, IBV_QPS_RESET), 0);
		pair_connect(&qp, &other);
	}
}

static const struct test tests[] = {
#define TEST(name) { #name, name }
	TEST(only_legal_transitions),
	TEST(missing_attributes_are_refused),
	TEST(superfluous_attributes_are_refused),
	TEST(wrong_values_are_refused),
	TEST(there_are_no_alternate_paths),
	TEST(number_of_the_peer_has_24_bits),
	TEST(wrong_current_state_is_refused),
	TEST(query_tells_what_was_set),
	TEST(what_may_be_posted_when),
	TEST(rtr_receives_and_tells_so),
	TEST(sqd_drains_and_holds),
	TEST(sqd_changes_what_the_responder_keeps),
	TEST(max_rd_atomic_of_zero_is_one),
	TEST(many_lives),
	{}
};

int main(int argc, char **argv)
{
	return util_main(tests, argc, argv);
}
