// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Asynchronous events of queues: a CQ that overflows, and a ring with an
 * invalid producer index, for QPs of each type. Also the limit, the error and
 * the last request of a shared receive queue.
 *
 * The test corrupts indices in the provider's mappings, so it takes their
 * layout from the driver's header; nothing else of it is used.
 */
#include "util.h"

#include <poll.h>
#include <sys/mman.h>

#include "../../../../uapi/softhca-abi.h"

enum { DEPTH = 64, QKEY = 0x1234, EVENT_MS = 10000, QUIET_MS = 200 };

static struct ibv_cq *cq, *rcq;
static struct buf memory;
static struct ibv_ah *ah;

/* ---- queue pairs of any type ------------------------------------------------ */

static struct ibv_qp *make_qp(enum ibv_qp_type type, struct ibv_srq *srq)
{
	struct ibv_qp_init_attr init = {
		.qp_type = type,
		.send_cq = cq,
		.recv_cq = rcq,
		.srq = srq,
		.cap = { .max_send_wr = DEPTH, .max_recv_wr = DEPTH,
			 .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct ibv_qp *qp = ibv_create_qp(nic_a()->pd, &init);

	REQUIRE(qp);
	return qp;
}

static struct ibv_ah_attr path(void)
{
	return (struct ibv_ah_attr){
		.is_global = 1,
		.port_num = 1,
		.grh = { .dgid = nic_a()->gid, .hop_limit = 1,
			 .sgid_index = nic_a()->gid_index },
	};
}

static void connect_qp(struct ibv_qp *qp, uint32_t dest)
{
	struct ibv_qp_attr attr = {
		.port_num = 1,
		.qkey = QKEY,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = dest,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.min_rnr_timer = 1,
		.ah_attr = path(),
	};

	qp_to_rts(qp, &attr);
}

static void set_up(int send_cqe, int recv_cqe)
{
	struct ibv_ah_attr attr = path();

	memory = buf_make(nic_a()->pd, 4096, ACCESS_ALL);
	cq = ibv_create_cq(nic_a()->ctx, send_cqe, NULL, NULL, 0);
	rcq = ibv_create_cq(nic_a()->ctx, recv_cqe, NULL, NULL, 0);
	ah = ibv_create_ah(nic_a()->pd, &attr);
	REQUIRE(cq && rcq && ah);
}

static void send_to(struct ibv_qp *qp, struct ibv_qp *dest, uint64_t wr_id)
{
	struct ibv_sge sge = sge_of(&memory, 0, 8);
	struct ibv_send_wr wr = wr_send(wr_id, &sge, 1), *bad;

	if (qp->qp_type == IBV_QPT_UD) {
		wr.wr.ud.ah = ah;
		wr.wr.ud.remote_qpn = dest->qp_num;
		wr.wr.ud.remote_qkey = QKEY;
	}
	REQUIRE_EQ(ibv_post_send(qp, &wr, &bad), 0);
}

static void receive(struct ibv_qp *qp, uint64_t wr_id)
{
	struct ibv_sge sge = sge_of(&memory, 1024, 512);
	struct ibv_recv_wr wr = { .wr_id = wr_id, .sg_list = &sge,
				  .num_sge = 1 }, *bad;

	REQUIRE_EQ(ibv_post_recv(qp, &wr, &bad), 0);
}

static enum ibv_qp_state state_of(struct ibv_qp *qp)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	REQUIRE_EQ(ibv_query_qp(qp, &attr, IBV_QP_STATE, &init), 0);
	return attr.qp_state;
}

/* ---- events ------------------------------------------------------------------ */

#define EVENT(type)	(1u << IBV_EVENT_##type)

static bool next_event(int ms, struct ibv_async_event *event)
{
	struct pollfd pfd = { .fd = nic_a()->ctx->async_fd, .events = POLLIN };

	if (poll(&pfd, 1, ms) != 1)
		return false;
	REQUIRE_EQ(ibv_get_async_event(nic_a()->ctx, event), 0);
	ibv_ack_async_event(event);
	return true;
}

/* Expects each event of @mask once, in any order, and no other. */
static void expect_events(uint32_t mask)
{
	struct ibv_async_event event;

	while (mask) {
		if (!next_event(EVENT_MS, &event))
			FAIL("events that did not come: %#x", mask);
		if (!(mask & 1u << event.event_type))
			FAIL("unexpected: %s",
			     ibv_event_type_str(event.event_type));
		mask &= ~(1u << event.event_type);
	}
	if (next_event(QUIET_MS, &event))
		FAIL("once more: %s", ibv_event_type_str(event.event_type));
}

/* ---- a CQ that is full ---------------------------------------------------------- */

/* More than fit into a CQ created for few, which may be somewhat larger. */
enum { FEW = 2, MANY = 20 };

/* Return: number of successful completions, which must be in order. */
static int in_order(struct ibv_cq *full)
{
	struct ibv_wc wc;
	int n = 0;

	while (ibv_poll_cq(full, 1, &wc) == 1) {
		REQUIRE_EQ(wc.status, IBV_WC_SUCCESS);
		REQUIRE_EQ(wc.wr_id, n);
		n++;
	}
	return n;
}

static void send_cq_overflows(enum ibv_qp_type type)
{
	struct ibv_qp *qp, *peer;
	int i, n;

	set_up(FEW, DEPTH);
	qp = make_qp(type, NULL);
	peer = make_qp(type, NULL);
	connect_qp(qp, peer->qp_num);
	connect_qp(peer, qp->qp_num);
	for (i = 0; i < MANY; i++)
		receive(peer, i);
	for (i = 0; i < MANY; i++)
		send_to(qp, peer, i);
	expect_events(EVENT(CQ_ERR) | EVENT(QP_FATAL));
	REQUIRE_EQ(state_of(qp), IBV_QPS_ERR);
	REQUIRE_EQ(state_of(peer), IBV_QPS_RTS);
	n = in_order(cq);
	REQUIRE(n >= cq->cqe && n < MANY);
}

static void rc_send_cq_overflow_is_fatal(void)
{
	send_cq_overflows(IBV_QPT_RC);
}

static void uc_send_cq_overflow_is_fatal(void)
{
	send_cq_overflows(IBV_QPT_UC);
}

/* Not SQE: from there a consumer would continue with a CQ that loses completions. */
static void ud_send_cq_overflow_is_fatal(void)
{
	send_cq_overflows(IBV_QPT_UD);
}

static void recv_cq_overflows(enum ibv_qp_type type)
{
	struct ibv_qp *qp, *peer;
	int i, n;

	set_up(DEPTH, FEW);
	qp = make_qp(type, NULL);
	peer = make_qp(type, NULL);
	connect_qp(qp, peer->qp_num);
	connect_qp(peer, qp->qp_num);
	for (i = 0; i < MANY; i++)
		receive(peer, i);
	for (i = 0; i < MANY; i++) {
		send_to(qp, peer, i);
		/*
		 * a request on a reliable connection fails if its completion
		 * did not fit
		 */
		if (wait_wc(cq).status != IBV_WC_SUCCESS)
			break;
	}
	expect_events(EVENT(CQ_ERR) | EVENT(QP_FATAL));
	REQUIRE_EQ(state_of(peer), IBV_QPS_ERR);
	n = in_order(rcq);
	REQUIRE(n >= rcq->cqe && n < MANY);
}

static void rc_recv_cq_overflow_is_fatal(void)
{
	recv_cq_overflows(IBV_QPT_RC);
}

static void ud_recv_cq_overflow_is_fatal(void)
{
	recv_cq_overflows(IBV_QPT_UD);
}

/* ---- an invalid producer index --------------------------------------------------------- */

enum { MAX_MAPS = 64 };

struct maps {
	unsigned long from[MAX_MAPS];
	int nr;
};

/* Finds writable mappings of the uverbs file. */
static struct maps find_maps(void)
{
	FILE *file = fopen("/proc/self/maps", "r");
	unsigned long from, to;
	char line[512], perms[5];
	struct maps maps = {};

