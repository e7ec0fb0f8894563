// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * XRC: one responder serves all SRQs of its domain. Each operation reaches the
 * SRQ that it names, with the rights of that SRQ's protection domain. SRQs that
 * do not exist, or are of another domain, are refused. Processes share domains
 * and responders, which outlive their creator.
 */
#define _GNU_SOURCE	/* O_TMPFILE */
#include "util.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SRQS = 2, SLOT = 4096, LEN = 3000, DEPTH = 64 };

/* The receiving side: a domain and its SRQs, each with its own PD and CQ. */
static struct ibv_xrcd *xrcd;
static struct {
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_srq *srq;
	struct buf mem;
	uint32_t num;
} to[SRQS];
static struct ibv_qp *tgt;

/* access flags of all memory; a test may set more */
static int mem_access = ACCESS_ALL | IBV_ACCESS_REMOTE_ATOMIC;

/* the sending side */
static struct ibv_cq *cq;
static struct ibv_qp *ini;
static struct buf mem;

/* ---- objects ------------------------------------------------------------------- */

static struct ibv_xrcd *open_domain(struct nic *nic, int fd)
{
	struct ibv_xrcd_init_attr attr = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = fd,
		.oflags = O_CREAT,
	};
	struct ibv_xrcd *domain;

	if (!(nic->attr.device_cap_flags & IBV_DEVICE_XRC))
		test_skip("the device has no XRC");
	domain = ibv_open_xrcd(nic->ctx, &attr);
	if (!domain)
		FAIL("ibv_open_xrcd: %s", strerror(errno));
	return domain;
}

static struct ibv_srq *make_srq(struct nic *nic, struct ibv_pd *pd,
				struct ibv_xrcd *domain, struct ibv_cq *to_cq)
{
	struct ibv_srq_init_attr_ex attr = {
		.attr = { .max_wr = DEPTH, .max_sge = 1 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
		.srq_type = IBV_SRQT_XRC,
		.pd = pd,
		.xrcd = domain,
		.cq = to_cq,
	};
	struct ibv_srq *srq = ibv_create_srq_ex(nic->ctx, &attr);

	if (!srq)
		FAIL("ibv_create_srq_ex: %s", strerror(errno));
	REQUIRE(attr.attr.max_wr >= DEPTH);
	return srq;
}

static uint32_t number_of(struct ibv_srq *srq)
{
	uint32_t num = 0;

	REQUIRE_EQ(ibv_get_srq_num(srq, &num), 0);
	return num;
}

static struct ibv_qp *make_tgt(struct nic *nic, struct ibv_xrcd *domain)
{
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_XRC_RECV,
		/* It has no queue: these are ignored. */
		.cap = { .max_send_wr = 1u << 30, .max_recv_wr = 1u << 30,
			 .max_send_sge = 10000, .max_recv_sge = 10000,
			 .max_inline_data = 1u << 30 },
		.comp_mask = IBV_QP_INIT_ATTR_XRCD,
		.xrcd = domain,
	};
	struct ibv_qp *qp = ibv_create_qp_ex(nic->ctx, &attr);

	if (!qp)
		FAIL("ibv_create_qp_ex of XRC_RECV: %s", strerror(errno));
	return qp;
}

static struct ibv_qp *make_ini(struct nic *nic)
{
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_XRC_SEND,
		.send_cq = cq,
		/* It receives nothing: max_recv_* are ignored. */
		.cap = { .max_send_wr = DEPTH, .max_send_sge = 1,
			 .max_recv_wr = 1u << 30, .max_recv_sge = 10000,
			 .max_inline_data = 64 },
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = nic->pd,
	};
	struct ibv_qp *qp = ibv_create_qp_ex(nic->ctx, &attr);

	if (!qp)
		FAIL("ibv_create_qp_ex of XRC_SEND: %s", strerror(errno));
	return qp;
}

