// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Recipes of `softhca fault recipes`, one test each: the rule is made as a user makes
 * it, something provokes it, and what docs/faults.md promises must be seen. It needs
 * CAP_NET_ADMIN and a softhca device whose rules are nobody else's.
 */
#include "fault_tool.h"

#include <fcntl.h>
#include <poll.h>

#define LEN	4000u
#define NUM	8

static struct end a, b;
static struct buf mem_a, mem_b;

/* ---- objects ---------------------------------------------------------------- */

static struct ibv_qp *make_alone(enum ibv_qp_type type, struct ibv_srq *srq)
{
	struct ibv_cq *cq = ibv_create_cq(nic_a()->ctx, 4, NULL, NULL, 0);
	struct ibv_qp_init_attr init = {
		.send_cq = cq, .recv_cq = cq, .qp_type = type, .srq = srq,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};

	return cq ? ibv_create_qp(nic_a()->pd, &init) : NULL;
}

static struct ibv_qp *make_ud(void)
{
	return make_alone(IBV_QPT_UD, NULL);
}

static struct ibv_srq *make_srq(void)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 4, .max_sge = 1 } };

	return ibv_create_srq(nic_a()->pd, &init);
}

/* ---- what goes well --------------------------------------------------------- */

static void set_up(const struct config *config)
{
	int i;

	pair_make(&a, &b, config);
	mem_a = buf_make(a.nic->pd, NUM * LEN, ACCESS_ALL);
	mem_b = buf_make(b.nic->pd, NUM * LEN, ACCESS_ALL);
	fill(mem_a.p, NUM * LEN, 1);
	for (i = 0; i < NUM; i++) {
		struct ibv_sge sge = sge_of(&mem_b, i * LEN, LEN);

		post_recv(&b, i, &sge, 1);
	}
}

static void send_one(int i)
{
	struct ibv_sge sge = sge_of(&mem_a, i * LEN, LEN);
	struct ibv_send_wr wr = wr_send(i, &sge, 1);

	post(&a, &wr);
}

/* All messages arrive once, in order and intact, whatever faults the packets have. */
static void send_all(void)
{
	int i;

	for (i = 0; i < NUM; i++)
		send_one(i);
	for (i = 0; i < NUM; i++) {
		wait_ok(b.rcq, i, IBV_WC_RECV);
		wait_ok(a.scq, i, IBV_WC_SEND);
	}
	check_fill(mem_b.p, NUM * LEN, 1);
	require_no_wc(a.scq);
	require_no_wc(b.rcq);
}

static void survive(void)
{
	struct config config = config_default;

	config.timeout = 15;
	set_up(&config);
	fault_recipe(0);
	send_all();
	REQUIRE(fault_hits() >= 1);
	REQUIRE(fault_counter("injected_faults") >= 1);
}

/* The same, and a counter tells. */
static void survive_counted(const char *name)
{
	unsigned long long before = fault_counter(name);
	int i;

	survive();
	/* The RDMA core keeps values of counters for a moment. */
	for (i = 0; i < 1000 && fault_counter(name) == before; i++)
		poll(NULL, 0, 10);
	REQUIRE(fault_counter(name) > before);
}

static void lost_packet(void) { survive(); }
static void out_of_sequence(void) { survive_counted("out_of_sequence"); }
static void duplicate(void) { survive_counted("duplicate_request"); }
static void damaged(void) { survive_counted("rx_icrc_errors"); }
static void marked(void) { survive_counted("np_ecn_marked_roce_packets"); }
static void rnr_once(void) { survive_counted("rnr_nak_retry_err"); }

/* Loss of 1 % needs packets. */
static void lossy(void)
{
	struct config config = config_default;
	int i, j;

	config.timeout = 15;
	set_up(&config);
	fault_recipe(0);
	for (i = 0; i < 40 && (i < 8 || !fault_hits()); i++) {
		send_all();
		for (j = 0; j < NUM; j++) {
			struct ibv_sge sge = sge_of(&mem_b, j * LEN, LEN);

			post_recv(&b, j, &sge, 1);
		}
	}
	REQUIRE(fault_hits() >= 1);
}