	REQUIRE(file);
	while (fgets(line, sizeof(line), file)) {
		if (!strstr(line, "uverbs") || maps.nr == MAX_MAPS)
			continue;
		REQUIRE(sscanf(line, "%lx-%lx %4s", &from, &to, perms) == 3);
		if (perms[1] == 'w')
			maps.from[maps.nr++] = from;
	}
	fclose(file);
	return maps;
}

/* Finds the one new mapping. */
static struct shca_qp_index *new_region(const struct maps *before)
{
	struct maps now = find_maps();
	unsigned long found = 0;
	int i, k;

	for (i = 0; i < now.nr; i++) {
		for (k = 0; k < before->nr; k++)
			if (before->from[k] == now.from[i])
				break;
		if (k < before->nr)
			continue;
		REQUIRE(!found);
		found = now.from[i];
	}
	REQUIRE(found);
	return (struct shca_qp_index *)found;
}

static void sq_index_breaks(enum ibv_qp_type type)
{
	struct shca_qp_index *index;
	struct ibv_qp *qp, *peer;
	struct maps maps;
	struct ibv_wc wc;

	set_up(DEPTH, DEPTH);
	peer = make_qp(type, NULL);
	maps = find_maps();
	qp = make_qp(type, NULL);
	index = new_region(&maps);
	connect_qp(qp, peer->qp_num);
	connect_qp(peer, qp->qp_num);
	receive(peer, 1);
	receive(qp, 2);
	send_to(qp, peer, 3);
	wait_ok(cq, 3, IBV_WC_SEND);
	wait_ok(rcq, 1, IBV_WC_RECV);
	REQUIRE_EQ(index->sq_prod, 1);
	__atomic_store_n(&index->sq_prod, 0x40000000, __ATOMIC_RELEASE);
	/* another change to RTS makes the kernel read the ring */
	while (state_of(qp) == IBV_QPS_RTS) {
		struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS };

		REQUIRE_EQ(ibv_modify_qp(qp, &attr, IBV_QP_STATE), 0);
	}
	expect_events(EVENT(QP_FATAL));
	REQUIRE_EQ(state_of(qp), IBV_QPS_ERR);
	wc = wait_status(rcq, 2, IBV_WC_WR_FLUSH_ERR);
	REQUIRE_EQ(wc.qp_num, qp->qp_num);
	require_no_wc(cq);
	require_no_wc(rcq);
}