static void connect_qp(struct ibv_qp *qp, struct nic *nic, struct nic *peer,
		       uint32_t qpn)
{
	/* Paging takes time, and repeated requests have to wait meanwhile. */
	bool patient = mem_access & IBV_ACCESS_ON_DEMAND;
	struct ibv_qp_attr attr = {
		.port_num = 1,
		.qp_access_flags = ACCESS_ALL | IBV_ACCESS_REMOTE_ATOMIC,
		.path_mtu = nic->port.active_mtu,
		.dest_qp_num = qpn,
		.timeout = patient ? 17 : 12,
		.retry_cnt = 3,
		.rnr_retry = patient ? 7 : 1,
		.min_rnr_timer = 1,
		.max_rd_atomic = 4,
		.max_dest_rd_atomic = 4,
		.ah_attr = path_to(nic, peer),
	};

	qp_to_rts(qp, &attr);
}

static void make_targets(void)
{
	int i;

	for (i = 0; i < SRQS; i++) {
		to[i].pd = ibv_alloc_pd(nic_b()->ctx);
		to[i].cq = ibv_create_cq(nic_b()->ctx, DEPTH, NULL, NULL, 0);
		REQUIRE(to[i].pd && to[i].cq);
		to[i].srq = make_srq(nic_b(), to[i].pd, xrcd, to[i].cq);
		to[i].num = number_of(to[i].srq);
		to[i].mem = buf_make(to[i].pd, 2 * SLOT, mem_access);
	}
}

static void make_sender(void)
{
	cq = ibv_create_cq(nic_a()->ctx, DEPTH, NULL, NULL, 0);
	REQUIRE(cq);
	ini = make_ini(nic_a());
	mem = buf_make(nic_a()->pd, 2 * SLOT, mem_access);
}

static void set_up(void)
{
	xrcd = open_domain(nic_b(), -1);
	make_targets();
	make_sender();
	tgt = make_tgt(nic_b(), xrcd);
	connect_qp(tgt, nic_b(), nic_a(), ini->qp_num);
	connect_qp(ini, nic_a(), nic_b(), tgt->qp_num);
}

static void recv_at(int i, uint64_t wr_id, size_t off)
{
	struct ibv_sge sge = sge_of(&to[i].mem, off, SLOT);
	struct ibv_recv_wr wr = { .wr_id = wr_id, .sg_list = &sge, .num_sge = 1 };
	struct ibv_recv_wr *bad;

	REQUIRE_EQ(ibv_post_srq_recv(to[i].srq, &wr, &bad), 0);
}

static void send_wr(struct ibv_send_wr *wr, uint32_t srqn)
{
	struct ibv_send_wr *bad;

	wr->qp_type.xrc.remote_srqn = srqn;
	REQUIRE_EQ(ibv_post_send(ini, wr, &bad), 0);
}

static void send_to(uint64_t wr_id, uint32_t srqn, uint32_t len)
{
	struct ibv_sge sge = sge_of(&mem, 0, len);
	struct ibv_send_wr wr = wr_send(wr_id, &sge, 1);

	wr.opcode = IBV_WR_SEND_WITH_IMM;
	wr.imm_data = htonl(wr_id);
	send_wr(&wr, srqn);
}

static enum ibv_qp_state state_of(struct ibv_qp *qp)
{
	struct end end = { .qp = qp };

	return end_state(&end);
}

/* ---- operations ------------------------------------------------------------------ */

/* As many messages as requested, to the SRQs in turn, in order at each. */
static void messages_to_each_srq_come_in_order(void)
{
	enum { NR = 24 };
	struct ibv_wc wc;
	int i, n;

	set_up();
	for (i = 0; i < SRQS; i++)
		for (n = 0; n < NR / SRQS; n++)
			recv_at(i, n, 0);
	/* a number has 24 bits; adapters ignore the upper ones */
	for (n = 0; n < NR; n++)
		send_to(n, to[n % SRQS].num | (n < NR / 2 ? 0 : 0xab000000),
			10 + n);
	for (n = 0; n < NR; n++)
		wait_ok(cq, n, IBV_WC_SEND);
	for (n = 0; n < NR; n++) {
		wc = wait_ok(to[n % SRQS].cq, n / SRQS, IBV_WC_RECV);
		REQUIRE_EQ(wc.byte_len, 10 + n);
		REQUIRE_EQ(wc.qp_num, tgt->qp_num);
		REQUIRE_EQ(wc.wc_flags, IBV_WC_WITH_IMM);
		REQUIRE_EQ(ntohl(wc.imm_data), n);
	}
	for (i = 0; i < SRQS; i++)
		require_no_wc(to[i].cq);
}