static void dead_for_a_while(void)
{
	struct config config = config_default;
	uint64_t began;

	config.timeout = 17;
	set_up(&config);
	fault_recipe(0);
	began = millis();
	send_all();
	REQUIRE(millis() - began < 60000);
	REQUIRE(fault_hits() >= 1);
}

static void slow(void)
{
	struct config config = config_default;
	uint64_t began;

	set_up(&config);
	fault_recipe(0);
	began = millis();
	send_one(0);
	wait_ok(a.scq, 0, IBV_WC_SEND);
	wait_ok(b.rcq, 0, IBV_WC_RECV);
	/* There and back. */
	REQUIRE(millis() - began >= 3);
	REQUIRE(fault_hits() >= 2);
}

/* ---- what goes wrong ---------------------------------------------------------- */

/* The first of three sends ends with @status; the others are flushed. */
static void send_fails(enum ibv_wc_status status)
{
	int i;

	for (i = 0; i < 3; i++)
		send_one(i);
	wait_status(a.scq, 0, status);
	for (i = 1; i < 3; i++)
		wait_status(a.scq, i, IBV_WC_WR_FLUSH_ERR);
	require_no_wc(a.scq);
	end_wait_state(&a, IBV_QPS_ERR);
	REQUIRE(fault_hits() >= 1);
}

static struct config short_config(void)
{
	struct config config = config_default;

	config.timeout = 8;
	config.retry_cnt = 1;
	config.rnr_retry = 1;
	config.min_rnr_timer = 1;
	return config;
}

static void dead_peer(void)
{
	struct config config = short_config();

	set_up(&config);
	fault_recipe(0);
	send_fails(IBV_WC_RETRY_EXC_ERR);
	/* The peer has heard nothing. */
	REQUIRE_EQ(end_state(&b), IBV_QPS_RTS);
	require_no_wc(b.rcq);
}

static void rnr_for_ever(void)
{
	struct config config = short_config();

	set_up(&config);
	fault_recipe(0);
	send_fails(IBV_WC_RNR_RETRY_EXC_ERR);
	REQUIRE_EQ(end_state(&b), IBV_QPS_RTS);
	require_no_wc(b.rcq);
}

/* The responder refuses: its receive fails, too, and its QP. */
static void refused(enum ibv_wc_status here, enum ibv_wc_status there)
{
	struct config config = config_default;
	int i;

	set_up(&config);
	fault_recipe(0);
	send_fails(here);
	wait_status(b.rcq, 0, there);
	for (i = 1; i < NUM; i++)
		wait_status(b.rcq, i, IBV_WC_WR_FLUSH_ERR);
	end_wait_state(&b, IBV_QPS_ERR);
}

static void remote_invalid(void) { refused(IBV_WC_REM_INV_REQ_ERR, IBV_WC_LOC_LEN_ERR); }
static void remote_access(void) { refused(IBV_WC_REM_ACCESS_ERR, IBV_WC_LOC_ACCESS_ERR); }
static void remote_operation(void) { refused(IBV_WC_REM_OP_ERR, IBV_WC_LOC_PROT_ERR); }
static void receive_qp_op(void) { refused(IBV_WC_REM_OP_ERR, IBV_WC_LOC_QP_OP_ERR); }