static void rc_broken_send_index_is_fatal(void)
{
	sq_index_breaks(IBV_QPT_RC);
}

static void ud_broken_send_index_is_fatal(void)
{
	sq_index_breaks(IBV_QPT_UD);
}

/* Posted requests are flushed, and nothing else completes. */
static void rq_index_breaks(enum ibv_qp_type type)
{
	struct shca_qp_index *index;
	struct ibv_qp *qp, *peer;
	struct maps maps;
	int i;

	set_up(DEPTH, DEPTH);
	qp = make_qp(type, NULL);
	maps = find_maps();
	peer = make_qp(type, NULL);
	index = new_region(&maps);
	connect_qp(qp, peer->qp_num);
	connect_qp(peer, qp->qp_num);
	for (i = 1; i <= 4; i++)
		receive(peer, i);
	REQUIRE_EQ(index->rq_prod, 4);
	send_to(qp, peer, 10);
	wait_ok(cq, 10, IBV_WC_SEND);
	wait_ok(rcq, 1, IBV_WC_RECV);
	__atomic_store_n(&index->rq_prod, 0x40000000, __ATOMIC_RELEASE);
	send_to(qp, peer, 11);
	expect_events(EVENT(QP_FATAL));
	REQUIRE_EQ(state_of(peer), IBV_QPS_ERR);
	for (i = 2; i <= 4; i++)
		wait_status(rcq, i, IBV_WC_WR_FLUSH_ERR);
	require_quiet(rcq);
	if (type == IBV_QPT_RC)
		wait_status(cq, 11, IBV_WC_REM_OP_ERR);
	else
		wait_ok(cq, 11, IBV_WC_SEND);
}

static void rc_broken_recv_index_is_fatal(void)
{
	rq_index_breaks(IBV_QPT_RC);
}