static void each_operation_moves_its_data(void)
{
	uint64_t value = 5, *word;
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	struct ibv_wc wc;

	set_up();
	/* long SEND */
	fill(mem.p, LEN, 1);
	recv_at(1, 10, 0);
	send_to(1, to[1].num, LEN);
	wait_ok(cq, 1, IBV_WC_SEND);
	wc = wait_ok(to[1].cq, 10, IBV_WC_RECV);
	REQUIRE_EQ(wc.byte_len, LEN);
	check_fill(to[1].mem.p, LEN, 1);
	/* WRITE, and with immediate */
	fill(mem.p, LEN, 2);
	sge = sge_of(&mem, 0, LEN);
	wr = wr_rdma(2, IBV_WR_RDMA_WRITE, &sge, 1, (uintptr_t)to[0].mem.p,
		     to[0].mem.mr->rkey);
	send_wr(&wr, to[0].num);
	wait_ok(cq, 2, IBV_WC_RDMA_WRITE);
	check_fill(to[0].mem.p, LEN, 2);
	recv_at(0, 30, SLOT);
	wr = wr_rdma(3, IBV_WR_RDMA_WRITE_WITH_IMM, &sge, 1,
		     (uintptr_t)to[0].mem.p + 8, to[0].mem.mr->rkey);
	wr.imm_data = htonl(77);
	send_wr(&wr, to[0].num);
	wait_ok(cq, 3, IBV_WC_RDMA_WRITE);
	wc = wait_ok(to[0].cq, 30, IBV_WC_RECV_RDMA_WITH_IMM);
	REQUIRE_EQ(wc.byte_len, LEN);
	REQUIRE_EQ(ntohl(wc.imm_data), 77);
	check_fill(to[0].mem.p + 8, LEN, 2);
	/* READ */
	fill(to[1].mem.p, LEN, 3);
	sge = sge_of(&mem, SLOT, LEN);
	wr = wr_rdma(4, IBV_WR_RDMA_READ, &sge, 1, (uintptr_t)to[1].mem.p,
		     to[1].mem.mr->rkey);
	send_wr(&wr, to[1].num);
	wait_ok(cq, 4, IBV_WC_RDMA_READ);
	check_fill(mem.p + SLOT, LEN, 3);
	/* atomics */
	word = (uint64_t *)to[0].mem.p;
	*word = value;
	sge = sge_of(&mem, 0, 8);
	wr = wr_rdma(5, IBV_WR_ATOMIC_FETCH_AND_ADD, &sge, 1, 0, 0);
	wr.wr.atomic.remote_addr = (uintptr_t)word;
	wr.wr.atomic.rkey = to[0].mem.mr->rkey;
	wr.wr.atomic.compare_add = 3;
	send_wr(&wr, to[0].num);
	wait_ok(cq, 5, IBV_WC_FETCH_ADD);
	REQUIRE_EQ(*word, 8);
	REQUIRE_EQ(*(uint64_t *)mem.p, 5);
	wr.wr_id = 6;
	wr.opcode = IBV_WR_ATOMIC_CMP_AND_SWP;
	wr.wr.atomic.compare_add = 8;
	wr.wr.atomic.swap = 100;
	send_wr(&wr, to[0].num);
	wait_ok(cq, 6, IBV_WC_COMP_SWAP);
	REQUIRE_EQ(*word, 100);
	/* inline */
	recv_at(0, 40, SLOT);
	sge.length = 8;
	wr = wr_send(7, &sge, 1);
	wr.send_flags |= IBV_SEND_INLINE;
	send_wr(&wr, to[0].num);
	wait_ok(cq, 7, IBV_WC_SEND);
	wait_ok(to[0].cq, 40, IBV_WC_RECV);
	for (int i = 0; i < SRQS; i++)
		buf_check_guards(&to[i].mem);
}