/* The request never leaves: the peer waits on. */
static void send_status(void)
{
	static const struct {
		const char *name;
		enum ibv_wc_status status;
	} rows[] = {
		{ "send-loc-len-err", IBV_WC_LOC_LEN_ERR },
		{ "send-loc-qp-op-err", IBV_WC_LOC_QP_OP_ERR },
		{ "send-loc-prot-err", IBV_WC_LOC_PROT_ERR },
		{ "send-mw-bind-err", IBV_WC_MW_BIND_ERR },
		{ "send-bad-resp-err", IBV_WC_BAD_RESP_ERR },
		{ "send-loc-access-err", IBV_WC_LOC_ACCESS_ERR },
		{ "send-rem-inv-req-err", IBV_WC_REM_INV_REQ_ERR },
		{ "send-rem-access-err", IBV_WC_REM_ACCESS_ERR },
		{ "send-rem-op-err", IBV_WC_REM_OP_ERR },
		{ "send-retry-exc-err", IBV_WC_RETRY_EXC_ERR },
		{ "send-rnr-retry-exc-err", IBV_WC_RNR_RETRY_EXC_ERR },
		{ "send-rem-abort-err", IBV_WC_REM_ABORT_ERR },
		{ "send-fatal-err", IBV_WC_FATAL_ERR },
		{ "send-general-err", IBV_WC_GENERAL_ERR },
		{ "send-loc-eec-op-err", IBV_WC_LOC_EEC_OP_ERR },
		{ "send-wr-flush-err", IBV_WC_WR_FLUSH_ERR },
		{ "send-loc-rdd-viol-err", IBV_WC_LOC_RDD_VIOL_ERR },
		{ "send-rem-inv-rd-req-err", IBV_WC_REM_INV_RD_REQ_ERR },
		{ "send-inv-eecn-err", IBV_WC_INV_EECN_ERR },
		{ "send-inv-eec-state-err", IBV_WC_INV_EEC_STATE_ERR },
		{ "send-resp-timeout-err", IBV_WC_RESP_TIMEOUT_ERR },
	};
	struct config config = config_default;
	size_t i;

	set_up(&config);
	fault_recipe(0);
	for (i = 0; i < ARRAY_SIZE(rows); i++)
		if (!strcmp(rows[i].name, test_name))
			break;
	REQUIRE(i < ARRAY_SIZE(rows));
	send_fails(rows[i].status);
	REQUIRE_EQ(end_state(&b), IBV_QPS_RTS);
	require_no_wc(b.rcq);
}

/* The send queue stops (SQE), and goes on after ibv_modify_qp() to RTS. */
static void datagram_queue_error(void)
{
	struct ibv_qp_attr attr = {
		.port_num = 1, .qkey = 0x1234,
	};
	struct ibv_ah_attr ah = {
		.is_global = 1, .port_num = 1,
		.grh = { .dgid = nic_a()->gid, .hop_limit = 1,
			 .sgid_index = nic_a()->gid_index },
	};
	struct ibv_qp *qp = make_ud();
	struct ibv_sge sge;
	struct ibv_send_wr wr, *bad;

	REQUIRE(qp);
	qp_to_rts(qp, &attr);
	mem_a = buf_make(nic_a()->pd, LEN, ACCESS_ALL);
	sge = sge_of(&mem_a, 0, 64);
	wr = wr_send(7, &sge, 1);
	wr.wr.ud.ah = ibv_create_ah(nic_a()->pd, &ah);
	wr.wr.ud.remote_qpn = qp->qp_num;
	wr.wr.ud.remote_qkey = 0x1234;
	REQUIRE(wr.wr.ud.ah);
	fault_recipe(0);
	REQUIRE_EQ(ibv_post_send(qp, &wr, &bad), 0);
	wait_status(qp->send_cq, 7, IBV_WC_LOC_QP_OP_ERR);
	REQUIRE_EQ(fault_hits(), 1);
	a = (struct end){ .nic = nic_a(), .qp = qp };
	end_wait_state(&a, IBV_QPS_SQE);
	attr.qp_state = IBV_QPS_RTS;
	REQUIRE_EQ(ibv_modify_qp(qp, &attr, IBV_QP_STATE), 0);
	REQUIRE_EQ(ibv_post_send(qp, &wr, &bad), 0);
	wait_ok(qp->send_cq, 7, IBV_WC_SEND);
}

/* ---- keys, completion events, doorbells ----------------------------------------- */