static void ud_broken_recv_index_is_fatal(void)
{
	rq_index_breaks(IBV_QPT_UD);
}

/* ---- shared receive queues ------------------------------------------------------------ */

static struct ibv_srq *srq;
static struct ibv_qp *sender, *receiver;
static struct shca_qp_index *srq_index;

static void set_up_srq(void)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = DEPTH,
						    .max_sge = 1 } };
	struct maps maps;

	set_up(DEPTH, DEPTH);
	maps = find_maps();
	srq = ibv_create_srq(nic_a()->pd, &init);
	REQUIRE(srq);
	srq_index = new_region(&maps);
	sender = make_qp(IBV_QPT_RC, NULL);
	receiver = make_qp(IBV_QPT_RC, srq);
	connect_qp(sender, receiver->qp_num);
	connect_qp(receiver, sender->qp_num);
}

static void srq_post(int num)
{
	struct ibv_sge sge = sge_of(&memory, 1024, 512);
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	while (num--)
		REQUIRE_EQ(ibv_post_srq_recv(srq, &wr, &bad), 0);
}

static void messages(int num)
{
	while (num--) {
		send_to(sender, receiver, 1);
		wait_ok(cq, 1, IBV_WC_SEND);
		REQUIRE_EQ(wait_wc(rcq).status, IBV_WC_SUCCESS);
	}
}

static void arm(uint32_t limit)
{
	struct ibv_srq_attr attr = { .srq_limit = limit };

	REQUIRE_EQ(ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT), 0);
}

static uint32_t armed(void)
{
	struct ibv_srq_attr attr;

	REQUIRE_EQ(ibv_query_srq(srq, &attr), 0);
	return attr.srq_limit;
}

/* The event comes once when fewer are posted; then it can be armed again. */
static void srq_limit_fires_once(void)
{
	struct ibv_async_event event;

	set_up_srq();
	srq_post(8);
	arm(6);
	REQUIRE_EQ(armed(), 6);
	messages(2);
	REQUIRE(!next_event(QUIET_MS, &event));	/* six are not fewer than six */
	REQUIRE_EQ(armed(), 6);
	messages(1);
	expect_events(EVENT(SRQ_LIMIT_REACHED));
	REQUIRE_EQ(armed(), 0);
	messages(2);
	expect_events(0);
	srq_post(6);
	arm(5);
	REQUIRE_EQ(armed(), 5);
	messages(4);
	expect_events(0);
	messages(1);
	expect_events(EVENT(SRQ_LIMIT_REACHED));
	REQUIRE_EQ(armed(), 0);
}

/* Armed above the number of posted receives: the event comes at once. */
static void srq_limit_above_the_level_fires_at_once(void)
{
	set_up_srq();
	srq_post(3);
	arm(4);
	expect_events(EVENT(SRQ_LIMIT_REACHED));
	REQUIRE_EQ(armed(), 0);
	arm(3);
	REQUIRE_EQ(armed(), 3);
	expect_events(0);
	arm(0);
	messages(1);
	expect_events(0);
}

/* A QP in error takes nothing more from its SRQ, and reports that once. */
static void last_wqe_is_announced(void)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	set_up_srq();
	srq_post(2);
	REQUIRE_EQ(ibv_modify_qp(receiver, &attr, IBV_QP_STATE), 0);
	expect_events(EVENT(QP_LAST_WQE_REACHED));
	REQUIRE_EQ(ibv_modify_qp(receiver, &attr, IBV_QP_STATE), 0);
	expect_events(0);
	require_no_wc(rcq);
}

/* The SRQ reports its error, and the QP that could not receive reports one, too. */
static void broken_srq_index_is_announced(void)
{
	set_up_srq();
	srq_post(4);
	messages(1);
	REQUIRE_EQ(srq_index->rq_prod, 4);
	__atomic_store_n(&srq_index->rq_prod, 0x40000000, __ATOMIC_RELEASE);
	send_to(sender, receiver, 2);
	expect_events(EVENT(SRQ_ERR) | EVENT(QP_FATAL) |
		      EVENT(QP_LAST_WQE_REACHED));
	REQUIRE_EQ(state_of(receiver), IBV_QPS_ERR);
	wait_status(cq, 2, IBV_WC_REM_OP_ERR);
	require_no_wc(rcq);
}