/* The device knows no page of it before its use, at either end. */
static void memory_on_demand(void)
{
	const uint32_t caps = IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_SRQ_RECV |
			      IBV_ODP_SUPPORT_WRITE | IBV_ODP_SUPPORT_READ |
			      IBV_ODP_SUPPORT_ATOMIC;
	struct ibv_device_attr_ex attr;

	REQUIRE_EQ(ibv_query_device_ex(nic_b()->ctx, NULL, &attr), 0);
	if (!(attr.odp_caps.general_caps & IBV_ODP_SUPPORT))
		test_skip("the device has no on-demand paging");
	REQUIRE_EQ(attr.xrc_odp_caps & caps, caps);
	mem_access |= IBV_ACCESS_ON_DEMAND;
	each_operation_moves_its_data();
}

/* ---- events of responders ------------------------------------------------------------ */

struct expected {
	struct ibv_qp *qp;
	enum ibv_event_type type;
};

/* from ibv_open_qp(), in some tests */
static struct ibv_qp *opened;

/*
 * Expects each of @nr events once, in any order, and no other of an object. A
 * process that has opened an existing responder may get its events or not: the
 * RDMA core (6.12) drops them. ib_uverbs_open_qp() gives such QPs no event
 * file, and softhca sees one QP.
 */
static void expect_events(struct ibv_context *ctx, struct expected *expected, int nr)
{
	struct ibv_async_event event;
	int i;

	while (nr) {
		event = wait_event_of_object(ctx);
		if (opened && event.element.qp == opened)
			continue;
		for (i = 0; i < nr; i++)
			if (expected[i].type == event.event_type &&
			    expected[i].qp == event.element.qp)
				break;
		if (i == nr)
			FAIL("unexpected: %s", ibv_event_type_str(event.event_type));
		expected[i] = expected[--nr];
	}
}

/* The responder has failed, and takes nothing more from an SRQ. */
static void expect_failed(enum ibv_event_type type)
{
	struct expected expected[] = {
		{ tgt, type },
		{ tgt, IBV_EVENT_QP_LAST_WQE_REACHED },
	};

	expect_events(nic_b()->ctx, expected, 2);
}

static struct ibv_qp *open_tgt(struct ibv_context *ctx, struct ibv_xrcd *domain,
			       uint32_t num)
{
	struct ibv_qp_open_attr attr = {
		.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD |
			     IBV_QP_OPEN_ATTR_TYPE,
		.qp_num = num,
		.xrcd = domain,
		.qp_type = IBV_QPT_XRC_RECV,
	};
	struct ibv_qp *qp = ibv_open_qp(ctx, &attr);

	if (!qp)
		FAIL("ibv_open_qp: %s", strerror(errno));
	REQUIRE_EQ(qp->qp_num, num);
	return qp;
}

static void to_error(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	REQUIRE_EQ(ibv_modify_qp(qp, &attr, IBV_QP_STATE), 0);
}

/* Once, whatever ends it; after a reset it can come again. */
static void last_wqe_is_announced(void)
{
	struct ibv_qp_attr reset = { .qp_state = IBV_QPS_RESET };
	struct expected expected;
	int life;

	set_up();
	opened = open_tgt(nic_b()->ctx, xrcd, tgt->qp_num);
	for (life = 0; life < 3; life++) {
		to_error(life % 2 ? opened : tgt);
		to_error(tgt);	/* the event is there already: it must not come after the reset */
		expected = (struct expected){ tgt, IBV_EVENT_QP_LAST_WQE_REACHED };
		expect_events(nic_b()->ctx, &expected, 1);
		REQUIRE_EQ(ibv_modify_qp(tgt, &reset, IBV_QP_STATE), 0);
		connect_qp(tgt, nic_b(), nic_a(), ini->qp_num);
	}
}