/* A peer of another protection domain names the key of mem_b: nothing is revoked. */
static void revoke_for_a_stranger(void)
{
	struct config config = config_default;
	struct end c, d;
	struct buf mem;
	struct ibv_send_wr wr;
	struct ibv_sge sge;

	config.pd = ibv_alloc_pd(nic_a()->ctx);
	REQUIRE(config.pd);
	pair_make(&c, &d, &config);
	mem = buf_make(config.pd, LEN, ACCESS_ALL);
	sge = sge_of(&mem, 0, LEN);
	wr = wr_rdma(1, IBV_WR_RDMA_WRITE, &sge, 1, (uintptr_t)mem_b.p, mem_b.mr->rkey);
	fault_recipe(0);
	post(&c, &wr);
	wait_status(c.scq, 1, IBV_WC_REM_ACCESS_ERR);
	REQUIRE_EQ(fault_hits(), 1);
}

/* The region is there, and its key is not: from the request on that was to use it. */
static void revoked_key(void)
{
	struct config config = config_default;
	struct ibv_send_wr wr;
	struct ibv_sge sge;

	set_up(&config);
	if (nic_a() == nic_b())
		revoke_for_a_stranger();
	sge = sge_of(&mem_a, 0, LEN);
	wr = wr_rdma(1, IBV_WR_RDMA_WRITE, &sge, 1, (uintptr_t)mem_b.p, mem_b.mr->rkey);
	post(&a, &wr);
	wait_ok(a.scq, 1, IBV_WC_RDMA_WRITE);
	fault_recipe(0);
	memset(mem_b.p, 0x55, LEN);
	post(&a, &wr);
	wait_status(a.scq, 1, IBV_WC_REM_ACCESS_ERR);
	check_bytes(mem_b.p, LEN, 0x55);
	REQUIRE_EQ(fault_hits(), 1);
	end_wait_state(&a, IBV_QPS_ERR);
	end_wait_state(&b, IBV_QPS_ERR);
	/* Registered again it has a key again, and it can be deregistered. */
	REQUIRE_EQ(ibv_rereg_mr(mem_b.mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL,
				0, ACCESS_ALL), 0);
	pair_make(&a, &b, &config);
	wr.wr.rdma.rkey = mem_b.mr->rkey;
	post(&a, &wr);
	wait_ok(a.scq, 1, IBV_WC_RDMA_WRITE);
	check_fill(mem_b.p, LEN, 1);
	buf_free(&mem_b);
}

static bool has_event(int timeout_ms)
{
	struct pollfd fd = { .fd = a.channel->fd, .events = POLLIN };

	return poll(&fd, 1, timeout_ms) == 1;
}

/* The completion is in the queue, and nobody is told. */
static void lost_event(void)
{
	struct config config = config_default;

	config.events = true;
	set_up(&config);
	fault_recipe(0);
	REQUIRE_EQ(ibv_req_notify_cq(a.scq, 0), 0);
	send_one(0);
	wait_ok(a.scq, 0, IBV_WC_SEND);
	REQUIRE(!has_event(100));
	REQUIRE_EQ(fault_hits(), 1);
	/* The one after it comes, of a CQ that is armed again. */
	REQUIRE_EQ(ibv_req_notify_cq(a.scq, 0), 0);
	send_one(1);
	REQUIRE(has_event(10000));
	wait_ok(a.scq, 1, IBV_WC_SEND);
}

/* What was posted waits for the next doorbell. */
static void lost_doorbell(void)
{
	struct config config = config_default;

	set_up(&config);
	fault_recipe(0);
	send_one(0);
	require_quiet(a.scq);
	REQUIRE_EQ(fault_hits(), 1);
	send_one(1);
	wait_ok(a.scq, 0, IBV_WC_SEND);
	wait_ok(a.scq, 1, IBV_WC_SEND);
}

static void slow_doorbell(void)
{
	struct config config = config_default;
	uint64_t began;

	set_up(&config);
	fault_recipe(0);
	began = millis();
	send_one(0);
	wait_ok(a.scq, 0, IBV_WC_SEND);
	REQUIRE(millis() - began >= 45);
	REQUIRE(fault_hits() >= 1);
}