/* ---- events without end ---------------------------------------------------------- */

/* The RDMA core keeps each event until it is read, in memory that nobody is charged for. */
enum { FLOOD_MS = 1000, GAP_MS = 20 };

/* Return: how many events of @type wait to be read. */
static int events_of(enum ibv_event_type type)
{
	struct ibv_async_event event;
	int n;

	for (n = 0; next_event(QUIET_MS, &event); n++)
		if (event.event_type != type)
			FAIL("unexpected: %s",
			     ibv_event_type_str(event.event_type));
	return n;
}

/* Calls @once for a second. Its events are few, and the last of them is told. */
static void floods(void (*once)(void), enum ibv_event_type type)
{
	uint64_t start = millis(), ms;
	int n, calls = 0;

	do {
		once();
		calls++;
		ms = millis() - start;
	} while (ms < FLOOD_MS);
	n = events_of(type);
	printf("# %d calls, %d events\n", calls, n);
	REQUIRE(n > 0);
	REQUIRE(n <= (int)ms / GAP_MS + 2);
	once();
	expect_events(1u << type);
}

static void drain_sends(void)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_SQD,
				    .en_sqd_async_notify = 1 };

	REQUIRE_EQ(ibv_modify_qp(sender, &attr, IBV_QP_STATE |
				 IBV_QP_EN_SQD_ASYNC_NOTIFY), 0);
	attr.qp_state = IBV_QPS_RTS;
	REQUIRE_EQ(ibv_modify_qp(sender, &attr, IBV_QP_STATE), 0);
}

static void sq_drained_is_told_50_times_a_second(void)
{
	set_up_srq();
	floods(drain_sends, IBV_EVENT_SQ_DRAINED);
}

static void take_the_last_wqe(void)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	REQUIRE_EQ(ibv_modify_qp(receiver, &attr, IBV_QP_STATE), 0);
	attr.qp_state = IBV_QPS_RESET;
	REQUIRE_EQ(ibv_modify_qp(receiver, &attr, IBV_QP_STATE), 0);
	connect_qp(receiver, sender->qp_num);
}

static void last_wqe_is_told_50_times_a_second(void)
{
	set_up_srq();
	floods(take_the_last_wqe, IBV_EVENT_QP_LAST_WQE_REACHED);
}

static void arm_above_the_level(void)
{
	srq_post(1);
	messages(1);
	arm(DEPTH);
}

static void srq_limit_is_told_50_times_a_second(void)
{
	set_up_srq();
	floods(arm_above_the_level, IBV_EVENT_SRQ_LIMIT_REACHED);
}

/* What was told is not told again before something was posted or taken. */
static void srq_limit_above_the_same_level_fires_once(void)
{
	int i;

	set_up_srq();
	srq_post(3);
	for (i = 0; i < 1000; i++)
		arm(50);
	REQUIRE_EQ(events_of(IBV_EVENT_SRQ_LIMIT_REACHED), 1);
	REQUIRE_EQ(armed(), 50);
	messages(1);
	expect_events(EVENT(SRQ_LIMIT_REACHED));
	REQUIRE_EQ(armed(), 0);
	arm(50);
	expect_events(0);
	srq_post(1);
	arm(50);
	expect_events(EVENT(SRQ_LIMIT_REACHED));
}

/* ---- a work queue ---------------------------------------------------------------- */

/*
 * For UD, whose messages are single packets; a WQ has no send ring, whatever
 * its index.
 */