/* ---- refusals ----------------------------------------------------------------------- */

static void refused(uint32_t srqn, enum ibv_wc_status status,
		    enum ibv_event_type event)
{
	send_to(1, srqn, 10);
	send_to(2, to[0].num, 10);
	wait_status(cq, 1, status);
	wait_status(cq, 2, IBV_WC_WR_FLUSH_ERR);
	expect_failed(event);
	REQUIRE_EQ(state_of(tgt), IBV_QPS_ERR);
	REQUIRE_EQ(state_of(ini), IBV_QPS_ERR);
}

static void unknown_srq_is_refused(void)
{
	set_up();
	recv_at(0, 1, 0);
	refused(to[0].num + 100, IBV_WC_REM_INV_REQ_ERR, IBV_EVENT_QP_REQ_ERR);
	require_no_wc(to[0].cq);
}

static void srq_of_another_domain_is_refused(void)
{
	struct ibv_xrcd *other;
	struct ibv_srq *srq;

	set_up();
	other = open_domain(nic_b(), -1);
	srq = make_srq(nic_b(), to[0].pd, other, to[0].cq);
	refused(number_of(srq), IBV_WC_REM_INV_REQ_ERR, IBV_EVENT_QP_REQ_ERR);
}

static void srq_that_is_gone_is_refused(void)
{
	set_up();
	recv_at(1, 1, 0);
	REQUIRE_EQ(ibv_destroy_srq(to[1].srq), 0);
	refused(to[1].num, IBV_WC_REM_INV_REQ_ERR, IBV_EVENT_QP_REQ_ERR);
	require_no_wc(to[1].cq);
}

/* A key is valid for requests that name an SRQ of its protection domain. */
static void key_of_another_srqs_domain_is_refused(void)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr;

	set_up();
	memset(to[0].mem.p, 0x55, SLOT);
	sge = sge_of(&mem, 0, 10);
	wr = wr_rdma(1, IBV_WR_RDMA_WRITE, &sge, 1, (uintptr_t)to[0].mem.p,
		     to[0].mem.mr->rkey);
	send_wr(&wr, to[1].num);
	wait_status(cq, 1, IBV_WC_REM_ACCESS_ERR);
	expect_failed(IBV_EVENT_QP_ACCESS_ERR);
	check_bytes(to[0].mem.p, SLOT, 0x55);
}

static void receive_into_another_domain_is_refused(void)
{
	struct ibv_sge sge;
	struct ibv_recv_wr wr = { .wr_id = 5, .sg_list = &sge, .num_sge = 1 };
	struct ibv_recv_wr *bad;

	set_up();
	sge = sge_of(&to[1].mem, 0, SLOT);
	REQUIRE_EQ(ibv_post_srq_recv(to[0].srq, &wr, &bad), 0);
	send_to(1, to[0].num, 10);
	wait_status(cq, 1, IBV_WC_REM_OP_ERR);
	wait_status(to[0].cq, 5, IBV_WC_LOC_PROT_ERR);
}

static void no_receive_at_that_srq(void)
{
	set_up();
	recv_at(0, 1, 0);
	send_to(1, to[1].num, 10);
	wait_status(cq, 1, IBV_WC_RNR_RETRY_EXC_ERR);
	REQUIRE_EQ(state_of(tgt), IBV_QPS_RTS);
	require_no_wc(to[0].cq);
}

static void nothing_is_posted_where_no_ring_is(void)
{
	struct ibv_sge sge;
	struct ibv_recv_wr recv = { .sg_list = &sge, .num_sge = 1 }, *bad_recv;
	struct ibv_send_wr wr, *bad;

	set_up();
	sge = sge_of(&mem, 0, 10);
	wr = wr_send(1, &sge, 1);
	REQUIRE_EQ(ibv_post_recv(ini, &recv, &bad_recv), EINVAL);
	REQUIRE_EQ(ibv_post_recv(tgt, &recv, &bad_recv), EINVAL);
	REQUIRE_EQ(ibv_post_send(tgt, &wr, &bad), EINVAL);
	REQUIRE(bad == &wr);
}