/* Nothing is executed for so long, and then all is. */
static void stalled_responder(void)
{
	struct config config = config_default;
	uint64_t began;

	config.timeout = 20;
	set_up(&config);
	fault_recipe(0);
	began = millis();
	send_all();
	REQUIRE(millis() - began >= 290);
	REQUIRE(fault_hits() >= NUM);
}

static void qp_fatal(void)
{
	struct config config = config_default;
	struct ibv_async_event event;

	set_up(&config);
	fault_recipe(0);
	send_one(0);
	event = wait_event_of_object(a.nic->ctx);
	REQUIRE_EQ(event.event_type, IBV_EVENT_QP_FATAL);
	REQUIRE(event.element.qp == a.qp);
	ibv_ack_async_event(&event);
	wait_status(a.scq, 0, IBV_WC_WR_FLUSH_ERR);
	end_wait_state(&a, IBV_QPS_ERR);
	REQUIRE_EQ(fault_hits(), 1);
}

static void cq_overrun(void)
{
	struct config config = config_default;
	struct ibv_async_event event;
	int i;

	set_up(&config);
	fault_recipe(0);
	send_one(0);
	/* The QP whose completion found no room fails, too. */
	for (i = 0; i < 3; i++) {
		event = wait_event_of_object(a.nic->ctx);
		ibv_ack_async_event(&event);
		if (event.event_type == IBV_EVENT_CQ_ERR)
			break;
		REQUIRE_EQ(event.event_type, IBV_EVENT_QP_FATAL);
	}
	REQUIRE_EQ(event.event_type, IBV_EVENT_CQ_ERR);
	REQUIRE_EQ(fault_hits(), 1);
}

/* ---- events ------------------------------------------------------------------- */

static void event_of_device(void)
{
	static const struct {
		const char *name;
		enum ibv_event_type type;
	} rows[] = {
		{ "event-device-fatal", IBV_EVENT_DEVICE_FATAL },
		{ "event-port-err", IBV_EVENT_PORT_ERR },
		{ "event-port-active", IBV_EVENT_PORT_ACTIVE },
		{ "event-lid-change", IBV_EVENT_LID_CHANGE },
		{ "event-pkey-change", IBV_EVENT_PKEY_CHANGE },
		{ "event-sm-change", IBV_EVENT_SM_CHANGE },
		{ "event-client-reregister", IBV_EVENT_CLIENT_REREGISTER },
	};
	size_t i;

	nic_a();
	fault_recipe(0);
	for (i = 0; i < ARRAY_SIZE(rows); i++)
		if (!strcmp(rows[i].name, test_name))
			break;
	REQUIRE(i < ARRAY_SIZE(rows));
	wait_event(nic_a()->ctx, rows[i].type);
}

static void event_of_qp(void)
{
	static const struct {
		const char *name;
		enum ibv_event_type type;
	} rows[] = {
		{ "event-comm-est", IBV_EVENT_COMM_EST },
		{ "event-sq-drained", IBV_EVENT_SQ_DRAINED },
		{ "event-path-mig", IBV_EVENT_PATH_MIG },
		{ "event-path-mig-err", IBV_EVENT_PATH_MIG_ERR },
		{ "event-qp-req-err", IBV_EVENT_QP_REQ_ERR },
		{ "event-qp-access-err", IBV_EVENT_QP_ACCESS_ERR },
		{ "event-qp-last-wqe-reached", IBV_EVENT_QP_LAST_WQE_REACHED },
	};
	struct config config = config_default;
	struct ibv_async_event event;
	size_t i;

	set_up(&config);
	fault_recipe(a.qp->qp_num);
	for (i = 0; i < ARRAY_SIZE(rows); i++)
		if (!strcmp(rows[i].name, test_name))
			break;
	REQUIRE(i < ARRAY_SIZE(rows));
	event = wait_event_of_object(a.nic->ctx);
	REQUIRE_EQ(event.event_type, rows[i].type);
	REQUIRE(event.element.qp == a.qp);
	ibv_ack_async_event(&event);
	/* It is forged: nothing has happened to the QP. */
	REQUIRE_EQ(end_state(&a), IBV_QPS_RTS);
}