static void broken_wq_index_is_announced(void)
{
	uint8_t hash_key[40] = {};
	struct ibv_wq_attr ready = { .attr_mask = IBV_WQ_ATTR_STATE,
				     .wq_state = IBV_WQS_RDY };
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1,
				    .qkey = QKEY };
	struct ibv_wq_init_attr init = { .wq_type = IBV_WQT_RQ, .max_wr = DEPTH,
					 .max_sge = 1, .pd = nic_a()->pd };
	struct ibv_rwq_ind_table_init_attr table = {};
	struct ibv_qp_init_attr_ex qp_init = {
		.qp_type = IBV_QPT_UD,
		.pd = nic_a()->pd,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_IND_TABLE |
			     IBV_QP_INIT_ATTR_RX_HASH,
		.rx_hash_conf = { .rx_hash_function = IBV_RX_HASH_FUNC_TOEPLITZ,
				  .rx_hash_key_len = 40,
				  .rx_hash_key = hash_key },
	};
	struct ibv_recv_wr wr = {}, *bad;
	struct shca_qp_index *wq_index;
	struct ibv_sge sge;
	struct ibv_qp *qp, *from;
	struct ibv_wq *wq;
	struct maps maps;
	int n;

	set_up(DEPTH, DEPTH);
	from = make_qp(IBV_QPT_UD, NULL);
	connect_qp(from, 0);
	maps = find_maps();
	init.cq = rcq;
	wq = ibv_create_wq(nic_a()->ctx, &init);
	REQUIRE(wq);
	wq_index = new_region(&maps);
	REQUIRE_EQ(ibv_modify_wq(wq, &ready), 0);
	table.ind_tbl = &wq;
	qp_init.rwq_ind_tbl = ibv_create_rwq_ind_table(nic_a()->ctx, &table);
	REQUIRE(qp_init.rwq_ind_tbl);
	qp = ibv_create_qp_ex(nic_a()->ctx, &qp_init);
	REQUIRE(qp);
	REQUIRE_EQ(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX |
				 IBV_QP_QKEY), 0);
	attr.qp_state = IBV_QPS_RTR;
	REQUIRE_EQ(ibv_modify_qp(qp, &attr, IBV_QP_STATE), 0);
	sge = sge_of(&memory, 1024, 512);
	wr.sg_list = &sge;
	wr.num_sge = 1;
	for (n = 0; n < 4; n++, wr.wr_id++)
		REQUIRE_EQ(ibv_post_wq_recv(wq, &wr, &bad), 0);
	send_to(from, qp, 1);
	wait_ok(rcq, 0, IBV_WC_RECV);
	REQUIRE_EQ(wq_index->rq_prod, 4);
	__atomic_store_n(&wq_index->sq_prod, 7, __ATOMIC_RELEASE);
	__atomic_store_n(&wq_index->rq_prod, 0x40000000, __ATOMIC_RELEASE);
	send_to(from, qp, 2);
	for (n = 1; n < 4; n++)
		REQUIRE_EQ(wait_status(rcq, n, IBV_WC_WR_FLUSH_ERR).qp_num,
			   wq->wq_num);
	expect_events(EVENT(WQ_FATAL));
	require_no_wc(rcq);
	REQUIRE_EQ(ibv_modify_wq(wq, &ready), EINVAL);
}

static const struct test tests[] = {
#define TEST(name) { #name, name }
	TEST(rc_send_cq_overflow_is_fatal),
	TEST(uc_send_cq_overflow_is_fatal),
	TEST(ud_send_cq_overflow_is_fatal),
	TEST(rc_recv_cq_overflow_is_fatal),
	TEST(ud_recv_cq_overflow_is_fatal),
	TEST(rc_broken_send_index_is_fatal),
	TEST(ud_broken_send_index_is_fatal),
	TEST(rc_broken_recv_index_is_fatal),
	TEST(ud_broken_recv_index_is_fatal),
	TEST(srq_limit_fires_once),
	TEST(srq_limit_above_the_level_fires_at_once),
	TEST(last_wqe_is_announced),
	TEST(broken_srq_index_is_announced),
	TEST(sq_drained_is_told_50_times_a_second),
	TEST(last_wqe_is_told_50_times_a_second),
	TEST(srq_limit_is_told_50_times_a_second),
	TEST(srq_limit_above_the_same_level_fires_once),
	TEST(broken_wq_index_is_announced),
	{}
};

int main(int argc, char **argv)
{
	return util_main(tests, argc, argv);
}