static void what_cannot_be_made(void)
{
	struct ibv_srq_init_attr basic = { .attr = { .max_wr = 1, .max_sge = 1 } };
	struct ibv_qp_init_attr_ex attr = { .qp_type = IBV_QPT_XRC_RECV };
	struct ibv_qp_open_attr open_attr = {
		.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD |
			     IBV_QP_OPEN_ATTR_TYPE,
		.qp_type = IBV_QPT_XRC_RECV,
	};
	struct ibv_srq *srq;
	uint32_t num;

	set_up();
	REQUIRE_ERRNO(ibv_create_qp_ex(nic_b()->ctx, &attr), EINVAL);
	srq = ibv_create_srq(nic_b()->pd, &basic);
	REQUIRE(srq);
	REQUIRE_EQ(ibv_get_srq_num(srq, &num), EINVAL);
	open_attr.xrcd = xrcd;
	open_attr.qp_num = ini->qp_num;
	REQUIRE_ERRNO(ibv_open_qp(nic_b()->ctx, &open_attr), EINVAL);
	open_attr.qp_num = tgt->qp_num;
	open_attr.xrcd = open_domain(nic_b(), -1);
	REQUIRE_ERRNO(ibv_open_qp(nic_b()->ctx, &open_attr), EINVAL);
}

/*
 * An SRQ of other QPs may have a protection domain of its own, too. Its
 * receives use that domain; keys of the peer are checked against the QP's.
 */
static void basic_srq_has_a_domain_of_its_own(void)
{
	struct ibv_srq_init_attr init_srq = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct config config = config_default;
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 4, .max_send_sge = 1 },
	};
	struct end a = end_make(nic_a(), &config), b = end_make(nic_b(), &config);
	struct ibv_pd *pd = ibv_alloc_pd(nic_b()->ctx);
	struct buf from = buf_make(nic_a()->pd, SLOT, ACCESS_ALL), at, wrong;
	struct ibv_recv_wr recv = { .num_sge = 1 }, *bad;
	struct ibv_sge sge;
	struct ibv_send_wr wr;
	int i;

	REQUIRE(pd);
	init.srq = ibv_create_srq(pd, &init_srq);
	REQUIRE(init.srq);
	init.send_cq = b.scq;
	init.recv_cq = b.rcq;
	REQUIRE_EQ(ibv_destroy_qp(b.qp), 0);
	b.qp = ibv_create_qp(nic_b()->pd, &init);
	REQUIRE(b.qp);
	pair_connect(&a, &b);
	at = buf_make(pd, SLOT, ACCESS_ALL);
	wrong = buf_make(nic_b()->pd, SLOT, ACCESS_ALL);
	fill(from.p, LEN, 1);
	for (i = 0; i < 2; i++) {
		recv.wr_id = i;
		recv.sg_list = &sge;
		sge = sge_of(i ? &wrong : &at, 0, SLOT);
		REQUIRE_EQ(ibv_post_srq_recv(init.srq, &recv, &bad), 0);
	}
	sge = sge_of(&from, 0, LEN);
	wr = wr_rdma(0, IBV_WR_RDMA_WRITE, &sge, 1, (uintptr_t)wrong.p,
		     wrong.mr->rkey);
	post(&a, &wr);
	wait_ok(a.scq, 0, IBV_WC_RDMA_WRITE);
	wr = wr_send(1, &sge, 1);
	post(&a, &wr);
	wait_ok(a.scq, 1, IBV_WC_SEND);
	wait_ok(b.rcq, 0, IBV_WC_RECV);
	check_fill(at.p, LEN, 1);
	post(&a, &wr);
	wait_status(a.scq, 1, IBV_WC_REM_OP_ERR);
	wait_status(b.rcq, 1, IBV_WC_LOC_PROT_ERR);
}

/* ---- events, order of destruction ---------------------------------------------------- */