/* The QP says which queue: that which it shares. */
static void event_of_srq(void)
{
	bool limit = !strcmp(test_name, "event-srq-limit-reached");
	struct ibv_srq *srq = make_srq();
	struct ibv_async_event event;
	struct ibv_qp *qp;

	REQUIRE(srq);
	qp = make_alone(IBV_QPT_RC, srq);
	REQUIRE(qp);
	fault_recipe(qp->qp_num);
	event = wait_event_of_object(nic_a()->ctx);
	REQUIRE_EQ(event.event_type, limit ? IBV_EVENT_SRQ_LIMIT_REACHED :
					     IBV_EVENT_SRQ_ERR);
	REQUIRE(event.element.srq == srq);
	ibv_ack_async_event(&event);
}

/* ---- verbs ---------------------------------------------------------------------- */

/* The first call fails with @error; the next one does not. */
#define FAILS_AS_POINTER(call, error)					\
	do {								\
		fault_recipe(0);					\
		REQUIRE_ERRNO(call, error);				\
		REQUIRE(call);						\
		REQUIRE_EQ(fault_hits(), 1);					\
	} while (0)

#define FAILS_AS_NUMBER(call, error)					\
	do {								\
		fault_recipe(0);					\
		REQUIRE_EQ(call, error);				\
		REQUIRE_EQ(call, 0);					\
		REQUIRE_EQ(fault_hits(), 1);					\
	} while (0)

static void fail_query_port(void)
{
	struct ibv_port_attr attr;

	FAILS_AS_NUMBER(ibv_query_port(nic_a()->ctx, 1, &attr), EIO);
}

static void fail_alloc_pd(void)
{
	nic_a();
	FAILS_AS_POINTER(ibv_alloc_pd(nic_a()->ctx), ENOMEM);
}

static char page[8192] __attribute__((aligned(4096)));

static void fail_reg_mr(void)
{
	nic_a();
	FAILS_AS_POINTER(ibv_reg_mr(nic_a()->pd, page, 4096, 0), EFAULT);
}

static void fail_rereg_mr(void)
{
	struct ibv_mr *mr = ibv_reg_mr(nic_a()->pd, page, 4096, 0);

	REQUIRE(mr);
	fault_recipe(0);
	REQUIRE(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
			     IBV_ACCESS_LOCAL_WRITE));
	REQUIRE_EQ(fault_hits(), 1);
	REQUIRE_EQ(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
				IBV_ACCESS_LOCAL_WRITE), 0);
}

static void fail_alloc_mw(void)
{
	nic_a();
	FAILS_AS_POINTER(ibv_alloc_mw(nic_a()->pd, IBV_MW_TYPE_1), ENOMEM);
}

static void fail_create_cq(void)
{
	nic_a();
	FAILS_AS_POINTER(ibv_create_cq(nic_a()->ctx, 4, NULL, NULL, 0), ENOMEM);
}

static void fail_resize_cq(void)
{
	struct ibv_cq *cq = ibv_create_cq(nic_a()->ctx, 4, NULL, NULL, 0);

	REQUIRE(cq);
	FAILS_AS_NUMBER(ibv_resize_cq(cq, 64), ENOMEM);
}

static void fail_create_srq(void)
{
	nic_a();
	FAILS_AS_POINTER(make_srq(), ENOMEM);
}

static void fail_modify_srq(void)
{
	struct ibv_srq_attr attr = { .srq_limit = 1 };
	struct ibv_srq *srq = make_srq();

	REQUIRE(srq);
	FAILS_AS_NUMBER(ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT), EINVAL);
}

static void fail_query_srq(void)
{
	struct ibv_srq *srq = make_srq();
	struct ibv_srq_attr attr;

	REQUIRE(srq);
	FAILS_AS_NUMBER(ibv_query_srq(srq, &attr), EIO);
}

static void fail_create_qp(void)
{
	nic_a();
	FAILS_AS_POINTER(make_ud(), ENOMEM);
}

static void fail_modify_qp(void)
{
	struct config config = config_default;
	struct end end = end_make(nic_a(), &config);

	FAILS_AS_NUMBER(end_to_init(&end), ETIMEDOUT);
}