/*
 * The RDMA core does not hold it: the SRQ may be destroyed first, and must not
 * be used after that.
 */
static void srq_given_to_a_target_is_not_used(void)
{
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_XRC_RECV,
		.comp_mask = IBV_QP_INIT_ATTR_XRCD,
	};

	xrcd = open_domain(nic_b(), -1);
	make_targets();
	make_sender();
	attr.xrcd = xrcd;
	attr.srq = make_srq(nic_b(), to[0].pd, xrcd, to[0].cq);
	tgt = ibv_create_qp_ex(nic_b()->ctx, &attr);
	if (!tgt)
		test_skip("a target takes no SRQ: %s", strerror(errno));
	REQUIRE_EQ(ibv_destroy_srq(attr.srq), 0);
	connect_qp(tgt, nic_b(), nic_a(), ini->qp_num);
	connect_qp(ini, nic_a(), nic_b(), tgt->qp_num);
	recv_at(1, 1, 0);
	send_to(2, to[1].num, SLOT);
	wait_ok(cq, 2, IBV_WC_SEND);
	wait_ok(to[1].cq, 1, IBV_WC_RECV);
}

static void limit_of_an_srq_is_told(void)
{
	struct ibv_srq_attr attr = { .srq_limit = 2 };
	int n;

	set_up();
	for (n = 0; n < 3; n++)
		recv_at(1, n, 0);
	REQUIRE_EQ(ibv_modify_srq(to[1].srq, &attr, IBV_SRQ_LIMIT), 0);
	for (n = 0; n < 2; n++) {
		send_to(n, to[1].num, 10);
		wait_ok(cq, n, IBV_WC_SEND);
		wait_ok(to[1].cq, n, IBV_WC_RECV);
	}
	wait_event(nic_b()->ctx, IBV_EVENT_SRQ_LIMIT_REACHED);
}

static void what_is_in_use_is_not_destroyed(void)
{
	set_up();
	REQUIRE_EQ(ibv_close_xrcd(xrcd), EBUSY);
	REQUIRE_EQ(ibv_destroy_cq(to[0].cq), EBUSY);
	REQUIRE_EQ(ibv_destroy_qp(tgt), 0);
	REQUIRE_EQ(ibv_close_xrcd(xrcd), EBUSY);
	for (int i = 0; i < SRQS; i++) {
		REQUIRE_EQ(ibv_destroy_srq(to[i].srq), 0);
		REQUIRE_EQ(ibv_destroy_cq(to[i].cq), 0);
	}
	REQUIRE_EQ(ibv_close_xrcd(xrcd), 0);
	/* nobody answers any more */
	send_to(1, to[0].num, 10);
	wait_status(cq, 1, IBV_WC_RETRY_EXC_ERR);
}

/* ---- processes ------------------------------------------------------------------------ */

static void tell(int fd, uint32_t value)
{
	REQUIRE_EQ(write(fd, &value, sizeof(value)), sizeof(value));
}

static uint32_t hear(int fd)
{
	uint32_t value;

	REQUIRE_EQ(read(fd, &value, sizeof(value)), sizeof(value));
	return value;
}

/* Creates the responder in the domain of @file, and ends on request. */
static void other_process(int file, int in, int out)
{
	const char *name = ibv_get_device_name(nic_b()->ctx->device);
	struct nic *nic = nic_open(name);
	struct ibv_qp *qp;

	/* Otherwise it would wait where the other process has failed. */
	REQUIRE_EQ(prctl(PR_SET_PDEATHSIG, SIGKILL), 0);
	nic->gid = nic_b()->gid;
	nic->gid_index = nic_b()->gid_index;
	qp = make_tgt(nic, open_domain(nic, file));
	connect_qp(qp, nic, nic_a(), hear(in));
	tell(out, qp->qp_num);
	if (hear(in)) {
		struct expected expected = { qp, IBV_EVENT_QP_LAST_WQE_REACHED };

		expect_events(nic->ctx, &expected, 1);
	}
	_exit(0);
}

static struct {
	pid_t pid;
	int to;
} other;

static void set_up_with_other(void)
{
	int file = open("/tmp", O_TMPFILE | O_RDWR, 0600), to_it[2], from_it[2];

	REQUIRE(file >= 0 && !pipe(to_it) && !pipe(from_it));
	nic_a();
	nic_b();
	other.to = to_it[1];
	other.pid = fork();
	REQUIRE(other.pid >= 0);
	if (!other.pid)
		other_process(file, to_it[0], from_it[1]);
	xrcd = open_domain(nic_b(), file);
	make_targets();
	make_sender();
	tell(other.to, ini->qp_num);
	tgt = open_tgt(nic_b()->ctx, xrcd, hear(from_it[0]));
	connect_qp(ini, nic_a(), nic_b(), tgt->qp_num);
}

static void end_other(bool with_event)
{
	int status;

	tell(other.to, with_event);
	REQUIRE_EQ(waitpid(other.pid, &status, 0), other.pid);
	REQUIRE_EQ(status, 0);
}

/* Its maker gets the event; a process that opened it may not: see expect_events(). */
static void last_wqe_is_announced_to_its_maker(void)
{
	set_up_with_other();
	to_error(tgt);
	end_other(true);
}

static void responder_outlives_its_maker(void)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr qp_attr;

	set_up_with_other();
	recv_at(0, 1, 0);
	send_to(1, to[0].num, LEN);
	wait_ok(cq, 1, IBV_WC_SEND);
	wait_ok(to[0].cq, 1, IBV_WC_RECV);

	end_other(false);
	fill(mem.p, LEN, 9);
	recv_at(0, 2, 0);
	send_to(2, to[0].num, LEN);
	wait_ok(cq, 2, IBV_WC_SEND);
	wait_ok(to[0].cq, 2, IBV_WC_RECV);
	check_fill(to[0].mem.p, LEN, 9);
	/* a process that opened it can query it, too */
	REQUIRE_EQ(ibv_query_qp(tgt, &qp_attr, IBV_QP_STATE, &init), 0);
	REQUIRE_EQ(qp_attr.qp_state, IBV_QPS_RTS);
	/* its last user destroys it */
	REQUIRE_EQ(ibv_destroy_qp(tgt), 0);
	send_to(3, to[0].num, 10);
	wait_status(cq, 3, IBV_WC_RETRY_EXC_ERR);
}

/* A context without rings; mmap offsets are assigned from 0 on. */
static void nothing_is_mapped_where_no_ring_is(void)
{
	struct nic *nic = nic_open(options.device);
	size_t page = sysconf(_SC_PAGESIZE);
	int i;

	make_tgt(nic, open_domain(nic, -1));
	for (i = 0; i < 16; i++)
		REQUIRE(mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED,
			     nic->ctx->cmd_fd, i * page) == MAP_FAILED);
}

static const struct test tests[] = {
#define TEST(name) { #name, name }
	TEST(messages_to_each_srq_come_in_order),
	TEST(each_operation_moves_its_data),
	TEST(memory_on_demand),
	TEST(unknown_srq_is_refused),
	TEST(srq_of_another_domain_is_refused),
	TEST(srq_that_is_gone_is_refused),
	TEST(key_of_another_srqs_domain_is_refused),
	TEST(receive_into_another_domain_is_refused),
	TEST(no_receive_at_that_srq),
	TEST(last_wqe_is_announced),
	TEST(nothing_is_posted_where_no_ring_is),
	TEST(nothing_is_mapped_where_no_ring_is),
	TEST(what_cannot_be_made),
	TEST(basic_srq_has_a_domain_of_its_own),
	TEST(srq_given_to_a_target_is_not_used),
	TEST(limit_of_an_srq_is_told),
	TEST(what_is_in_use_is_not_destroyed),
	TEST(responder_outlives_its_maker),
	TEST(last_wqe_is_announced_to_its_maker),
	{}
};

int main(int argc, char **argv)
{
	return util_main(tests, argc, argv);
}