static void fail_query_qp(void)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct ibv_qp *qp = make_ud();

	REQUIRE(qp);
	FAILS_AS_NUMBER(ibv_query_qp(qp, &attr, IBV_QP_STATE, &init), EIO);
}

static void fail_create_ah(void)
{
	struct ibv_ah_attr attr = {
		.is_global = 1, .port_num = 1,
		.grh = { .dgid = nic_a()->gid, .hop_limit = 1,
			 .sgid_index = nic_a()->gid_index },
	};

	FAILS_AS_POINTER(ibv_create_ah(nic_a()->pd, &attr), EHOSTUNREACH);
}

static void fail_attach_mcast(void)
{
	union ibv_gid gid = { .raw = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff,
				       224, 9, 9, 9 } };
	struct ibv_qp *qp = make_ud();

	REQUIRE(qp);
	fault_recipe(0);
	REQUIRE_EQ(ibv_attach_mcast(qp, &gid, 0), ENOMEM);
	REQUIRE_EQ(fault_hits(), 1);
}

static void fail_alloc_dm(void)
{
	struct ibv_alloc_dm_attr attr = { .length = 4096 };

	nic_a();
	FAILS_AS_POINTER(ibv_alloc_dm(nic_a()->ctx, &attr), ENOSPC);
}

static void fail_open_xrcd(void)
{
	struct ibv_xrcd_init_attr attr = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = -1, .oflags = O_CREAT,
	};

	nic_a();
	FAILS_AS_POINTER(ibv_open_xrcd(nic_a()->ctx, &attr), ENOMEM);
}

static struct ibv_wq *make_wq(void)
{
	struct ibv_wq_init_attr init = {
		.wq_type = IBV_WQT_RQ, .max_wr = 4, .max_sge = 1,
		.pd = nic_a()->pd,
		.cq = ibv_create_cq(nic_a()->ctx, 4, NULL, NULL, 0),
	};

	REQUIRE(init.cq);
	return ibv_create_wq(nic_a()->ctx, &init);
}

static void fail_create_wq(void)
{
	nic_a();
	FAILS_AS_POINTER(make_wq(), ENOMEM);
}

static void fail_create_flow(void)
{
	struct ibv_qp *qp = make_alone(IBV_QPT_RAW_PACKET, NULL);

	REQUIRE(qp);
	FAILS_AS_POINTER(flow_to_nobody(qp), EBUSY);
}

static void fail_advise_mr(void)
{
	struct ibv_mr *mr = ibv_reg_mr(nic_a()->pd, page, 4096,
				       IBV_ACCESS_LOCAL_WRITE |
				       IBV_ACCESS_ON_DEMAND);
	struct ibv_sge sge = { .addr = (uintptr_t)page, .length = 4096 };

	REQUIRE(mr);
	sge.lkey = mr->lkey;
	FAILS_AS_NUMBER(ibv_advise_mr(nic_a()->pd, IBV_ADVISE_MR_ADVICE_PREFETCH,
				      IBV_ADVISE_MR_FLAG_FLUSH, &sge, 1), EFAULT);
}

/* ---- the table ------------------------------------------------------------------- */

static const struct test tests[] = {
	{ "loss-1-percent", lossy },
	{ "loss-of-one", out_of_sequence },
	{ "loss-of-ack", lost_packet },
	{ "loss-on-arrival", out_of_sequence },
	{ "dead-peer", dead_peer },
	{ "dead-for-a-while", dead_for_a_while },
	{ "duplicate-request", duplicate },
	{ "duplicate-ack", lost_packet },
	{ "duplicate-on-arrival", duplicate },
	{ "slow-path", slow },
	{ "slow-path-on-arrival", slow },
	{ "jitter", lost_packet },
	{ "long-tail", lost_packet },
	{ "stalled-responder", stalled_responder },
	{ "overtaken-request", out_of_sequence },
	{ "overtaken-on-arrival", out_of_sequence },
	{ "bad-payload", damaged },
	{ "bad-header", damaged },
	{ "bad-icrc", damaged },
	{ "bad-payload-on-arrival", damaged },
	{ "bad-icrc-on-arrival", damaged },
	{ "congested-switch", marked },
	{ "congestion-on-arrival", marked },
	{ "one-rnr-nak", rnr_once },
	{ "rnr-for-ever", rnr_for_ever },
	{ "remote-invalid-request", remote_invalid },
	{ "remote-access-error", remote_access },
	{ "remote-operation-error", remote_operation },
	{ "receive-qp-operation-error", receive_qp_op },
	{ "send-loc-len-err", send_status },
	{ "send-loc-qp-op-err", send_status },
	{ "send-loc-prot-err", send_status },
	{ "send-mw-bind-err", send_status },
	{ "send-bad-resp-err", send_status },
	{ "send-loc-access-err", send_status },
	{ "send-rem-inv-req-err", send_status },
	{ "send-rem-access-err", send_status },
	{ "send-rem-op-err", send_status },
	{ "send-retry-exc-err", send_status },
	{ "send-rnr-retry-exc-err", send_status },
	{ "send-rem-abort-err", send_status },
	{ "send-fatal-err", send_status },
	{ "send-general-err", send_status },
	{ "send-loc-eec-op-err", send_status },
	{ "send-wr-flush-err", send_status },
	{ "send-loc-rdd-viol-err", send_status },
	{ "send-rem-inv-rd-req-err", send_status },
	{ "send-inv-eecn-err", send_status },
	{ "send-inv-eec-state-err", send_status },
	{ "send-resp-timeout-err", send_status },
	{ "datagram-queue-error", datagram_queue_error },
	{ "revoked-key", revoked_key },
	{ "lost-completion-event", lost_event },
	{ "lost-doorbell", lost_doorbell },
	{ "slow-doorbell", slow_doorbell },
	{ "qp-fatal", qp_fatal },
	{ "cq-overrun", cq_overrun },
	{ "event-device-fatal", event_of_device },
	{ "event-port-err", event_of_device },
	{ "event-port-active", event_of_device },
	{ "event-lid-change", event_of_device },
	{ "event-pkey-change", event_of_device },
	{ "event-sm-change", event_of_device },
	{ "event-client-reregister", event_of_device },
	{ "event-comm-est", event_of_qp },
	{ "event-sq-drained", event_of_qp },
	{ "event-path-mig", event_of_qp },
	{ "event-path-mig-err", event_of_qp },
	{ "event-qp-req-err", event_of_qp },
	{ "event-qp-access-err", event_of_qp },
	{ "event-qp-last-wqe-reached", event_of_qp },
	{ "event-srq-err", event_of_srq },
	{ "event-srq-limit-reached", event_of_srq },
	{ "fail-query-port", fail_query_port },
	{ "fail-alloc-pd", fail_alloc_pd },
	{ "fail-reg-mr", fail_reg_mr },
	{ "fail-rereg-mr", fail_rereg_mr },
	{ "fail-alloc-mw", fail_alloc_mw },
	{ "fail-create-cq", fail_create_cq },
	{ "fail-resize-cq", fail_resize_cq },
	{ "fail-create-srq", fail_create_srq },
	{ "fail-modify-srq", fail_modify_srq },
	{ "fail-query-srq", fail_query_srq },
	{ "fail-create-qp", fail_create_qp },
	{ "fail-modify-qp", fail_modify_qp },
	{ "fail-query-qp", fail_query_qp },
	{ "fail-create-ah", fail_create_ah },
	{ "fail-attach-mcast", fail_attach_mcast },
	{ "fail-alloc-dm", fail_alloc_dm },
	{ "fail-open-xrcd", fail_open_xrcd },
	{ "fail-create-wq", fail_create_wq },
	{ "fail-create-flow", fail_create_flow },
	{ "fail-advise-mr", fail_advise_mr },
	{}
};

int main(int argc, char **argv)
{
	fault_enter_netns();
	fault_read_recipes();
	return util_main(tests, argc, argv);
}
